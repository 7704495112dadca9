// The folder of an attempt: its name, its lock, its outcome and its mark.

#include "runner/job_directory.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/temporary_folder_test.hpp"

namespace cleave {
namespace {

class JobDirectories : public testing::Test {
 protected:
  TemporaryFolder place;
  Descriptor folder = *open_folder(place.path().string());
};

TEST(JobDirectoryNames, AreReadBackAndNothingElseIs) {
  EXPECT_EQ(directory_name({12, 3}), "12.3");
  EXPECT_EQ(parse_directory_name("12.3"), (JobKey{12, 3}));
  for (const char* wrong : {"", "12", "12.", ".3", "0.1", "1.0", "-1.1", "01.1", "1.1.1", "1.1 ",
                            ".new-1.1", ".gone-1.1-ab", "99999999999999999999.1"})
    EXPECT_FALSE(parse_directory_name(wrong)) << wrong;
}

TEST_F(JobDirectories, HaveOneLock) {
  EXPECT_FALSE(job_lock_is_held(folder.number())) << "there is no file yet";
  {
    const auto lock = take_job_lock(folder.number());
    ASSERT_TRUE(lock && *lock);
    EXPECT_TRUE(job_lock_is_held(folder.number()));
    const auto second = take_job_lock(folder.number());
    ASSERT_TRUE(second);
    EXPECT_FALSE(*second);
  }
  EXPECT_FALSE(job_lock_is_held(folder.number())) << "it ends with its holder";
}

TEST_F(JobDirectories, HoldTheLockWhereItCannotBeRead) {
  std::filesystem::create_symlink("elsewhere", place.path() / lock_file);
  EXPECT_TRUE(job_lock_is_held(folder.number())) << "a job that seems dead is started again";
  EXPECT_FALSE(take_job_lock(folder.number()));
}

TEST_F(JobDirectories, KnowWhetherTheProgramMayHaveRun) {
  EXPECT_TRUE(may_have_begun(folder.number())) << "without a lock nothing is certain";
  const auto lock = take_job_lock(folder.number());
  ASSERT_TRUE(lock && *lock);
  EXPECT_FALSE(may_have_begun(folder.number()));
  ASSERT_TRUE(write_all((*lock)->number(), began_text()));
  EXPECT_TRUE(may_have_begun(folder.number()));
}

ProcessOutcome some_outcome() {
  ProcessOutcome outcome;
  outcome.end = ProcessOutcome::End::signalled;
  outcome.code = 9;
  outcome.stopped = true;
  outcome.began_at = Instant(std::chrono::seconds(100));
  outcome.ended_at = Instant(std::chrono::seconds(107));
  outcome.lasted = std::chrono::seconds(7);
  outcome.err_dropped = 11;
  outcome.leftovers = 2;
  outcome.out_of_memory = OutOfMemorySeen{"pytorch", MiB{512}};
  outcome.reports = {{3, {4, 10, MiB{7}, MiB{8}}}};
  return outcome;
}

TEST_F(JobDirectories, GiveBackTheOutcome) {
  EXPECT_FALSE(*read_outcome(folder.number())) << "there is none yet";
  const auto file = make_outcome_file(folder.number());
  ASSERT_TRUE(file);
  EXPECT_FALSE(*read_outcome(folder.number())) << "an empty file is none";
  ASSERT_TRUE(write_outcome(file->number(), some_outcome()));
  const auto read = read_outcome(folder.number());
  ASSERT_TRUE(read && *read);
  EXPECT_EQ(outcome_text(**read), outcome_text(some_outcome()));
  EXPECT_EQ(in_words(**read), "ended by signal 9 (Killed)");
  EXPECT_FALSE(make_outcome_file(folder.number())) << "there is one already";
}

TEST_F(JobDirectories, TakeATornOutcomeForNone) {
  const std::string record = outcome_record(some_outcome());
  for (std::size_t kept = 0; kept < record.size(); ++kept) {
    std::ofstream(place.path() / outcome_file) << record.substr(0, kept);
    const auto read = read_outcome(folder.number());
    ASSERT_TRUE(read) << kept;
    EXPECT_FALSE(*read) << kept;
  }
  // As after a crash of the machine: the right length, other bytes.
  for (std::size_t at = 0; at < record.size(); at += 7) {
    std::string damaged = record;
    damaged[at] = damaged[at] == 'x' ? 'y' : 'x';
    std::ofstream(place.path() / outcome_file) << damaged;
    EXPECT_FALSE(read_outcome(folder.number()).value_or(std::nullopt)) << at;
  }
}

TEST_F(JobDirectories, BelieveNoOutcomeOfAnotherKind) {
  std::ofstream(place.path() / "other") << outcome_record(some_outcome());
  std::filesystem::create_symlink("other", place.path() / outcome_file);
  EXPECT_FALSE(read_outcome(folder.number())) << "a link";
  std::filesystem::remove(place.path() / outcome_file);
  std::filesystem::create_hard_link(place.path() / "other", place.path() / outcome_file);
  EXPECT_FALSE(read_outcome(folder.number())) << "a second name of another file";
}

TEST_F(JobDirectories, HaveMarksOfTheirOwn) {
  ASSERT_EQ(::mkdirat(folder.number(), user_folder, 0700), 0);
  const auto mark = job_mark(folder.number(), {1, 2});
  ASSERT_TRUE(mark);
  EXPECT_TRUE(mark->text.starts_with("1.2-"));
  EXPECT_EQ(mark->uid, ::geteuid());
  EXPECT_EQ(mark->session, 0) << "no process has written its session";
  const TemporaryFolder elsewhere;
  const Descriptor other = *open_folder(elsewhere.path().string());
  ASSERT_EQ(::mkdirat(other.number(), user_folder, 0700), 0);
  EXPECT_NE(job_mark(other.number(), {1, 2})->text, mark->text) << "the same attempt elsewhere";

  const auto lock = take_job_lock(folder.number());
  ASSERT_TRUE(lock && *lock);
  ASSERT_TRUE(write_all((*lock)->number(), began_text()));
  EXPECT_EQ(job_mark(folder.number(), {1, 2})->session, ::getsid(0));
}

}  // namespace
}  // namespace cleave
