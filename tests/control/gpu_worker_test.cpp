// A worker on the simulated library: what it does, what it leaves alone, and what it makes of what
// others and a program that was stopped have left.

#include "control/gpu_worker.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "device/faulty_door_test.hpp"
#include "simulated_stand.hpp"

namespace cleave::trial {
namespace {

using std::chrono::milliseconds;

struct WorkerOnGpu : testing::Test {
  void begin(std::string_view gpus = "1xA100-40GB", bool mig = true) {
    worker.reset();
    door.reset();
    stand.reset();
    stand = std::make_unique<SimulatedStand>(gpus, true, mig);
    door = stand->door();
    auto found = find_managed_gpus(*door, {"all"});
    ASSERT_TRUE(found) << found.error().text();
    managed = std::move(*found);
    begin_again();
  }
  [[nodiscard]] GpuWorkerSettings settings() const {
    GpuWorkerSettings wanted;
    wanted.state_directory = stand->state();
    wanted.patience.at_most = milliseconds(50);
    wanted.may_switch_mig = true;
    return wanted;
  }
  /// As after the program was started again.
  void begin_again(Door* through = nullptr) {
    worker.reset();
    worker =
        std::make_unique<GpuWorker>(through == nullptr ? *door : *through, managed[0], settings());
  }
  GpuNews ask(GpuOperation operation) {
    return worker->carry_out({++number, GpuId{0}, std::move(operation)});
  }
  GpuNews create(std::string_view profile, int start) {
    return ask(CreateOnGpu{placement(managed[0], profile, start)});
  }
  /// "3g.20gb@4 ours, ..." as the observation has it.
  [[nodiscard]] std::string seen(const GpuNews& news) const {
    if (!news.observation) return "nothing";
    std::vector<std::string> words;
    for (const ObservedInstance& each : news.observation->instances) {
      const Placement& place = managed[0].geometry->geometry()[each.placement.value()];
      words.push_back(fmt::format("{}@{} {}{}", place.profile->name, place.start, name(each.owner),
                                  each.device.empty() ? " unfinished" : ""));
    }
    return fmt::format("{}", fmt::join(words, ", "));
  }
  [[nodiscard]] std::size_t open_intents() const {
    return Ledger::open(stand->state(), "test").value().state().open().size();
  }

