// Output and reports of jobs.

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/format.hpp"
#include "runner/reports/memory_report_line.hpp"
#include "stand.hpp"

namespace cleave::supervised {
namespace {

std::vector<NumberedReport> reports_of(const Stand& stand, const JobKey& key) {
  std::vector<NumberedReport> reports;
  for (const RunnerEvent& event : stand.events())
    if (const auto* reported = std::get_if<JobReported>(&event.what);
        reported != nullptr && event.key == key)
      reports.push_back(reported->report);
  return reports;
}

/// A program in Python that sends lines to the socket; `lines` is an expression with i.
std::string sends(int count, const std::string& lines) {
  return fmt::format(
      "exec python3 -c \"\nimport os, socket\ns = socket.socket(socket.AF_UNIX, "
      "socket.SOCK_DGRAM)\n"
      "for i in range(1, {} + 1):\n    s.sendto(({}).encode(), os.environ['CLEAVE_REPORT'])\n\"",
      count, lines);
}
const std::string good_line =
    "'{\\\"iteration\\\":%d,\\\"requested_bytes\\\":1048576,\\\"allocated_bytes\\\":2097152}' % i";

TEST(SupervisedOutput, ALogKeepsTheNewestBytesAndTheJobGoesOn) {
  Stand stand;
  Launch launch =
      stand.launch("i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done; echo done >&2");
  launch.log_limit = 16384;
  const JobKey key = stand.start(launch);
  const ProcessOutcome* outcome = stand.wait_for_end(key);
  ASSERT_NE(outcome, nullptr);
  EXPECT_EQ(outcome->code, 0);
  EXPECT_GT(outcome->out_dropped, 150'000);
  EXPECT_EQ(outcome->err_dropped, 0);
  const std::string old = stand.text(key, "stdout.old.log"), newest = stand.text(key, "stdout.log");
  EXPECT_LE(old.size() + newest.size(), 16384U);
  EXPECT_TRUE(newest.ends_with("line 19999\n"));
  const std::string mark =
      fmt::format("[cleave: {:>20} bytes before this line were dropped]\n", outcome->out_dropped);
  EXPECT_TRUE(old.starts_with(mark)) << old.substr(0, 80);
  const std::string none = fmt::format("[cleave: {:>20} bytes before this line were dropped]\n", 0);
  EXPECT_TRUE(newest.starts_with(none));
  // Nothing is missing between the two, and all bytes are accounted for.
  std::string all;
  for (int i = 0; i < 20000; ++i) all += fmt::format("line {}\n", i);
  EXPECT_EQ(old.substr(mark.size()) + newest.substr(none.size()),
            all.substr(static_cast<std::size_t>(outcome->out_dropped)));
}

TEST(SupervisedOutput, GoesToFilesOfTheUsersToo) {
  Stand stand;
  Launch launch = stand.launch("echo one; sleep 0.1; echo two >&2; sleep 0.1; echo three");
  launch.output_file = stand.path("both.out");
  const JobKey key = stand.start(launch);
  ASSERT_NE(stand.wait_for_end(key), nullptr);
  EXPECT_EQ(read_text(launch.output_file), "one\ntwo\nthree\n") << "errors too, as they come";
  EXPECT_EQ(stand.text(key, "stdout.log"), "one\nthree\n");
  Launch again = stand.launch("echo later; exit 3");
  again.key.attempt = 2;
  again.output_file = again.error_file = launch.output_file;
  const JobKey second = stand.start(again);
  const ProcessOutcome* outcome = stand.wait_for_end(second);
  ASSERT_NE(outcome, nullptr);
  EXPECT_EQ(outcome->code, 3);
  EXPECT_EQ(read_text(launch.output_file), "one\ntwo\nthree\nlater\n");
}

TEST(SupervisedOutput, FilesThatAreNotFilesAreRefused) {
  Stand stand;
  ASSERT_EQ(::mkfifo(stand.path("pipe").c_str(), 0600), 0);
  for (const std::string& file : {stand.path("pipe"), stand.path(""), std::string("/dev/full"),
                                  stand.path("pipe") + "/below"}) {
    Launch launch = stand.launch("echo never > ran");
    launch.working_directory = stand.path("");
    launch.output_file = file;
    const ProcessOutcome* outcome = stand.wait_for_end(stand.start(launch));
    ASSERT_NE(outcome, nullptr) << file;
    EXPECT_EQ(outcome->end, ProcessOutcome::End::not_started) << file;
    EXPECT_NE(outcome->reason.find("output"), std::string::npos) << outcome->reason;
  }
  EXPECT_EQ(::access(stand.path("ran").c_str(), F_OK), -1);
  Launch launch = stand.launch("echo nowhere");
  launch.output_file = "/dev/null";
  const ProcessOutcome* outcome = stand.wait_for_end(stand.start(launch));
  ASSERT_NE(outcome, nullptr);
  EXPECT_EQ(outcome->code, 0);
}

TEST(SupervisedOutput, ClosedOutputsAndWordsAfterTheEndAreFine) {
  Stand stand;
  const JobKey closed = stand.start_script("exec >&- 2>&-; sleep 0.05; exit 3");
  const JobKey late = stand.start_script(
      "(trap 'echo late; exit' TERM; while :; do sleep 0.01; done) & sleep 0.05");
  ASSERT_NE(stand.wait_for_end(closed), nullptr);
  EXPECT_EQ(stand.outcome(closed)->code, 3);
  ASSERT_NE(stand.wait_for_end(late), nullptr);
  EXPECT_EQ(stand.text(late, "stdout.log"), "late\n");
}

TEST(SupervisedOutput, AFullDiskStopsNeitherTheJobNorTheRecord) {
  Stand stand;
  const std::string jobs = stand.path("jobs");
  if (::mount("none", jobs.c_str(), "tmpfs", 0, "size=256k,mode=711") != 0)
    GTEST_SKIP() << "needs to mount a small file system, which only root may";
  (void)stand.begin_again();
  const JobKey key =
      stand.start_script("head -c 2000000 /dev/zero; echo CUDA error: out of memory >&2; exit 6");
  const ProcessOutcome* outcome = stand.wait_for_end(key);
  EXPECT_NE(outcome, nullptr);
  if (outcome != nullptr) {
    EXPECT_EQ(outcome->code, 6);
    EXPECT_GT(outcome->out_dropped, 1'500'000);
    EXPECT_TRUE(outcome->out_of_memory.has_value());
  }
  (void)stand.runner().forget(key);
  ::umount2(jobs.c_str(), MNT_DETACH);
}

TEST(SupervisedOutput, TheWordsOfOutOfMemoryAreSeen) {
  Stand stand;
  const JobKey key = stand.start_script(
      "echo 'CUDA error: out of memory'; "  // not an error's output
      "printf 'torch.OutOfMemoryError: CUDA out of memory. Tried to all' >&2; sleep 0.02; "
      "printf 'ocate 2.00 GiB. GPU 0' >&2; exit 1");
  const JobKey fine = stand.start_script("echo 'CUDA error: out of memory'; exit 1");
  const ProcessOutcome* outcome = stand.wait_for_end(key);
  ASSERT_NE(outcome, nullptr);
  ASSERT_TRUE(outcome->out_of_memory.has_value());
  EXPECT_EQ(outcome->out_of_memory->framework, "pytorch");
  EXPECT_EQ(outcome->out_of_memory->requested, MiB{2048});
  ASSERT_NE(stand.wait_for_end(fine), nullptr);
  EXPECT_FALSE(stand.outcome(fine)->out_of_memory.has_value());
}

TEST(SupervisedReports, ComeInOrderAndAreNotLostWithoutAListener) {
  Stand stand;
  const JobKey key = stand.start_script(sends(20, good_line));
  // The runner does not listen: the job ends, another runner begins.
  ASSERT_TRUE(stand.wait_until([&] { return stand.outcome(key) != nullptr; }));
  const auto heard = reports_of(stand, key);
  ASSERT_EQ(heard.size(), 20U);
  for (std::size_t i = 0; i < heard.size(); ++i) {
    EXPECT_EQ(heard[i].sequence, static_cast<std::int64_t>(i + 1));
    EXPECT_EQ(heard[i].report.iteration, static_cast<std::int64_t>(i + 1));
    EXPECT_EQ(heard[i].report.allocated, MiB{2});
  }
  const auto found = stand.begin_again();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].outcome.reports.size(), 20U);
}

TEST(SupervisedReports, AFloodIsCutAndItsLastIsKept) {
  Stand stand;
  const JobKey one = stand.start_script(sends(20000, good_line));
  const JobKey other = stand.start_script(sends(20000, good_line));
  for (const JobKey& key : {one, other}) {
    ASSERT_NE(stand.wait_for_end(key), nullptr);
    EXPECT_EQ(stand.outcome(key)->code, 0);
    const auto heard = reports_of(stand, key);
    EXPECT_GE(heard.size(), 200U);
    EXPECT_LE(heard.size(), 2000U);
    EXPECT_EQ(heard.back().report.iteration, 20000);
  }
}

TEST(SupervisedReports, BrokenOnesAndThoseOfOthersCountForNothing) {
  Stand stand;
  const JobKey key = stand.start_script("echo $CLEAVE_REPORT; exec sleep 30");
  ASSERT_TRUE(stand.wait_until([&] { return !stand.text(key, "stdout.log").empty(); }));
  // This process is of the same user (root may be any user) but not one of the job's.
  ReportSender sender(fmt::format("{}/report", stand.users_folder(key)));
  sender.send({5, {}, MiB{1}, MiB{1}});
  EXPECT_EQ(sender.sent(), 1);
  ASSERT_TRUE(stand.runner().stop(key));
  ASSERT_NE(stand.wait_for_end(key), nullptr);
  EXPECT_TRUE(reports_of(stand, key).empty());
  const JobKey broken = stand.start_script(sends(50, "'x' * 20 * i"));
  ASSERT_NE(stand.wait_for_end(broken), nullptr);
  EXPECT_EQ(stand.outcome(broken)->code, 0);
  EXPECT_TRUE(reports_of(stand, broken).empty());
}

}  // namespace
}  // namespace cleave::supervised
