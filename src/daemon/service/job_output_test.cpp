#include "daemon/service/job_output.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "base/random.hpp"
#include "base/temporary_folder_test.hpp"
#include "runner/job_log.hpp"

namespace cleave {
namespace {

constexpr JobKey key{12, 1};

struct OutputFolder {
  TemporaryFolder jobs;
  std::string path = (jobs.path() / "12.1" / "user").string();
  Descriptor folder;
  OutputFolder() {
    ::mkdir((jobs.path() / "12.1").c_str(), 0700);
    ::mkdir(path.c_str(), 0700);
    folder = std::move(*open_folder(path));
  }
  Result<JobOutputPiece> read(std::int64_t offset, std::int64_t most = 1 << 20) const {
    return read_job_output(jobs.path().string(), key, ::geteuid(), "stdout", offset, most);
  }
};

TEST(JobOutput, OffsetsMeanTheSameBytesHoweverTheFilesChangePlaces) {
  OutputFolder here;
  JobLog log(here.folder.number(), "stdout", 4096);
  Random random(3);
  std::string all;
  for (int i = 0; i < 400; ++i) {
    std::string text(random.below(300), static_cast<char>('a' + i % 26));
    text += "\n";
    log.append(text);
    all += text;
    const auto whole = here.read(0);
    ASSERT_TRUE(whole) << whole.error().text();
    ASSERT_EQ(whole->end, static_cast<std::int64_t>(all.size()));
    ASSERT_EQ(whole->next(), whole->end);
    ASSERT_EQ(whole->bytes, all.substr(static_cast<std::size_t>(whole->offset)));
    const auto offset = static_cast<std::int64_t>(random.below(all.size() + 10));
    const auto some = here.read(offset, 100);
    ASSERT_TRUE(some);
    ASSERT_GE(some->offset, std::min(offset, some->end));
    ASSERT_EQ(some->bytes, all.substr(static_cast<std::size_t>(some->offset), 100));
    const auto last = here.read(-50);
    ASSERT_EQ(last->bytes, all.size() < 50 ? all : all.substr(all.size() - 50));
  }
  EXPECT_GT(here.read(0)->offset, 0);
}

TEST(JobOutput, FollowingLosesNothingThatWasThere) {
  OutputFolder here;
  std::atomic<bool> over = false;
  std::thread writes([&] {
    JobLog log(here.folder.number(), "stdout", 1 << 16);
    for (int i = 0; i < 20'000; ++i) log.append(std::to_string(i) + "\n");
    over = true;
  });
  std::int64_t offset = 0;
  std::string all;
  bool gap = false;
  while (true) {
    const bool last = over;
    const auto piece = here.read(offset);
    ASSERT_TRUE(piece);
    if (piece->offset != offset) gap = true;
    if (gap) break;
    all += piece->bytes;
    offset = piece->next();
    if (last && piece->bytes.empty()) break;
  }
  writes.join();
  std::string expected;
  for (int i = 0; i < 20'000; ++i) expected += std::to_string(i) + "\n";
  EXPECT_EQ(all, expected.substr(0, all.size()))
      << "what was read is the beginning of what was written";
  if (!gap) {
    EXPECT_EQ(all.size(), expected.size());
  }
}

TEST(JobOutput, TheJobsUserGainsNothingByFilesPutThere) {
  OutputFolder here;
  const std::string log = here.path + "/stdout.log";
  const auto expect_nothing = [&](const char* what) {
    const auto piece = here.read(0);
    ASSERT_TRUE(piece) << what;
    EXPECT_TRUE(piece->bytes.empty()) << what;
  };
  expect_nothing("nothing is there");
  ASSERT_EQ(::symlink("/etc/passwd", log.c_str()), 0);
  expect_nothing("a link");
  ASSERT_EQ(::unlink(log.c_str()), 0);
  ASSERT_EQ(::mkfifo(log.c_str(), 0600), 0);
  expect_nothing("a FIFO");
  ASSERT_EQ(::unlink(log.c_str()), 0);
  ASSERT_EQ(::mkdir(log.c_str(), 0700), 0);
  expect_nothing("a folder");
  ASSERT_EQ(::rmdir(log.c_str()), 0);
  // A hard link to a file that may belong to another user.
  const std::string other = here.path + "/other";
  ::close(::creat(other.c_str(), 0600));
  ASSERT_EQ(::link(other.c_str(), log.c_str()), 0);
  expect_nothing("a hard link");
  ASSERT_EQ(::unlink(log.c_str()), 0);
  // A first line that lies moves the offsets of this job, and no further than they go.
  const Descriptor file(::creat(log.c_str(), 0600));
  const std::string lie = "[cleave: 99999999999999999999 bytes before this line were dropped]\nabc";
  ASSERT_TRUE(write_all(file.number(), lie));
  EXPECT_EQ(here.read(0)->bytes, lie);
  ASSERT_EQ(::ftruncate(file.number(), std::int64_t{1} << 40), 0);
  const auto huge = here.read(-10);
  ASSERT_TRUE(huge);
  EXPECT_EQ(huge->bytes.size(), 10U);
  EXPECT_EQ(
      read_job_output(here.jobs.path().string(), key, ::geteuid() + 1, "stdout", 0, 100)->bytes, "")
      << "the file of another user";
  // The folder itself is a link.
  ASSERT_EQ(::symlink(here.path.c_str(), (here.jobs.path() / "13.1").c_str()), 0);
  EXPECT_FALSE(read_job_output(here.jobs.path().string(), {13, 1}, ::geteuid(), "stdout", 0, 100));
}

}  // namespace
}  // namespace cleave
