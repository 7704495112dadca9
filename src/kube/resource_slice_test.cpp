// The slices as the API server gets them, and the law of the order: published includes allocated.

#include "kube/resource_slice.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/json.hpp"
#include "base/places_test.hpp"
#include "base/random.hpp"
#include "kube/kube_counters.hpp"

namespace cleave {
namespace {

std::vector<KubeGpu> gpus_of(std::string_view model, int count) {
  const GpuModel& found = **find_gpu_model(model);
  std::vector<KubeGpu> gpus;
  for (int i = 0; i < count; ++i)
    gpus.push_back({"GPU-0000000" + std::to_string(i) + "-1111-2222-3333-444444444444",
                    i,
                    Geometry(found, ProfileChoice().on(found)),
                    {},
                    true});
  return gpus;
}

std::vector<std::string> words(std::span<const KubeGpu> gpus, std::span<const KubeDevice> devices) {
  std::vector<std::string> all;
  for (const KubeDevice& each : devices) {
    const Placement& at = gpus[each.gpu].geometry[each.placement];
    all.push_back(std::to_string(each.gpu) + ":" + std::string(at.profile->name) + "@" +
                  std::to_string(at.start));
  }
  return all;
}

bool is_profile(std::span<const KubeGpu> gpus, const KubeDevice& device, std::string_view name) {
  return gpus[device.gpu].geometry[device.placement].profile->name == name;
}

/// What the scheduler takes of them for one request of this profile: the first whose slices no
/// allocated device of the list has.
std::optional<KubeDevice> first_fit(std::span<const KubeGpu> gpus,
                                    std::span<const KubeDevice> published,
                                    const KubeDevices& allocated, std::string_view profile) {
  std::vector<PlacementSet> seen(gpus.size());
  for (const KubeDevice& each : published)
    if (allocated.contains(each)) seen[each.gpu].insert(each.placement);
  for (const KubeDevice& each : published) {
    if (!is_profile(gpus, each, profile) || is_in_the_way(gpus, each)) continue;
    if (gpus[each.gpu].geometry.free(seen[each.gpu]).contains(each.placement)) return each;
  }
  return std::nullopt;
}

std::string text_of(const std::string& file) {
  std::stringstream text;
  text << std::ifstream(source_dir() + "/src/kube/" + file).rdbuf();
  return text.str();
}

TEST(DeviceOrder, IsGreedyByProfileAndSmallFirst) {
  const auto gpus = gpus_of("A100-40GB", 1);
  const auto all = words(gpus, devices_in_order(gpus, {}, KubeOrder::policy));
  ASSERT_EQ(all.size(), static_cast<std::size_t>(gpus[0].geometry.size()));
  EXPECT_EQ(all.front(), "0:1g.5gb@6");  // where it spoils least
  EXPECT_EQ(all.back(), "0:7g.40gb@0");
  const auto fixed = words(gpus, devices_in_order(gpus, {}, KubeOrder::fixed));
  EXPECT_EQ(fixed.front(), "0:1g.5gb@0");
}

TEST(DeviceOrder, OfManyGpusHasEachProfile) {
  const auto gpus = gpus_of("H100-80GB-SXM5", 8);
  const auto devices = devices_in_order(gpus, {}, KubeOrder::policy);
  EXPECT_EQ(devices.size(), most_kube_devices);
  for (const Profile* profile : gpus[0].geometry.profile_list())
    EXPECT_TRUE(std::ranges::any_of(devices, [&](const KubeDevice& each) {
      return is_profile(gpus, each, profile->name);
    })) << profile->name;
}

TEST(DeviceOrder, WhatIsAllocatedIsLastAndWhatItBlocksIsLeftOut) {
  const auto gpus = gpus_of("A100-40GB", 1);
  const auto taken = gpus[0].geometry.find("4g.20gb", 0);
  const KubeUse use{{{0, *taken}}, {}};
  const auto all = words(gpus, devices_in_order(gpus, use, KubeOrder::policy));
  EXPECT_EQ(all.back(), "0:4g.20gb@0");
  EXPECT_EQ(std::ranges::find(all, "0:7g.40gb@0"), all.end());
  EXPECT_EQ(std::ranges::find(all, "0:2g.10gb@0"), all.end());
}

TEST(DeviceOrder, OthersWorkIsLeftOutUnlessItWasOfferedAndThenHasATaint) {
  auto gpus = gpus_of("A100-40GB", 1);
  const KubeDevice offered{0, *gpus[0].geometry.find("2g.10gb", 0)};
  gpus[0].taken = PlacementSet::of(*gpus[0].geometry.find("1g.5gb", 0));
  const auto without = devices_in_order(gpus, {}, KubeOrder::policy);
  EXPECT_EQ(std::ranges::find(without, offered), without.end());
  const auto with = devices_in_order(gpus, {{}, {offered}}, KubeOrder::policy);
  EXPECT_EQ(with.back(), offered);
  const Json slice = devices_slice({"n", "", 1}, gpus, with, {});
  EXPECT_TRUE(slice["spec"]["devices"].back().contains("taints"));
  EXPECT_FALSE(slice["spec"]["devices"].front().contains("taints"));
}

/// A scheduler that sees an update some time after it was written, and never an older one again;
/// and a node that learns of an allocation some time after it was made.
class LateScheduler {
 public:
  explicit LateScheduler(std::vector<KubeGpu> gpus) : gpus_(std::move(gpus)) {
    publish(KubeOrder::policy);
  }

