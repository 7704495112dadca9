// Many clients at once, some killed in the middle of an operation. The state they leave obeys every
// law, the next client is not delayed, and no client waits forever.
//
// CLEAVE_SOAK_OPERATIONS sets the length (default 100000; 5000 under sanitizers).

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <thread>

#include "../cli/program.hpp"
#include "base/format.hpp"
#include "base/random.hpp"
#include "base/sanitized_test.hpp"
#include "base/text.hpp"
#include "device/ledger.hpp"
#include "nvmlsim/sim_node.hpp"
#include "random_client.hpp"

namespace cleave::soak {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::int64_t operations() {
  if (const char* given = std::getenv("CLEAVE_SOAK_OPERATIONS"))
    if (const auto number = parse_integer(given)) return *number;
  return sanitized ? 5'000 : 100'000;
}

class Soak : public testing::Test {
 protected:
  void make(std::string_view gpus, bool instant = true) {
    const auto models = parse_sim_gpus(gpus);
    ASSERT_TRUE(models);
    SimNodeSpec spec;
    spec.gpus = *models;
    spec.instant = instant;
    const auto made = create_sim_node(node_, spec);
    ASSERT_TRUE(made) << made.error().text();
  }
  void expect_sound() {
    const auto flaw = sim_node_flaw(node_);
    ASSERT_TRUE(flaw) << flaw.error().text();
    EXPECT_EQ(*flaw, "");
  }

  testing_program::Scratch scratch_;
  const std::string node_ = scratch_.path("node");
};
using ThreadsSoak = Soak;

/// The children's common count, in shared memory.
struct Shared {
  std::atomic<std::int64_t> count{0};
};
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

class SharedPage {
 public:
  SharedPage()
      : at_(::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                   0)),
        shared_(at_ == MAP_FAILED ? nullptr : new (at_) Shared) {}
  ~SharedPage() { ::munmap(at_, sizeof(Shared)); }
  SharedPage(const SharedPage&) = delete;
  SharedPage& operator=(const SharedPage&) = delete;
  Shared* operator->() const { return shared_; }
  Shared& operator*() const { return *shared_; }

 private:
  void* at_;
  Shared* shared_;
};

/// A process that runs this and ends, with 1 if it reports an error.
pid_t child(const std::function<std::string()>& run) {
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  const std::string wrong = run();
  if (!wrong.empty()) fmt::print(stderr, "client {}: {}\n", ::getpid(), wrong);
  std::fflush(stderr);
  ::_exit(wrong.empty() ? 0 : 1);
}

/// Whether it ended well; it is killed if it does not end within the time.
bool ended_well(pid_t pid, seconds at_most) {
  int status = 0;
  for (const auto end = std::chrono::steady_clock::now() + at_most;
       ::waitpid(pid, &status, WNOHANG) == 0;) {
    if (std::chrono::steady_clock::now() > end) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, &status, 0);
      return false;
    }
    std::this_thread::sleep_for(milliseconds(1));
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Keeps `clients` clients at work, kills one now and then, and watches that the count moves.
class Crowd {
 public:
  Crowd(std::size_t clients, std::function<std::string(std::uint64_t seed)> work, Shared& shared)
      : work_(std::move(work)), shared_(shared) {
    for (std::size_t i = 0; i < clients; ++i) clients_.push_back(start());
  }
  ~Crowd() {
    for (const pid_t pid : clients_) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
  }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  [[nodiscard]] int killed() const { return killed_; }

  /// Empty if all is well at the end.
  std::string run(std::int64_t until, std::int64_t between_kills) {
    std::int64_t next_kill = between_kills, seen = 0;
    auto moved = std::chrono::steady_clock::now();
    while (shared_.count.load() < until) {
      if (const std::int64_t now = shared_.count.load(); now != seen) {
        seen = now;
        moved = std::chrono::steady_clock::now();
      }
      if (std::chrono::steady_clock::now() - moved > seconds(30))
        return fmt::format("nobody has moved for 30 seconds, after {} operations", seen);
      if (seen >= next_kill) {
        replace(random_.below(clients_.size()));
        next_kill = seen + between_kills;
      }
      if (const std::string wrong = look_for_dead(); !wrong.empty()) return wrong;
      std::this_thread::sleep_for(milliseconds(1));
    }
    return finish();
  }

