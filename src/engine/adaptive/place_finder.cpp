#include "engine/adaptive/place_finder.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

namespace cleave {

PlaceFinder::PlaceFinder(Books& books) : books_(books) {
  for (const auto& graph : books.setup.fleet.graphs()) rooms_.emplace_back(graph);
  for (std::size_t i = 0; i < books.setup.fleet.size(); ++i) {
    const GpuModel& model = books.geometry(static_cast<GpuId>(i)).model();
    fleet_slices_ += (model.compute.value + model.memory_slices.value) / 2.0;
  }
}

bool PlaceFinder::better(const PricedPlace& a, const PricedPlace& b) {
  if (a.cost < b.cost * (1 - 1e-9)) return true;
  if (b.cost < a.cost * (1 - 1e-9)) return false;
  if (a.lost < b.lost - 1e-9) return true;
  if (b.lost < a.lost - 1e-9) return false;
  return std::tie(a.fresh, a.spot.gpu, *a.spot.placement) <
         std::tie(b.fresh, b.spot.gpu, *b.spot.placement);
}

void PlaceFinder::look_at(JobId job, GpuId gpu, PlacementSet places,
                          std::optional<PricedPlace>& best) {
  const GpuState& state = books_.seats.fleet()[gpu];
  const Geometry& rules = books_.geometry(gpu);
  const auto& speed = books_.ledger[job].speed[state.kind];
  const bool crowded = books_.neighbours.matter_to(job, gpu);
  for (const PlacementId place : places& books_.ledger[job].allowed[state.kind]) {
    const int profile = rules[place].profile_index;
    const double pace = speed[static_cast<std::size_t>(profile)];
    if (!(pace > 0)) continue;
    PricedPlace here{cost_of(rules, place, pace), 0, !state.idle.contains(place), {gpu, place}};
    if (best && best->cost < here.cost * (1 - 1e-9)) continue;
    if (crowded) here.cost /= books_.neighbours.left_of_pace(job, gpu, profile);
    if (best && best->cost < here.cost * (1 - 1e-9)) continue;
    here.lost = rooms_[state.kind].lost(state.occupied, place);
    if (!best || better(here, *best)) best = here;
  }
}

double PlaceFinder::cost_of(const Geometry& rules, PlacementId place, double pace) const {
  return (1 + price_ * slices_of(*rules[place].profile)) / pace;
}

std::optional<PricedPlace> PlaceFinder::best_place(JobId job) {
  static_cast<void>(books_.ledger.speeds(job));
  constexpr std::size_t most_crowded = 256;  // GPUs that are looked at one by one
  std::optional<PricedPlace> best;
  std::set<StateNumber> seen;
  std::size_t crowded = 0;
  for (std::size_t i = 0; i < books_.seats.fleet().size(); ++i) {
    const auto gpu = static_cast<GpuId>(i);
    const GpuState& state = books_.seats.fleet()[gpu];
    if (state.absent) continue;
    const PlacementSet free = books_.seats.fleet().graph(state).free(state.occupied);
    if (free.empty()) continue;
    const bool plain = books_.blocked(gpu).empty() && !books_.host_takes;
    if (books_.neighbours.matter_to(job, gpu)) {
      if (++crowded > most_crowded) continue;
    } else if (plain && !seen.insert(books_.seats.fleet().number(gpu)).second) {
      continue;
    }
    const PlacementSet allowed = books_.ledger[job].allowed[state.kind];
    look_at(job, gpu, books_.hosted(job, gpu, (free & allowed) - books_.blocked(gpu)), best);
  }
  return best;
}

double PlaceFinder::least_cost(JobId job) const {
  double least = -1;
  const LedgerJob& known = books_.ledger[job];
  for (std::size_t i = 0; i < known.speed.size(); ++i) {
    const Geometry& rules = books_.setup.fleet.graphs()[i]->geometry();
    for (std::size_t p = 0; p < known.speed[i].size(); ++p) {
      const PlacementSet places = rules.of_profile(static_cast<int>(p)) & known.allowed[i];
      if (places.empty() || !(known.speed[i][p] > 0)) continue;
      const double cost = cost_of(rules, places.first(), known.speed[i][p]);
      if (least < 0 || cost < least) least = cost;
    }
  }
  return least;
}

PlacementSet PlaceFinder::without_traps(JobId job, GpuId gpu, PlacementSet places) const {
  const LedgerJob& known = books_.ledger[job];
  const Geometry& rules = books_.geometry(gpu);
  const double rest = books_.ledger.rest(job, books_.now);
  std::optional<double> latest;  // what waiting costs
  for (const PlacementId place : places) {
    const double pace =
        known.speed[books_.kind(gpu)][static_cast<std::size_t>(rules[place].profile_index)];
    if (!(pace > 0) || !is_trap(known, slices_of(*rules[place].profile), pace)) continue;
    if (!latest) {
      const double next_end = soonest_end_s(true);
      if (next_end < 0) return places;  // services do not end
      latest = rest * least_cost(job) + wait_for_end * next_end;
    }
    if (rest * cost_of(rules, place, pace) > *latest) places.erase(place);
  }
  return places;
}

/// Whether another place makes it faster for less than half the slice-seconds: the rest would do
/// for another such job.
bool PlaceFinder::is_trap(const LedgerJob& job, double slices, double pace) const {
  constexpr double wasteful = 2;
  for (std::size_t i = 0; i < job.speed.size(); ++i) {
    const Geometry& rules = books_.setup.fleet.graphs()[i]->geometry();
    for (std::size_t p = 0; p < job.speed[i].size(); ++p)
      if (job.speed[i][p] > pace && rules.of_profile(static_cast<int>(p)).meets(job.allowed[i]) &&
          wasteful * slices_of(rules.model().profiles[p]) * pace < slices * job.speed[i][p])
        return true;
  }
  return false;
}

void PlaceFinder::set_price() {
  const auto gpus = static_cast<double>(books_.seats.fleet().size());
  const auto known_rate = books_.arrivals.a_second(books_.now);
  const double rate = known_rate.value_or(0);
  const double load = std::min(0.98, books_.ledger.seen().mean() * rate / gpus);
  // The first is followed by others, as far as anything is to be expected.
  will_wait_ = known_rate ? std::pow(load, std::sqrt(2 * (gpus + 1))) / (1 - load) : 1;
  const double others = books_.waiting.empty() ? 0 : static_cast<double>(books_.waiting.size() - 1);
  price_ = 0.5 * (known_rate ? others + will_wait_ : 1) / fleet_slices_;
}

double PlaceFinder::next_end_s() const {
  return std::max(0.0, soonest_end_s(false));
}

double PlaceFinder::soonest_end_s(bool of_sized) const {
  double next = -1;
  std::size_t left = 256;
  for (std::size_t i = 0; i < books_.seats.fleet().size(); ++i) {
    const auto gpu = static_cast<GpuId>(i);
    if (books_.seats.fleet()[gpu].held.empty()) continue;
    for (const JobId job : books_.seats.on(gpu)) {
      if (left-- == 0) return 0;
      if (!(books_.ledger[job].pace > 0) || (of_sized && !books_.ledger[job].sized)) continue;
      const double rest = books_.ledger.rest(job, books_.now) / books_.ledger[job].pace;
      if (next < 0 || rest < next) next = rest;
    }
  }
  return next;
}

}  // namespace cleave
