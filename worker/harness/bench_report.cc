#include "bench_report.h"

#include "ditar/config/error.h"
#include "exchange_timer.h"

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

/// Of the ranks' mean times; a group's request lasts as long as its slowest rank's.
Spread over_ranks(const BenchSize& size) {
  std::vector<double> means;
  for (const BenchRow& row : size.rows) means.push_back(spread_of(row.times_ms).mean);
  return spread_of(means);
}

struct Exchanged {
  std::int64_t bytes = 0, wrong = 0;
  Spread us;
  double algorithm = 0.0, bus = 0.0;  ///< GB/s of the slowest rank
};
Exchanged numbers_of(const ExchangeRow& row) {
  Exchanged e;
  e.bytes = size_of_exchange(row.kind.op, row.ranks, row.kind.count, row.kind.dtype);
  e.wrong = std::accumulate(row.wrong.begin(), row.wrong.end(), std::int64_t{0});
  e.us = spread_of(row.times_us);
  if (e.us.most > 0.0) e.algorithm = static_cast<double>(e.bytes) / e.us.most * 1e-3;
  e.bus = e.algorithm * bus_factor(row.kind.op, row.ranks);
  return e;
}

std::string verdict_of(const BenchSize& size) {
  if (!size.error) return size.right() ? "-" : "NOT FINITE";
  std::ostringstream text;
  text << (size.right() ? "ok, " : "WRONG, ");
  if (*size.error == 0.0) {
    text << "same bits";
  } else {
    text << "off by " << std::scientific << std::setprecision(1) << *size.error;
  }
  return text.str();
}

void add_sizes(const BenchResult& result, std::ostream& out) {
  out << "images  ranks     min ms    mean ms     max ms   images/s  exchanges    MB sent  check\n"
      << std::fixed;
  for (const BenchSize& size : result.sizes) {
    const Spread time = over_ranks(size);
    double sent = 0.0;
    std::int64_t calls = 0;
    for (const BenchRow& row : size.rows) {
      sent = std::max(sent, row.sent_bytes);
      calls = std::max(calls, row.exchanges);
    }
    out << std::setw(6) << size.images << std::setw(7) << size.rows.size() << std::setprecision(3)
        << std::setw(11) << time.least << std::setw(11) << time.mean << std::setw(11) << time.most
        << std::setw(11)
        << (time.most > 0.0 ? static_cast<double>(size.images) * 1000.0 / time.most : 0.0)
        << std::setw(11) << calls << std::setw(11) << sent * 1e-6 << "  " << verdict_of(size)
        << "\n";
  }
}

void add_ranks(const BenchSize& size, std::ostream& out) {
  out << "\nrank  host             device    cpus    thr    load ms     min ms    mean ms     max "
         "ms"
         "  peak MiB  finite\n"
      << std::setprecision(3);
  for (const BenchRow& row : size.rows) {
    const Spread time = spread_of(row.times_ms);
    out << std::setw(4) << row.who.rank << "  " << std::left << std::setw(15)
        << row.who.host.substr(0, 15) << "  " << std::setw(8) << row.who.device.substr(0, 8) << "  "
        << std::setw(6) << cpu_list(row.who.cpus) << std::right << std::setw(5) << row.who.threads
        << std::setw(11) << row.load_ms << std::setw(11) << time.least << std::setw(11) << time.mean
        << std::setw(11) << time.most << std::setprecision(1) << std::setw(10)
        << mib(row.report.resident_bytes) << std::setprecision(3)
        << (row.finite ? "     yes" : "      NO") << "\n";
  }
}

void add_exchanges(const BenchResult& result, std::ostream& out) {
  out << "\nexchanges of a request of " << result.sizes.back().images
      << " images, each timed alone; bandwidths in GB/s of the slowest rank\n"
         "op              ranks   size (B)      count  type   calls     min us    mean us     max "
         "us"
         "    algbw    busbw   wrong\n";
  for (const ExchangeRow& row : result.exchanges) {
    const Exchanged e = numbers_of(row);
    out << std::left << std::setw(15) << to_string(row.kind.op) << std::right << std::setw(6)
        << row.ranks << std::setw(11) << e.bytes << std::setw(11) << row.kind.count << std::setw(6)
        << to_string(row.kind.dtype) << std::setw(8) << row.calls << std::setprecision(2)
        << std::setw(11) << e.us.least << std::setw(11) << e.us.mean << std::setw(11) << e.us.most
        << std::setprecision(3) << std::setw(9) << e.algorithm << std::setw(9) << e.bus
        << std::setw(8) << e.wrong << "\n";
  }
}