  void look() { seen_ = written_.size() - 1; }
  bool allocate(std::string_view profile) {
    const auto got = first_fit(gpus_, written_[seen_].devices, allocated, profile);
    if (!got || written_[seen_].tainted.contains(*got)) return false;
    allocated.insert(*got);
    check_legal();
    return true;
  }
  void release(std::size_t which) {
    const auto gone = std::next(allocated.begin(), static_cast<std::ptrdiff_t>(which));
    known_.erase(*gone);
    allocated.erase(gone);
  }
  void learn() { known_ = allocated; }
  /// What it may still see, and what it has been shown since, was offered a moment ago.
  void publish(KubeOrder order) {
    KubeUse use{known_, {}};
    for (std::size_t i = seen_; i < written_.size(); ++i)
      for (const KubeDevice& each : written_[i].devices)
        if (!written_[i].tainted.contains(each)) use.offered.insert(each);
    write(use, order);
  }
  /// The moment is over: what was offered before the latest, and allocated then, is known.
  void moment_passes() {
    look();
    learn();
    written_.erase(written_.begin(), std::prev(written_.end()));
    seen_ = 0;
  }

  KubeDevices allocated;

 private:
  struct Written {
    std::vector<KubeDevice> devices;
    KubeDevices tainted;
  };
  void write(const KubeUse& use, KubeOrder order) {
    Written& now = written_.emplace_back();
    now.devices = devices_in_order(gpus_, use, order);
    now.tainted = surplus_of(gpus_, use, now.devices, order);
    EXPECT_LE(now.devices.size(), most_kube_devices);
    for (const KubeDevice& each : allocated)  // also what is on its way
      EXPECT_NE(std::ranges::find(now.devices, each), now.devices.end());
  }
  void check_legal() const {
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      PlacementSet here;
      for (const KubeDevice& each : allocated)
        if (each.gpu == i) here.insert(each.placement);
      EXPECT_TRUE(gpus_[i].geometry.legal(here)) << layout_text(gpus_[i].geometry, here);
    }
  }
  std::vector<KubeGpu> gpus_;
  std::vector<Written> written_;
  std::size_t seen_ = 0;
  KubeDevices known_;
};

TEST(DeviceOrder, PublishedIncludesAllocatedAndNothingIsGivenTwice) {
  for (const auto& [model, count] : std::vector<std::pair<std::string, int>>{
           {"A100-40GB", 2}, {"H100-80GB-SXM5", 8}, {"A30-24GB", 3}, {"RTX-PRO-6000-BW-96GB", 4}}) {
    const auto gpus = gpus_of(model, count);
    const auto profiles = gpus[0].geometry.profile_list();
    LateScheduler scheduler(gpus);
    Random random(7);
    std::size_t most = 0;
    for (int step = 0; step < 1500 && !HasFailure(); ++step) {
      const std::uint64_t what = random.below(13);
      if (what < 4) scheduler.allocate(profiles[random.below(profiles.size())]->name);
      if (what >= 4 && what < 6 && !scheduler.allocated.empty())
        scheduler.release(random.below(scheduler.allocated.size()));
      if (what >= 6 && what < 9)
        scheduler.publish(random.below(4) == 0 ? KubeOrder::fixed : KubeOrder::policy);
      if (what == 9) scheduler.look();
      if (what == 10 || what == 11) scheduler.learn();
      if (what == 12) scheduler.moment_passes();
      most = std::max(most, scheduler.allocated.size());
    }
    EXPECT_GT(most, static_cast<std::size_t>(count)) << model;
  }
}

/// Where a slice is full of what was offered, there is room for others soon: in eight empty GPUs
/// any number of pods of one profile finds its places, as fast as updates and moments go.
TEST(DeviceOrder, AFullSliceDoesNotStayAsItIs) {
  const auto gpus = gpus_of("H100-80GB-SXM5", 8);
  for (const auto& [profile, places] :
       std::vector<std::pair<std::string, int>>{{"3g.40gb", 16}, {"1g.10gb", 56}, {"7g.80gb", 8}}) {
    LateScheduler scheduler(gpus);
    int rounds = 0;
    for (int had = 0; had < places && ++rounds < 300;) {
      if (scheduler.allocate(profile))
        ++had;
      else
        scheduler.moment_passes();
      scheduler.learn();
      scheduler.publish(KubeOrder::policy);
      scheduler.look();
    }
    EXPECT_LT(rounds, places + 20) << profile;
    // All end at once, and then each profile has a place within two moments.
    while (!scheduler.allocated.empty()) scheduler.release(0);
    for (const Profile* other : gpus[0].geometry.profile_list()) {
      for (int i = 0; i < 3; ++i) {
        scheduler.publish(KubeOrder::policy);
        scheduler.moment_passes();
      }
      EXPECT_TRUE(scheduler.allocate(other->name)) << other->name;
      scheduler.release(0);
    }
  }
}

/// The hazard that the law is for: without the allocated device the scheduler gives its slices
/// away.
TEST(DeviceOrder, ALeftOutDeviceIsGivenTwice) {
  const auto gpus = gpus_of("A100-40GB", 1);
  const KubeDevice one{0, *gpus[0].geometry.find("1g.5gb", 0)};
  auto published = devices_in_order(gpus, {{}, {}}, KubeOrder::policy);
  ASSERT_NE(first_fit(gpus, published, {one}, "7g.40gb"), (KubeDevice{0, 0}));
  std::erase(published, one);
  EXPECT_TRUE(first_fit(gpus, published, {one}, "7g.40gb"));  // double booking
}

TEST(ResourceSlice, IsAsWritten) {
  const auto gpus = gpus_of("A30-24GB", 1);
  const KubePool pool{"node-0", "11111111-2222-3333-4444-555555555555", 1};
  const KubeDevice allocated{0, *gpus[0].geometry.find("1g.6gb", 0)};
  const auto devices = devices_in_order(gpus, {{allocated}, {}}, KubeOrder::policy);
  EXPECT_EQ(counters_slice(pool, gpus).dump(1) + "\n", text_of("slice_counters.golden.json"));
  EXPECT_EQ(devices_slice(pool, gpus, devices, {}).dump(1) + "\n",
            text_of("slice_devices.golden.json"));
}

TEST(ResourceSlice, IsKnownAgain) {
  const auto gpus = gpus_of("H100-80GB-SXM5", 8);
  const KubePool pool{"node-0", "", 1};
  const auto devices = devices_in_order(gpus, {}, KubeOrder::policy);
  const Json ours = devices_slice(pool, gpus, devices, {});
  EXPECT_EQ(published_devices(ours, gpus), KubeDevices(devices.begin(), devices.end()));
  EXPECT_TRUE(
      published_devices(Json::parse(R"({"spec":{"devices":[{},3,{"name":7}]}})"), gpus).empty());
  Json theirs = ours;
  theirs["metadata"]["resourceVersion"] = "12";
  theirs["spec"]["nodeSelector"] = nullptr;
  EXPECT_TRUE(says_the_same(theirs, ours));
  const Json tainted = devices_slice(pool, gpus, devices, {devices.front()});
  EXPECT_FALSE(says_the_same(theirs, tainted));
  EXPECT_FALSE(says_the_same(tainted, ours));
  std::swap(theirs["spec"]["devices"][0], theirs["spec"]["devices"][1]);
  EXPECT_FALSE(says_the_same(theirs, ours));
}

TEST(ResourceSlice, NotesSayWhatOthersHaveAndCountAsADifference) {
  auto gpus = gpus_of("A100-40GB", 2);
  const KubeDevice device{0, *gpus[0].geometry.find("1g.5gb", 0)};
  const std::vector<KubeDevice> devices{device};
  const Json plain = devices_slice({"n", "", 1}, gpus, devices, {});
  EXPECT_FALSE(plain["metadata"].contains("annotations"));
  gpus[0].taken.insert(*gpus[0].geometry.find("1g.5gb", 3));
  gpus[1].usable = false;
  const Json noted = devices_slice({"n", "", 1}, gpus, devices, {});
  EXPECT_EQ(noted["metadata"]["annotations"][taken_note],
            device_name(gpus[0], *gpus[0].geometry.find("1g.5gb", 3)));
  EXPECT_EQ(noted["metadata"]["annotations"][closed_note], gpu_label(gpus[1].uuid));
  EXPECT_TRUE(says_the_same(noted, noted));
  EXPECT_FALSE(says_the_same(plain, noted));
  EXPECT_FALSE(says_the_same(noted, plain));
}

}  // namespace
}  // namespace cleave
