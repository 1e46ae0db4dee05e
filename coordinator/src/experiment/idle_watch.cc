#include "experiment/idle_watch.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>

namespace ditar {
namespace {

constexpr std::int64_t kFreeNs = 5'000'000;
constexpr double kFreeShare = 0.03;

}  // namespace

IdleWatch::ThreadTimes IdleWatch::read() const {
  ThreadTimes times;
  for (const pid_t pid : pids_) {
    const std::filesystem::path tasks = "/proc/" + std::to_string(pid) + "/task";
    std::error_code fault;
    for (auto it = std::filesystem::directory_iterator(tasks, fault);
         !fault && it != std::filesystem::directory_iterator(); it.increment(fault)) {
      const std::string name = it->path().filename().string();
      pid_t thread = 0;
      std::from_chars(name.data(), name.data() + name.size(), thread);
      std::int64_t on_cpu = 0;
      if (std::ifstream(it->path() / "schedstat") >> on_cpu) times[{pid, thread}] = on_cpu;
    }
  }
  return times;
}

void IdleWatch::begin() { before_ = read(); }

void IdleWatch::end(std::int64_t elapsed_ns) {
  for (const auto& [thread, now] : read()) {
    const auto old = before_.find(thread);
    busy_ns_ += std::max<std::int64_t>(0, now - (old == before_.end() ? 0 : old->second));
  }
  elapsed_ns_ += elapsed_ns;
}

std::string IdleWatch::fault() const {
  if (busy_ns_ <= kFreeNs ||
      static_cast<double>(busy_ns_) <= kFreeShare * static_cast<double>(elapsed_ns_)) {
    return {};
  }
  char text[160];
  std::snprintf(text, sizeof text,
                "its processes used %.1f ms of CPU time in %.1f ms while only the other arm had a "
                "request",
                static_cast<double>(busy_ns_) * 1e-6, static_cast<double>(elapsed_ns_) * 1e-6);
  return text;
}

}  // namespace ditar
