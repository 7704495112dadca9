// Thousands of random operations through the library, compared with a slow model of a GPU written
// from the rules: sets of slices and counts, without tables of conflicts.

#include <algorithm>

#include "base/random.hpp"
#include "nvmlsim/library_test.hpp"

namespace cleave::sim {
namespace {

using enum nvml::Return;

/// A compute instance of the reference model, and the library's handle of it.
struct PlainCompute {
  std::uint32_t profile, start, slices, sms, id;
  nvml::ComputeInstance handle;
};
struct PlainInstance {
  const Profile* profile;
  int start;
  std::vector<PlainCompute> computes;
  nvml::GpuInstance handle;
};

class PlainGpu {
 public:
  explicit PlainGpu(const GpuModel& model) : model_(&model) {}
  std::vector<PlainInstance> instances;

  [[nodiscard]] bool can_add(const Profile& profile, int start) const {
    int compute = profile.compute.value, same = 1;
    for (const PlainInstance& other : instances) {
      for (int slice = start; slice < start + profile.memory.value; ++slice)
        if (slice >= other.start && slice < other.start + other.profile->memory.value) return false;
      compute += other.profile->compute.value;
      same += other.profile == &profile ? 1 : 0;
      if (profile.attribute == Attribute::media && other.profile->attribute == Attribute::media)
        return false;
      if (profile.attribute == Attribute::all_media &&
          other.profile->attribute != Attribute::no_media)
        return false;
      if (other.profile->attribute == Attribute::all_media &&
          profile.attribute != Attribute::no_media)
        return false;
    }
    return compute <= model_->compute.value && same <= profile.max_instances;
  }
  [[nodiscard]] std::optional<int> driver_choice(const Profile& profile) const {
    for (const int start : profile.starts.preferred())
      if (can_add(profile, start)) return start;
    return std::nullopt;
  }

 private:
  const GpuModel* model_;
};

std::uint32_t whole_sms(nvml::Device device, const Profile& profile) {
  nvml::GpuInstanceProfileInfo info{};
  EXPECT_EQ(library().nvmlDeviceGetGpuInstanceProfileInfo(
                device, static_cast<std::uint32_t>(profile.nvml_profile), &info),
            success);
  return info.multiprocessor_count;
}

class RandomWalk {
 public:
  RandomWalk(const OpenNode& node, const GpuModel& model, std::uint64_t seed)
      : node_(&node), model_(&model), gpu_(node.gpu()), plain_(model), random_(seed) {}

  void step() {
    switch (random_.below(6)) {
      case 0:
        return create_anywhere();
      case 1:
        return create_at();
      case 2:
        return destroy();
      case 3:
      case 4:
        return create_compute();
      default:
        return destroy_compute();
    }
  }
  void compare() {
    const SimNodeView view = look_at_sim_node(node_->path()).value();
    ASSERT_EQ(view.gpus[0].instances.size(), plain_.instances.size());
    for (const PlainInstance& instance : plain_.instances) {
      const auto same = [&](const SimGpuInstanceView& each) {
        return each.profile == instance.profile && each.start == instance.start &&
               each.compute_instances.size() == instance.computes.size();
      };
      ASSERT_EQ(std::ranges::count_if(view.gpus[0].instances, same), 1);
    }
    ASSERT_EQ(node_->flaw(), "");
  }

 private:
  const Profile& any_profile() { return model_->profiles[random_.below(model_->profiles.size())]; }
  std::uint32_t id_of(const Profile& profile) {
    return profile_id(gpu_, static_cast<std::uint32_t>(profile.nvml_profile));
  }

  void create_anywhere() {
    const Profile& profile = any_profile();
    const auto start = plain_.driver_choice(profile);
    nvml::GpuInstance handle = nullptr;
    const auto answer = library().nvmlDeviceCreateGpuInstance(gpu_, id_of(profile), &handle);
    ASSERT_EQ(answer, start ? success : insufficient_resources) << profile.name;
    if (!start) return;
    nvml::GpuInstanceInfo info{};
    ASSERT_EQ(library().nvmlGpuInstanceGetInfo(handle, &info), success);
    ASSERT_EQ(static_cast<int>(info.placement.start), *start) << profile.name;
    plain_.instances.push_back({&profile, *start, {}, handle});
  }

  void create_at() {
    const Profile& profile = any_profile();
    const int start = static_cast<int>(random_.below(13));
    const auto size = static_cast<std::uint32_t>(profile.memory.value);
    const nvml::GpuInstancePlacement place{static_cast<std::uint32_t>(start), size};
    const bool listed = start < Starts::most && profile.starts.contains(start);
    const auto expected = !listed                          ? invalid_argument
                          : plain_.can_add(profile, start) ? success
                                                           : insufficient_resources;
    nvml::GpuInstance handle = nullptr;
    const auto answer =
        library().nvmlDeviceCreateGpuInstanceWithPlacement(gpu_, id_of(profile), &place, &handle);
    ASSERT_EQ(answer, expected) << profile.name << "@" << start;
    if (expected == success) plain_.instances.push_back({&profile, start, {}, handle});
  }