  std::unique_ptr<SimulatedStand> stand;
  std::unique_ptr<NvmlDoor> door;
  std::vector<GpuIdentity> managed;
  std::unique_ptr<GpuWorker> worker;
  std::uint64_t number = 0;
};

std::string text(const GpuNews& news) {
  return fmt::format("{}; {}", news.done ? "done" : news.done.error().text(),
                     fmt::join(news.remarks, "; "));
}

TEST_F(WorkerOnGpu, MakesAndTakesAway) {
  begin();
  const GpuNews first = ask(LookAtGpu{});
  ASSERT_TRUE(first.done) << text(first);
  ASSERT_TRUE(first.observation);
  EXPECT_TRUE(first.observation->mig);
  EXPECT_FALSE(first.observation->lost);
  EXPECT_TRUE(first.observation->power_mw);
  EXPECT_EQ(seen(first), "");
  const GpuNews made = create("3g.20gb", 4);
  ASSERT_TRUE(made.done) << text(made);
  EXPECT_EQ(made.made, stand->look().instances.at(0).compute_instances.at(0).uuid);
  EXPECT_EQ(seen(made), "3g.20gb@4 ours");
  EXPECT_EQ(made.observation->instances[0].device, made.made);
  const GpuNews second = create("2g.10gb", 0);
  EXPECT_EQ(seen(second), "2g.10gb@0 ours, 3g.20gb@4 ours");
  const GpuNews no_room = create("4g.20gb", 0);
  EXPECT_FALSE(no_room.done);
  EXPECT_EQ(seen(no_room), seen(second));
  EXPECT_EQ(open_intents(), 0U);
  const GpuNews gone = ask(DestroyOnGpu{made.made});
  ASSERT_TRUE(gone.done) << text(gone);
  EXPECT_EQ(seen(gone), "2g.10gb@0 ours");
  const GpuNews again = ask(DestroyOnGpu{made.made});
  EXPECT_FALSE(again.done);
  EXPECT_EQ(seen(again), "2g.10gb@0 ours");
  EXPECT_EQ(stand->flaw(), "");
}

TEST_F(WorkerOnGpu, TellsOfItsHealth) {
  begin("2xA100-40GB");
  const auto give = [&](int gpu, std::string_view sign, std::optional<std::uint32_t> at = {}) {
    EXPECT_TRUE(set_sim_fault(stand->node(), gpu, sign, {}, at));
  };
  const GpuNews first = ask(LookAtGpu{});
  EXPECT_TRUE(first.events.empty());
  EXPECT_EQ(first.observation->health, (GpuHealth{0, false, false, {}}));
  const GpuNews made = create("3g.20gb", 4);
  EXPECT_EQ(made.observation->health, GpuHealth{}) << "only a look asks";
  const std::uint32_t instance = made.observation->instances[0].numbers.gpu_instance;
  give(0, "xid-94", instance);
  give(1, "xid-95");  // another worker's
  give(0, "recovery-action-4");
  give(0, "memory-errors", instance);
  const GpuNews then = ask(LookAtGpu{});
  ASSERT_EQ(then.events.size(), 2U);
  EXPECT_EQ(then.events[0].data, 94U);
  EXPECT_EQ(then.events[0].gpu_instance, GpuInstanceId{instance});
  EXPECT_EQ(then.events[1].data, 154U);
  EXPECT_EQ(then.observation->health, (GpuHealth{4, {}, {}, {}}));
  EXPECT_EQ(then.observation->instances[0].uncorrected, 1U);
  EXPECT_TRUE(ask(LookAtGpu{}).events.empty()) << "each is told once";
  give(0, "lost");
  const GpuNews lost = ask(LookAtGpu{});
  EXPECT_TRUE(lost.observation->lost);
  ASSERT_FALSE(lost.events.empty()) << "the last that it said";
  EXPECT_EQ(lost.events[0].data, 79U);
  give(0, "none");
  give(0, "silent-health");
  const GpuNews silent = ask(LookAtGpu{});
  ASSERT_TRUE(silent.done) << text(silent);
  EXPECT_EQ(silent.observation->health, GpuHealth{});
  EXPECT_FALSE(silent.observation->instances[0].uncorrected);
}

TEST_F(WorkerOnGpu, ShowsProcessesAndDoesNotDestroyUnderThem) {
  begin();
  const GpuNews made = create("1g.5gb", 0);
  auto process =
      SimProcess::start(stand->node(), made.made, static_cast<std::uint32_t>(::getpid()));
  ASSERT_TRUE(process) << process.error().text();
  ASSERT_TRUE(process->hold(MiB{512}));
  const GpuNews look = ask(LookAtGpu{});
  ASSERT_EQ(look.observation->instances.size(), 1U);
  ASSERT_EQ(look.observation->instances[0].processes.size(), 1U);
  EXPECT_EQ(look.observation->instances[0].processes[0].pid,
            static_cast<std::uint32_t>(::getpid()));
  ASSERT_TRUE(look.observation->instances[0].memory);
  EXPECT_GE(look.observation->instances[0].memory->used_bytes, 512ULL << 20);
  const GpuNews refused = ask(DestroyOnGpu{made.made});
  EXPECT_FALSE(refused.done);
  EXPECT_EQ(seen(refused), "1g.5gb@0 ours");
  ASSERT_TRUE(process->end());
  EXPECT_TRUE(ask(DestroyOnGpu{made.made}).done);
}

TEST_F(WorkerOnGpu, CountsWhatItIsAskedTo) {
  begin("1xH100-80GB-SXM5");
  const GpuNews busy = create("3g.40gb", 0), other = create("3g.40gb", 4);
  ASSERT_TRUE(busy.done && other.done) << text(busy) << text(other);
  auto process =
      SimProcess::start(stand->node(), busy.made, static_cast<std::uint32_t>(::getpid()));
  ASSERT_TRUE(process) << process.error().text();
  ASSERT_TRUE(process->keep_busy(0.75));
  EXPECT_TRUE(ask(LookAtGpu{}).counted.empty());
  const auto counts = [&](Counting counting) {
    return LookAtGpu{{{other.made, counting}, {"MIG-?", counting}, {busy.made, counting}}};
  };
  const GpuNews begun = ask(counts(Counting::anew));
  ASSERT_EQ(begun.counted.size(), 2U) << "one of them is not there";
  EXPECT_FALSE(begun.counted[0].shares || begun.counted[1].shares);
  std::map<std::string, double> activity;
  const auto given_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (activity.size() < 2) {  // refused until 100 ms have passed
    ASSERT_LT(std::chrono::steady_clock::now(), given_up) << "nothing is counted";
    const GpuNews then = ask(counts(Counting::on));
    ASSERT_TRUE(then.done) << text(then);
    for (const CountedDevice& each : then.counted)
      activity.emplace(each.device, each.shares.value().sm_activity.value());
  }
  EXPECT_NEAR(activity[busy.made], 0.75, 1e-9);
  EXPECT_NEAR(activity[other.made], 0, 1e-9);
  begin("1xA100-40GB");
  const GpuNews made = create("3g.20gb", 0);
  ASSERT_TRUE(made.done) << text(made);
  const GpuNews none = ask(LookAtGpu{{{made.made, Counting::anew}}});
  EXPECT_TRUE(none.done) << text(none);
  EXPECT_TRUE(none.counted.empty()) << "an A100 does not count";
}

TEST_F(WorkerOnGpu, LeavesForeignInstancesAlone) {
  begin();
  const auto foreign = create_instance(
      *door, GpuIndex{0}, find_driver_profile(*door, GpuIndex{0}, "2g.10gb").value(), Span{2, 2});
  ASSERT_TRUE(foreign);
  const auto bare = door->create_gpu_instance(
      GpuIndex{0}, find_driver_profile(*door, GpuIndex{0}, "1g.5gb").value().id, Span{0, 1});
  ASSERT_TRUE(bare);
  const GpuNews look = ask(LookAtGpu{});
  EXPECT_EQ(seen(look), "1g.5gb@0 foreign unfinished, 2g.10gb@2 foreign");
  const GpuNews refused = ask(DestroyOnGpu{foreign->computes.front().uuid});
  EXPECT_FALSE(refused.done);
  EXPECT_NE(text(refused).find("did not make"), std::string::npos) << text(refused);
  EXPECT_FALSE(create("2g.10gb", 2).done) << "it is taken";
  EXPECT_FALSE(ask(SwitchMig{false}).done);
  EXPECT_EQ(seen(ask(LookAtGpu{})), seen(look));
  EXPECT_EQ(open_intents(), 0U);
}

TEST_F(WorkerOnGpu, SomebodyElsesInstanceUnderOurNumberStays) {
  begin();
  const GpuNews made = create("2g.10gb", 2);
  const GpuInstanceId id = live_instances(*door, GpuIndex{0}).value().front().id;
  ASSERT_TRUE(destroy_instance(*door, GpuIndex{0}, id));
  const auto profile = find_driver_profile(*door, GpuIndex{0}, "2g.10gb").value();
  const auto foreign = create_instance(*door, GpuIndex{0}, profile, Span{2, 2});
  ASSERT_TRUE(foreign);
  ASSERT_EQ(foreign->id, id) << "numbers are used again";
  const GpuNews refused = ask(DestroyOnGpu{made.made});
  EXPECT_FALSE(refused.done);
  EXPECT_EQ(seen(refused), "2g.10gb@2 foreign");
}

/// A child that holds the GPU's lock until this goes.
class OtherHolder {
 public:
  OtherHolder(const std::filesystem::path& state, const std::string& uuid) {
    int ready[2] = {}, leash[2] = {};
    if (::pipe(ready) != 0 || ::pipe(leash) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(leash[1]);
      const auto lock = GpuLock::take(state, uuid, "GPU 0", "cleave");
      char byte = lock ? 'y' : 'n';
      (void)!::write(ready[1], &byte, 1);
      (void)!::read(leash[0], &byte, 1);
      ::_exit(0);
    }
    ::close(ready[1]);
    ::close(leash[0]);
    char byte = 'n';
    EXPECT_TRUE(::read(ready[0], &byte, 1) == 1 && byte == 'y');
    ::close(ready[0]);
    leash_ = leash[1];
  }
  ~OtherHolder() {
    ::close(leash_);
    ::waitpid(pid_, nullptr, 0);
  }
  OtherHolder(const OtherHolder&) = delete;
  OtherHolder& operator=(const OtherHolder&) = delete;
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int leash_ = -1;
};

TEST_F(WorkerOnGpu, WaitsForWhoHoldsTheLock) {
  begin();
  ASSERT_TRUE(create("1g.5gb", 0).done);
  worker.reset();
  {
    const OtherHolder other(stand->state(), managed[0].uuid);
    begin_again();
    for (const GpuNews& news : {ask(LookAtGpu{}), create("2g.10gb", 2)}) {
      EXPECT_FALSE(news.done);
      EXPECT_NE(text(news).find(fmt::format("{}", other.pid())), std::string::npos) << text(news);
      EXPECT_FALSE(news.observation);
    }
    EXPECT_EQ(stand->look().instances.size(), 1U);
  }
  EXPECT_EQ(seen(ask(LookAtGpu{})), "1g.5gb@0 ours");
  // And now this one holds it, as a daemon: nobody waits for that.
  const auto refused =
      GpuLock::take(stand->state(), managed[0].uuid, "GPU 0", "cleave", milliseconds(10000));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text().find("managed by cleaved"), std::string::npos)
      << refused.error().text();
}

TEST_F(WorkerOnGpu, IsLostAndComesBack) {
  begin("2xA100-40GB");
  ASSERT_TRUE(create("3g.20gb", 0).done);
  stand->fault(0, "lost");
  for (const GpuNews& news : {ask(LookAtGpu{}), create("1g.5gb", 6), ask(DestroyOnGpu{"MIG-?"})}) {
    EXPECT_FALSE(news.done);
    ASSERT_TRUE(news.observation) << text(news);
    EXPECT_TRUE(news.observation->lost);
    EXPECT_TRUE(news.observation->instances.empty());
  }
  EXPECT_FALSE(GpuLock::holder(stand->state(), managed[0].uuid)) << "what is gone is not held";
  stand->fault(0, "none");
  const GpuNews back = ask(LookAtGpu{});
  ASSERT_TRUE(back.done) << text(back);
  EXPECT_EQ(seen(back), "3g.20gb@0 ours") << "the simulated GPU keeps its instances";
  EXPECT_TRUE(GpuLock::holder(stand->state(), managed[0].uuid));
}

/// Known by its UUID: under another index it is found, and where it was nothing is done to whoever
/// is there.
TEST_F(WorkerOnGpu, FollowsItsUuid) {
  begin("3xA100-40GB");
  GpuIdentity moved = managed[2];
  moved.index = 0;
  worker = std::make_unique<GpuWorker>(*door, moved, settings());
  const GpuNews made = create("3g.20gb", 4);
  ASSERT_TRUE(made.done) << text(made);
  EXPECT_EQ(stand->look(0).instances.size(), 0U);
  EXPECT_EQ(stand->look(2).instances.size(), 1U);
  moved.uuid = "GPU-of-yesterday";
  worker = std::make_unique<GpuWorker>(*door, moved, settings());
  const GpuNews gone = ask(LookAtGpu{});
  ASSERT_TRUE(gone.observation);
  EXPECT_TRUE(gone.observation->lost);
}

TEST_F(WorkerOnGpu, HalfMadeIsAdoptedWhereNobodyUsesIt) {
  begin();
  const GpuNews made = create("3g.20gb", 4);
  worker.reset();
  stand->forget_last_line();
  {
    auto process =
        SimProcess::start(stand->node(), made.made, static_cast<std::uint32_t>(::getpid()));
    ASSERT_TRUE(process);
    begin_again();
    const GpuNews used = ask(LookAtGpu{});
    EXPECT_TRUE(used.done) << text(used);
    EXPECT_EQ(seen(used), "3g.20gb@4 half-made");
    EXPECT_EQ(used.remarks.size(), 1U) << text(used);
    EXPECT_TRUE(ask(LookAtGpu{}).remarks.empty()) << "it is said once";
    ASSERT_TRUE(process->end());
  }
  const GpuNews adopted = ask(LookAtGpu{});
  EXPECT_EQ(seen(adopted), "3g.20gb@4 ours");
  EXPECT_EQ(adopted.observation->instances[0].device, made.made);
  EXPECT_EQ(adopted.remarks.size(), 1U) << text(adopted);
  EXPECT_EQ(open_intents(), 0U);
  EXPECT_TRUE(ask(DestroyOnGpu{made.made}).done);
}

struct Stopped {};

/// Stopped before each call to the driver in turn: the next program finds an order that it can go
/// on from.
TEST_F(WorkerOnGpu, StoppedAtEachStepOfACreationAndADestruction) {
  bool through = false;
  for (std::uint64_t step = 0; !through; ++step) {
    SCOPED_TRACE(step);
    ASSERT_LT(step, 1000U);
    begin();
    const auto foreign = create_instance(
        *door, GpuIndex{0}, find_driver_profile(*door, GpuIndex{0}, "1g.5gb").value(), Span{0, 1});
    ASSERT_TRUE(foreign);
    bool armed = false;
    std::uint64_t calls = 0;
    DoorFaults faults;
    faults.delay = 1;
    faults.sleep = [&](milliseconds) {
      if (armed && calls++ == step) throw Stopped{};
    };
    FaultyDoor stopping(*door, faults);
    begin_again(&stopping);
    ASSERT_TRUE(ask(LookAtGpu{}).done);
    armed = true;
    try {
      const GpuNews made = create("3g.20gb", 4);
      ASSERT_TRUE(made.done);
      ASSERT_TRUE(ask(DestroyOnGpu{made.made}).done);
      through = true;
    } catch (const Stopped&) {
    }
    begin_again();
    const GpuNews look = ask(LookAtGpu{});
    ASSERT_TRUE(look.done) << text(look);
    ASSERT_TRUE(seen(look) == "1g.5gb@0 foreign" ||
                seen(look) == "1g.5gb@0 foreign, 3g.20gb@4 ours")
        << seen(look) << text(look);
    for (const ObservedInstance& each : look.observation->instances)
      if (each.owner == Ownership::ours) {
        ASSERT_TRUE(ask(DestroyOnGpu{each.device}).done);
      }
    EXPECT_EQ(seen(ask(LookAtGpu{})), "1g.5gb@0 foreign");
    EXPECT_EQ(open_intents(), 0U);
    EXPECT_EQ(stand->flaw(), "");
  }
}

/// The answers of reads are lost too: what cannot be told must not look like an empty GPU.
TEST_F(WorkerOnGpu, RefusalsNeverLookLikeAnEmptyGpu) {
  std::uint64_t failed = 0, unseen = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    begin();
    const GpuNews made = create("3g.20gb", 4);
    DoorFaults faults;
    faults.seed = seed;
    faults.refuse = 0.05;
    faults.lose = 0.02;
    FaultyDoor faulty(*door, faults);
    begin_again(&faulty);
    for (int step = 0; step < 30; ++step) {
      const GpuNews news = step % 3 == 0 ? create("1g.5gb", 0) : ask(LookAtGpu{});
      if (!news.observation) {
        ++unseen;
        continue;
      }
      ASSERT_FALSE(news.observation->lost) << text(news);
      ASSERT_TRUE(news.observation->mig);
      const auto& there = news.observation->instances;
      ASSERT_TRUE(std::ranges::any_of(there, [&](const ObservedInstance& each) {
        return each.device == made.made && each.owner == Ownership::ours;
      })) << seen(news);
      for (const ObservedInstance& each : there)
        if (each.device != made.made && !each.device.empty()) (void)ask(DestroyOnGpu{each.device});
    }
    failed += faulty.failed();
    begin_again();
    const GpuNews quiet = ask(LookAtGpu{});
    ASSERT_TRUE(quiet.done) << text(quiet);
    for (const ObservedInstance& each : quiet.observation->instances) {
      EXPECT_EQ(each.owner, Ownership::ours);
      EXPECT_TRUE(ask(DestroyOnGpu{each.device}).done);
    }
    EXPECT_EQ(open_intents(), 0U);
  }
  EXPECT_GT(failed, 100U);
  EXPECT_GT(unseen, 0U);
}

