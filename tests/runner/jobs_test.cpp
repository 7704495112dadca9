// Jobs that begin, end, are stopped and leave things behind.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "base/format.hpp"
#include "base/places_test.hpp"
#include "base/text.hpp"
#include "runner/shortage.hpp"
#include "stand.hpp"

namespace cleave::supervised {
namespace {

TEST(Supervised, AJobEndsWithItsStatus) {
  Stand stand;
  const JobKey key = stand.start_script("echo out; echo err >&2; exit 7");
  const ProcessOutcome* outcome = stand.wait_for_end(key);
  ASSERT_NE(outcome, nullptr);
  EXPECT_EQ(in_words(*outcome), "exited with 7");
  EXPECT_FALSE(outcome->stopped);
  EXPECT_EQ(outcome->leftovers, 0);
  EXPECT_GT(outcome->lasted.count(), 0);
  EXPECT_GE(outcome->ended_at, outcome->began_at);
  EXPECT_GT(stand.pid(key), 0);
  EXPECT_EQ(stand.text(key, "stdout.log"), "out\n");
  EXPECT_EQ(stand.text(key, "stderr.log"), "err\n");
  EXPECT_NE(::access((stand.folder(key) + "/launch.json").c_str(), F_OK), 0)
      << "environments are not kept";
  const auto again = stand.begin_again();
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].state, FoundJob::State::ended);
  EXPECT_EQ(again[0].outcome.code, 7);
  ASSERT_TRUE(stand.runner().forget(key));
  ASSERT_TRUE(stand.runner().forget(key)) << "what is not there is forgotten";
  EXPECT_NE(::access(stand.folder(key).c_str(), F_OK), 0);
  EXPECT_TRUE(stand.begin_again().empty());
}

TEST(Supervised, AJobEndsBySignals) {
  Stand stand;
  const JobKey by_itself = stand.start_script("kill -SEGV $$");
  const JobKey by_us = stand.start_script("exec sleep 60");
  const JobKey heard =
      stand.start_script("trap 'echo got; exit 3' USR1; echo ready; while :; do sleep 0.01; done");
  ASSERT_NE(stand.wait_for_end(by_itself), nullptr);
  EXPECT_EQ(in_words(*stand.outcome(by_itself)), "ended by signal 11 (Segmentation fault)");
  ASSERT_TRUE(stand.wait_until(
      [&] { return stand.pid(by_us) > 0 && stand.text(heard, "stdout.log") == "ready\n"; }));
  ASSERT_TRUE(stand.runner().signal(by_us, SIGTERM));
  ASSERT_TRUE(stand.runner().signal(heard, SIGUSR1));
  ASSERT_NE(stand.wait_for_end(by_us), nullptr);
  EXPECT_EQ(stand.outcome(by_us)->code, SIGTERM);
  ASSERT_NE(stand.wait_for_end(heard), nullptr);
  EXPECT_EQ(stand.outcome(heard)->code, 3);
  EXPECT_FALSE(stand.runner().signal(heard, SIGTERM)) << "it is over";
  EXPECT_FALSE(stand.runner().stop({99, 1})) << "there is none";
}

TEST(Supervised, StopIsTermAndThenKill) {
  Stand stand;
  const JobKey gentle =
      stand.start_script("trap 'exit 0' TERM; echo ready; while :; do sleep 0.01; done");
  const JobKey deaf = stand.start_script("trap '' TERM; echo ready; while :; do sleep 0.01; done");
  for (const JobKey& key : {gentle, deaf}) {
    ASSERT_TRUE(stand.wait_until([&] { return stand.text(key, "stdout.log") == "ready\n"; }));
    ASSERT_TRUE(stand.runner().stop(key));
  }
  EXPECT_FALSE(stand.runner().forget(deaf)) << "it is not over";
  ASSERT_NE(stand.wait_for_end(gentle), nullptr);
  EXPECT_EQ(in_words(*stand.outcome(gentle)), "exited with 0");
  EXPECT_TRUE(stand.outcome(gentle)->stopped);
  ASSERT_NE(stand.wait_for_end(deaf), nullptr);
  EXPECT_EQ(stand.outcome(deaf)->code, SIGKILL);
  EXPECT_GE(stand.outcome(deaf)->lasted, std::chrono::milliseconds(300));
}

