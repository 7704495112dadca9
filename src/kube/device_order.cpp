#include "kube/device_order.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/format.hpp"
#include "placement/policy.hpp"

namespace cleave {

namespace {

/// Profiles by size; equal ones by name, so that plain ones come before those with attributes.
using ProfileKey = std::tuple<std::int64_t, int, int, std::string_view>;

ProfileKey key_of(const Profile& profile) {
  constexpr std::int64_t mib_per_gb = 1000;
  const std::int64_t size = profile.usable ? profile.usable->value : profile.name_gb() * mib_per_gb;
  return {size, profile.compute.value, profile.attribute == Attribute::none ? 0 : 1, profile.name};
}

const Profile& profile_at(std::span<const KubeGpu> gpus, const KubeDevice& device) {
  return *gpus[device.gpu].geometry[device.placement].profile;
}

PlacementSet on_gpu(const KubeDevices& devices, std::size_t gpu) {
  PlacementSet set;
  for (const KubeDevice& device : devices)
    if (device.gpu == gpu) set.insert(device.placement);
  return set;
}

bool takes_more(const KubeGpu& gpu, PlacementSet stands) {
  return gpu.usable && gpu.geometry.legal(stands);
}

/// The node as policies see it: what stands are walls.
Fleet fleet_of(std::span<const KubeGpu> gpus, const std::vector<PlacementSet>& stands) {
  FleetFile file;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    GpuEntry entry{fmt::format("node/{}", i), i, {}};
    file.geometries.push_back(gpus[i].geometry);
    if (takes_more(gpus[i], stands[i]))
      for (const PlacementId placement : stands[i]) {
        InstanceEntry instance;
        instance.placement = placement;
        instance.owned = false;
        entry.instances.push_back(std::move(instance));
      }
    file.gpus.push_back(std::move(entry));
  }
  Fleet fleet(file);
  for (std::size_t i = 0; i < gpus.size(); ++i)
    if (!takes_more(gpus[i], stands[i])) fleet.withdraw(GpuId{static_cast<std::uint32_t>(i)});
  return fleet;
}

/// As the daemon places claims: the least rise of fragmentation, also where a GPU is empty.
const ChosenPolicy& order_policy() {
  static const ChosenPolicy chosen =
      choose_policy("fragmentation", {{"threshold", "0"}, {"across", "rise"}}).value();
  return chosen;
}

std::optional<KubeDevice> best_device(const Fleet& fleet,
                                      const std::vector<PlacementSet>& candidates) {
  std::optional<KubeDevice> best;
  std::optional<Rank> rank;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const GpuState& state = fleet[GpuId{static_cast<std::uint32_t>(i)}];
    const auto found = best_on({fleet.graph(state), state}, candidates[i], order_policy());
    if (!found || (rank && !(found->rank < *rank))) continue;
    rank = found->rank;
    best = KubeDevice{i, found->placement};
  }
  return best;
}

/// The choice, then the choice given that the first is taken, until none is left.
std::vector<KubeDevice> greedy_sequence(Fleet& fleet, const std::vector<PlacementSet>& candidates) {
  std::vector<KubeDevice> sequence;
  const auto gpu_of = [](const KubeDevice& each) {
    return GpuId{static_cast<std::uint32_t>(each.gpu)};
  };
  while (const auto next = best_device(fleet, candidates)) {
    fleet.hold(gpu_of(*next), next->placement);
    sequence.push_back(*next);
  }
  for (const KubeDevice& each : sequence) fleet.vacate(gpu_of(each), each.placement);
  return sequence;
}

/// The devices of one profile that could be had now, best first.
struct Line {
  std::vector<KubeDevice> devices;
  std::size_t taken = 0;  // from the front
};

