// The recipes over the simulated library when things go wrong: calls that fail or lose their
// answer, another program that holds an instance, a driver that lacks a function. The state must
// always be lawful, known, and possible to clean up.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "base/format.hpp"
#include "base/random.hpp"
#include "device/driver_geometry.hpp"
#include "device/faulty_door_test.hpp"
#include "device/live_instances.hpp"
#include "device/nvml_door.hpp"
#include "device/recording.hpp"
#include "stands.hpp"

namespace cleave::contract {
namespace {

using nvml::Return;
using std::chrono::milliseconds;
constexpr GpuIndex gpu0{0};

struct Recovery : testing::Test {
  /// A fresh node with one GPU of this model, and a door to it.
  void begin(std::string_view model) {
    door.reset();
    node.reset();
    SimNodeSpec spec;
    spec.gpus = {*find_gpu_model(model)};
    spec.instant = true;
    node.emplace(spec);
    auto opened = NvmlDoor::open(simulated_library());
    ASSERT_TRUE(opened) << opened.error().text();
    door = std::move(*opened);
  }
  std::vector<LiveInstance> live() {
    const auto found = live_instances(*door, gpu0);
    EXPECT_TRUE(found);
    return found.value_or(std::vector<LiveInstance>{});
  }
  DriverProfile any_profile(Random& random) {
    const auto profiles = door->profiles(gpu0);
    return profiles->at(random.below(profiles->size()));
  }
  void expect_lawful() { EXPECT_EQ(sim_node_flaw(node->directory()).value_or("unreadable"), ""); }
  void expect_cleanable() {
    for (const LiveInstance& each : live()) EXPECT_TRUE(destroy_instance(*door, gpu0, each.id));
    EXPECT_TRUE(live().empty());
  }

  std::optional<SimNode> node;
  std::unique_ptr<NvmlDoor> door;
  Patience patience;

  Recovery() {
    patience.at_most = milliseconds{100};
    patience.sleep = [](milliseconds) {};
    patience.holders = [](std::optional<std::uint32_t>) { return std::vector<DeviceHolder>{}; };
  }
};

/// By id, whether each is whole.
std::map<GpuInstanceId, bool> wholeness(const std::vector<LiveInstance>& live) {
  std::map<GpuInstanceId, bool> all;
  for (const LiveInstance& each : live) all[each.id] = !each.computes.empty();
  return all;
}

TEST_F(Recovery, RefusedCallsLeaveWhatTheErrorSays) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    begin(seed % 2 == 0 ? "A100-40GB" : "RTX-PRO-6000-BW-96GB");
    Random random(seed);
    DoorFaults faults;
    faults.seed = seed;
    faults.refuse = 0.12;
    FaultyDoor faulty(*door, faults);
    for (int step = 0; step < 40; ++step) {
      const auto before = live();
      if (before.empty() || random.below(2) == 0) {
        const auto made = create_instance(faulty, gpu0, any_profile(random), {}, patience);
        const auto after = live();
        const bool said = !made && made.error().text().find("left behind") != std::string::npos;
        ASSERT_EQ(after.size(), before.size() + (made || said ? 1 : 0));
        if (made) {
          ASSERT_TRUE(wholeness(after).at(made->id));
        }
      } else {
        const GpuInstanceId id = before[random.below(before.size())].id;
        const bool gone = destroy_instance(faulty, gpu0, id, patience).has_value();
        ASSERT_EQ(wholeness(live()).contains(id), !gone);
      }
    }
    EXPECT_GT(faulty.failed(), 0U);
    expect_lawful();
    expect_cleanable();
  }
}

TEST_F(Recovery, LostAnswersAreFoundByLooking) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    begin("A100-40GB");
    Random random(seed);
    DoorFaults faults;
    faults.seed = seed;
    faults.refuse = 0.05;
    faults.lose = 0.1;
    FaultyDoor faulty(*door, faults);
    for (int step = 0; step < 40; ++step) {
      const auto before = live();
      if (before.empty() || random.below(2) == 0) {
        const auto made = create_instance(faulty, gpu0, any_profile(random), {}, patience);
        if (made) {
          const auto after = live();
          const auto same = std::ranges::find(after, made->id, &LiveInstance::id);
          ASSERT_NE(same, after.end());
          ASSERT_EQ(same->computes, made->computes);
        }
      } else {
        const GpuInstanceId id = before[random.below(before.size())].id;
        if (destroy_instance(faulty, gpu0, id, patience)) {
          ASSERT_FALSE(wholeness(live()).contains(id));
        }
      }
    }
    expect_lawful();
    expect_cleanable();
  }
}