TEST(Supervised, ALaterStopOnlyShortensTheGrace) {
  Stand stand;
  Launch launch = stand.launch("trap '' TERM; echo ready; while :; do sleep 0.01; done");
  launch.stop_grace = std::chrono::hours(24);
  const JobKey key = stand.start(launch);
  ASSERT_TRUE(stand.wait_until([&] { return stand.text(key, "stdout.log") == "ready\n"; }));
  ASSERT_TRUE(stand.runner().stop(key));
  ASSERT_TRUE(stand.runner().stop(key, std::chrono::milliseconds(50)));
  ASSERT_TRUE(stand.runner().stop(key, std::chrono::hours(1)));
  ASSERT_NE(stand.wait_for_end(key), nullptr);
  EXPECT_EQ(stand.outcome(key)->code, SIGKILL);
}

TEST(Supervised, LeftoverProcessesAreEnded) {
  const std::string leave_behind[] = {
      "sleep 61 & sleep 62 & exit 0", "setsid sh -c 'sleep 63; sleep 64' & sleep 0.05",
      "(setsid sh -c '(sleep 65 &) ; exit 0' &); sleep 0.1; exit 4",  // twice forked
      "(trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep 66; sleep 67' &); sleep 0.1",  // deaf to
                                                                                         // TERM
      "(env -i setsid /bin/sleep 68 &); sleep 0.05",             // without a mark
      "(setsid sh -c 'kill -STOP $$; sleep 69' &); sleep 0.05",  // asleep
  };
  Stand stand;
  std::vector<JobKey> keys;
  for (const std::string& script : leave_behind) keys.push_back(stand.start_script(script));
  for (const JobKey& key : keys) {
    const ProcessOutcome* outcome = stand.wait_for_end(key);
    ASSERT_NE(outcome, nullptr);
    EXPECT_EQ(outcome->end, ProcessOutcome::End::exited);
    EXPECT_GE(outcome->leftovers, 1) << directory_name(key);
    EXPECT_TRUE(stand.processes(key).empty());
  }
  for (const ProcessFacts& each : all_processes())
    for (int seconds = 61; seconds < 70; ++seconds)
      EXPECT_EQ(read_text(fmt::format("/proc/{}/cmdline", each.pid))
                    .find(fmt::format("sleep{}{}", '\0', seconds)),
                std::string::npos);
}

TEST(Supervised, ProgramsThatCannotRunAreReportedWithTheReason) {
  Stand stand;
  ASSERT_EQ(::mkfifo(stand.path("fifo").c_str(), 0666), 0);
  ASSERT_EQ(::symlink("/nowhere/at/all", stand.path("dangling").c_str()), 0);
  ASSERT_EQ(::symlink("/usr", stand.path("link").c_str()), 0);
  const auto in = [&](const std::string& directory) {
    Launch launch = stand.launch("pwd -P");
    launch.working_directory = directory;
    return stand.start(launch);
  };
  const JobKey absent = in("/nowhere"), fifo = in(stand.path("fifo")),
               dangling = in(stand.path("dangling")), link = in(stand.path("link"));
  Launch none = stand.launch("");
  none.argv = {"no-such-program"};
  const JobKey no_program = stand.start(none);
  none = stand.launch("");
  none.argv = {stand.path("fifo")};
  const JobKey no_file = stand.start(none);
  const std::pair<JobKey, std::string> reasons[] = {
      {absent, "/nowhere: cannot be entered: No such file or directory"},
      {fifo, stand.path("fifo") + ": cannot be entered: Not a directory"},
      {dangling, stand.path("dangling") + ": cannot be entered: No such file or directory"},
      {no_program, "no-such-program: cannot be run: No such file or directory"},
      {no_file, stand.path("fifo") + ": cannot be run: Permission denied"}};
  for (const auto& [key, reason] : reasons) {
    ASSERT_NE(stand.wait_for_end(key), nullptr);
    EXPECT_EQ(stand.outcome(key)->end, ProcessOutcome::End::not_started);
    EXPECT_EQ(stand.outcome(key)->reason, reason);
    EXPECT_EQ(stand.pid(key), 0) << "it did not begin";
  }
  ASSERT_NE(stand.wait_for_end(link), nullptr);
  EXPECT_EQ(stand.text(link, "stdout.log"), "/usr\n")
      << "a link to a folder is the user's own matter";
}