TEST_F(WorkerOnGpu, SwitchesMigOnlyWhereNothingIs) {
  begin();
  const GpuNews made = create("1g.5gb", 0);
  const GpuNews refused = ask(SwitchMig{false});
  EXPECT_FALSE(refused.done);
  EXPECT_TRUE(refused.observation->mig);
  ASSERT_TRUE(ask(DestroyOnGpu{made.made}).done);
  const GpuNews off = ask(SwitchMig{false});
  ASSERT_TRUE(off.done) << text(off);
  EXPECT_FALSE(off.observation->mig);
  EXPECT_FALSE(off.observation->lost);
  EXPECT_FALSE(create("1g.5gb", 0).done);
  EXPECT_NE(text(create("1g.5gb", 0)).find("MIG is off"), std::string::npos);
  auto process =
      SimProcess::start(stand->node(), managed[0].uuid, static_cast<std::uint32_t>(::getpid()));
  ASSERT_TRUE(process) << process.error().text();
  const GpuNews busy = ask(SwitchMig{true});
  EXPECT_FALSE(busy.done);
  ASSERT_EQ(busy.observation->processes.size(), 1U);
  ASSERT_TRUE(process->end());
  const GpuNews on = ask(SwitchMig{true});
  ASSERT_TRUE(on.done) << text(on);
  EXPECT_TRUE(on.observation->mig);
  EXPECT_TRUE(create("1g.5gb", 0).done);
}

