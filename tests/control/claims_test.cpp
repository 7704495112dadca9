// Instances for somebody else's engine, beside jobs, GPUs that refuse, and a daemon that dies.

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/random.hpp"
#include "loop_stand.hpp"

namespace cleave::trial {
namespace {

using namespace std::chrono_literals;

/// The program has died.
struct Died {};

class Claims : public Loop {
 protected:
  Claims() : Loop({"A100-40GB", "A100-40GB"}) {}

  static ClaimOrder order(std::vector<ClaimAsk> asks, std::int64_t uid = 1000) {
    return {"job of someone", uid, std::move(asks)};
  }
  static ClaimAsk sized(std::string profile, std::int64_t count = 1) {
    return {std::move(profile), {}, count, {}, {}};
  }
  Result<void> make(const std::string& key, const ClaimOrder& what) {
    return control->make_claim(key, what, "root", moment());
  }
  void release(const std::string& key) { control->release_claim(key, "root", moment()); }
  ClaimState state(const std::string& key) {
    const auto claim = control->claim(key);
    return claim ? claim->claim.state : ClaimState::released;
  }
  std::vector<std::string> devices(const std::string& key) {
    std::vector<std::string> all;
    if (const auto claim = control->claim(key))
      for (const ClaimPlace& each : claim->claim.places) all.push_back(each.device);
    return all;
  }
  /// From now on the GPU makes none.
  void refuse_instances(std::size_t gpu) {
    const auto before = machine.door(gpu).refuse;
    machine.door(gpu).refuse = [before](std::string_view call) -> std::optional<nvml::Return> {
      if (call == "create_gpu_instance") return nvml::Return::insufficient_resources;
      return before ? before(call) : std::nullopt;
    };
  }
  std::int64_t room(const std::string& profile) { return control->room().profiles.at(profile); }
};

TEST_F(Claims, AreMadeHeldAndGivenBack) {
  run(6s);
  EXPECT_EQ(room("3g.20gb"), 4);
  ASSERT_TRUE(make("slurm:1", order({sized("3g.20gb"), sized("1g.5gb", 2)})));
  run(3s);
  ASSERT_EQ(state("slurm:1"), ClaimState::held);
  ASSERT_EQ(devices("slurm:1").size(), 3U);
  for (const std::string& device : devices("slurm:1")) EXPECT_TRUE(machine.exists(device));
  EXPECT_LE(room("3g.20gb"), 3);
  const auto claim = control->claim("slurm:1");
  EXPECT_TRUE(claim->places[0].numbers) << "the driver's numbers are known";
  release("slurm:1");
  run(3s);
  EXPECT_EQ(state("slurm:1"), ClaimState::released);
  EXPECT_EQ(room("3g.20gb"), 4) << "idle instances are room";
}

TEST_F(Claims, AreTheSameWhenAskedAgain) {
  run(6s);
  ASSERT_TRUE(make("a", order({sized("3g.20gb")})));
  ASSERT_TRUE(make("a", order({sized("3g.20gb")})));
  run(3s);
  ASSERT_TRUE(make("a", order({sized("3g.20gb")})));
  EXPECT_EQ(devices("a").size(), 1U);
  const auto other = make("a", order({sized("4g.20gb")}));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().place, "differs");
  EXPECT_EQ(room("3g.20gb"), 3);
}

TEST_F(Claims, SayWhyTheyHaveNoRoom) {
  run(6s);
  const auto large = make("a", order({sized("9g.90gb")}));
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().place, "too_large");
  ASSERT_TRUE(make("b", order({sized("7g.40gb", 2)})));
  const auto full = make("c", order({sized("1g.5gb")}));
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().place, "no_room");
  run(3s);
  EXPECT_FALSE(control->claim("c"));
  release("b");
  run(3s);
  // One slice in the middle of each half: a 3g.20gb fits by size alone.
  for (const int gpu : {0, 1}) {
    ClaimAsk first = sized("1g.5gb"), second = sized("1g.5gb");
    first.gpu = second.gpu = gpu;
    first.start = 1;
    second.start = 5;
    ASSERT_TRUE(make("d" + std::to_string(gpu), order({first, second})));
  }
  const auto scattered = make("e", order({sized("3g.20gb")}));
  ASSERT_FALSE(scattered);
  EXPECT_EQ(scattered.error().place, "fits_by_size_not_by_position");
}

