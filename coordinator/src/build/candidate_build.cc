#include "ditar/coordinator/candidate_build.h"

#include "build/build_recipe.h"
#include "ditar/config/error.h"
#include "ditar/config/sha256.h"
#include "ditar/coordinator/blob_store.h"
#include "ditar/coordinator/file_lock.h"
#include "ditar/coordinator/subprocess.h"
#include "ditar/coordinator/tree_export.h"
#include "ledger/file_io.h"

#include <sched.h>

#include <algorithm>

namespace ditar {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
constexpr std::int64_t kMostFileBytes = std::int64_t{8} << 30;
constexpr std::int64_t kMostProcesses = 8192;

int allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

std::string text_of(const fs::path& file) {
  std::error_code ignored;
  return fs::is_regular_file(file, ignored) ? read_whole(file) : std::string();
}

void touch(const fs::path& path) {
  std::error_code ignored;
  fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
}

// One build in the slot, from the lock to the copied binary.
class SlotBuild {
 public:
  SlotBuild(const GitRepository& git, const BuildRequest& request, Clock::time_point start)
      : git_(git),
        request_(request),
        deadline_(start + request.timeout),
        slot_(request.state_directory / "build-slot"),
        environment_(build_environment(request)),
        tools_(find_build_tools(environment_, !request.cuda_architectures.empty())) {
    result_.recipe = build_recipe(request, tools_, environment_);
    const std::string key = request.tree + "-" + result_.recipe.substr(0, 12);
    destination_ = request.state_directory / "builds" / key;
    result_.binary = destination_ / fs::path(request.binary).filename();
    result_.log = destination_ / "build.log";
  }

  BuildResult run() {
    fs::create_directories(slot_);
    fs::create_directories(destination_);
    const FileLock lock(slot_ / "lock");
    result_.source = export_tree(git_, request_.tree, request_.state_directory);
    if (!request_.fresh && find_earlier()) return result_;
    prepare();
    if (!step("configure", tools_.cmake, configure_arguments())) return result_;
    if (!step("compile", tools_.ninja, compile_arguments())) return result_;
    keep_binary();
    return result_;
  }

 private:
  bool find_earlier() {
    const std::string hash = text_of(destination_ / "sha256");
    std::error_code ignored;
    if (hash.empty() || !fs::is_regular_file(result_.binary, ignored) ||
        sha256_file(result_.binary) != hash) {
      return false;
    }
    result_.ok = result_.reused = true;
    result_.binary_sha256 = hash;
    result_.flags = build_flags_from(text_of(destination_ / "flags"));
    touch(destination_);
    return true;
  }

  // After a step back of the clock, new sources could look older than what was made from old ones.
  bool stamp_is_from_the_future() const {
    std::error_code ignored;
    return fs::last_write_time(slot_ / "stamp", ignored) > fs::file_time_type::clock::now();
  }