TEST(Supervised, TheEnvironmentIsTheLaunchsPlusCleavesVariables) {
  Stand stand;
  Launch launch = stand.launch("");
  const std::string odd = "a\nb\x1b[31m\t'\"\\ \xc3\xa9";
  launch.argv = {"sh", "-c", "cat /proc/self/environ; printf %s \"$1\" >&2", "sh", odd};
  launch.environment.push_back(fmt::format("ODD={}", odd));
  launch.environment.push_back("CUDA_VISIBLE_DEVICES=all");
  launch.environment.push_back("CLEAVE_SIM_NODE=/somewhere");
  launch.visible_devices = "MIG-1234";
  const JobKey key = stand.start(launch);
  ASSERT_NE(stand.wait_for_end(key), nullptr);
  EXPECT_EQ(stand.text(key, "stderr.log"), odd);
  const std::string all = stand.text(key, "stdout.log");
  const auto variables = split(all, '\0');
  const auto count = [&](const std::string& variable) {
    return std::ranges::count(variables, variable);
  };
  EXPECT_EQ(count(fmt::format("ODD={}", odd)), 1);
  EXPECT_EQ(count("CUDA_VISIBLE_DEVICES=MIG-1234"), 1);
  EXPECT_EQ(count("CUDA_VISIBLE_DEVICES=all"), 0);
  EXPECT_EQ(count("NVIDIA_VISIBLE_DEVICES=MIG-1234"), 1);
  EXPECT_EQ(count("CLEAVE_SIM_NODE=/somewhere"), 1);
  EXPECT_EQ(count("CLEAVE_JOB=1"), 1);
  EXPECT_EQ(count("CLEAVE_ATTEMPT=1"), 1);
  EXPECT_EQ(count(fmt::format("CLEAVE_REPORT={}/report", stand.users_folder(key))), 1);
}

TEST(Supervised, AJobHasCleanSignalsAndDescriptors) {
  Stand stand;
  // 32 and 33 are the C library's own, which the user who runs the tests may have ignored.
  const JobKey key = stand.start_script(
      "grep -E '^Sig(Blk|Ign)' /proc/self/status | sed s/000000018/000000000/; ls /proc/self/fd; "
      "umask");
  ASSERT_NE(stand.wait_for_end(key), nullptr);
  EXPECT_EQ(stand.text(key, "stdout.log"),
            "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n0\n1\n2\n3\n0022\n");
}

TEST(Supervised, StartingTwiceOrBrokenIsRefusedAndLeavesNothing) {
  Stand stand;
  Launch launch = stand.launch("sleep 30");
  const JobKey key = stand.start(launch);
  EXPECT_FALSE(stand.runner().start(launch));
  EXPECT_EQ(stand.begin_again().size(), 1U);
  launch.key.attempt = 2;
  launch.argv = {};
  EXPECT_FALSE(stand.runner().start(launch));
  ASSERT_TRUE(stand.runner().stop(key));
  ASSERT_NE(stand.wait_for_end(key), nullptr);
  EXPECT_EQ(stand.begin_again().size(), 1U);
}

constexpr auto patience = std::chrono::milliseconds(300);