TEST_F(Claims, TakeNothingFromJobsAndJobsNothingFromThem) {
  const JobNumber first = submit(Loop::sized("7g.40gb"), 20s);
  run(3s);
  ASSERT_TRUE(make("a", order({sized("7g.40gb")})));
  const auto more = make("b", order({sized("1g.5gb")}));
  EXPECT_FALSE(more);
  const JobNumber waits = submit(Loop::sized("4g.20gb"), 5s);
  run(10s);
  EXPECT_EQ(state("a"), ClaimState::held);
  EXPECT_EQ(record(first).state, JobState::running);
  EXPECT_EQ(record(waits).state, JobState::queued);
  run(30s);
  EXPECT_EQ(record(waits).state, JobState::finished) << record(waits).reason;
  EXPECT_EQ(state("a"), ClaimState::held);
}

TEST_F(Claims, GoBeforeJobsThatWaitAndHaveNotBegun) {
  settings.scheduler = "online";
  begin();
  run(6s);
  const JobNumber job = submit(Loop::sized("7g.40gb"), 5s);
  control->step(moment());
  ASSERT_TRUE(make("a", order({sized("7g.40gb")})));
  run(3s);
  EXPECT_EQ(state("a"), ClaimState::held);
  run(20s);
  EXPECT_EQ(record(job).state, JobState::finished) << "the other GPU is there for it";
}

TEST_F(Claims, WaitForTheProcessesOfTheirHolder) {
  run(6s);
  ASSERT_TRUE(make("a", order({sized("7g.40gb")})));
  run(3s);
  const std::string device = devices("a").front();
  ASSERT_TRUE(machine.start_process(device, 4711));
  run(30s);
  EXPECT_EQ(state("a"), ClaimState::held) << "they are no strangers";
  release("a");
  run(5s);
  EXPECT_EQ(state("a"), ClaimState::releasing);
  EXPECT_TRUE(machine.exists(device));
  EXPECT_EQ(room("7g.40gb"), 1);
  machine.end_process(4711);
  run(2s);
  EXPECT_EQ(state("a"), ClaimState::released);
  EXPECT_EQ(room("7g.40gb"), 2);
}

TEST_F(Claims, HaveNoOtherUsersMemory) {
  run(6s);
  ASSERT_TRUE(make("a", order({sized("7g.40gb", 2)}, 1000)));
  run(3s);
  const auto first = devices("a");
  release("a");
  run(3s);
  ASSERT_TRUE(make("b", order({sized("7g.40gb", 2)}, 1000)));
  run(3s);
  EXPECT_EQ(std::set(first.begin(), first.end()), (std::set{devices("b")[0], devices("b")[1]}))
      << "the same user has them as they are";
  release("b");
  run(3s);
  ASSERT_TRUE(make("c", order({sized("7g.40gb", 2)}, 1001)));
  run(3s);
  ASSERT_EQ(state("c"), ClaimState::held);
  for (const std::string& device : first) EXPECT_FALSE(machine.exists(device));
}

TEST_F(Claims, GoToAnotherGpuWhereOneRefuses) {
  run(6s);
  for (const std::size_t gpu : {0U, 1U}) {
    refuse_instances(gpu);
    if (gpu == 0) {
      ASSERT_TRUE(make("a", order({sized("3g.20gb")})));
      run(5s);
      EXPECT_EQ(state("a"), ClaimState::held);
    }
  }
  ASSERT_TRUE(make("b", order({sized("3g.20gb")})));
  run(10s);
  EXPECT_EQ(state("b"), ClaimState::failed);
  release("b");
  run(3s);
  EXPECT_EQ(state("b"), ClaimState::released);
}

