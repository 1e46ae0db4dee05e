#include "profile_report.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iomanip>
#include <sstream>

namespace ditar {

namespace {

using Json = nlohmann::ordered_json;

const StepGroup* find_group(const ModelledProfile& modelled, const std::string& name) {
  const auto found = std::find_if(modelled.groups.begin(), modelled.groups.end(),
                                  [&](const StepGroup& group) { return group.name == name; });
  return found == modelled.groups.end() ? nullptr : &*found;
}

double error_percent(double modelled, double measured) {
  return measured > 0.0 ? 100.0 * (modelled - measured) / measured : 0.0;
}

void print_phases(const MeasuredProfile& measured, std::ostringstream& out) {
  out << "one request (" << measured.images << (measured.images == 1 ? " image, " : " images, ")
      << measured.steps << " steps)\n";
  for (const PhaseRecord& phase : measured.phases) {
    if (phase.name.find('/') != std::string::npos) continue;
    out << std::setw(12) << phase.milliseconds << " ms  " << phase.name << "\n";
  }
}

void print_measured_step(const ProfileReport& report, std::ostringstream& out) {
  const StepProfile& step = report.measured->step;
  out << "one denoiser step, measured: " << step.step_ms << " ms\n  " << step.method << "\n";
  if (step.groups.empty()) return;
  out << "          ms   share  calls     GFLOP        MB  roofline";
  if (report.comparable()) out << "   modelled   error";
  out << "  group\n";
  for (const PhaseRecord& group : step.groups) {
    out << std::setprecision(4) << std::setw(12) << group.milliseconds << std::setprecision(1)
        << std::setw(7) << 100.0 * group.milliseconds / step.step_ms << "%" << std::setw(7)
        << group.calls << std::setprecision(3) << std::setw(10) << group.flops * 1e-9
        << std::setw(10) << group.bytes * 1e-6 << std::setprecision(1) << std::setw(9)
        << percent_of_roofline(step, group) << "%";
    if (report.comparable()) {
      if (const StepGroup* predicted = find_group(*report.modelled, group.name)) {
        out << std::setprecision(4) << std::setw(11) << predicted->seconds * 1e3
            << std::setprecision(1) << std::setw(7)
            << error_percent(predicted->seconds * 1e3, group.milliseconds) << "%";
      } else {
        out << "          -       -";
      }
    }
    out << "  " << group.name << "\n";
  }
}

void print_modelled_step(const ModelledProfile& modelled, std::ostringstream& out) {
  out << "one denoiser step, modelled (not measured) for " << modelled.device;
  if (modelled.clock_mhz > 0.0) {
    out << " at " << std::setprecision(0) << modelled.clock_mhz << " MHz";
  }
  out << ", " << modelled.precision << ", " << modelled.rows << " rows of " << modelled.tokens
      << " tokens: " << std::setprecision(4) << modelled.step_ms() << " ms\n  " << modelled.source
      << "\n          ms   share  calls     GFLOP        MB  group\n";
  for (const StepGroup& group : modelled.groups) {
    out << std::setprecision(4) << std::setw(12) << group.seconds * 1e3 << std::setprecision(1)
        << std::setw(7) << 100e3 * group.seconds / modelled.step_ms() << "%" << std::setprecision(0)
        << std::setw(7) << group.calls << std::setprecision(3) << std::setw(10)
        << group.flops * 1e-9 << std::setw(10) << group.bytes * 1e-6 << "  " << group.name << "\n";
  }
}

Json measured_json(const MeasuredProfile& measured) {
  const StepProfile& step = measured.step;
  Json phases = Json::object();
  for (const PhaseRecord& phase : measured.phases) {
    phases[phase.name] = {{"ms", phase.milliseconds},
                          {"calls", phase.calls},
                          {"flops", phase.flops},
                          {"bytes", phase.bytes}};
  }
  Json groups = Json::array();
  for (const PhaseRecord& group : step.groups) {
    groups.push_back({{"name", group.name},
                      {"ms", group.milliseconds},
                      {"calls", group.calls},
                      {"flops", group.flops},
                      {"bytes", group.bytes},
                      {"percent_of_roofline", percent_of_roofline(step, group)}});
  }
  return {{"device", step.device},
          {"precision", measured.precision},
          {"layout", measured.model.layout},
          {"parameters", measured.model.parameters},
          {"images", measured.images},
          {"rows", measured.rows},
          {"steps", measured.steps},
          {"threads", measured.threads},
          {"ceilings",
           {{"matmul_tflops", step.matmul_flops_per_s * 1e-12},
            {"copy_gb_per_s", step.copy_bytes_per_s * 1e-9}}},
          {"phases", phases},
          {"method", step.method},
          {"step_ms", step.step_ms},
          {"groups", groups}};
}

Json modelled_json(const ModelledProfile& modelled) {
  Json groups = Json::array();
  for (const StepGroup& group : modelled.groups) {
    groups.push_back({{"name", group.name},
                      {"ms", group.seconds * 1e3},
                      {"calls", group.calls},
                      {"flops", group.flops},
                      {"bytes", group.bytes}});
  }
  return {{"origin", "modelled"},
          {"device", modelled.device},
          {"source", modelled.source},
          {"clock_mhz", modelled.clock_mhz},
          {"precision", modelled.precision},
          {"rows", modelled.rows},
          {"tokens", modelled.tokens},
          {"step_ms", modelled.step_ms()},
          {"groups", groups}};
}

}  // namespace

double ModelledProfile::step_ms() const {
  double seconds = 0.0;
  for (const StepGroup& group : groups) seconds += group.seconds;
  return seconds * 1e3;
}

bool ProfileReport::comparable() const {
  return measured && modelled && measured->step.device == modelled->device;
}

double percent_of_roofline(const StepProfile& step, const PhaseRecord& group) {
  if (!(group.milliseconds > 0.0) || !(step.matmul_flops_per_s > 0.0) ||
      !(step.copy_bytes_per_s > 0.0)) {
    return 0.0;
  }
  const double seconds =
      std::max(group.flops / step.matmul_flops_per_s, group.bytes / step.copy_bytes_per_s);
  return 100.0 * seconds / (group.milliseconds * 1e-3);
}

std::string profile_text(const ProfileReport& report) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(3);
  if (report.measured) {
    const MeasuredProfile& m = *report.measured;
    out << "measured on " << m.step.device << ", " << m.precision << ", " << m.rows
        << " rows a step; reached here: a large product " << m.step.matmul_flops_per_s * 1e-12
        << " TFLOP/s, a large copy " << m.step.copy_bytes_per_s * 1e-9 << " GB/s\n";
    print_phases(m, out);
    print_measured_step(report, out);
  }
  if (report.comparable()) {
    out << std::setprecision(4) << "modelled step " << report.modelled->step_ms() << " ms, error "
        << std::setprecision(1)
        << error_percent(report.modelled->step_ms(), report.measured->step.step_ms) << "%\n";
  }
  if (report.modelled) print_modelled_step(*report.modelled, out);
  return out.str();
}

std::string profile_json(const ProfileReport& report) {
  Json whole = {{"schema", 1}};
  if (report.measured) whole["measured"] = measured_json(*report.measured);
  if (report.modelled) whole["modelled"] = modelled_json(*report.modelled);
  if (report.comparable()) {
    whole["model_error_percent"] =
        error_percent(report.modelled->step_ms(), report.measured->step.step_ms);
  }
  return whole.dump(2) + "\n";
}

}  // namespace ditar
