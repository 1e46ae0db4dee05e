#include "ditar/coordinator/candidate_build.h"
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
