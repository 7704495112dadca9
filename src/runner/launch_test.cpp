#include "runner/launch.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "base/text.hpp"
#include "runner/process_outcome.hpp"
#include "runner/supervisor/supervisor_message.hpp"

namespace cleave {
namespace {

Launch some_launch() {
  Launch launch;
  launch.key = {12, 3};
  launch.known_as = 10;
  launch.uid = 1000;
  launch.gid = 100;
  launch.groups = {4, 27};
  launch.argv = {"python3", "-c", "print('a\nb')", "", "\x1b[2J \xc3\xa9 \xf0\x9f\x98\x80"};
  launch.environment = {"A=", "B=c=d", "PATH=/bin"};
  launch.working_directory = std::string("/home/u");
  launch.visible_devices = std::string("MIG-1");
  launch.stop_grace = std::chrono::milliseconds(1234);
  launch.log_limit = 123456;
  launch.groups_in.unified = "/sys/fs/cgroup/jobs";
  launch.groups_in.devices = "/sys/fs/cgroup/devices/jobs";
  launch.groups_in.device_programs = true;
  launch.fence = DeviceRules{{195, 507}, {{195, 0}, {195, 255}, {507, 12}}};
  launch.limits = {100, MiB{64}};
  return launch;
}

TEST(Launch, IsReadAsItWasWritten) {
  const std::string text = launch_text(some_launch());
  const auto again = parse_launch(text, "launch.json");
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(launch_text(*again), text);
  EXPECT_EQ(again->known_as, 10);
  EXPECT_EQ(again->groups_in, some_launch().groups_in);
  EXPECT_EQ(again->fence, some_launch().fence);
  EXPECT_EQ(again->limits, some_launch().limits);
  EXPECT_EQ(again->argv, some_launch().argv);
  EXPECT_EQ(again->environment, some_launch().environment);
  EXPECT_EQ(again->stop_grace, std::chrono::milliseconds(1234));
}

TEST(Launch, OfAnOlderDaemonIsRead) {
  std::string text = launch_text(some_launch());
  const std::string_view newer = "\"known_as\":10,";
  const std::size_t at = text.find(newer);
  ASSERT_NE(at, std::string::npos) << text;
  text.erase(at, newer.size());
  const auto launch = parse_launch(text, "launch.json");
  ASSERT_TRUE(launch) << launch.error().text();
  EXPECT_EQ(launch->known_as, 0) << "the job is known by its key";
  EXPECT_EQ(launch->key, some_launch().key);
}

TEST(Launch, ThatNoProcessCouldBeStartedFromIsRefused) {
  const std::function<void(Launch&)> breaks[] = {
      [](Launch& l) { l.argv.clear(); },
      [](Launch& l) { l.argv[0].clear(); },
      [](Launch& l) { l.argv[1] = std::string("a\0b", 3); },
      [](Launch& l) { l.argv[1] = std::string("\xff\xfe"); },
      [](Launch& l) { l.argv[1] = std::string(200'000, 'x'); },
      [](Launch& l) { l.argv.assign(20, std::string(100'000, 'x')); },
      [](Launch& l) { l.environment.push_back("NOVALUE"); },
      [](Launch& l) { l.environment.push_back("=x"); },
      [](Launch& l) { l.environment.push_back("X=\xc0\x80"); },
      [](Launch& l) { l.working_directory = std::string("relative"); },
      [](Launch& l) { l.working_directory.clear(); },
      [](Launch& l) { l.uid = 0xffffffff; },
      [](Launch& l) { l.groups.push_back(0xffffffff); },
      [](Launch& l) { l.stop_grace = std::chrono::hours(25); },
      [](Launch& l) { l.leftover_grace = Duration(-1); },
      [](Launch& l) { l.leftover_grace = Duration(1); },
      [](Launch& l) { l.log_limit = 0; },
      [](Launch& l) { l.key.job = 0; },
      [](Launch& l) { l.known_as = -1; },
      [](Launch& l) { l.key.attempt = -1; },
  };
  EXPECT_TRUE(check_launch(some_launch(), "here"));
  for (const auto& each : breaks) {
    Launch launch = some_launch();
    each(launch);
    EXPECT_FALSE(check_launch(launch, "here")) << &each - breaks;
  }
  const std::string text = launch_text(some_launch());
  EXPECT_FALSE(parse_launch(text.substr(0, text.size() - 1), "here"));
  EXPECT_FALSE(parse_launch(std::string(text).insert(1, "\"oops\":1,"), "here"))
      << "a key that nobody knows";
}

TEST(SupervisorMessages, AreReadAsTheyWereWritten) {
  const SupervisorMessage all[] = {
      SupervisorReady{},
      SupervisorFailed{"why"},
      JobBegan{7},
      JobReports{{{3, {2, 9, MiB{4}, MiB{5}}}, {4, {3, {}, MiB{4}, MiB{6}}}}},
      OutOfMemorySeen{"cuda", {}},
      OutOfMemorySeen{"jax", MiB{5}},
      SupervisorState{"ending", 5, 1, 2, 3, "full"},
      SupervisorAnswer{"no"}};
  for (const SupervisorMessage& each : all) {
    const auto again = parse_message(message_text(each));
    ASSERT_TRUE(again) << message_text(each) << again.error().text();
    EXPECT_EQ(again->index(), each.index());
    EXPECT_EQ(message_text(*again), message_text(each));
  }
  ProcessOutcome outcome;
  outcome.end = ProcessOutcome::End::not_started;
  outcome.code = 2;
  outcome.reason = "no such \x01 file";
  outcome.reports = {{3, {2, 9, MiB{4}, MiB{5}}},
                     {4, {3, 9, MiB{40}, MiB{5}, MiB{6}, MiB{7}, MiB{8}}}};
  const auto again = parse_outcome(outcome_text(outcome), "outcome.json");
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(outcome_text(*again), outcome_text(*parse_outcome(outcome_text(*again), "again")));
  EXPECT_EQ(again->reports[0].report, outcome.reports[0].report);
  EXPECT_EQ(again->reports[1].report, outcome.reports[1].report) << "with its parts";
}

}  // namespace
}  // namespace cleave