  void destroy() {
    if (plain_.instances.empty()) return;
    const auto at = random_.below(plain_.instances.size());
    const PlainInstance& instance = plain_.instances[at];
    const auto answer = library().nvmlGpuInstanceDestroy(instance.handle);
    ASSERT_EQ(answer, instance.computes.empty() ? success : in_use);
    if (answer != success) return;
    EXPECT_EQ(library().nvmlGpuInstanceDestroy(instance.handle), invalid_argument);
    plain_.instances.erase(plain_.instances.begin() + static_cast<std::ptrdiff_t>(at));
  }

  /// The first place of a compute instance whose slices are free.
  static std::optional<std::uint32_t> free_start(const PlainInstance& parent, std::uint32_t number,
                                                 std::uint32_t slices) {
    const auto taken = [&](std::uint32_t slice) {
      return std::ranges::any_of(parent.computes, [&](const PlainCompute& other) {
        return slice >= other.start && slice < other.start + other.slices;
      });
    };
    const auto end = static_cast<std::uint32_t>(parent.profile->compute.value);
    for (std::uint32_t at = 0; at + slices <= end; at += slices == 3 ? 4 : slices) {
      bool free = true;
      for (std::uint32_t slice = at; slice < at + slices; ++slice) free = free && !taken(slice);
      if (free) return at;
      if (number == 7) break;  // it has one place
    }
    return std::nullopt;
  }

  void create_compute() {
    if (plain_.instances.empty()) return;
    PlainInstance& parent = plain_.instances[random_.below(plain_.instances.size())];
    const auto number =
        static_cast<std::uint32_t>(random_.below(nvml::compute_instance_profiles + 1));
    nvml::ComputeInstanceProfileInfo info{};
    const auto known =
        library().nvmlGpuInstanceGetComputeInstanceProfileInfo(parent.handle, number, 0, &info);
    nvml::ComputeInstance handle = nullptr;
    const auto answer =
        library().nvmlGpuInstanceCreateComputeInstance(parent.handle, number, &handle);
    if (known != success) {
      ASSERT_EQ(answer,
                number < nvml::compute_instance_profiles ? not_supported : invalid_argument);
      return;
    }
    std::uint32_t same = 0, sms = 0, id = 0;
    for (const PlainCompute& other : parent.computes) {
      same += other.profile == number ? 1 : 0;
      sms += other.sms;
    }
    while (std::ranges::find(parent.computes, id, &PlainCompute::id) != parent.computes.end()) ++id;
    const auto start = free_start(parent, number, info.slice_count);
    const bool fits = start && same < info.instance_count &&
                      sms + info.multiprocessor_count <= whole_sms(gpu_, *parent.profile);
    ASSERT_EQ(answer, fits ? success : insufficient_resources)
        << number << " in " << parent.profile->name;
    if (!fits) return;
    nvml::ComputeInstanceInfo about{};
    ASSERT_EQ(library().nvmlComputeInstanceGetInfo_v2(handle, &about), success);
    ASSERT_EQ(about.placement.start, *start);
    ASSERT_EQ(about.id, id);
    parent.computes.push_back(
        {number, *start, info.slice_count, info.multiprocessor_count, id, handle});
  }

  void destroy_compute() {
    if (plain_.instances.empty()) return;
    PlainInstance& parent = plain_.instances[random_.below(plain_.instances.size())];
    if (parent.computes.empty()) return;
    const auto at = random_.below(parent.computes.size());
    ASSERT_EQ(library().nvmlComputeInstanceDestroy(parent.computes[at].handle), success);
    parent.computes.erase(parent.computes.begin() + static_cast<std::ptrdiff_t>(at));
  }

  const OpenNode* node_;
  const GpuModel* model_;
  nvml::Device gpu_;
  PlainGpu plain_;
  Random random_;
};

TEST(RandomOperations, AreAnsweredAsTheRulesSay) {
  constexpr int steps = 3000;
  for (const GpuModel& model : gpu_models()) {
    SCOPED_TRACE(model.key);
    const OpenNode node(model.key);
    RandomWalk walk(node, model, 7);
    for (int i = 0; i < steps && !testing::Test::HasFatalFailure(); ++i) {
      walk.step();
      if (i % 50 == 0) walk.compare();
    }
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace cleave::sim
