#include "engine/adaptive/forward_starts.hpp"

#include <algorithm>

#include "engine/adaptive/forward_view.hpp"

namespace cleave {

namespace {

constexpr std::size_t most_tries = 1000;

}  // namespace

ForwardStarts starts_by_plan(Books& books, const PlaceFinder& finder) {
  ForwardView view = look_forward(books, finder);
  view.setting.tries =
      std::min(most_tries, tries_within_effort(view.jobs.size(), view.gpus.size()));
  const ForwardPlan plan = plan_forward(view.gpus, view.jobs, view.setting);
  ForwardStarts starts;
  const auto& fleet = books.seats.fleet();
  for (std::size_t i = 0; i < view.turn.size(); ++i) {
    if (!plan[i]) continue;
    const auto gpu = static_cast<GpuId>(plan[i]->gpu);
    const GpuState& state = fleet[gpu];
    if (plan[i]->at_s == 0 && fleet.graph(state).free(state.occupied).contains(plan[i]->place)) {
      starts.now.emplace_back(view.turn[i], Spot{gpu, plan[i]->place});
    } else {
      starts.later.push_back(view.turn[i]);
    }
  }
  return starts;
}

}  // namespace cleave
