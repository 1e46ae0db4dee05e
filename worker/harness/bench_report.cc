#include "bench_report.h"

#include "ditar/config/error.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iomanip>
#include <numeric>
#include <sstream>

namespace ditar {

namespace {

using Json = nlohmann::ordered_json;

struct Spread {
  double least = 0.0;
  double mean = 0.0;
  double most = 0.0;
};

Spread spread_of(const std::vector<double>& values) {
  if (values.empty()) return {};
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return {*least, sum / static_cast<double>(values.size()), *most};
}

double mib(std::int64_t bytes) { return static_cast<double>(bytes) / 1048576.0; }

std::string cpu_list(const std::vector<int>& cpus) {
  if (cpus.empty()) return "-";
  std::string text = std::to_string(cpus.front());
  if (cpus.size() > 1) text += ".." + std::to_string(cpus.back());
  return text;
}

/// A group's request lasts as long as its slowest rank's.
double slowest_mean_ms(const std::vector<BenchRow>& rows) {
  double slowest = 0.0;
  for (const BenchRow& row : rows) slowest = std::max(slowest, spread_of(row.times_ms).mean);
  return slowest;
}

}  // namespace

std::string bench_table(const std::vector<BenchRow>& rows, const LoadReply& model,
                        std::int64_t images, int steps) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(3);
  out << "model " << model.layout << ", " << model.parameters << " parameters, plan " << model.plan
      << "; " << images << (images == 1 ? " image, " : " images, ") << steps << " steps, "
      << rows.front().times_ms.size() << " requests\n";
  out << "rank  host             device    cpus    thr    load ms     min ms    mean ms     max ms "
         " "
         "peak MiB  finite\n";
  for (const BenchRow& row : rows) {
    const Spread time = spread_of(row.times_ms);
    out << std::setw(4) << row.who.rank << "  " << std::left << std::setw(15)
        << row.who.host.substr(0, 15) << "  " << std::setw(8) << row.who.device.substr(0, 8) << "  "
        << std::setw(6) << cpu_list(row.who.cpus) << std::right << std::setw(5) << row.who.threads
        << std::setw(11) << row.load_ms << std::setw(11) << time.least << std::setw(11) << time.mean
        << std::setw(11) << time.most << std::setprecision(1) << std::setw(10)
        << mib(row.report.resident_bytes) << std::setprecision(3)
        << (row.finite ? "     yes" : "      NO") << "\n";
  }
  const double slowest = slowest_mean_ms(rows);
  if (slowest > 0.0) {
    out << "slowest rank: " << slowest << " ms a request, "
        << static_cast<double>(images) * 1000.0 / slowest << " images/s\n";
  }
  return out.str();
}

std::string bench_json(const std::vector<BenchRow>& rows, const LoadReply& model,
                       std::int64_t images, int steps) {
  Json ranks = Json::array();
  for (const BenchRow& row : rows) {
    const Spread time = spread_of(row.times_ms);
    ranks.push_back({{"rank", row.who.rank},
                     {"host", row.who.host},
                     {"device", row.who.device},
                     {"cpus", row.who.cpus},
                     {"threads", row.who.threads},
                     {"load_ms", row.load_ms},
                     {"min_ms", time.least},
                     {"mean_ms", time.mean},
                     {"max_ms", time.most},
                     {"times_ms", row.times_ms},
                     {"resident_bytes", row.report.resident_bytes},
                     {"planned_bytes", row.report.planned_bytes},
                     {"peak_bytes", row.report.peak_bytes},
                     {"finite", row.finite}});
  }
  const Json whole = {
      {"schema", 1},        {"model", {{"layout", model.layout}, {"parameters", model.parameters}}},
      {"plan", model.plan}, {"images", images},
      {"steps", steps},     {"slowest_mean_ms", slowest_mean_ms(rows)},
      {"ranks", ranks}};
  return whole.dump(2) + "\n";
}

std::string encode_row(const BenchRow& row) {
  return Json{{"rank", row.who.rank},
              {"host", row.who.host},
              {"device", row.who.device},
              {"cpus", row.who.cpus},
              {"threads", row.who.threads},
              {"load_ms", row.load_ms},
              {"times_ms", row.times_ms},
              {"resident_bytes", row.report.resident_bytes},
              {"planned_bytes", row.report.planned_bytes},
              {"peak_bytes", row.report.peak_bytes},
              {"finite", row.finite}}
      .dump();
}

BenchRow decode_row(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    BenchRow row;
    json.at("rank").get_to(row.who.rank);
    json.at("host").get_to(row.who.host);
    json.at("device").get_to(row.who.device);
    json.at("cpus").get_to(row.who.cpus);
    json.at("threads").get_to(row.who.threads);
    json.at("load_ms").get_to(row.load_ms);
    json.at("times_ms").get_to(row.times_ms);
    json.at("resident_bytes").get_to(row.report.resident_bytes);
    json.at("planned_bytes").get_to(row.report.planned_bytes);
    json.at("peak_bytes").get_to(row.report.peak_bytes);
    json.at("finite").get_to(row.finite);
    return row;
  } catch (const Json::exception& error) {
    throw TransportError("a rank's bench row cannot be read: " + std::string(error.what()));
  }
}

}  // namespace ditar
