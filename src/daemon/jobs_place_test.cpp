#include "daemon/jobs_place.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "base/temporary_folder_test.hpp"

namespace cleave {
namespace {

namespace fs = std::filesystem;

class JobsPlace : public testing::Test {
 protected:
  JobsPlace() {
    fs::create_directories(state);
    fs::create_directories(folder.path() / "other");
  }
  /// What is wrong; empty where it is taken.
  [[nodiscard]] std::string refusal(const std::string& given) const {
    const auto place = prepare_jobs_place(state, given);
    return place ? std::string() : place.error().text();
  }
  static bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

  TemporaryFolder folder;
  const fs::path state = folder.path() / "state";
  const std::string elsewhere = folder.path() / "other" / "jobs";
};

TEST_F(JobsPlace, IsUsuallyInTheStateDirectory) {
  const auto place = prepare_jobs_place(state, "");
  ASSERT_TRUE(place) << place.error().text();
  EXPECT_EQ(*place, fs::canonical(state) / "jobs");
  struct stat facts {};
  ASSERT_EQ(::stat(place->c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0711U & ~022U);
  EXPECT_FALSE(fs::exists(state / "jobs.place"));
  EXPECT_EQ(refusal(""), "");
}

TEST_F(JobsPlace, ElsewhereIsNotedOnBothSides) {
  for (int time = 0; time < 2; ++time) {
    const auto place = prepare_jobs_place(state, elsewhere + "/");
    ASSERT_TRUE(place) << place.error().text();
    EXPECT_EQ(*place, fs::path(elsewhere));
  }
  EXPECT_TRUE(fs::exists(state / "jobs.place"));
  EXPECT_TRUE(fs::exists(fs::path(elsewhere) / ".of-cleaved"));
}

TEST_F(JobsPlace, IsNotLeftWhileFoldersOfJobsAreThere) {
  ASSERT_EQ(refusal(""), "");
  for (const char* each : {"12.1", "7.2", "not-a-job"}) fs::create_directory(state / "jobs" / each);
  const std::string there = refusal(elsewhere);
  EXPECT_TRUE(has(there, "7.2 and 1 more")) << there;
  EXPECT_TRUE(has(there, "cleave purge")) << there;
  EXPECT_FALSE(fs::exists(elsewhere)) << "nothing was changed";
  for (const char* each : {"12.1", "7.2"}) fs::remove(state / "jobs" / each);
  ASSERT_EQ(refusal(elsewhere), "");
  fs::create_directory(fs::path(elsewhere) / "13.1");
  EXPECT_TRUE(has(refusal(""), "13.1"));
  EXPECT_TRUE(has(refusal(folder.path() / "third"), "13.1"));
  EXPECT_EQ(refusal(elsewhere), "");
  fs::remove(fs::path(elsewhere) / "13.1");
  EXPECT_EQ(refusal(""), "");
  EXPECT_EQ(refusal(elsewhere), "");
}

TEST_F(JobsPlace, OfAFileSystemThatIsNotMountedIsNotTaken) {
  ASSERT_EQ(refusal(elsewhere), "");
  fs::remove_all(elsewhere);
  fs::create_directory(elsewhere);
  const std::string gone = refusal(elsewhere);
  EXPECT_TRUE(has(gone, "mount its file system")) << gone;
  EXPECT_TRUE(has(refusal(""), "mount its file system")) << "what runs there would be lost";
  fs::remove(state / "jobs.place");
  EXPECT_EQ(refusal(elsewhere), "");
}

TEST_F(JobsPlace, OfAnotherDaemonIsRefused) {
  ASSERT_EQ(refusal(elsewhere), "");
  const fs::path second = folder.path() / "second";
  fs::create_directory(second);
  const auto place = prepare_jobs_place(second, elsewhere);
  ASSERT_FALSE(place);
  EXPECT_TRUE(has(place.error().text(), "it belongs to the daemon whose state is in"));
}

TEST_F(JobsPlace, MustBeAFolderOfItsOwnWithItsWholePath) {
  for (const std::string& wrong : {std::string("jobs"), std::string("/"), state.string()})
    EXPECT_TRUE(has(refusal(wrong), "whole path")) << wrong;
  EXPECT_NE(refusal(folder.path() / "not" / "there"), "") << "its parent may be a mount point";
}

TEST_F(JobsPlace, ThatOthersCanChangeIsNotBelievedByRoot) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root's daemon asks whose it is";
  fs::create_directory(elsewhere);
  fs::permissions(elsewhere, fs::perms::all);
  EXPECT_TRUE(has(refusal(elsewhere), "others may write to it"));
  fs::permissions(elsewhere, fs::perms::owner_all);
  ASSERT_EQ(::chown(elsewhere.c_str(), 1, 1), 0);
  EXPECT_TRUE(has(refusal(elsewhere), "belongs to another user (uid 1)"));
}

TEST_F(JobsPlace, RoomIsThatOfEachFileSystemOnce) {
  fs::create_directory(elsewhere);
  const auto rooms = look_at_disk(state, elsewhere);
  ASSERT_EQ(rooms.size(), 1U);
  EXPECT_EQ(rooms[0].place, state.string());
  EXPECT_GT(rooms[0].bytes, 0);
  EXPECT_LE(rooms[0].free_bytes, rooms[0].bytes);
  const auto two = look_at_disk(state, "/proc/../dev/shm");
  EXPECT_EQ(two.back().place, two.size() == 2 ? "/proc/../dev/shm" : state.string());
  EXPECT_TRUE(look_at_disk("/no/such", "/no/such").empty());
}

}  // namespace
}  // namespace cleave