/// What the runner tells first, within 10 s.
std::vector<RunnerEvent> first_events(ProcessRunner& runner) {
  std::vector<RunnerEvent> events;
  for (int i = 0; i < 10'000 && events.empty(); ++i) {
    events = runner.poll();
    ::usleep(1000);
  }
  return events;
}

/// A program in the place of cleave-supervise.
ProcessRunner::Places with_program(const Stand& stand, const std::string& name,
                                   const std::string& script) {
  const std::string path = stand.path(name);
  std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
  ::chmod(path.c_str(), 0700);
  ProcessRunner::Places places;
  places.jobs = stand.path(name + "-jobs");
  places.program = path;
  places.patience = patience;
  return places;
}

/// As by somebody who cleans up: neither what runs nor what comes has a part in it.
TEST(Supervised, AFolderOfJobsThatIsRemovedIsMadeAnew) {
  Stand stand;
  const JobKey runs = stand.start_script("sleep 0.5; exit 4");
  ASSERT_TRUE(stand.wait_until([&] { return stand.pid(runs) > 0; }));
  std::filesystem::remove_all(stand.path("jobs"));
  const JobKey next = stand.start_script("exit 5");
  const ProcessOutcome* outcome = stand.wait_for_end(next);
  ASSERT_NE(outcome, nullptr);
  EXPECT_EQ(outcome->code, 5);
  EXPECT_TRUE(stand.wait_until([&] { return stand.ends(runs) == 1; })) << "or lost, as it was";
  // Without the folder above it nothing can be begun, and that is said as what it is.
  const std::string above = stand.path("above");
  ASSERT_EQ(::mkdir(above.c_str(), 0700), 0);
  ProcessRunner::Places places;
  places.jobs = above + "/jobs";
  places.program = "/bin/true";
  auto runner = ProcessRunner::open(places);
  ASSERT_TRUE(runner) << runner.error().text();
  std::filesystem::remove_all(above);
  const auto refused = (*runner)->start(stand.launch("true"));
  ASSERT_FALSE(refused);
  EXPECT_NE(shortage_of(refused.error().code), nullptr) << refused.error().error.text();
}

TEST(Supervised, AJobThatMayHaveBegunIsLostAndNotNeverStarted) {
  Stand stand;
  const auto silent = ProcessRunner::open(with_program(stand, "silent", "exec sleep 30"));
  const auto begun = ProcessRunner::open(with_program(stand, "begun", "echo x >&4; exec sleep 30"));
  ASSERT_TRUE(silent && begun);
  const auto before = std::chrono::steady_clock::now();
  ASSERT_TRUE((*silent)->start(stand.launch("true")));
  ASSERT_TRUE((*begun)->start(stand.launch("true")));
  EXPECT_LT(std::chrono::steady_clock::now() - before, 2 * patience) << "nothing waits for them";
  const auto never = first_events(**silent);
  ASSERT_EQ(never.size(), 1U);
  const auto* refused = std::get_if<AttemptNotStarted>(&never[0].what);
  ASSERT_NE(refused, nullptr) << "it surely did not begin";
  EXPECT_EQ(refused->why.code, ETIMEDOUT);
  EXPECT_TRUE((*silent)->found()->empty()) << "and leaves nothing";
  const auto events = first_events(**begun);
  ASSERT_EQ(events.size(), 1U);
  const auto* lost = std::get_if<SupervisorLost>(&events[0].what);
  ASSERT_NE(lost, nullptr);
  EXPECT_TRUE(lost->began);
}