TEST_F(WorkerOnGpu, APendingModeIsTakenBack) {
  begin();
  stand->fault(0, "mig-pending");
  ASSERT_TRUE(ask(LookAtGpu{}).done);
  const GpuNews pending = ask(SwitchMig{false});
  EXPECT_FALSE(pending.done);
  EXPECT_NE(text(pending).find("withdrawn"), std::string::npos) << text(pending);
  EXPECT_TRUE(pending.observation->mig);
  const auto mode = door->mig_mode(GpuIndex{0});
  ASSERT_TRUE(mode);
  EXPECT_TRUE(mode->current && mode->pending);
}

TEST_F(WorkerOnGpu, ChangesNoModeUnlessAllowed) {
  begin();
  GpuWorkerSettings strict = settings();
  strict.may_switch_mig = false;
  worker = std::make_unique<GpuWorker>(*door, managed[0], strict);
  EXPECT_TRUE(ask(SwitchMig{true}).done) << "it is on";
  const GpuNews refused = ask(SwitchMig{false});
  EXPECT_FALSE(refused.done);
  EXPECT_TRUE(refused.observation->mig);
}

/// What was managed while MIG was off is known by the tables; the same placements hold when it is
/// on.
TEST_F(WorkerOnGpu, BeginsWithMigOff) {
  for (const char* model : {"1xA100-40GB", "1xH100-80GB-SXM5", "1xA30-24GB"}) {
    SCOPED_TRACE(model);
    begin(model, false);
    const GpuNews look = ask(LookAtGpu{});
    ASSERT_TRUE(look.done) << text(look);
    EXPECT_FALSE(look.observation->mig);
    ASSERT_TRUE(ask(SwitchMig{true}).done);
    const Geometry& geometry = managed[0].geometry->geometry();
    for (int id = 0; id < geometry.size(); ++id) {
      const GpuNews made = ask(CreateOnGpu{static_cast<PlacementId>(id)});
      ASSERT_TRUE(made.done) << text(made);
      ASSERT_EQ(made.observation->instances.size(), 1U);
      EXPECT_EQ(made.observation->instances[0].placement, static_cast<PlacementId>(id));
      ASSERT_TRUE(ask(DestroyOnGpu{made.made}).done);
    }
  }
}

