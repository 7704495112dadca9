#include "engine/adaptive/books.hpp"

#include <algorithm>
#include <cmath>

#include "engine/host_room.hpp"
#include "placement/gang_room.hpp"

namespace cleave {

double order_weight(double rest_s) {
  return std::pow(rest_s, -0.8);
}

Books::Books(const SchedulerSetup& at_first, const QueueRules& rules, std::size_t most_disruptions)
    : setup(at_first),
      requests(&at_first.requests),
      facts(at_first.facts),
      strict(rules.by_user() || rules.by_deadline || (at_first.kinds && !rules.by_kind)),
      by_slices(rules.user.slices.has_value()),
      advance(rules.advance),
      disruptions(most_disruptions),
      seats(at_first.fleet),
      ledger(at_first),
      neighbours(setup, seats, ledger),
      kept(at_first.fleet.size()),
      loads(at_first.fleet.size()) {
  for (std::size_t i = 0; i < at_first.fleet.size(); ++i) load_changed(static_cast<GpuId>(i));
}

PlacementSet Books::no_larger(JobId job, GpuId gpu, PlacementSet places) const {
  if (!by_slices || !seats.seated(job) || seats[job].whole) return places;
  const int has = geometry(seats[job].gpu)[seats[job].placement].profile->compute.value;
  for (const PlacementId place : places)
    if (geometry(gpu)[place].profile->compute.value > has) places.erase(place);
  return places;
}

const Geometry& Books::geometry(GpuId gpu) const {
  return seats.fleet().geometry(seats.fleet()[gpu]);
}

std::size_t Books::kind(GpuId gpu) const {
  return seats.fleet()[gpu].kind;
}

void Books::load_changed(GpuId gpu) {
  const GpuState& state = seats.fleet()[gpu];
  int& load = loads[index(gpu)];
  by_load.erase({load, gpu});
  load = state.held_compute + state.held_memory;
  by_load.emplace(load, gpu);
}

bool Books::sized_here(Waiting job) const {
  const Request& asked = (*requests)[job.request].request;
  return asked.places == 1 && !asks_for_whole(asked) &&
         (!setup.kinds || facts == nullptr || facts->kind(job.job) == JobKind::batch);
}

bool Books::may_be_disrupted(JobId job) const {
  const auto& times = ledger[job].disruptions;
  return disruptions > 0 &&
         (times.size() < disruptions || times.front() + std::chrono::hours(1) <= now);
}

PlacementSet Books::blocked(GpuId gpu) const {
  return above ? PlacementSet() : kept[index(gpu)];
}

bool Books::in_advance(GpuId gpu) const {
  return std::ranges::any_of(
      advance, [&](const GpuReservation& each) { return each.gpu == gpu && each.until > now; });
}

PlacementSet Books::hosted(JobId job, GpuId gpu, PlacementSet places) const {
  if (!host_takes) return places;
  for (const PlacementId id : places)
    if (!host_takes(job, {gpu, id})) places.erase(id);
  return places;
}

std::optional<std::uint32_t> Books::host_of(GpuId gpu) const {
  return setup.host == nullptr ? std::nullopt : std::optional(setup.host->node(gpu));
}

bool Books::share_host(GpuId one, GpuId other) const {
  return setup.host != nullptr && host_of(one) == host_of(other);
}

std::vector<JobId> Books::first_waiting(std::size_t most) const {
  auto jobs = waiting.first(most, order_weight(ledger.seen().rest(0)));
  if (above) std::erase_if(jobs, [&](JobId job) { return ledger[job].priority <= *above; });
  return jobs;
}

bool Books::pinned(JobId job) const {
  const LedgerJob& known = ledger[job];
  return !(known.stops || known.live) || !may_be_disrupted(job) ||
         !sized_here({job, known.request});
}

void Books::disrupt(JobId job) {
  auto& times = ledger[job].disruptions;
  if (times.size() >= disruptions && !times.empty()) times.erase(times.begin());
  times.push_back(now);
}

}  // namespace cleave