TEST_F(Claims, ThatFailedAreKnownWhereAnotherOfTheirKeyIsNotWritten) {
  run(6s);
  for (const std::size_t gpu : {0U, 1U}) refuse_instances(gpu);
  ASSERT_TRUE(make("a", order({sized("3g.20gb")})));
  run(10s);
  ASSERT_EQ(state("a"), ClaimState::failed);
  disk.fail_writes(100);
  ASSERT_TRUE(make("a", order({sized("2g.10gb")})));
  run(3s);
  EXPECT_EQ(state("a"), ClaimState::failed) << "the other was never written";
  disk.fail_writes(0);
  run(10s);
  release("a");
  run(3s);
  EXPECT_EQ(state("a"), ClaimState::released);
  begin();
  run(6s);
  EXPECT_EQ(state("a"), ClaimState::released) << "it is in the store no more";
}

TEST_F(Claims, AreFoundAgainByAnotherDaemon) {
  run(6s);
  ASSERT_TRUE(make("a", order({sized("3g.20gb"), sized("2g.10gb")})));
  run(3s);
  const auto before = devices("a");
  begin();
  EXPECT_EQ(state("a"), ClaimState::held);
  EXPECT_EQ(devices("a"), before);
  const JobNumber job = submit(Loop::sized("7g.40gb"), 5s);
  run(20s);
  EXPECT_EQ(devices("a"), before);
  for (const std::string& device : before) EXPECT_TRUE(machine.exists(device));
  EXPECT_EQ(record(job).state, JobState::finished) << "on the other GPU";
}

TEST_F(Claims, AreGivenBackAfterTheMachineWasStartedAgain) {
  settings.boot = "one";
  begin();
  run(6s);
  ASSERT_TRUE(make("a", order({sized("3g.20gb")})));
  run(3s);
  settings.boot = "two";
  begin();
  run(6s);
  EXPECT_EQ(state("a"), ClaimState::released);
}

TEST_F(Claims, KnowThatSomebodyDestroyedTheirInstance) {
  run(6s);
  ASSERT_TRUE(make("a", order({sized("3g.20gb")})));
  run(3s);
  machine.destroy_foreign(devices("a").front());
  run(10s);
  ASSERT_TRUE(control->claim("a"));
  EXPECT_TRUE(control->claim("a")->claim.places.front().lost);
  EXPECT_EQ(room("3g.20gb"), 4);
  release("a");
  run(3s);
  EXPECT_EQ(state("a"), ClaimState::released);
}

/// Dies at the n-th point of a claim's life, whatever that is; another daemon goes on.
TEST_F(Claims, SurviveADeathAtEveryPoint) {
  for (int n = 1; n < 60; ++n) {
    SCOPED_TRACE(n);
    disk.before_write = disk.after_write = nullptr;
    machine.at = nullptr;
    begin();
    run(6s);
    int left = n;
    const auto reached = [&] {
      if (--left == 0) throw Died{};
    };
    const std::string key = "k" + std::to_string(n);
    bool asked = false, died = false;
    try {
      disk.before_write = disk.after_write = [&](const StoreBatch&) { reached(); };
      machine.at = [&](std::string_view) { reached(); };
      ASSERT_TRUE(make(key, order({sized("4g.20gb"), sized("3g.20gb")}, 1000 + n)));
      asked = true;
      run(4s);
      release(key);
      run(4s);
    } catch (const Died&) {
      died = true;
    }
    ASSERT_TRUE(asked);
    disk.before_write = disk.after_write = nullptr;
    machine.at = nullptr;
    begin();
    run(8s);
    // Asked again, as its holder does.
    if (state(key) == ClaimState::released) {
      ASSERT_TRUE(make(key, order({sized("4g.20gb"), sized("3g.20gb")}, 1000 + n)));
    }
    run(6s);
    EXPECT_EQ(state(key), died && state(key) == ClaimState::releasing ? ClaimState::releasing
                                                                      : ClaimState::held);
    const auto has = devices(key);
    EXPECT_EQ(std::set(has.begin(), has.end()).size(), 2U);
    for (const std::string& device : has) EXPECT_TRUE(machine.exists(device));
    release(key);
    run(4s);
    EXPECT_EQ(state(key), ClaimState::released);
    EXPECT_EQ(room("7g.40gb"), 2);
  }
}