TEST(Supervised, ASupervisorThatCannotTakeOverSaysWhy) {
  Stand stand;
  for (const auto& [script, code] :
       {std::pair(R"(printf '{"failed":{"reason":"full","code":28}}' >&3)", ENOSPC),
        std::pair("exit 3", ETIMEDOUT)}) {
    const auto runner =
        ProcessRunner::open(with_program(stand, fmt::format("fails{}", code), script));
    ASSERT_TRUE(runner);
    ASSERT_TRUE((*runner)->start(stand.launch("true")));
    const auto events = first_events(**runner);
    ASSERT_EQ(events.size(), 1U) << script;
    const auto* refused = std::get_if<AttemptNotStarted>(&events[0].what);
    ASSERT_NE(refused, nullptr) << script;
    EXPECT_EQ(refused->why.code, code) << refused->why.error.text();
    EXPECT_TRUE((*runner)->found()->empty());
    EXPECT_TRUE((*runner)->start(stand.launch("true"))) << "its name is free again";
  }
}

/// With any patience: a job reported as never started never ran, and every other has one end.
TEST(Supervised, StartsThatAreGivenUpNeverRan) {
  Stand stand;
  // Late enough that no event comes at once, however busy the machine is.
  const std::string late = stand.path("late");
  std::ofstream(late) << "#!/bin/sh\nsleep 0.002\nexec " + binary_dir() +
                             "/bin/cleave-supervise \"$@\"\n";
  ASSERT_EQ(::chmod(late.c_str(), 0755), 0);
  constexpr int impatient = 50, patient = 10;
  int refused = 0, ran = 0;
  for (int i = 0; i < impatient + patient; ++i) {
    ProcessRunner::Places places;
    places.jobs = stand.path("impatient");
    places.program = late;
    places.patience = i < impatient ? std::chrono::microseconds(i * 300) : std::chrono::seconds(10);
    const auto runner = ProcessRunner::open(places);
    ASSERT_TRUE(runner);
    Launch launch = stand.launch("");
    launch.key.job = i + 1;
    const std::string marker = stand.path(fmt::format("marker{}", i));
    launch.argv = {"touch", marker};
    ASSERT_TRUE((*runner)->start(launch));
    int ends = 0, never = 0;
    for (int j = 0; j < 5000 && ends + never == 0; ++j) {
      for (const RunnerEvent& event : (*runner)->poll()) {
        ends += std::holds_alternative<JobEnded>(event.what) ||
                        std::holds_alternative<SupervisorLost>(event.what)
                    ? 1
                    : 0;
        never += std::holds_alternative<AttemptNotStarted>(event.what) ? 1 : 0;
      }
      ::usleep(1000);
    }
    EXPECT_EQ(ends + never, 1);
    ran += ends;
    refused += never;
    if (never == 0) continue;
    ::usleep(20'000);
    EXPECT_NE(::access(marker.c_str(), F_OK), 0) << "it ran";
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(ran, 0);
}

TEST(Supervised, JobsGetTheLimitOfDescriptorsThatTheDaemonBeganWith) {
  Stand stand;
  ProcessRunner::Places places;
  places.jobs = stand.path("limited");
  places.program = binary_dir() + "/bin/cleave-supervise";
  places.descriptors = 777;
  const auto runner = ProcessRunner::open(places);
  ASSERT_TRUE(runner);
  Launch launch = stand.launch("ulimit -Sn");
  ASSERT_TRUE((*runner)->start(launch));
  const std::string out = stand.path("limited/1.1/user/stdout.log");
  for (int i = 0; i < 5000 && read_text(out).empty(); ++i) ::usleep(1000);
  EXPECT_EQ(read_text(out), "777\n");
}

TEST(Supervised, SignalsToTheSupervisorChangeNothing) {
  Stand stand;
  const JobKey key = stand.start_script("sleep 0.2; exit 5");
  ASSERT_TRUE(stand.wait_until([&] { return stand.pid(key) > 0; }));
  const pid_t supervisor = stand.supervisor(key);
  ASSERT_GT(supervisor, 0);
  for (const int each : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGALRM})
    ::kill(supervisor, each);
  ASSERT_NE(stand.wait_for_end(key), nullptr);
  EXPECT_EQ(stand.outcome(key)->code, 5);
}

}  // namespace
}  // namespace cleave::supervised