  /// Removes what CMake and the linker wrote: the next configuration starts without a cache.
  void keep_objects_alone() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(slot_ / "build")) {
      const std::string name = entry.path().filename().string();
      const bool object =
          entry.path().extension() == ".o" || name == ".ninja_log" || name == ".ninja_deps";
      if (!entry.is_directory() && !object) files.push_back(entry.path());
    }
    for (const fs::path& file : files) fs::remove(file);
  }

  void prepare() {
    const SlotStamp now = slot_stamp(result_.recipe, git_.list_tree(request_.tree));
    const std::string stamp = now.names + "\n" + now.cmake, before = text_of(slot_ / "stamp");
    result_.from_scratch =
        request_.fresh || before.rfind(now.names + "\n", 0) != 0 || stamp_is_from_the_future();
    // The stamp is back only after a build that ended by itself: a killed compiler may leave
    // anything.
    fs::remove(slot_ / "stamp");
    if (result_.from_scratch) {
      fs::remove_all(slot_ / "build");
    } else if (before != stamp) {
      keep_objects_alone();
    }
    fs::create_directories(slot_ / "build");
    for (const char* name : {"home", "tmp"}) {
      fs::remove_all(slot_ / name);
      fs::create_directories(slot_ / name);
    }
    sync_tree(git_, request_.tree, slot_ / "src");
    stamp_ = stamp;
    fs::remove(result_.log);
  }

  std::vector<std::string> configure_arguments() const {
    const std::string map = "-ffile-prefix-map=" + (slot_ / "src").string() +
                            "=. -ffile-prefix-map=" + (slot_ / "build").string() + "=build";
    std::vector<std::string> words = {"-S",
                                      (slot_ / "src").string(),
                                      "-B",
                                      (slot_ / "build").string(),
                                      "-G",
                                      "Ninja",
                                      "-DCMAKE_MAKE_PROGRAM=" + tools_.ninja.string(),
                                      "-DCMAKE_CXX_COMPILER=" + tools_.compiler.string(),
                                      "-DCMAKE_BUILD_TYPE=" + request_.build_type,
                                      "-DCMAKE_C_FLAGS=" + map,
                                      "-DCMAKE_CXX_FLAGS=" + map,
                                      "-DCMAKE_SKIP_BUILD_RPATH=ON",
                                      "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"};
    words.insert(words.end(), request_.cmake_options.begin(), request_.cmake_options.end());
    if (!request_.cuda_architectures.empty()) add_cuda(words, map);
    return words;
  }

  void add_cuda(std::vector<std::string>& words, std::string flags) const {
    std::string architectures;
    for (const int architecture : request_.cuda_architectures) {
      architectures += (architectures.empty() ? "" : ";") + std::to_string(architecture);
    }
    // nvcc hands the host compiler's flags on as one list.
    std::replace(flags.begin(), flags.end(), ' ', ',');
    words.insert(words.end(),
                 {"-DDITAR_ENABLE_CUDA=ON", "-DCMAKE_CUDA_ARCHITECTURES=" + architectures,
                  "-DCMAKE_CUDA_COMPILER=" + tools_.nvcc.string(),
                  "-DCMAKE_CUDA_HOST_COMPILER=" + tools_.compiler.string(),
                  "-DCMAKE_CUDA_FLAGS=-Xcompiler=" + flags});
  }

  std::vector<std::string> compile_arguments() const {
    const int jobs = request_.jobs > 0 ? request_.jobs : allowed_cpus();
    return {"-C", (slot_ / "build").string(), "-j", std::to_string(jobs), request_.target};
  }

  FencePlan fence() const {
    FencePlan plan;
    plan.readable = {slot_ / "src"};
    plan.writable = {slot_ / "build", slot_ / "home", slot_ / "tmp"};
    plan.directory = slot_ / "build";
    plan.file_bytes = kMostFileBytes;
    plan.processes = kMostProcesses;
    for (const fs::path& tool : {tools_.cmake, tools_.ninja, tools_.compiler}) {
      add_program_folders(plan, tool);
    }
    if (!tools_.nvcc.empty()) add_program_folders(plan, tools_.nvcc);
    const auto path = environment_.find("PATH");
    add_search_path(plan, path == environment_.end() ? nullptr : path->second.c_str());
    return plan;
  }

  bool step(const std::string& phase, const fs::path& program,
            const std::vector<std::string>& arguments) {
    ProcessSpec spec;
    std::vector<std::string> words = fence_command(request_.isolate, fence());
    words.push_back(program.string());
    words.insert(words.end(), arguments.begin(), arguments.end());
    spec.program = words.front();
    spec.arguments.assign(words.begin() + 1, words.end());
    spec.environment = environment_;
    spec.directory = slot_;
    spec.log_file = result_.log;
    spec.timeout = std::max(std::chrono::milliseconds(1),
                            std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now()));
    spec.cancel = request_.cancel;
    const ProcessResult done = run_process(spec);
    if (done.ok()) return true;
    result_.phase = done.cancelled ? "cancelled" : phase;
    result_.timed_out = done.timed_out;
    result_.first_error = done.timed_out ? "the build did not end within its time limit"
                                         : first_build_error(text_of(result_.log), slot_ / "src");
    if (result_.first_error.empty()) result_.first_error = phase + " failed; see the log";
    // A compile that ended by itself leaves only whole objects: the next build may go on from them.
    if (result_.phase == "compile" && !done.timed_out) write_file_durably(slot_ / "stamp", stamp_);
    return false;
  }

  void keep_binary() {
    const fs::path built = slot_ / "build" / request_.binary;
    std::error_code ignored;
    if (!fs::is_regular_file(fs::symlink_status(built, ignored))) {
      result_.phase = "compile";
      result_.first_error = "the build made no " + request_.binary;
      return;
    }
    const fs::path fresh = result_.binary.string() + ".new";
    fs::copy_file(built, fresh, fs::copy_options::overwrite_existing);
    fs::permissions(fresh, fs::perms(0555));
    result_.binary_sha256 = sha256_file(fresh);
    fs::remove(result_.binary);
    fs::rename(fresh, result_.binary);
    result_.flags = build_flags(text_of(slot_ / "build/compile_commands.json"),
                                (slot_ / "src").string(), (slot_ / "build").string());
    write_file_durably(destination_ / "flags", to_text(result_.flags));
    write_file_durably(destination_ / "sha256", result_.binary_sha256);
    write_file_durably(slot_ / "stamp", stamp_);
    result_.ok = true;
  }

  const GitRepository& git_;
  const BuildRequest& request_;
  Clock::time_point deadline_;
  fs::path slot_, destination_;
  std::map<std::string, std::string> environment_;
  BuildTools tools_;
  std::string stamp_;
  BuildResult result_;
};

}  // namespace

std::filesystem::path export_tree(const GitRepository& git, const std::string& tree,
                                  const std::filesystem::path& state_directory) {
  const fs::path folder = state_directory / "trees" / tree;
  sync_tree(git, tree, folder);  // mends what anybody changed since
  touch(folder);
  return folder;
}

BuildResult build_candidate(const GitRepository& git, const BuildRequest& request) {
  require(request.state_directory.is_absolute(), "the state folder's path must be absolute");
  const Clock::time_point start = Clock::now();
  try {
    BuildResult result = SlotBuild(git, request, start).run();
    result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return result;
  } catch (const fs::filesystem_error& error) {
    throw IoError(std::string("cannot build a candidate: ") + error.what());
  }
}

}  // namespace ditar