TEST_F(WorkerOnGpu, FindsWhatIsWanted) {
  begin("3xA100-40GB");
  const auto uuids = [](const Result<std::vector<GpuIdentity>>& found) {
    std::vector<std::uint32_t> indices;
    if (found)
      for (const GpuIdentity& each : *found) indices.push_back(each.index);
    return indices;
  };
  using Indices = std::vector<std::uint32_t>;
  EXPECT_EQ(uuids(find_managed_gpus(*door, {"all"})), (Indices{0, 1, 2}));
  EXPECT_EQ(uuids(find_managed_gpus(*door, {"2", managed[1].uuid, "1"})), (Indices{1, 2}));
  const auto unknown = find_managed_gpus(*door, {"7"});
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().text().find(managed[2].uuid), std::string::npos)
      << unknown.error().text();
  EXPECT_FALSE(find_managed_gpus(*door, {}));
  stand->fault(1, "lost");
  std::vector<std::string> remarks;
  EXPECT_EQ(uuids(find_managed_gpus(*door, {"all"}, &remarks)), (Indices{0, 2}));
  EXPECT_EQ(remarks.size(), 1U);
  EXPECT_FALSE(find_managed_gpus(*door, {"1"}));
  EXPECT_FALSE(std::filesystem::exists(stand->state())) << "nothing was locked or written";
}

}  // namespace
}  // namespace cleave::trial