 private:
  pid_t start() {
    return child([this, seed = seed_++] { return work_(seed); });
  }
  void replace(std::size_t at) {
    ::kill(clients_[at], SIGKILL);
    ::waitpid(clients_[at], nullptr, 0);
    ++killed_;
    clients_[at] = start();
  }
  /// A client may end only because the operations are done.
  std::string look_for_dead() {
    for (pid_t& pid : clients_) {
      int status = 0;
      if (::waitpid(pid, &status, WNOHANG) != pid) continue;
      const bool well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
      if (!well) {
        std::erase(clients_, pid);
        return fmt::format("a client ended with status {}", status);
      }
      pid = start();
    }
    return {};
  }
  std::string finish() {
    std::string wrong;
    for (const pid_t pid : clients_)
      if (!ended_well(pid, seconds(30))) wrong = fmt::format("client {} did not end well", pid);
    clients_.clear();
    return wrong;
  }

  std::function<std::string(std::uint64_t)> work_;
  Shared& shared_;
  std::vector<pid_t> clients_;
  Random random_{17};
  std::uint64_t seed_ = 1;
  int killed_ = 0;
};

TEST_F(Soak, KilledClientsLeaveAStateThatObeysEveryLaw) {
  ASSERT_NO_FATAL_FAILURE(make("2xA100-40GB,1xH100-80GB-SXM5,1xA30-24GB"));
  const SharedPage shared;
  const std::int64_t until = operations();
  {
    Crowd crowd(
        8,
        [&](std::uint64_t seed) {
          const auto door = open_door(node_);
          return random_operations(*door, node_, seed, shared->count, until);
        },
        *shared);
    EXPECT_EQ(crowd.run(until, std::max<std::int64_t>(until / 100, 1)), "");
    EXPECT_GE(crowd.killed(), 10);
    RecordProperty("killed", crowd.killed());
  }
  expect_sound();
  const pid_t fresh = child([&] { return tidy_up(*open_door(node_)); });
  EXPECT_TRUE(ended_well(fresh, seconds(60)))
      << "the next client is kept waiting, or finds what is not so";
  expect_sound();
}

TEST_F(Soak, TheStateIsAlwaysSound) {
  ASSERT_NO_FATAL_FAILURE(make("1xA100-40GB"));
  const SharedPage shared;
  const std::int64_t until = operations() / 10;
  std::vector<pid_t> clients;
  for (std::uint64_t seed = 1; seed <= 4; ++seed)
    clients.push_back(child([&] {
      const auto door = open_door(node_);
      return random_operations(*door, node_, seed, shared->count, until);
    }));
  int looks = 0;
  const auto end = std::chrono::steady_clock::now() + seconds(120);
  while (shared->count.load() < until && !HasFailure() && std::chrono::steady_clock::now() < end) {
    expect_sound();
    EXPECT_TRUE(look_at_sim_node(node_));
    ++looks;
  }
  for (const pid_t pid : clients) EXPECT_TRUE(ended_well(pid, seconds(30)));
  EXPECT_GE(shared->count.load(), until);
  EXPECT_GT(looks, 10);
  expect_sound();
}