/// One line for each profile, small ones first.
std::vector<Line> lines_of(std::span<const KubeGpu> gpus, const KubeUse& use, KubeOrder order) {
  std::vector<PlacementSet> stands;
  for (std::size_t i = 0; i < gpus.size(); ++i)
    stands.push_back(gpus[i].taken | on_gpu(use.allocated, i));
  std::map<ProfileKey, std::vector<PlacementSet>> by_profile;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (!takes_more(gpus[i], stands[i])) continue;
    for (const PlacementId placement : gpus[i].geometry.free(stands[i])) {
      auto& sets = by_profile[key_of(*gpus[i].geometry[placement].profile)];
      sets.resize(gpus.size());
      sets[i].insert(placement);
    }
  }
  Fleet fleet = fleet_of(gpus, stands);
  std::vector<Line> lines;
  for (const auto& [key, sets] : by_profile) {
    Line& line = lines.emplace_back();
    if (order == KubeOrder::policy) line.devices = greedy_sequence(fleet, sets);
    for (std::size_t i = 0; i < sets.size(); ++i)
      for (const PlacementId placement : sets[i])
        if (std::ranges::find(line.devices, KubeDevice{i, placement}) == line.devices.end())
          line.devices.push_back({i, placement});
  }
  return lines;
}

/// The line that is to have one more: each has one first, then the one with the smallest share.
Line* next_line(std::vector<Line>& lines) {
  const auto comes_before = [](const Line& a, const Line& b) {
    if ((a.taken == 0) != (b.taken == 0)) return a.taken == 0;
    return (a.taken + 1) * b.devices.size() < (b.taken + 1) * a.devices.size();
  };
  Line* next = nullptr;
  for (Line& line : lines)
    if (line.taken < line.devices.size() && (next == nullptr || comes_before(line, *next)))
      next = &line;
  return next;
}

/// What must be published: the law above. By induction it is never more than there is room for,
/// since what was published fitted, and what is allocated was published. What was offered and
/// shares slices with an allocated device is on nobody's way: the scheduler saw one before the
/// other.
KubeDevices bound_to_be_there(std::span<const KubeGpu> gpus, const KubeUse& use) {
  KubeDevices bound;
  for (const KubeDevice& each : use.allocated)
    if (bound.size() < most_kube_devices) bound.insert(each);
  std::vector<PlacementSet> blocked;
  for (std::size_t i = 0; i < gpus.size(); ++i)
    blocked.push_back(gpus[i].geometry.blocked(on_gpu(use.allocated, i)));
  for (const KubeDevice& each : use.offered)
    if (bound.size() < most_kube_devices && !blocked[each.gpu].contains(each.placement))
      bound.insert(each);
  return bound;
}

}  // namespace

std::vector<KubeDevice> devices_in_order(std::span<const KubeGpu> gpus, const KubeUse& use,
                                         KubeOrder order) {
  std::vector<Line> lines = lines_of(gpus, use, order);
  KubeDevices published = bound_to_be_there(gpus, use);
  while (Line* line = next_line(lines)) {
    const KubeDevice& next = line->devices[line->taken];
    if (published.size() == most_kube_devices && !published.contains(next)) break;
    published.insert(next);
    ++line->taken;
  }
  std::vector<KubeDevice> ordered;
  for (const Line& line : lines)
    for (const KubeDevice& each : line.devices)
      if (published.erase(each) > 0) ordered.push_back(each);
  std::vector<KubeDevice> last(published.begin(), published.end());
  std::ranges::stable_sort(last, {},
                           [&](const KubeDevice& each) { return key_of(profile_at(gpus, each)); });
  ordered.insert(ordered.end(), last.begin(), last.end());
  return ordered;
}

KubeDevices surplus_of(std::span<const KubeGpu> gpus, const KubeUse& use,
                       std::span<const KubeDevice> devices, KubeOrder order) {
  KubeDevices surplus;
  if (devices.size() < most_kube_devices) return surplus;
  surplus.insert(devices.begin(), devices.end());
  for (const KubeDevice& each : devices_in_order(gpus, {use.allocated, {}}, order))
    surplus.erase(each);
  return surplus;
}

bool is_in_the_way(std::span<const KubeGpu> gpus, const KubeDevice& device) {
  const KubeGpu& gpu = gpus[device.gpu];
  return !gpu.usable || gpu.geometry.blocked(gpu.taken).contains(device.placement);
}

}  // namespace cleave
