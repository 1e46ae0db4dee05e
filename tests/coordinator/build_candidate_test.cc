#include "ditar/coordinator/candidate_build.h"
#include "experiment/class_audit.h"
#include "scratch_repository.h"

#include <gtest/gtest.h>

namespace ditar {
namespace {

// A project like ours in small: a header, a source, a program.
void put_project(const ScratchRepository& scratch) {
  scratch.put("CMakeLists.txt",
              "cmake_minimum_required(VERSION 3.25)\nproject(t LANGUAGES C CXX)\n"
              "set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)\n"
              "add_executable(dit-worker main.cc part.cc)\n");
  scratch.put("main.cc",
              "#include \"part.h\"\n#include <cstdio>\n"
              "int main() { std::printf(\"%d %s %s\", part(), __FILE__, __TIME__); }\n");
  scratch.put("part.h", "int part();\n#define VALUE 1\n");
  scratch.put("part.cc", "#include \"part.h\"\nint part() { return VALUE; }\n");
  scratch.put(".gitignore", "/.autoresearch/\n");
}

BuildRequest request_for(const GitRepository& git) {
  BuildRequest request;
  request.tree = git.tree_of("HEAD");
  request.state_directory = git.root() / ".autoresearch";
  request.isolate = find_isolation();  // as shipped
  return request;
}

TEST(CandidateBuildTest, BuildingOnGivesTheSameBinaryAsBuildingAnew) {
  const ScratchRepository scratch;
  put_project(scratch);
  scratch.commit("first");
  const GitRepository git = GitRepository::open(scratch.root());
  const BuildResult first = build_candidate(git, request_for(git));
  ASSERT_TRUE(first.ok) << first.first_error;
  EXPECT_TRUE(first.from_scratch);
  EXPECT_TRUE(build_candidate(git, request_for(git)).reused);

  scratch.put("part.h", "int part();\n#define VALUE 2\n");
  scratch.commit("second");
  const BuildResult second = build_candidate(git, request_for(git));
  ASSERT_TRUE(second.ok);
  EXPECT_FALSE(second.from_scratch);
  EXPECT_NE(second.binary_sha256, first.binary_sha256);

  BuildRequest anew = request_for(git);
  anew.fresh = true;
  const BuildResult clean = build_candidate(git, anew);
  ASSERT_TRUE(clean.ok);
  EXPECT_TRUE(clean.from_scratch);
  EXPECT_EQ(clean.binary_sha256, second.binary_sha256);

  scratch.put("unused.h", "\n");  // a new name could change what an include finds
  scratch.commit("third");
  EXPECT_TRUE(build_candidate(git, request_for(git)).from_scratch);
}

TEST(CandidateBuildTest, CMakeFilesThatChangeAreConfiguredAnewOverTheSameObjects) {
  const ScratchRepository scratch;
  put_project(scratch);
  const std::string lists = ScratchRepository::read(scratch.root() / "CMakeLists.txt");
  scratch.put("CMakeLists.txt", lists + "set(LEFT_BEHIND 1 CACHE STRING \"\")\n");
  scratch.commit("first");
  const GitRepository git = GitRepository::open(scratch.root());
  ASSERT_TRUE(build_candidate(git, request_for(git)).ok);
  const auto object =
      request_for(git).state_directory / "build-slot/build/CMakeFiles/dit-worker.dir/part.cc.o";
  const auto compiled_at = std::filesystem::last_write_time(object);

  scratch.put("more.cc", "int more() { return 3; }\n");  // a source is no header
  scratch.put("CMakeLists.txt",
              lists +
                  "target_sources(dit-worker PRIVATE more.cc)\n"
                  "if(LEFT_BEHIND)\n  message(FATAL_ERROR \"an old cache\")\nendif()\n");
  scratch.commit("second");
  const BuildResult second = build_candidate(git, request_for(git));
  ASSERT_TRUE(second.ok) << second.first_error;
  EXPECT_FALSE(second.from_scratch);
  EXPECT_EQ(std::filesystem::last_write_time(object), compiled_at) << "part.cc was compiled again";

  scratch.put("CMakeLists.txt", lists +
                                    "target_sources(dit-worker PRIVATE more.cc)\n"
                                    "target_compile_options(dit-worker PRIVATE -fno-inline)\n");
  scratch.commit("third");
  const BuildResult third = build_candidate(git, request_for(git));
  ASSERT_TRUE(third.ok) << third.first_error;
  EXPECT_NE(std::filesystem::last_write_time(object), compiled_at) << "a new flag needs a compile";
  BuildRequest anew = request_for(git);
  anew.fresh = true;
  EXPECT_EQ(build_candidate(git, anew).binary_sha256, third.binary_sha256);
}

TEST(CandidateBuildTest, CompileErrorIsAResultWithItsPlace) {
  const ScratchRepository scratch;
  put_project(scratch);
  scratch.put("part.cc", "#include \"part.h\"\nint part() { return missing; }\n");
  scratch.commit("broken");
  const GitRepository git = GitRepository::open(scratch.root());
  const BuildResult broken = build_candidate(git, request_for(git));
  EXPECT_FALSE(broken.ok);
  EXPECT_EQ(broken.phase, "compile");
  EXPECT_EQ(broken.first_error.rfind("part.cc:2: ", 0), 0u) << broken.first_error;
  scratch.put("CMakeLists.txt", "cmake_minimum_required(VERSION 3.25)\nproject(t)\nnonsense()\n");
  scratch.commit("broken more");
  const BuildResult worse = build_candidate(git, request_for(git));
  EXPECT_EQ(worse.phase, "configure");
  EXPECT_EQ(worse.first_error.rfind("CMakeLists.txt:3: ", 0), 0u) << worse.first_error;
}

TEST(BuildLogTest, FindsTheFirstErrorOfEachTool) {
  EXPECT_EQ(
      first_build_error("x\n/s/a.cc:3:7: warning: w\n/s/a.cc:4:9: error: e\nb: error: f\n", "/s"),
      "a.cc:4: e");
  EXPECT_EQ(first_build_error("/s/a.h:1:10: fatal error: no.h: No such file\n", "/s"),
            "a.h:1: no.h: No such file");
  EXPECT_EQ(first_build_error("/s/k.cu(12): error: identifier\n", "/s"), "k.cu:12: identifier");
  EXPECT_NE(first_build_error("a.cc:(.text+0x5): undefined reference to `f()'\n"
                              "collect2: error: ld returned 1 exit status\n",
                              "/s")
                .find("undefined reference to `f()'"),
            std::string::npos);
  EXPECT_EQ(first_build_error("all fine\n", "/s"), "");
}

TEST(BuildFlagsTest, AreThoseOfTheCompileLinesWithoutPaths) {
  const std::string commands = R"([{"directory": "/b", "file": "/s/k/a.cc",
    "command": "/usr/bin/c++ \"-DNAME=\\\"x y\\\"\" -I/s/k -O3 -o k/a.o -c /s/k/a.cc"}])";
  const BuildFlags flags = build_flags(commands, "/s", "/b");
  ASSERT_EQ(flags.size(), 1U);
  EXPECT_EQ(flags.at("k/a.cc"), (std::set<std::string>{"-DNAME=\"x y\"", "-I/k", "-O3"}));
  EXPECT_EQ(build_flags_from(to_text(flags)), flags);
  EXPECT_TRUE(build_flags("not JSON", "/s", "/b").empty());
}

