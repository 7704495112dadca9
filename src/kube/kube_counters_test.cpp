// The law of counters: they forbid exactly what the GPU model forbids.

#include "kube/kube_counters.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "kube/kube_devices.hpp"
#include "model/gpu_model.hpp"

namespace cleave {
namespace {

using Amounts = std::map<std::string, std::int64_t>;

Geometry whole(const GpuModel& model) {
  return {model, ProfileChoice().on(model)};
}

/// As the scheduler adds and compares them.
class Scheduler {
 public:
  explicit Scheduler(const Geometry& geometry) : geometry_(geometry) {
    for (const auto& [name, amount] : counters_of(geometry)) left_[name] = amount;
    for (const PlacementId each : geometry.all()) {
      Amounts& amounts = takes_.emplace_back();
      for (const auto& [name, amount] : consumed_by(geometry, each)) {
        EXPECT_TRUE(left_.contains(name)) << name;
        EXPECT_TRUE(amounts.emplace(name, amount).second) << name;
      }
    }
  }
  [[nodiscard]] bool fits(PlacementId placement) const {
    for (const auto& [name, amount] : takes_[placement])
      if (left_.at(name) < amount) return false;
    return true;
  }
  void take(PlacementId placement) { change(placement, -1); }
  void give_back(PlacementId placement) { change(placement, 1); }

 private:
  void change(PlacementId placement, int sign) {
    for (const auto& [name, amount] : takes_[placement]) left_[name] += sign * amount;
  }
  const Geometry& geometry_;
  Amounts left_;
  std::vector<Amounts> takes_;
};

/// Compares at this state every placement that could be added, and goes on to those that may be,
/// in ascending order: so every legal state is visited once. Returns how many.
int walk(const Geometry& geometry, Scheduler& scheduler, PlacementSet state, int from) {
  int states = 1;
  const PlacementSet free = geometry.free(state);
  for (const PlacementId each : geometry.all() - state)
    EXPECT_EQ(free.contains(each), scheduler.fits(each))
        << geometry.model().key << " at " << layout_text(geometry, state) << " with "
        << geometry[each].profile->name << "@" << geometry[each].start;
  for (const PlacementId each : free) {
    if (each < from) continue;
    scheduler.take(each);
    states += walk(geometry, scheduler, state | PlacementSet::of(each), each + 1);
    scheduler.give_back(each);
  }
  return states;
}

TEST(KubeCounters, ForbidExactlyWhatTheModelForbids) {
  for (const GpuModel& model : gpu_models()) {
    const Geometry geometry = whole(model);
    Scheduler scheduler(geometry);
    EXPECT_GT(walk(geometry, scheduler, {}, 0), 10) << model.key;
    if (HasFailure()) return;
  }
}

/// A limit that slices do not imply, as a driver may report one, and a compute budget.
TEST(KubeCounters, KeepLimitsThatSlicesDoNotImply) {
  const GpuModel& known = **find_gpu_model("A100-40GB");
  std::vector<Profile> profiles(known.profiles.begin(), known.profiles.end());
  for (Profile& profile : profiles)
    if (profile.name == "1g.5gb") profile.max_instances = 3;
  GpuModel driven = known;
  driven.id = GpuModelId::other;
  driven.compute = ComputeSlices{6};
  driven.profiles = profiles;
  const Geometry geometry = whole(driven);
  Scheduler scheduler(geometry);
  EXPECT_GT(walk(geometry, scheduler, {}, 0), 10);
}

TEST(KubeCounters, StayWithinTheLimitsOfTheApi) {
  for (const GpuModel& model : gpu_models()) {
    const Geometry geometry = whole(model);
    EXPECT_LE(counters_of(geometry).size(), 32U) << model.key;
    std::set<std::string> names;
    const KubeGpu gpu{"GPU-01234567-89ab-cdef-0123-456789abcdef", 0, geometry, {}, true};
    for (const PlacementId each : geometry.all()) {
      const std::string name = device_name(gpu, each);
      EXPECT_LE(name.size(), 63U) << name;
      EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), std::string::npos)
          << name;
      EXPECT_TRUE(names.insert(name).second) << name;
      EXPECT_EQ(find_device(std::span(&gpu, 1), name), (KubeDevice{0, each}));
    }
  }
}

TEST(KubeDevices, UnknownNamesAreNone) {
  const Geometry geometry = whole(**find_gpu_model("A100-40GB"));
  const KubeGpu gpu{"GPU-0123", 0, geometry, {}, true};
  for (const char* name : {"", "gpu0123", "gpu0123-1g-5gb-9", "gpu9-1g-5gb-0", "gpu0123-1g-5gb-00"})
    EXPECT_FALSE(find_device(std::span(&gpu, 1), name)) << name;
  EXPECT_TRUE(find_device(std::span(&gpu, 1), "gpu0123-1g-5gb-0"));
}

}  // namespace
}  // namespace cleave
