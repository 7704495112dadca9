#include "runner/folder_removal.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/format.hpp"
#include "base/random.hpp"
#include "base/temporary_folder_test.hpp"

namespace cleave {
namespace {

namespace fs = std::filesystem;

struct RemovalStand {
  TemporaryFolder made;
  Descriptor parent = std::move(*open_folder(made.path().string()));
  FolderRemoval removal{parent.number()};
  fs::path jobs = made.path();

  /// Removes all, with a few milliseconds between the steps, and returns their number.
  int finish() {
    int steps = 0;
    while (const auto next = removal.next()) {
      if (++steps > 100'000) return -1;
      if (*next > FolderRemoval::Clock::now() + std::chrono::milliseconds(100)) return -1;
      while (FolderRemoval::Clock::now() < *next) ::usleep(200);
      removal.step();
    }
    return steps;
  }
  [[nodiscard]] bool is_empty() const { return fs::is_empty(jobs); }
};

void make_nested(const fs::path& under, int levels) {
  int at = ::open(under.c_str(), O_RDONLY | O_DIRECTORY);
  for (int i = 0; i < levels; ++i) {
    ASSERT_EQ(::mkdirat(at, "d", 0700), 0);
    const int next = ::openat(at, "d", O_RDONLY | O_DIRECTORY);
    ::close(at);
    at = next;
  }
  ::close(at);
}

TEST(FolderRemoval, RemovesAnyTreeAndNothingElse) {
  RemovalStand stand;
  const fs::path precious = stand.made.path() / "precious";
  fs::create_directory(precious);
  std::ofstream(precious / "file") << "here";
  Random random(9);
  for (int round = 0; round < 8; ++round) {
    std::vector<fs::path> folders = {stand.jobs / "1.1"};
    fs::create_directory(folders[0]);
    for (int i = 0; i < 200; ++i) {
      const fs::path at = folders[random.below(folders.size())] / fmt::format("e{}", i);
      const auto kind = random.below(5);
      if (kind < 2) {
        fs::create_directory(at);
        folders.push_back(at);
      } else if (kind == 2) {
        fs::create_symlink(precious, at);
      } else if (kind == 3) {
        ASSERT_EQ(::mkfifo(at.c_str(), 0), 0);
      } else {
        std::ofstream(at) << "text";
      }
    }
    for (const fs::path& each : folders)
      if (random.below(4) == 0) ::chmod(each.c_str(), 0);
    ASSERT_TRUE(stand.removal.remove("1.1"));
    EXPECT_FALSE(fs::exists(stand.jobs / "1.1")) << "at once";
    EXPECT_GE(stand.finish(), 0);
    EXPECT_EQ(std::distance(fs::directory_iterator(stand.jobs), {}), 1);
  }
  EXPECT_TRUE(fs::exists(precious / "file")) << "a link was followed";
  EXPECT_TRUE(stand.removal.remove("2.1")) << "what is not there";
}

TEST(FolderRemoval, NoDepthIsTooDeepAndNoStepTakesLong) {
  RemovalStand stand;
  fs::create_directory(stand.jobs / "1.1");
  make_nested(stand.jobs / "1.1", 1000);
  for (int i = 0; i < 3000; ++i) std::ofstream(stand.jobs / "1.1" / fmt::format("{}", i));
  const auto before = FolderRemoval::Clock::now();
  ASSERT_TRUE(stand.removal.remove("1.1"));
  EXPECT_LT(FolderRemoval::Clock::now() - before, std::chrono::seconds(1));
  EXPECT_TRUE(stand.removal.next().has_value()) << "not in one step";
  EXPECT_GT(stand.finish(), 1);
  EXPECT_TRUE(stand.is_empty());
}

TEST(FolderRemoval, OneThatGrowsHoldsUpNoOther) {
  RemovalStand stand;
  fs::create_directories(stand.jobs / "1.1" / "user");
  const Descriptor held(::open((stand.jobs / "1.1" / "user").c_str(), O_RDONLY | O_DIRECTORY));
  for (int i = 0; i < 2000; ++i) std::ofstream(stand.jobs / "1.1" / "user" / fmt::format("{}", i));
  ASSERT_TRUE(stand.removal.remove("1.1"));
  fs::create_directory(stand.jobs / "2.1");
  ASSERT_TRUE(stand.removal.remove("2.1"));
  for (int i = 0; i < 500 && stand.removal.next(); ++i) {
    (void)!::close(
        ::openat(held.number(), fmt::format("more{}", i).c_str(), O_CREAT | O_WRONLY, 0600));
    stand.removal.step();
    ::usleep(1000);
  }
  EXPECT_GE(stand.finish(), 0);
  EXPECT_TRUE(stand.is_empty());
}

TEST(FolderRemoval, AnotherOneGoesOnWhereOneStopped) {
  RemovalStand stand;
  fs::create_directory(stand.jobs / "1.1");
  for (int i = 0; i < 3000; ++i) std::ofstream(stand.jobs / "1.1" / fmt::format("{}", i));
  ASSERT_TRUE(stand.removal.remove("1.1"));
  stand.removal = FolderRemoval(stand.parent.number());
  for (const auto& each : fs::directory_iterator(stand.jobs))
    stand.removal.go_on_with(each.path().filename().string());
  EXPECT_GT(stand.finish(), 0);
  EXPECT_TRUE(stand.is_empty());
}

TEST(BytesBelow, CountsAllThatIsThereAndGivesUpInTime) {
  TemporaryFolder made;
  const fs::path top = made.path();
  const Descriptor folder = std::move(*open_folder(top.string()));
  const std::int64_t none = *bytes_below(folder.number(), 1000);
  fs::create_directories(top / "a" / "b");
  std::ofstream(top / "a" / "b" / "large") << std::string(1 << 20, 'x');
  fs::create_symlink("/usr", top / "link");
  const auto some = bytes_below(folder.number(), 1000);
  ASSERT_TRUE(some.has_value());
  EXPECT_GE(*some - none, 1 << 20);
  EXPECT_LT(*some - none, 1 << 21) << "a link was followed";
  EXPECT_EQ(bytes_below(folder.number(), 3), std::nullopt);
  make_nested(top, 20);
  EXPECT_EQ(bytes_below(folder.number(), 1000), std::nullopt) << "too deep";
}

}  // namespace
}  // namespace cleave
