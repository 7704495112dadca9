// cleave-job from outside: a process on a simulated instance, its reports, its signals and its
// deaths.

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/places_test.hpp"
#include "base/text.hpp"
#include "nvmlsim/sim_node.hpp"
#include "program.hpp"
#include "runner/reports/memory_report_line.hpp"
#include "runner/reports/out_of_memory_text.hpp"

namespace cleave {
namespace {

using testing_program::Outcome;
using testing_program::Scratch;
using testing_program::shell;

/// For scripts: until_seen FILE TEXT waits, at most 20 seconds.
constexpr const char* helpers =
    "until_seen() { n=0; until grep -q \"$2\" \"$1\" 2>/dev/null; do n=$((n+1)); [ $n -lt 1000 ] "
    "|| return "
    "1; "
    "sleep 0.02; done; }\n";

class Job : public testing::Test {
 protected:
  void SetUp() override {
    SimNodeSpec spec;
    spec.gpus = *parse_sim_gpus("1xA100-40GB");
    spec.instant = true;
    const auto made = create_sim_node(node(), spec);
    ASSERT_TRUE(made) << made.error().text();
    const auto instance = shell("CLEAVE_SIM_NODE='" + node() + "' cleave create --gpu 0 1g.5gb");
    ASSERT_EQ(instance.exit_code, 0) << instance.err;
    const std::size_t at = instance.out.find("MIG-");
    ASSERT_NE(at, std::string::npos) << instance.out;
    uuid_ = instance.out.substr(at, instance.out.find('\n', at) - at);
  }
  void TearDown() override {
    EXPECT_EQ(*sim_node_flaw(node()), "");
    const auto looked = look_at_sim_node(node());
    for (const auto& instance : looked->gpus[0].instances)
      for (const auto& compute : instance.compute_instances)
        EXPECT_TRUE(compute.processes.empty()) << "a job is still there";
  }
  [[nodiscard]] std::string node() const { return scratch_.path("node"); }
  /// A script on the instance.
  [[nodiscard]] Outcome on_it(const std::string& script) const {
    return shell(fmt::format("export CLEAVE_SIM_NODE='{}' CUDA_VISIBLE_DEVICES={}\ncd '{}'\n{}{}",
                             node(), uuid_, scratch_.path(""), helpers, script));
  }