/// Creates and destroys by the command line, with some commands killed in the middle. Every answer
/// is a documented one.
std::string command_line(const std::string& node, std::uint64_t seed, int commands,
                         double killed_within = 0.03) {
  Random random(seed);
  constexpr std::string_view profiles[] = {"1g.5gb", "2g.10gb", "3g.20gb", "1g.5gb@6", "4g.20gb@0"};
  for (int i = 0; i < commands; ++i) {
    std::string command =
        fmt::format("create --gpu 0 {}", profiles[random.below(std::size(profiles))]);
    const auto view = look_at_sim_node(node);
    if (!view) return view.error().text();
    const auto& instances = view->gpus[0].instances;
    if (!instances.empty() && random.below(2) == 0) {
      const auto& computes = instances[random.below(instances.size())].compute_instances;
      if (!computes.empty()) command = fmt::format("destroy {}", computes.front().uuid);
    }
    const bool killed = random.below(5) == 0;
    const auto outcome = testing_program::shell(
        fmt::format("CLEAVE_SIM_NODE='{}' timeout -s KILL {} cleave {}", node,
                    killed ? killed_within * random.uniform() : 60, command));
    // In any case, Cleave's records can be read.
    if (const auto ledger = Ledger::open(std::filesystem::path(node) / "cleave", "soak"); !ledger)
      return fmt::format("after cleave {}: {}", command, ledger.error().text());
    if (outcome.exit_code == 0 || (killed && outcome.exit_code == 137)) continue;
    // No input here is bad but a UUID that does not name a whole instance.
    const bool a_part =
        outcome.exit_code == 2 && outcome.err.find("it is one of ") != std::string::npos;
    if (outcome.exit_code != 1 && !a_part)
      return fmt::format("cleave {}: ended with {}: {}", command, outcome.exit_code, outcome.err);
    if (outcome.err.empty() || outcome.err.find("inside Cleave") != std::string::npos)
      return fmt::format("cleave {}: {}", command, outcome.err);
  }
  return {};
}

/// Creating and destroying take time here, so that commands are killed between their steps.
TEST_F(Soak, CommandsKilledBetweenTheirStepsLeaveALedgerThatCanBeRead) {
  ASSERT_NO_FATAL_FAILURE(make("1xA100-40GB", false));
  std::vector<pid_t> commanders;
  for (std::uint64_t seed = 1; seed <= 2; ++seed)
    commanders.push_back(child([&] { return command_line(node_, seed, 20, 0.6); }));
  for (const pid_t pid : commanders) EXPECT_TRUE(ended_well(pid, seconds(300)));
  expect_sound();
}

TEST_F(Soak, TheCommandLineAndOtherClientsRaceForOneGpu) {
  make("1xA100-40GB");
  const SharedPage shared;
  std::vector<pid_t> commanders, others;
  const int commands = static_cast<int>(std::clamp<std::int64_t>(operations() / 2000, 10, 10'000));
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    commanders.push_back(child([&] { return command_line(node_, seed, commands); }));
    others.push_back(child([&] {
      const auto door = open_door(node_);
      return random_operations(*door, node_, seed, shared->count, INT64_MAX);
    }));
  }
  for (const pid_t pid : commanders) EXPECT_TRUE(ended_well(pid, seconds(300)));
  for (const pid_t pid : others) {
    EXPECT_EQ(::waitpid(pid, nullptr, WNOHANG), 0) << "a client ended early";
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
  EXPECT_GT(shared->count.load(), 100);
  expect_sound();
  const pid_t fresh = child([&] { return tidy_up(*open_door(node_)); });
  EXPECT_TRUE(ended_well(fresh, seconds(60)));
  // No killed process left a lock, and the ledger can be read.
  const auto create = testing_program::shell("CLEAVE_SIM_NODE='" + node_ +
                                             "' timeout 30 cleave create --gpu 0 7g.40gb");
  EXPECT_EQ(create.exit_code, 0) << create.err;
}

// One program, several threads, each with a door of its own to the one library.
TEST_F(ThreadsSoak, OneProgramMayCallFromManyThreads) {
  ASSERT_NO_FATAL_FAILURE(make("2xA100-40GB"));
  std::atomic<std::int64_t> count{0};
  const std::int64_t until = operations() / 10;
  std::vector<std::unique_ptr<NvmlDoor>> doors;
  for (int i = 0; i < 4; ++i) doors.push_back(open_door(node_));
  std::vector<std::string> wrong(doors.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < doors.size(); ++i)
      threads.emplace_back(
          [&, i] { wrong[i] = random_operations(*doors[i], node_, i + 1, count, until); });
  }
  for (const std::string& each : wrong) EXPECT_EQ(each, "");
  EXPECT_GE(count.load(), until);
  expect_sound();
}

}  // namespace
}  // namespace cleave::soak
