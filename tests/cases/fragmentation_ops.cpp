// Operations of module `fragmentation`: the cost of one GPU, and the start that leaves the lowest
// cost.

#include "answer.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "cluster.hpp"
#include "input.hpp"
#include "operations.hpp"

namespace cleave::cases::fragmentation {

namespace {

/// Refuses formulas other than the one computed here and those that other_formula() rejects.
bool formula_is_ratio(JsonReader& in) {
  const auto formula = in.text_if("formula");
  if (!formula || *formula == "ratio") return true;
  in.refuse("formula", fmt::format("there is no formula '{}'", shown(*formula)));
  return false;
}

Json candidate(const OneGpu& gpu, PlacementId id) {
  return {{"start", gpu.geometry()[id].start},
          {"cost", rational(gpu.graph->cost(gpu.graph->add(gpu.id(), id)).ratio())},
          {"reuse", gpu.idle.contains(id)}};
}

}  // namespace

bool other_formula(const Json& input) {
  if (!input.is_object()) return false;
  const auto formula = input.find("formula");
  return formula != input.end() && (*formula == "ratio_nonzero" || *formula == "difference");
}

Json cost(JsonReader& in) {
  const auto gpu = read_gpu(in);
  if (!gpu || !formula_is_ratio(in)) return {};
  Json profiles = Json::array();
  for (const FitCount& count : fit_counts(gpu->geometry(), gpu->state))
    profiles.push_back(
        {{"profile", count.profile->name}, {"ideal", count.ideal}, {"valid", count.valid}});
  return {{"cost", rational(gpu->graph->cost(gpu->id()).ratio())}, {"profiles", profiles}};
}

Json choose(JsonReader& in) {
  const auto gpu = read_gpu(in);
  if (!gpu || !formula_is_ratio(in)) return {};
  const Profile* profile = read_profile(in, gpu->geometry());
  if (profile == nullptr) return {};
  const ResolvedRequest request =
      resolve({ByProfile{std::string(profile->name)}, {}}, {gpu->geometry()});
  Json list = Json::array();
  for (const PlacementId id :
       by_start(gpu->geometry(), request.candidates.front() & gpu->graph->free(gpu->id())))
    list.push_back(candidate(*gpu, id));
  // The policy on a fleet of this one GPU: with a single GPU its class decides nothing.
  const auto decision = decide_by_scan(fleet_of(gpu->geometry(), {{gpu->state, gpu->idle}}),
                                       request, *choose_policy("fragmentation", {}));
  return {{"candidates", list},
          {"choice", decision ? candidate(*gpu, decision->placement) : Json()}};
}

}  // namespace cleave::cases::fragmentation
