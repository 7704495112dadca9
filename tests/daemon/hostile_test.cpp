// Users who do their worst to the daemon and to each other, on a node whose daemon is root's.

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/format.hpp"
#include "base/places_test.hpp"
#include "daemon_stand.hpp"

namespace cleave::whole {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

/// Of every Debian, and each of one test alone, since tests run beside each other: they stop all
/// processes of theirs.
constexpr uid_t first_user = 9, second_user = 10, third_user = 13;

/// A process of that user until it is ended here: its own jobs stop and kill it too, so it is
/// continued and begun again all the time.
class Attacker {
 public:
  Attacker(uid_t uid, const std::function<void()>& does) : pid_(::fork()) {
    if (pid_ != 0) return;
    ::alarm(120);
    while (true) {
      const pid_t child = ::fork();
      if (child == 0) attack(uid, does);
      while (::waitpid(child, nullptr, WNOHANG) == 0) {
        ::kill(child, SIGCONT);
        ::usleep(10'000);
      }
    }
  }
  ~Attacker() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Attacker(const Attacker&) = delete;
  Attacker& operator=(const Attacker&) = delete;

 private:
  [[noreturn]] static void attack(uid_t uid, const std::function<void()>& does) {
    if (::setgid(uid) != 0 || ::setuid(uid) != 0 || ::chdir("/") != 0) ::_exit(99);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // which a change of user clears
    does();
    ::_exit(98);
  }

  pid_t pid_;
};

std::string submission(const std::string& script) {
  return Json{{"command", {"/bin/sh", "-c", script}},
              {"environment", {"PATH=/usr/bin:/bin"}},
              {"directory", "/"},
              {"stop_grace_s", 86400}}
      .dump();
}

/// Submits jobs, most of them short so that more begin, and some that stop and kill whatever they
/// can; and stops all that it may itself, all the time: a process does not signal itself so.
std::function<void()> worst(const DaemonStand& stand) {
  return [socket = stand.socket()] {
    const std::jthread stops([](const std::stop_token& over) {
      while (!over.stop_requested()) ::kill(-1, SIGSTOP);
    });
    ApiClient daemon(std::vector{SocketPlace{socket, true}});
    for (int count = 0;; ++count) {
      (void)daemon.ask("POST", "/v1/jobs",
                       submission(count % 32 == 0 ? "trap '' TERM; for s in STOP KILL; do kill -$s "
                                                    "$PPID; kill -$s -1; done; sleep 1000"
                                                  : "exit 0"));
      ::usleep(5000);
    }
  };
}

class HostileUser : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can be other users";
  }
  /// Milliseconds from the submission of a job until it does something; of `times` jobs, sorted.
  static std::vector<double> starts(DaemonStand& stand, int times) {
    std::vector<double> took;
    for (int i = 0; i < times; ++i) {
      const std::string file = stand.path(fmt::format("began-{}-{}", times, i));
      const auto asked = Clock::now();
      (void)stand.submit("--profile 1g.5gb -- touch " + file);
      EXPECT_TRUE(stand.wait_until([&] { return std::filesystem::exists(file); }));
      took.push_back(std::chrono::duration<double, std::milli>(Clock::now() - asked).count());
    }
    std::ranges::sort(took);
    return took;
  }
};

/// While limits leave places that these users cannot take. They also load the processors, which the
/// figure includes, so the bound is wide; the figure itself is printed.
TEST_F(HostileUser, DelaysNoOthersStarts) {
  StandOptions options;
  options.config = "allow_unfenced_users = true\nrunning_per_user = 3\n";
  DaemonStand stand(options);
  const int times = std::getenv("CLEAVE_LONG") != nullptr ? 200 : 20;
  const std::vector<double> alone = starts(stand, times);
  const std::size_t before = alone.size();  // the jobs so far
  std::vector<double> beside;
  {
    const Attacker first(first_user, worst(stand)), second(second_user, worst(stand));
    ASSERT_TRUE(stand.wait_until(
        [&] { return stand.get("/v1/jobs?all=1&user=all")["jobs"].size() > before + 20; }));
    beside = starts(stand, times + 1);
  }
  const std::size_t middle = alone.size() / 2, late = alone.size() * 95 / 100;
  fmt::print(
      "a start: median {:.1f} ms, 95 % {:.1f} ms; beside two hostile users {:.1f} ms, {:.1f} "
      "ms\n",
      alone[middle], alone[late], beside[middle], beside[late]);
  EXPECT_LT(beside[middle] - alone[middle], sanitized ? 2000 : 300);
}

/// The longest form runs a minute (CLEAVE_LONG).
TEST_F(HostileUser, KeepsTheDaemonFromNoAnswer) {
  StandOptions options;
  options.config = "allow_unfenced_users = true\n";
  DaemonStand stand(options);
  const auto lasts = std::getenv("CLEAVE_LONG") != nullptr ? 60s : 4s;
  std::vector<double> answered;  // ms
  {
    const Attacker first(first_user, worst(stand)), second(second_user, worst(stand));
    const auto until = Clock::now() + lasts;
    while (Clock::now() < until) {
      const auto asked = Clock::now();
      (void)stand.get("/healthz");
      answered.push_back(std::chrono::duration<double, std::milli>(Clock::now() - asked).count());
      ::usleep(2000);
    }
  }
  std::ranges::sort(answered);
  const double late = answered[answered.size() * 99 / 100];
  fmt::print("/healthz, {} times: median {:.2f} ms, 99 % within {:.2f} ms, at most {:.2f} ms\n",
             answered.size(), answered[answered.size() / 2], late, answered.back());
  EXPECT_LT(answered.back(), 5000) << "one start that waits for a stopped supervisor takes 10 s";
  EXPECT_LT(late, sanitized ? 3000 : 1000);
  // All of it ends when an operator says so, and the node is as before.
  std::vector<std::int64_t> left;
  const Json listing = stand.get("/v1/jobs?user=all");
  for (const Json& job : listing["jobs"]) left.push_back(job["id"].get<std::int64_t>());
  EXPECT_FALSE(left.empty());
  EXPECT_EQ(stand.run(fmt::format("cancel --now {}", fmt::join(left, " "))).exit_code, 0);
  stand.all_over(left);
  EXPECT_EQ(stand.over(stand.submit("-- true"))["state"], "finished");
}

TEST_F(HostileUser, KeepsNoInstanceFromAnOperator) {
  StandOptions options;
  options.config = "allow_unfenced_users = true\noperators_grace_s = 0.5\n";
  DaemonStand stand(options);
  const std::string text = submission(
      "trap '' TERM; kill -STOP $PPID; kill -9 $PPID; echo on; "
      "while :; do sleep 0.1; done");
  const std::string socket = stand.socket();
  ASSERT_EQ(as_user(third_user,
                    [&] {
                      ApiClient daemon(std::vector{SocketPlace{socket, true}});
                      return daemon.ask("POST", "/v1/jobs", text) ? 0 : 1;
                    }),
            0);
  ASSERT_TRUE(stand.wait_until([&] { return stand.run("logs 1").out == "on\n"; }));
  EXPECT_EQ(stand.run("cancel 1").exit_code, 0);
  const Json over = stand.over(1);
  EXPECT_EQ(over["state"], "cancelled");
  EXPECT_EQ(over["exit_code"], 137) << "though its grace was a day";
}

}  // namespace
}  // namespace cleave::whole
