#include "kube/resource_slice.hpp"

#include "base/format.hpp"
#include "base/json.hpp"
#include "kube/kube_counters.hpp"

namespace cleave {

namespace {

constexpr int slices_of_pool = 2;

Json counters_json(const KubeCounters& counters) {
  Json json = Json::object();
  for (const auto& [name, amount] : counters) json[name] = {{"value", fmt::format("{}", amount)}};
  return json;
}

Json slice_json(const KubePool& pool, const std::string& name) {
  Json metadata = {{"name", name}};
  if (!pool.node_uid.empty())
    metadata["ownerReferences"] = Json::array({{{"apiVersion", "v1"},
                                                {"kind", "Node"},
                                                {"name", pool.node},
                                                {"uid", pool.node_uid},
                                                {"controller", true}}});
  return {{"apiVersion", "resource.k8s.io/v1"},
          {"kind", "ResourceSlice"},
          {"metadata", std::move(metadata)},
          {"spec",
           {{"driver", kube_driver},
            {"nodeName", pool.node},
            {"pool",
             {{"name", pool.node},
              {"generation", pool.generation},
              {"resourceSliceCount", slices_of_pool}}}}}};
}

/// What programs can use there; the size in the name where no source says more.
std::string memory_quantity(const Profile& profile) {
  return profile.usable ? fmt::format("{}Mi", profile.usable->value)
                        : fmt::format("{}G", profile.name_gb());
}

Json device_json(const KubeGpu& gpu, PlacementId placement, bool tainted) {
  const Placement& at = gpu.geometry[placement];
  Json device = {
      {"name", device_name(gpu, placement)},
      {"attributes",
       {{"profile", {{"string", at.profile->name}}},
        {"model", {{"string", gpu.geometry.model().key}}},
        {"gpu", {{"int", gpu.index}}},
        {"uuid", {{"string", gpu.uuid}}},
        {"start", {{"int", at.start}}}}},
      {"capacity",
       {{"memory", {{"value", memory_quantity(*at.profile)}}},
        {"computeSlices", {{"value", fmt::format("{}", at.profile->compute.value)}}},
        {"memorySlices", {{"value", fmt::format("{}", at.profile->memory.value)}}}}},
      {"consumesCounters",
       Json::array({{{"counterSet", gpu_label(gpu.uuid)},
                     {"counters", counters_json(consumed_by(gpu.geometry, placement))}}})}};
  if (tainted) device["taints"] = Json::array({{{"key", refused_taint}, {"effect", "NoSchedule"}}});
  return device;
}

/// Whether everything in `ours` is in `theirs`, and lists are equally long.
bool includes(const Json& theirs, const Json& ours) {
  if (ours.is_object()) {
    if (!theirs.is_object()) return false;
    for (const auto& [key, value] : ours.items()) {
      const auto found = theirs.find(key);
      if (found == theirs.end() || !includes(*found, value)) return false;
    }
    return true;
  }
  if (ours.is_array()) {
    if (!theirs.is_array() || theirs.size() != ours.size()) return false;
    for (std::size_t i = 0; i < ours.size(); ++i)
      if (!includes(theirs[i], ours[i])) return false;
    return true;
  }
  return theirs == ours;
}

/// The server stamps a taint with the time it was added.
bool same_taints(const Json& theirs, const Json& ours) {
  const auto count = [](const Json& device) {
    const auto taints = device.find("taints");
    return taints == device.end() ? std::size_t{0} : taints->size();
  };
  const auto their_devices = theirs.find("devices"), our_devices = ours.find("devices");
  if (our_devices == ours.end()) return true;
  for (std::size_t i = 0; i < our_devices->size(); ++i)
    if (count((*their_devices)[i]) != count((*our_devices)[i])) return false;
  return true;
}

void write_notes(Json& slice, std::span<const KubeGpu> gpus) {
  std::string taken, closed;
  const auto add = [](std::string& words, const std::string& word) {
    words += (words.empty() ? "" : " ") + word;
  };
  for (const KubeGpu& gpu : gpus) {
    for (const PlacementId placement : gpu.taken) add(taken, device_name(gpu, placement));
    if (!gpu.usable) add(closed, gpu_label(gpu.uuid));
  }
  for (const auto& [note, words] : {std::pair(taken_note, taken), std::pair(closed_note, closed)})
    if (!words.empty()) slice["metadata"]["annotations"][note] = words;
}

std::string note_of(const Json& slice, const char* note) {
  const auto metadata = slice.find("metadata");
  if (metadata == slice.end() || !metadata->is_object()) return {};
  const auto notes = metadata->find("annotations");
  if (notes == metadata->end() || !notes->is_object()) return {};
  const auto found = notes->find(note);
  return found == notes->end() || !found->is_string() ? std::string() : found->get<std::string>();
}

bool same_notes(const Json& theirs, const Json& ours) {
  return note_of(theirs, taken_note) == note_of(ours, taken_note) &&
         note_of(theirs, closed_note) == note_of(ours, closed_note);
}

}  // namespace

std::string counters_slice_name(std::string_view node) {
  return fmt::format("00-cleave-{}", node);
}
std::string devices_slice_name(std::string_view node) {
  return fmt::format("01-cleave-{}", node);
}

Json counters_slice(const KubePool& pool, std::span<const KubeGpu> gpus) {
  Json slice = slice_json(pool, counters_slice_name(pool.node));
  Json& sets = slice["spec"]["sharedCounters"] = Json::array();
  for (const KubeGpu& gpu : gpus)
    sets.push_back(
        {{"name", gpu_label(gpu.uuid)}, {"counters", counters_json(counters_of(gpu.geometry))}});
  return slice;
}

Json devices_slice(const KubePool& pool, std::span<const KubeGpu> gpus,
                   std::span<const KubeDevice> devices, const KubeDevices& refused) {
  Json slice = slice_json(pool, devices_slice_name(pool.node));
  write_notes(slice, gpus);
  Json& list = slice["spec"]["devices"] = Json::array();
  for (const KubeDevice& device : devices)
    list.push_back(device_json(gpus[device.gpu], device.placement,
                               refused.contains(device) || is_in_the_way(gpus, device)));
  return slice;
}

KubeDevices published_devices(const Json& slice, std::span<const KubeGpu> gpus) {
  KubeDevices devices;
  if (!slice.is_object() || !slice.contains("spec") || !slice["spec"].is_object()) return devices;
  const auto list = slice["spec"].find("devices");
  if (list == slice["spec"].end() || !list->is_array()) return devices;
  for (const Json& each : *list) {
    if (!each.is_object() || !each.contains("name") || !each["name"].is_string()) continue;
    if (const auto device = find_device(gpus, each["name"].get<std::string>()))
      devices.insert(*device);
  }
  return devices;
}

bool says_the_same(const Json& theirs, const Json& ours) {
  const auto spec = theirs.find("spec");
  if (spec == theirs.end()) return false;
  const Json& our_spec = ours.at("spec");
  return includes(*spec, our_spec) && same_taints(*spec, our_spec) && same_notes(theirs, ours);
}

KubeDevices held_for(std::span<const KubeGpu> gpus, const KubeDevice& kept) {
  KubeDevices held;
  const Geometry& geometry = gpus[kept.gpu].geometry;
  for (const PlacementId placement : geometry.blocked(PlacementSet::of(kept.placement)))
    if (placement != kept.placement) held.insert({kept.gpu, placement});
  return held;
}

}  // namespace cleave