  Scratch scratch_;
  std::string uuid_;
};

TEST_F(Job, PrintsALineForEachIterationAndEndsWell) {
  const auto outcome =
      on_it("cleave-job --base 100 --per-iteration 10 --iterations 3 --seconds 0.01");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out,
            "iteration 1/3: 110 MiB\niteration 2/3: 120 MiB\niteration 3/3: 130 MiB\n");
  EXPECT_EQ(on_it("cleave-job --iterations 3 --seconds 0.01 --quiet").out, "");
}

TEST_F(Job, NeedsANodeAndADevice) {
  const auto nowhere = on_it("unset CLEAVE_SIM_NODE; cleave-job");
  EXPECT_EQ(nowhere.exit_code, 2);
  EXPECT_NE(nowhere.err.find("CLEAVE_SIM_NODE"), std::string::npos) << nowhere.err;
  EXPECT_EQ(on_it("cleave-job --iterations 1 --seconds 00:00:00 --quiet").exit_code, 0);
  EXPECT_EQ(on_it("CLEAVE_SIM_NODE=none cleave-job --seconds 0.01").exit_code, 2);
  EXPECT_EQ(on_it("CUDA_VISIBLE_DEVICES= cleave-job --seconds 0.01").exit_code, 2);
  EXPECT_EQ(on_it("CUDA_VISIBLE_DEVICES=7 cleave-job --seconds 0.01").exit_code, 2);
  EXPECT_EQ(on_it("CUDA_VISIBLE_DEVICES=0 cleave-job --seconds 0.01").exit_code, 0)
      << "its first instance";
  EXPECT_EQ(on_it("unset CUDA_VISIBLE_DEVICES; cleave-job --seconds 0.01").exit_code, 0);
}

TEST_F(Job, BadUsageIsRefused) {
  for (const char* arguments : {"--memory",
                                "--memory lots",
                                "--iterations 0",
                                "--busy 2",
                                "--dies-as caffe",
                                "--seconds -1",
                                "--memory 1GiB --base 1GiB",
                                "--speeds 1g.5gb",
                                "--like miso:resnet:1",
                                "--phases gpu=1",
                                "--like miso:resnet:64 --phases cpu=1",
                                "--checkpoint-signal KILL",
                                "--no-such",
                                "--speeds 1g.5b=1",
                                "--seconds 3 --phases cpu=1",
                                "--checkpoint /nonexistent/kept",
                                "--checkpoint /",
                                "--seconds 3 -- true",
                                "--checkpoint kept -- true",
                                "--per-iteration 1 -- true"}) {
    const auto outcome = on_it(fmt::format("cleave-job {}", arguments));
    EXPECT_EQ(outcome.exit_code, 2) << arguments << outcome.err;
    EXPECT_TRUE(outcome.err.starts_with("cleave-job: ")) << outcome.err;
  }
}

TEST_F(Job, TakesAsLongAsItsInstanceIsSlow) {
  const auto seconds = [&](const std::string& arguments) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(on_it("cleave-job --quiet --iterations 4 " + arguments).exit_code, 0);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  EXPECT_GE(seconds("--seconds 0.2 --speeds 1g.5gb=0.25,7g.40gb=1"), 0.8);
  EXPECT_GE(seconds("--phases cpu=0.1,compute=0.1"), 0.8) << "14 of 98 SMs: 0.1 + 0.7 s";
}

TEST_F(Job, TwoSpeedsGiveTheOthers) {
  const auto here =
      on_it("cleave-job --iterations 1 --seconds 0.01 --speeds 1g.5gb=0.3,7g.40gb=1 --complete");
  EXPECT_EQ(here.exit_code, 0) << here.err;
  EXPECT_EQ(here.out.find("by the law"), std::string::npos) << "listed there: " << here.out;
  const auto one = on_it("cleave-job --seconds 0.01 --speeds 7g.40gb=1 --complete");
  EXPECT_NE(one.exit_code, 0);
  EXPECT_NE(one.err.find("30 to 40 %"), std::string::npos) << one.err;
  const auto alone = on_it("cleave-job --seconds 0.01 --complete");
  EXPECT_EQ(alone.exit_code, 2) << "it is about --speeds";
  // 1g.5gb has as much memory as the +me profile, which is listed.
  const auto by_law =
      on_it("cleave-job --iterations 1 --seconds 0.01 --speeds 1g.5gb+me=0.3,7g.40gb=1 --complete");
  EXPECT_EQ(by_law.exit_code, 0) << by_law.err;
  EXPECT_NE(by_law.out.find("speed 0.3 on 1g.5gb, by the law of slices: median error 3.8 %"),
            std::string::npos)
      << by_law.out;
}

TEST_F(Job, DiesOfMemoryLikeAnyOther) {
  for (const DyingWords& words : dying_words()) {
    const auto outcome = on_it(fmt::format(
        "cleave-job --base 4000 --per-iteration 300 --iterations 9 --seconds 0.01 --dies-as {}",
        words.framework));
    EXPECT_EQ(outcome.exit_code, words.exit_code);
    EXPECT_EQ(outcome.out, "iteration 1/9: 4300 MiB\niteration 2/9: 4600 MiB\n")
        << "4,864 MiB are usable";
    bool recognised = false;
    for (const std::string_view line : split(outcome.err, '\n'))
      if (const auto mark = recognise_out_of_memory(line))
        recognised = mark->framework == words.framework;
    EXPECT_TRUE(recognised) << outcome.err;
  }
  const auto absent = on_it("cleave-job --seconds 0.01 --speeds 7g.40gb=1");
  EXPECT_EQ(absent.exit_code, 1) << "profiles that are absent do not fit";
  EXPECT_TRUE(recognise_out_of_memory(absent.err)) << absent.err;
}

TEST_F(Job, ReportsItsMemory) {
  const std::string path = scratch_.path("reports");
  const int reader = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(reader, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  const auto outcome = on_it("CLEAVE_REPORT='" + path +
                             "' cleave-job --memory 200MiB --iterations 2 --seconds 0.01");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  for (int iteration = 1; iteration <= 2; ++iteration) {
    char line[longest_report_line];
    const ssize_t size = ::recv(reader, line, sizeof(line), 0);
    ASSERT_GT(size, 0);
    const auto report = parse_report_line({line, static_cast<std::size_t>(size)}, "report");
    ASSERT_TRUE(report) << report.error().text();
    EXPECT_EQ(report->iteration, iteration);
    EXPECT_EQ(report->iterations, 2);
    EXPECT_EQ(report->allocated, MiB{200});
    EXPECT_EQ(report->context, std::nullopt);
  }
  const auto reusing =
      on_it("CLEAVE_REPORT='" + path +
            "' cleave-job --memory 200MiB --context 300MiB --reuse-ratio 4.5 --iterations 1 "
            "--seconds 0.01");
  EXPECT_EQ(reusing.exit_code, 0) << reusing.err;
  EXPECT_NE(reusing.out.find("500 MiB"), std::string::npos) << reusing.out;
  char line[longest_report_line];
  const ssize_t size = ::recv(reader, line, sizeof(line), 0);
  ASSERT_GT(size, 0);
  const auto report = parse_report_line({line, static_cast<std::size_t>(size)}, "report");
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(*report, (MemoryReport{1, 1, MiB{900}, MiB{200}, MiB{300}, MiB{0}}));
  ::close(reader);
  EXPECT_EQ(on_it("CLEAVE_REPORT='" + path + "' cleave-job --seconds 0.01").exit_code, 0)
      << "nobody reads";
}

TEST_F(Job, StopsOnASignal) {
  for (const auto& [name, code] : {std::pair("TERM", 143), std::pair("INT", 130)}) {
    const auto outcome = on_it(fmt::format(
        "rm -f log; cleave-job --iterations 1000 --seconds 100 --speeds 1g.5gb=1 >log & job=$!\n"
        "until_seen log 'iteration 1/'; kill -{} $job; wait $job",
        name));
    EXPECT_EQ(outcome.exit_code, code) << outcome.err;
  }
  // Killed without a chance to clean up.
  const auto killed = on_it(
      "cleave-job --iterations 1000 --seconds 100 --speeds 1g.5gb=1 >log & job=$!\n"
      "until_seen log 'iteration 1/'; kill -KILL $job; wait $job");
  EXPECT_EQ(killed.exit_code, 137);
  ::usleep(10'000);
}

TEST_F(Job, GoesOnFromItsCheckpoint) {
  const std::string job =
      "cleave-job --iterations 40 --seconds 2 --speeds 1g.5gb=1 --checkpoint kept";
  const auto stopped =
      on_it(job +
            " >log & job=$!\n"
            "until_seen log 'iteration 5/' && kill -USR1 $job && until_seen log checkpoint\n"
            "kill $job; wait $job; code=$?; cat kept; exit $code");
  EXPECT_EQ(stopped.exit_code, 143) << stopped.err;
  EXPECT_TRUE(stopped.out.starts_with(R"({"iterations":40,"done":)")) << stopped.out;
  const auto other = on_it("cleave-job --iterations 41 --seconds 0.01 --checkpoint kept");
  EXPECT_EQ(other.exit_code, 2) << "not its own";
  const auto resumed = on_it(job);
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_TRUE(resumed.out.starts_with("continuing after ")) << resumed.out;
  EXPECT_EQ(resumed.out.find("iteration 5/"), std::string::npos) << resumed.out;
  EXPECT_FALSE(std::filesystem::exists(scratch_.path("kept")))
      << "a finished job begins anew next time";
}

TEST_F(Job, AnotherProgramMayRunInItsPlace) {
  const auto outcome = on_it(
      "cleave-job --memory 2GiB --busy 0.5 -- sh -c 'cleave sim-node show \"$CLEAVE_SIM_NODE\" "
      "--json; "
      "echo pid $$; exit 7'");
  EXPECT_EQ(outcome.exit_code, 7) << outcome.err;
  const std::size_t at = outcome.out.find("\npid ");
  ASSERT_NE(at, std::string::npos) << outcome.out;
  const std::string pid(trimmed(outcome.out.substr(at + 5)));
  EXPECT_NE(outcome.out.find("\"pid\": " + pid), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("2048"), std::string::npos) << outcome.out;
  const auto missing = on_it("cleave-job -- no-such-program");
  EXPECT_EQ(missing.exit_code, 127);
  EXPECT_EQ(on_it("cleave-job --memory 6GiB -- true").exit_code, 1) << "it does not fit";
}

TEST_F(Job, ALostGpuEndsIt) {
  const auto outcome = on_it(
      "cleave-job --iterations 1000 --seconds 100 --speeds 1g.5gb=1 >log & job=$!\n"
      "until_seen log 'iteration 1/'; cleave sim-node fault \"$CLEAVE_SIM_NODE\" --gpu 0 lost; "
      "wait $job; "
      "code=$?\n"
      "cleave sim-node fault \"$CLEAVE_SIM_NODE\" --gpu 0 none; exit $code");
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_NE(outcome.err.find("lost"), std::string::npos) << outcome.err;
}

TEST_F(Job, TheExampleRuns) {
  const auto outcome = on_it("'" + source_dir() + "/examples/jobs/training.sh' 0.1");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("iteration 20/20"), std::string::npos) << outcome.out;
}

}  // namespace
}  // namespace cleave