TEST_F(Recovery, FaultsOfTheDriverItself) {
  begin("A100-40GB");
  const auto profile = find_driver_profile(*door, gpu0, "3g.20gb");
  ASSERT_TRUE(profile);
  const auto fault = [&](const char* kind, std::uint32_t times) {
    ASSERT_TRUE(set_sim_fault(node->directory(), 0, kind, times));
  };
  fault("fail-create", 1);
  EXPECT_FALSE(create_instance(*door, gpu0, *profile, {}, patience));
  EXPECT_TRUE(live().empty());
  fault("fail-compute", 1);
  EXPECT_FALSE(create_instance(*door, gpu0, *profile, {}, patience));
  EXPECT_TRUE(live().empty()) << "the GPU instance was taken back";
  fault("stuck-in-use", 3);
  const auto made = create_instance(*door, gpu0, *profile, {}, patience);
  ASSERT_TRUE(made);
  EXPECT_TRUE(destroy_instance(*door, gpu0, made->id, patience)) << "it passes";
  fault("stuck-in-use", 1000);
  const auto stuck = create_instance(*door, gpu0, *profile, {}, patience);
  ASSERT_TRUE(stuck);
  const auto refused = destroy_instance(*door, gpu0, stuck->id, patience);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text().find("though no process is on it"), std::string::npos)
      << refused.error().text();
  ASSERT_TRUE(set_sim_fault(node->directory(), 0, "none"));
  expect_cleanable();
}

/// A child process that has looked at the instances of the GPU, and lives until it is released.
class Onlooker {
 public:
  explicit Onlooker(NvmlDoor& door) {
    int ready[2] = {}, wait[2] = {};
    if (pipe(ready) != 0 || pipe(wait) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      close(wait[1]);
      const auto instances = live_instances(door, gpu0);
      char byte = instances && !instances->empty() ? 'y' : 'n';
      (void)!write(ready[1], &byte, 1);
      (void)!read(wait[0], &byte, 1);  // ends when the parent closes it, or is gone
      _exit(0);
    }
    close(ready[1]);
    close(wait[0]);
    char byte = 'n';
    looked_ = read(ready[0], &byte, 1) == 1 && byte == 'y';
    close(ready[0]);
    leash_ = wait[1];
  }
  ~Onlooker() { let_go(); }
  Onlooker(const Onlooker&) = delete;
  Onlooker& operator=(const Onlooker&) = delete;
  [[nodiscard]] bool looked() const { return looked_; }
  void let_go() {
    if (leash_ < 0) return;
    close(leash_);
    leash_ = -1;
    waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_ = -1;
  int leash_ = -1;
  bool looked_ = false;
};

TEST_F(Recovery, AnotherProgramThatOnlyLooksIsWaitedFor) {
  begin("A100-40GB");
  const auto made =
      create_instance(*door, gpu0, *find_driver_profile(*door, gpu0, "2g.10gb"), {}, patience);
  ASSERT_TRUE(made);
  Onlooker onlooker(*door);
  ASSERT_TRUE(onlooker.looked());
  const auto refused = destroy_instance(*door, gpu0, made->id, patience);
  ASSERT_FALSE(refused) << "it has a handle of the MIG device";
  EXPECT_NE(refused.error().text().find("monitoring program"), std::string::npos);
  int waits = 0;
  patience.sleep = [&](milliseconds) {
    if (++waits == 2) onlooker.let_go();
  };
  EXPECT_TRUE(destroy_instance(*door, gpu0, made->id, patience));
  EXPECT_EQ(waits, 2);
}

/// Creates and destroys forever, four instances at a time; ends at the first refusal, or with its
/// parent.
[[noreturn]] void change_for_ever(NvmlDoor& door, pid_t parent) {
  const ProfileId smallest = find_driver_profile(door, gpu0, "1g.5gb")->id;
  std::deque<GpuInstanceId> mine;
  bool good = true;
  while (good && getppid() == parent) {
    // Without compute instances: a process that looks at those holds them.
    const auto made = door.create_gpu_instance(gpu0, smallest, {});
    good = made.has_value();
    if (good) mine.push_back(made->id);
    if (mine.size() < 4) continue;
    good = good && door.destroy_gpu_instance(gpu0, mine.front());
    mine.pop_front();
  }
  _exit(1);
}

/// Another program changes the GPU all the time: an observer sees instances come and go, but never
/// an error. Killed in the middle, it leaves a usable GPU.
TEST_F(Recovery, LookingWhileOthersChangeAndAreKilled) {
  begin("A100-40GB");
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) change_for_ever(*door, parent);
  ASSERT_GT(child, 0);
  std::size_t seen = 0;
  for (int looks = 0; looks < 500 || (seen == 0 && looks < 100000); ++looks) {
    const auto instances = live_instances(*door, gpu0);
    EXPECT_TRUE(instances) << instances.error().text();
    EXPECT_TRUE(door->processes(gpu0));
    if (!instances) break;
    seen += instances->size();
  }
  EXPECT_GT(seen, 0U);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, WNOHANG), 0) << "the child met a refusal";
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  expect_lawful();
  expect_cleanable();
}

