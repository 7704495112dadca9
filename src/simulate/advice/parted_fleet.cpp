#include "simulate/advice/parted_fleet.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"
#include "model/start_terms.hpp"
#include "placement/gang_room.hpp"

namespace cleave {

namespace {

/// How many ways to part a fleet are tried.
constexpr std::size_t most_parts = 4;

/// Jobs of whole GPUs, and the most GPUs that one of them has at a time.
struct WholeJobs {
  std::size_t jobs = 0, of = 0, largest = 0;
};

WholeJobs whole_jobs(const std::vector<Workload>& workloads) {
  WholeJobs found;
  for (const Workload& workload : workloads)
    for (const Job& job : workload.jobs) {
      const Request& request = workload.requests[job.request];
      ++found.of;
      if (!asks_for_whole(request)) continue;
      ++found.jobs;
      found.largest = std::max(found.largest, static_cast<std::size_t>(request.places));
    }
  return found;
}

/// What would have to be shared by the two parts.
std::string what_binds(const FleetFile& fleet, const std::vector<Workload>& workloads,
                       const SimulationOptions& options) {
  if (fleet.geometries.size() > 1) return "the fleet has several models of GPUs";
  if (std::ranges::any_of(fleet.gpus, [](const GpuEntry& gpu) { return !gpu.instances.empty(); }))
    return "the fleet shows instances already";
  if (!host_nodes(fleet).empty()) return "jobs share the CPUs and memory of hosts";
  if (!options.reservations.empty() || !options.faults.outages.empty())
    return "single GPUs are set aside or lost";
  for (const Workload& workload : workloads) {
    if (workload.has_kinds()) return "services and leases last as long as other jobs";
    if (std::ranges::any_of(workload.details, [](const JobDetails& details) {
          return details.start != StartTerms();
        }))
      return "jobs wait for one another";
  }
  return "";
}

PartedFleet parted_at(const FleetFile& fleet, std::size_t whole) {
  PartedFleet parts{fleet, fleet};
  const auto border = static_cast<std::ptrdiff_t>(fleet.gpus.size() - whole);
  parts.mig.gpus.assign(fleet.gpus.begin(), fleet.gpus.begin() + border);
  parts.whole.gpus.assign(fleet.gpus.begin() + border, fleet.gpus.end());
  for (FleetFile* each : {&parts.whole, &parts.mig}) each->waiting.clear();
  return parts;
}

Workload with_jobs(const Workload& workload, const std::vector<std::size_t>& jobs) {
  Workload some = workload;
  some.jobs.clear();
  for (const std::size_t job : jobs) some.jobs.push_back(workload.jobs[job]);
  some.read = some.jobs.size();
  some.left_out.clear();
  return some;
}

/// One part's run, and its jobs in the order of all.
Result<RunSummary> run_part(const FleetFile& fleet, const Workload& workload,
                            const std::vector<std::size_t>& places, const SchedulerSpec& spec,
                            SimulationOptions options, std::vector<JobOutcome>& all) {
  if (places.empty()) return RunSummary();
  std::vector<JobOutcome> outcomes;
  options.outcomes = &outcomes;
  auto summary = simulate(fleet, workload, spec, options);
  if (!summary) return summary;
  for (std::size_t i = 0; i < places.size(); ++i) all[places[i]] = outcomes[i];
  return summary;
}

/// From the first arrival of all.
Duration end_of(const Workload& all, const Workload& part, const RunSummary& run) {
  if (part.jobs.empty()) return Duration::zero();
  return part.jobs.front().arrival - all.jobs.front().arrival + run.makespan;
}

}  // namespace

PartedWorkload parted(const Workload& workload) {
  PartedWorkload parts;
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const Request& request = workload.requests[workload.jobs[i].request];
    (asks_for_whole(request) ? parts.of_whole : parts.of_mig).push_back(i);
  }
  parts.whole = with_jobs(workload, parts.of_whole);
  parts.mig = with_jobs(workload, parts.of_mig);
  return parts;
}

PossibleParts possible_parts(const FleetFile& fleet, const std::vector<Workload>& workloads,
                             const SimulationOptions& options) {
  const WholeJobs whole = whole_jobs(workloads);
  if (whole.jobs == 0) return {};
  const std::string jobs =
      fmt::format("{} of all jobs ask for whole GPUs, which no layout has",
                  fmt::format("{:.0f} %", 100.0 * static_cast<double>(whole.jobs) /
                                              static_cast<double>(whole.of)));
  const std::string why_no_parts = ", and MIG on some GPUs only cannot be tried here: ";
  if (whole.jobs == whole.of) return {{}, "every job asks for whole GPUs, which no layout has"};
  if (whole.largest >= fleet.gpus.size())
    return {{},
            fmt::format("{}{}one has {} of the {}", jobs, why_no_parts, whole.largest,
                        counted(fleet.gpus.size(), "GPU"))};
  if (const std::string binds = what_binds(fleet, workloads, options); !binds.empty())
    return {{}, jobs + why_no_parts + binds};
  PossibleParts possible;
  const std::size_t least = whole.largest, most = fleet.gpus.size() - 1;
  const std::size_t ways = std::min(most_parts, most - least + 1);
  for (std::size_t i = 0; i < ways; ++i)
    possible.parts.push_back(
        parted_at(fleet, ways == 1 ? least : least + i * (most - least) / (ways - 1)));
  return possible;
}

Result<RunSummary> simulate_parted(const PartedFleet& fleet, const Workload& workload,
                                   const SchedulerSpec& spec, const SimulationOptions& options) {
  const PartedWorkload parts = parted(workload);
  std::vector<JobOutcome> outcomes(workload.jobs.size());
  const bool backfill = spec.text.contains("backfill=easy");
  SimulationOptions quiet = options;
  quiet.progress = {};
  const auto whole =
      run_part(fleet.whole, parts.whole, parts.of_whole,
               *parse_scheduler(backfill ? "full-gpu:backfill=easy" : "full-gpu"), quiet, outcomes);
  if (!whole) return whole;
  auto both = run_part(fleet.mig, parts.mig, parts.of_mig, spec, options, outcomes);
  if (!both) return both;
  both->makespan =
      std::max(end_of(workload, parts.mig, *both), end_of(workload, parts.whole, *whole));
  both->jobs += whole->jobs;
  both->finished += whole->finished;
  both->failed += whole->failed;
  both->rejected += whole->rejected;
  both->waiting += whole->waiting;
  both->rejections.insert(both->rejections.end(), whole->rejections.begin(),
                          whole->rejections.end());
  if (options.outcomes != nullptr) *options.outcomes = std::move(outcomes);
  return both;
}

}  // namespace cleave