Json rank_json(const BenchRow& row) {
  const Spread time = spread_of(row.times_ms);
  return {{"rank", row.who.rank},
          {"host", row.who.host},
          {"device", row.who.device},
          {"cpus", row.who.cpus},
          {"threads", row.who.threads},
          {"load_ms", row.load_ms},
          {"min_ms", time.least},
          {"mean_ms", time.mean},
          {"max_ms", time.most},
          {"times_ms", row.times_ms},
          {"sent_bytes", row.sent_bytes},
          {"exchanges", row.exchanges},
          {"resident_bytes", row.report.resident_bytes},
          {"planned_bytes", row.report.planned_bytes},
          {"peak_bytes", row.report.peak_bytes},
          {"finite", row.finite}};
}

}  // namespace

bool BenchSize::right() const {
  for (const BenchRow& row : rows) {
    if (!row.finite) return false;
  }
  return !error || *error <= allowed;
}

bool BenchResult::good() const {
  for (const BenchSize& size : sizes) {
    if (!size.right()) return false;
  }
  for (const ExchangeRow& row : exchanges) {
    if (std::accumulate(row.wrong.begin(), row.wrong.end(), std::int64_t{0}) != 0) return false;
  }
  return true;
}

std::string bench_table(const BenchResult& result) {
  std::ostringstream out;
  const BenchSize& last = result.sizes.back();
  out << "model " << result.model.layout << ", " << result.model.parameters << " parameters, plan "
      << result.model.plan << "; " << result.steps << " steps, "
      << last.rows.front().times_ms.size() << " requests of each size\n";
  add_sizes(result, out);
  add_ranks(last, out);
  if (!result.exchanges.empty()) add_exchanges(result, out);
  if (!result.unchecked.empty()) out << "not compared with one rank: " << result.unchecked << "\n";
  return out.str();
}

std::string bench_json(const BenchResult& result) {
  Json sizes = Json::array(), exchanges = Json::array();
  for (const BenchSize& size : result.sizes) {
    Json ranks = Json::array();
    for (const BenchRow& row : size.rows) ranks.push_back(rank_json(row));
    sizes.push_back({{"images", size.images},
                     {"slowest_mean_ms", over_ranks(size).most},
                     {"error", size.error ? Json(*size.error) : Json(nullptr)},
                     {"error_allowed", size.error ? Json(size.allowed) : Json(nullptr)},
                     {"right", size.right()},
                     {"ranks", ranks}});
  }
  for (const ExchangeRow& row : result.exchanges) {
    const Exchanged e = numbers_of(row);
    exchanges.push_back({{"op", to_string(row.kind.op)},
                         {"ranks", row.ranks},
                         {"size_bytes", e.bytes},
                         {"count", row.kind.count},
                         {"dtype", to_string(row.kind.dtype)},
                         {"calls", row.calls},
                         {"times_us", row.times_us},
                         {"algbw_gb_per_s", e.algorithm},
                         {"busbw_gb_per_s", e.bus},
                         {"wrong", e.wrong}});
  }
  const Json whole = {
      {"schema", 2},
      {"model", {{"layout", result.model.layout}, {"parameters", result.model.parameters}}},
      {"plan", result.model.plan},
      {"steps", result.steps},
      {"sizes", sizes},
      {"exchanges", exchanges},
      {"unchecked", result.unchecked}};
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
              {"sent_bytes", row.sent_bytes},
              {"exchanges", row.exchanges},
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
    json.at("sent_bytes").get_to(row.sent_bytes);
    json.at("exchanges").get_to(row.exchanges);
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