/// The features that work with a library of these functions.
std::set<std::string> works_with(const nvml::Functions& functions) {
  NvmlDoor door(functions);
  std::set<std::string> works;
  const auto note = [&](const char* feature, bool worked) {
    if (worked) works.insert(feature);
  };
  note("gpu", door.gpu(gpu0).has_value());
  const auto profiles = door.profiles(gpu0);
  note("profiles", profiles && !profiles->empty());
  note("geometry", driver_geometry(door, gpu0).has_value());
  note("memory", door.memory(gpu0).has_value());
  note("processes", door.processes(gpu0).has_value());
  note("power", door.power_milliwatts(gpu0).has_value());
  note("events", door.wait_event(milliseconds{0}).has_value());
  if (!profiles || profiles->empty()) return works;
  Patience patience;
  patience.at_most = milliseconds{0};
  const auto made = create_instance(door, gpu0, profiles->front(), {}, patience);
  note("create", made.has_value());
  const auto instances = live_instances(door, gpu0);
  note("instances", instances && !instances->empty());
  if (made) note("destroy", destroy_instance(door, gpu0, made->id, patience).has_value());
  return works;
}

/// Without each optional function in turn: only the features that need it fail.
TEST_F(Recovery, MissingFunctionsDegradeFeatureByFeature) {
  begin("A100-40GB");
  const auto library = NvmlLibrary::open(simulated_library());
  ASSERT_TRUE(library);
  const nvml::Functions whole = (*library)->functions();
  const std::set<std::string> all = works_with(whole);
  ASSERT_EQ(all.size(), 10U);
  std::map<std::string, std::set<std::string>> lost;
  const auto without = [&](const char* name, auto member) {
    nvml::Functions less = whole;
    less.*member = nullptr;
    const std::set<std::string> works = works_with(less);
    std::ranges::set_difference(all, works, std::inserter(lost[name], lost[name].end()));
    expect_cleanable();
  };
#define CLEAVE_WITHOUT(name, parameters) without(#name, &nvml::Functions::name);
  {
    using namespace nvml;
    CLEAVE_NVML_OPTIONAL(CLEAVE_WITHOUT)
  }
#undef CLEAVE_WITHOUT
  for (const char* name :
       {"nvmlDeviceGetGpuInstanceProfileInfoV", "nvmlDeviceGetGpuInstanceProfileInfo",
        "nvmlDeviceGetMinorNumber", "nvmlDeviceGetMemoryInfo", "nvmlDeviceGetMemoryInfo_v2",
        "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses_v3",
        "nvmlDeviceGetGpuInstancePossiblePlacements_v2",
        "nvmlGpuInstanceGetComputeInstanceProfileInfo", "nvmlSystemGetNVMLVersion",
        "nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetSupportedEventTypes"})
    EXPECT_TRUE(lost.at(name).empty())
        << name << ": " << fmt::format("{}", fmt::join(lost.at(name), ", "));
  EXPECT_EQ(lost.at("nvmlDeviceGetPowerUsage"), std::set<std::string>{"power"});
  EXPECT_EQ(lost.at("nvmlEventSetCreate"), std::set<std::string>{"events"});
  EXPECT_TRUE(lost.at("nvmlDeviceCreateGpuInstance").contains("create"));
  for (const auto& [name, features] : lost)
    EXPECT_FALSE(features.contains("gpu")) << name << " is not needed to see the GPUs";
}

TEST_F(Recovery, WithoutANodeThereAreNoGpus) {
  unsetenv(sim_node_variable);
  const auto opened = NvmlDoor::open(simulated_library());
  ASSERT_TRUE(opened);
  EXPECT_EQ((*opened)->gpu_count(), 0U);
  EXPECT_FALSE((*opened)->gpu(gpu0));
  EXPECT_EQ((*opened)->driver().library, simulated_library());
  EXPECT_TRUE((*opened)->driver().missing.empty());
}

TEST_F(Recovery, SeveralGpusAreKeptApart) {
  SimNodeSpec spec;
  for (const char* model : {"A30-24GB", "A100-40GB", "H100-80GB-SXM5"})
    spec.gpus.push_back(*find_gpu_model(model));
  spec.instant = true;
  node.emplace(spec);
  auto opened = NvmlDoor::open(simulated_library());
  ASSERT_TRUE(opened);
  door = std::move(*opened);
  std::set<std::string> uuids;
  for (std::uint32_t i = 0; i < 3; ++i) {
    const GpuIndex gpu{i};
    EXPECT_EQ(driver_geometry(*door, gpu)->table(), spec.gpus[i]);
    EXPECT_TRUE(uuids.insert(door->gpu(gpu)->uuid).second);
    const auto profile = door->profiles(gpu)->front();
    ASSERT_TRUE(create_instance(*door, gpu, profile, {}, patience));
  }
  ASSERT_TRUE(door->wait_event(milliseconds{0}));
  ASSERT_TRUE(set_sim_fault(node->directory(), 1, "lost"));
  const auto event = door->wait_event(milliseconds{2000});
  ASSERT_TRUE(event && *event);
  EXPECT_EQ((*event)->gpu, GpuIndex{1});
  EXPECT_TRUE(live_instances(*door, GpuIndex{0}));
  EXPECT_FALSE(live_instances(*door, GpuIndex{1}));
  EXPECT_EQ(live_instances(*door, GpuIndex{2})->size(), 1U);
}

}  // namespace
}  // namespace cleave::contract
