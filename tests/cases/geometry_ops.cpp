// Operations of module `geometry`: profile tables, legality, and the states of one GPU.

#include <set>
#include <vector>

#include "answer.hpp"
#include "input.hpp"
#include "operations.hpp"

namespace cleave::cases::geometry {

namespace {

/// The profiles of a state regardless of position, as indices into GpuModel::profiles, ascending.
using Multiset = std::vector<int>;

/// Of all states, or of the maximal ones.
std::set<Multiset> multisets(const StateGraph& graph, bool maximal) {
  std::set<Multiset> found;
  for (int i = 0; i < graph.size(); ++i) {
    const auto id = static_cast<StateId>(i);
    if (maximal && !graph.maximal(id)) continue;
    Multiset profiles;
    for (const PlacementId placement : graph.state(id))
      profiles.push_back(graph.geometry()[placement].profile_index);
    found.insert(std::move(profiles));
  }
  return found;
}

/// Enumerates every multiset of profiles, including the empty one, whose slices add up to at most
/// the GPU's. A second media-extension instance is never possible, whatever the slices, so it is
/// not tried.
class WithinBudgets {
 public:
  explicit WithinBudgets(const Geometry& geometry) : geometry_(&geometry) {}

  std::vector<Multiset> all() {
    grow(0, geometry_->model().compute, geometry_->model().memory_slices, false);
    return std::move(found_);
  }

 private:
  void grow(int from, ComputeSlices compute, MemorySlices memory, bool media) {
    found_.push_back(current_);
    const auto profiles = geometry_->model().profiles;
    for (int i = from; i < static_cast<int>(profiles.size()); ++i) {
      const Profile& profile = profiles[static_cast<std::size_t>(i)];
      const bool extends_media = profile.attribute == Attribute::media;
      if (geometry_->of_profile(i).empty() || (extends_media && media)) continue;
      if (profile.compute > compute || profile.memory > memory) continue;
      current_.push_back(i);
      grow(i, compute - profile.compute, memory - profile.memory, media || extends_media);
      current_.pop_back();
    }
  }

  const Geometry* geometry_;
  Multiset current_;
  std::vector<Multiset> found_;
};

Json profile_row(const Profile& profile) {
  return {{"name", profile.name},
          {"compute", profile.compute.value},
          {"memory", profile.memory.value},
          {"memory_gb", profile.name_gb()},
          {"starts", profile.starts.ascending()},
          {"preference", profile.starts.preferred()},
          {"size_rank", profile.id ? Json(*profile.id) : Json()}};
}

}  // namespace

Json table(JsonReader& in) {
  const auto graph = read_device(in);
  if (!graph) return {};
  const GpuModel& model = graph->geometry().model();
  Json profiles = Json::array();
  for (const Profile* profile : graph->geometry().profile_list())
    profiles.push_back(profile_row(*profile));
  return {{"device", in.text("device")},
          {"compute_slices", model.compute.value},
          {"memory_slices", model.memory_slices.value},
          {"slice_gb", model.largest().name_gb() / model.memory_slices.value},
          {"profiles", profiles}};
}

Json legal(JsonReader& in) {
  const auto graph = read_device(in);
  if (!graph) return {};
  auto written = read_instances(in, "state", graph->geometry());
  if (!written) return {};
  std::vector<Geometry::Written> list;
  for (const WrittenInstance& each : *written) list.push_back({each.profile, each.start});
  const Verdict verdict = graph->geometry().judge(list);
  if (verdict.illegal) return {{"legal", false}, {"reason", name(*verdict.illegal)}};
  const auto ids = placements(*written, graph->geometry());
  if (!ids) return {};
  PlacementSet state;
  for (const PlacementId id : *ids) state.insert(id);
  return {{"legal", true}, {"reason", nullptr}, {"maximal", graph->geometry().free(state).empty()}};
}

Json free_places(JsonReader& in) {
  const auto gpu = read_gpu(in);
  if (!gpu) return {};
  Json list = Json::array();
  // Placements are numbered in the order of the table, then by start.
  for (const PlacementId id : gpu->geometry().free(gpu->state))
    list.push_back(instance(gpu->geometry(), id));
  return {{"free", list}};
}

Json counts(JsonReader& in) {
  const auto graph = read_device(in);
  if (!graph) return {};
  return {{"device", in.text("device")},
          {"states", graph->size()},
          {"maximal", graph->maximal_states()},
          {"state_multisets", multisets(*graph, false).size()},
          {"maximal_multisets", graph->maximal_multisets()}};
}

Json states(JsonReader& in) {
  const auto graph = read_device(in);
  if (!graph) return {};
  const bool only_maximal = in.flag("maximal", false);
  std::vector<StateId> ids;
  for (int i = 0; i < graph->size(); ++i)
    if (const auto id = static_cast<StateId>(i); !only_maximal || graph->maximal(id))
      ids.push_back(id);
  Json list = Json::array();
  for (const StateId id : listed(*graph, std::move(ids)))
    list.push_back(instances(graph->geometry(), graph->state(id)));
  return {{"states", list}};
}

Json assumption1(JsonReader& in) {
  const auto graph = read_device(in);
  if (!graph) return {};
  const std::set<Multiset> with_layout = multisets(*graph, false);
  const std::vector<Multiset> within = WithinBudgets(graph->geometry()).all();
  Json without = Json::array();
  for (const Multiset& profiles : within)
    if (!with_layout.contains(profiles)) without.push_back(profiles);
  return {{"device", in.text("device")},
          {"multisets_within_budgets", within.size()},
          {"without_layout", without}};
}

}  // namespace cleave::cases::geometry
