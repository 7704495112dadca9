#include "engine/adaptive/forward_view.hpp"

#include <algorithm>

#include "engine/adaptive/gpu_plan.hpp"

namespace cleave {

namespace {

constexpr std::size_t most_gpus_planned = 16;
constexpr std::size_t most_jobs = 24;  // those behind them count as a number
/// Of the jobs that are expected: the others come when what is planned has ended.
constexpr double soon = 0.5;
/// What a stop costs at least, of the work of a job: where times are known, and where they are not.
constexpr double least_of_known = 0.02, least_of_unknown = 0.05;

bool may_plan(const Books& books) {
  return !books.ledger.learns() && !books.host_takes &&
         books.setup.fleet.size() <= most_gpus_planned &&
         books.waiting.highest_priority() == books.waiting.lowest_priority();
}

bool all_known(const Books& books, std::span<const JobId> jobs) {
  return std::ranges::all_of(jobs, [&](JobId job) { return books.ledger[job].work_s > 0; });
}

ForwardGpu as_it_becomes_free(const Books& books, GpuId gpu) {
  const GpuState& state = books.seats.fleet()[gpu];
  ForwardGpu as;
  as.geometry = &books.geometry(gpu);
  as.kind = books.kind(gpu);
  PlacementSet stays = state.held | state.walls | books.blocked(gpu);
  for (const JobId job : books.seats.on(gpu)) {
    const LedgerJob& known = books.ledger[job];
    const bool ends = known.work_s > 0 || (known.sized && (known.stops || known.live));
    if (books.seats[job].whole || !ends || !(known.pace > 0)) continue;
    const double begins_s = known.since > books.now ? in_seconds(known.since - books.now) : 0;
    const PlacementId place = books.seats[job].placement;
    as.busy.push_back({place, begins_s + books.ledger.rest(job, books.now) / known.pace});
    stays.erase(place);
  }
  as.never = state.absent || books.in_advance(gpu) ? as.geometry->all() : stays;
  return as;
}

}  // namespace

bool can_plan_forward(const Books& books) {
  return may_plan(books) && all_known(books, books.first_waiting(most_jobs));
}

bool can_plan_stops(const Books& books) {
  if (!may_plan(books)) return false;
  const auto turn = books.first_waiting(most_jobs);
  const auto may_stop = [&](JobId job) {
    return books.ledger[job].stops || books.ledger[job].live;
  };
  const double stop_s = books.ledger.mean_checkpoint_s();
  if (all_known(books, turn)) return stop_s >= least_of_known * books.ledger.mean_told();
  return books.waiting.size() <= most_jobs && std::ranges::all_of(turn, may_stop) &&
         stop_s >= least_of_unknown * books.ledger.seen().mean();
}

ForwardJob as_it_would_run(Books& books, JobId job, std::span<const ForwardGpu> gpus,
                           double more_s) {
  ForwardJob as;
  as.time_s = books.ledger.speeds(job);
  const double rest = books.ledger.rest(job, books.now);
  for (auto& of_kind : as.time_s)
    for (double& each : of_kind) each = each > 0 ? more_s + rest / each : 0;
  for (const ForwardGpu& gpu : gpus)
    as.allowed.push_back(books.ledger[job].allowed[gpu.kind] - gpu.never);
  return as;
}

std::size_t tries_within_effort(std::size_t jobs, std::size_t gpus) {
  return forward_effort / std::max<std::size_t>(1, jobs * gpus);
}

ForwardView look_forward(Books& books, const PlaceFinder& finder) {
  ForwardView view;
  for (std::size_t i = 0; i < books.setup.fleet.size(); ++i)
    view.gpus.push_back(as_it_becomes_free(books, static_cast<GpuId>(i)));
  view.turn = books.first_waiting(most_jobs);
  for (const JobId job : view.turn) {
    const double restore_s = books.ledger[job].saved ? books.ledger.checkpoint_s(job, 0) / 2 : 0;
    view.jobs.push_back(as_it_would_run(books, job, view.gpus, restore_s));
  }
  view.setting.behind =
      static_cast<double>(books.waiting.size() - view.turn.size()) + soon * finder.will_wait();
  view.setting.fleet_slices = finder.fleet_slices();
  view.setting.start_s = change_s;
  return view;
}

}  // namespace cleave
