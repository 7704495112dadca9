// Profile tables, legality and enumeration of partition states.

#include <set>

#include "operations.hpp"

namespace cleave::cases {

namespace {

Result<Json> table(const Json& input) {
  const auto device = find_device(input.at("device"));
  if (!device) return std::unexpected(device.error());
  Json profiles = Json::array();
  int slice_gb = 0;
  for (const Profile* profile : device->geometry().profile_list()) {
    if (profile->memory.value == 1) slice_gb = profile->name_gb();
    profiles.push_back({{"name", profile->name},
                        {"compute", profile->compute.value},
                        {"memory", profile->memory.value},
                        {"memory_gb", profile->name_gb()},
                        {"starts", profile->starts.ascending()},
                        {"preference", profile->starts.preferred()},
                        {"size_rank", profile->id ? Json(*profile->id) : Json(nullptr)}});
  }
  return Json{{"device", device->name},
              {"compute_slices", device->model->compute.value},
              {"memory_slices", device->model->memory_slices.value},
              {"slice_gb", slice_gb},
              {"profiles", profiles}};
}

Result<Json> legal(const Json& input) {
  const auto device = find_device(input.at("device"));
  if (!device) return std::unexpected(device.error());
  const Geometry& geometry = device->geometry();
  std::vector<Geometry::Written> written;
  for (const Json& entry : input.at("state")) {
    const Profile* profile = geometry.model().find(entry.at("profile").get<std::string>());
    if (profile == nullptr) return fail(ErrorKind::bad_input, "state", "unknown profile");
    written.push_back({profile, entry.at("start").get<int>()});
  }
  const Verdict verdict = geometry.judge(written);
  if (verdict.illegal) return Json{{"legal", false}, {"reason", name(*verdict.illegal)}};
  const auto state = read_state(geometry, input.at("state"));
  if (!state) return std::unexpected(state.error());
  return Json{{"legal", true}, {"reason", nullptr}, {"maximal", geometry.free(*state).empty()}};
}

Result<Json> free(const Json& input) {
  const auto device = find_device(input.at("device"));
  if (!device) return std::unexpected(device.error());
  const auto state = read_legal_state(*device->graph, input.at("state"));
  if (!state) return std::unexpected(state.error());
  Json list = Json::array();
  for (const PlacementId id : device->graph->free(*state))
    list.push_back(placement_json(device->geometry(), id));
  return Json{{"free", list}};
}

/// Profiles of a state without where they stand.
std::vector<int> multiset(const StateGraph& graph, StateId state) {
  std::vector<int> profiles;
  for (const PlacementId id : graph.state(state)) profiles.push_back(graph.geometry()[id].profile_index);
  return profiles;
}

Result<Json> counts(const Json& input) {
  const auto device = find_device(input.at("device"));
  if (!device) return std::unexpected(device.error());
  std::set<std::vector<int>> all;
  for (int i = 0; i < device->graph->size(); ++i)
    all.insert(multiset(*device->graph, static_cast<StateId>(i)));
  return Json{{"device", device->name},
              {"states", device->graph->size()},
              {"maximal", device->graph->maximal_states()},
              {"state_multisets", all.size()},
              {"maximal_multisets", device->graph->maximal_multisets()}};
}

Result<Json> states(const Json& input) {
  const auto device = find_device(input.at("device"));
  if (!device) return std::unexpected(device.error());
  Json list = Json::array();
  for (const StateId id : ordered_states(*device->graph)) {
    if (input.value("maximal", false) && !device->graph->maximal(id)) continue;
    list.push_back(state_json(device->geometry(), device->graph->state(id)));
  }
  return Json{{"states", list}};
}

/// Every multiset of profiles within the slice budgets, and those among them that no layout holds
/// (*Optimal Workload Placement*, assumption 1).
void within_budgets(const Geometry& geometry, std::size_t profile, ComputeSlices compute, MemorySlices memory,
                    int media, std::vector<int>& chosen, std::vector<std::vector<int>>& found) {
  const auto profiles = geometry.profile_list();
  if (profile == profiles.size()) {
    found.push_back(chosen);
    return;
  }
  const Profile& next = *profiles[profile];
  const std::size_t before = chosen.size();
  while (true) {
    within_budgets(geometry, profile + 1, compute, memory, media, chosen, found);
    if (next.compute > compute || next.memory > memory || (next.attribute == Attribute::media && media == 1))
      break;
    compute -= next.compute;
    memory -= next.memory;
    if (next.attribute == Attribute::media) ++media;
    chosen.push_back(static_cast<int>(&next - geometry.model().profiles.data()));
  }
  chosen.resize(before);
}

Result<Json> assumption1(const Json& input) {
  const auto device = find_device(input.at("device"));
  if (!device) return std::unexpected(device.error());
  std::set<std::vector<int>> laid_out;
  for (int i = 0; i < device->graph->size(); ++i)
    laid_out.insert(multiset(*device->graph, static_cast<StateId>(i)));
  std::vector<std::vector<int>> multisets;
  std::vector<int> chosen;
  within_budgets(device->geometry(), 0, device->model->compute, device->model->memory_slices, 0, chosen,
                 multisets);
  Json without = Json::array();
  for (const auto& profiles : multisets) {
    if (laid_out.contains(profiles)) continue;
    Json names = Json::array();
    for (const int index : profiles)
      names.push_back(device->model->profiles[static_cast<std::size_t>(index)].name);
    without.push_back(names);
  }
  return Json{
      {"device", device->name}, {"multisets_within_budgets", multisets.size()}, {"without_layout", without}};
}

constexpr Operation table_of_operations[] = {
    {"geometry", "table", table},   {"geometry", "legal", legal},   {"geometry", "free", free},
    {"geometry", "counts", counts}, {"geometry", "states", states}, {"geometry", "assumption1", assumption1},
};

}  // namespace

std::span<const Operation> geometry_operations() {
  return table_of_operations;
}

}  // namespace cleave::cases