TEST(BuildFlagsTest, DifferencesNameFlagAndFiles) {
  const BuildFlags before = {{"a.cc", {"-O2"}}, {"b.cc", {"-O2"}}, {"gone.cc", {"-g"}}};
  const BuildFlags after = {{"a.cc", {"-O2", "-ffast-math"}}, {"b.cc", {"-ffast-math"}}};
  EXPECT_EQ(flag_differences(before, after),
            (std::vector<std::string>{"+-ffast-math in a.cc and 1 others", "--O2 in b.cc"}));
  EXPECT_TRUE(flag_differences(before, before).empty());
}

TEST(CandidateBuildTest, FlagsOfABuildAreKeptBesideItsBinary) {
  const ScratchRepository scratch;
  put_project(scratch);
  scratch.commit("first");
  const GitRepository git = GitRepository::open(scratch.root());
  const BuildResult built = build_candidate(git, request_for(git));
  ASSERT_TRUE(built.ok) << built.first_error;
  ASSERT_TRUE(built.flags.contains("part.cc"));
  const BuildResult again = build_candidate(git, request_for(git));
  EXPECT_TRUE(again.reused);
  EXPECT_EQ(again.flags, built.flags);
  scratch.put("CMakeLists.txt", ScratchRepository::read(scratch.root() / "CMakeLists.txt") +
                                    "set_source_files_properties(part.cc PROPERTIES "
                                    "COMPILE_OPTIONS -ffast-math)\n");
  scratch.commit("fast");
  const BuildResult fast = build_candidate(git, request_for(git));
  ASSERT_TRUE(fast.ok) << fast.first_error;
  EXPECT_EQ(flag_differences(built.flags, fast.flags),
            std::vector<std::string>{"+-ffast-math in part.cc"});
}

TEST(ClassAuditTest, TellsClassFlagsAndWork) {
  ClassAuditInput input{"exact", "numerical", {{"a.cc", {"-O2"}}}, {{"a.cc", {"-O3"}}}, {}, {}};
  EXPECT_EQ(class_audit(input),
            (std::vector<std::string>{"claimed exact, measured numerical",
                                      "compiler flag +-O3 in a.cc", "compiler flag --O2 in a.cc"}));
  RankReport rank;
  rank.phases = {{"denoise", 1.0, 100, 2e9, 0.0}, {"denoise/linear 1x2x3", 1.0, 60, 2e9, 0.0}};
  input = {"exact", "exact", {}, {}, {rank}, {rank}};
  EXPECT_TRUE(class_audit(input).empty());
  input.ranks_candidate[0].phases[0].flops = 1e9;
  input.ranks_candidate[0].phases[0].calls = 90;
  EXPECT_EQ(class_audit(input),
            (std::vector<std::string>{"a request counts 1 GFLOP, the best's 2",
                                      "a request runs 90 operations, the best's 100"}));
}

TEST(PruneBuildsTest, RemovesTheOldestUntilTheBudgetHolds) {
  const TempFolder folder;
  const auto now = std::filesystem::file_time_type::clock::now();
  int age = 9;
  for (const char* name : {"trees/aa", "builds/aa-1", "trees/bb", "builds/bb-1", "trees/cc"}) {
    std::filesystem::create_directories(folder / name);
    std::ofstream(folder / name / "f") << std::string(1000, 'x');
    std::filesystem::last_write_time(folder / name, now - std::chrono::hours(age--));
  }
  EXPECT_EQ(prune_builds(folder.path(), 5000, {}), 0);
  EXPECT_EQ(prune_builds(folder.path(), 3500, {"aa"}), 2000);
  EXPECT_TRUE(std::filesystem::exists(folder / "trees/aa"));
  EXPECT_FALSE(std::filesystem::exists(folder / "trees/bb"));
  EXPECT_FALSE(std::filesystem::exists(folder / "builds/bb-1"));
  EXPECT_TRUE(std::filesystem::exists(folder / "trees/cc"));
}

}  // namespace
}  // namespace ditar