/// Random claims, jobs, programs of holders and deaths of the daemon; no instance is anybody's
/// twice, and none goes while a program is there.
class RandomClaims : public Claims, public testing::WithParamInterface<std::uint64_t> {
 protected:
  void act(Random& random) {
    const std::vector<std::string> profiles = {"1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb",
                                               "7g.40gb"};
    const auto any = [&](std::size_t below) {
      return static_cast<std::size_t>(random.below(below));
    };
    const std::string key = "c" + std::to_string(any(6));
    const std::string& profile = profiles[any(profiles.size())];
    switch (any(6)) {
      case 0:
      case 1:
        (void)make(key, order({sized(profile, 1 + static_cast<int>(any(2)))},
                              1000 + static_cast<int>(any(2))));
        break;
      case 2:
        release(key);
        break;
      case 3:
        submit(Loop::sized(profile), 1s + any(5) * 1s);
        break;
      case 4:
        if (state(key) == ClaimState::held)
          for (const std::string& device : devices(key)) {
            ASSERT_TRUE(machine.start_process(device, next_pid));
            programs[next_pid++] = device;
          }
        break;
      default:
        if (!programs.empty()) {
          machine.end_process(programs.begin()->first);
          programs.erase(programs.begin());
        }
    }
  }
  void check() {
    std::map<std::string, std::string> users;
    const auto uses = [&](const std::string& device, const std::string& who) {
      if (device.empty()) return;
      const auto [there, fresh] = users.try_emplace(device, who);
      EXPECT_TRUE(fresh) << device << " is of " << there->second << " and of " << who;
      EXPECT_TRUE(machine.exists(device)) << device << " of " << who;
    };
    for (const ClaimStatus& claim : control->claims())
      if (claim.claim.state == ClaimState::held)
        for (const ClaimPlace& place : claim.claim.places) uses(place.device, claim.claim.key);
    for (const JobRecord* job : control->jobs())
      if (const AttemptRecord* attempt = control->attempt_of(job->number);
          attempt != nullptr && job->state == JobState::running && !attempt->end)
        uses(attempt->device, "job " + std::to_string(job->number));
    for (const auto& [pid, device] : programs)
      EXPECT_TRUE(machine.exists(device)) << "process " << pid << " lost " << device;
  }

  std::uint32_t next_pid = 100'000;
  std::map<std::uint32_t, std::string> programs;
};

TEST_P(RandomClaims, NothingIsUsedTwice) {
  Random random(GetParam());
  run(6s);
  for (int round = 0; round < 60 && !HasFailure(); ++round) {
    int until_death = random.below(4) == 0 ? 1 + static_cast<int>(random.below(25)) : 0;
    const auto reached = [&] {
      if (until_death == 0) return;
      --until_death;
      if (until_death == 0) throw Died{};
    };
    disk.before_write = disk.after_write = [&](const StoreBatch&) { reached(); };
    machine.at = [&](std::string_view) { reached(); };
    try {
      act(random);
      run(random.below(2000) * 1ms);
    } catch (const Died&) {
      disk.before_write = disk.after_write = nullptr;
      machine.at = nullptr;
      begin();
      run(6s);
    }
    check();
  }
  disk.before_write = disk.after_write = nullptr;
  machine.at = nullptr;
  for (const auto& [pid, device] : programs) machine.end_process(pid);
  for (const ClaimStatus& claim : control->claims()) release(claim.claim.key);
  run(120s);
  EXPECT_TRUE(control->claims().empty());
  EXPECT_TRUE(control->jobs().empty());
  EXPECT_EQ(room("7g.40gb"), 2) << "nothing is left over";
}
INSTANTIATE_TEST_SUITE_P(Seeds, RandomClaims, testing::Range<std::uint64_t>(1, 41));

}  // namespace
}  // namespace cleave::trial
