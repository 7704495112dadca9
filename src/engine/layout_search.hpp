#pragma once
// `layout=best`: the fixed layout of a fleet that serves the jobs to come best, as the static
// configurations are chosen against which *An Online Fragmentation-Aware Scheduler* compares (V-C:
// several with the demanded sizes, the best of them). A layout is judged by what the scheduler
// `static` would do with the jobs: first come first served, each on the smallest free instance that
// holds it.
//
// Where few combinations of layouts exist, all are tried. Otherwise the best uniform layout is
// improved by giving half, a quarter, ... one of the GPUs that share a layout another one, as long
// as that helps.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/scheduler.hpp"
#include "graph/state_graph.hpp"
#include "placement/request_table.hpp"

namespace cleave {

/// All placements of one profile on one GPU model: what a job may run on is a list of such groups.
struct InstanceGroup {
  std::size_t kind;         // the GPU model, by its place among the fleet's
  int profile;              // index into the model's profiles
  PlacementSet placements;  // all of that profile
};

/// By the GB in the profile's name, compute slices, plain before special ones, then in the order of
/// the models. (Usable memory would be the better measure, but not everyone has published it.)
std::vector<InstanceGroup> instance_groups(
    const std::vector<std::shared_ptr<const StateGraph>>& graphs);

/// The groups that have some of these placements, which are by GPU model; by place in `groups`,
/// ascending: smallest first.
std::vector<std::uint16_t> groups_among(std::span<const PlacementSet> placements,
                                        std::span<const InstanceGroup> groups);

/// What the layout is to make least: the sum of turnaround times, or the time until all is done.
enum class LayoutGoal { turnaround, makespan };

/// How well a layout serves: fewest jobs without an instance first, then the goal, then the other.
struct LayoutScore {
  std::size_t unserved = 0;  // no instance of the layout holds them
  double turnaround_s = 0;   // sum over the others
  double makespan_s = 0;     // from the first arrival to the last end
};
bool better(const LayoutScore& a, const LayoutScore& b, LayoutGoal goal);

/// The jobs that are expected, prepared to be scheduled on many layouts.
struct ExpectedWork {
  static constexpr Duration cannot_run = Duration{-1};

  std::vector<InstanceGroup> groups;
  std::vector<Instant> arrivals;     // by job
  std::vector<std::uint32_t> wants;  // by job: index into `holding`
  std::vector<std::vector<std::uint16_t>>
      holding;                        // the groups that hold a request, smallest first
  std::vector<Duration> times;        // by job x group: how long it runs there
  std::vector<double> least_after_s;  // sum of the least times of this job and all after it

  [[nodiscard]] std::size_t jobs() const { return arrivals.size(); }
};

/// Only this many jobs, the first to come, are looked at.
inline constexpr std::size_t most_expected = 20'000;

/// Needs `setup.facts`, which must know of jobs to come.
[[nodiscard]] Result<ExpectedWork> expected_work(const SchedulerSetup& setup);

/// First come first served on this many instances of each group, without overtaking; only the jobs
/// take time. With `beat`, may stop as soon as the score cannot be better; it is then not better
/// than `beat`.
LayoutScore schedule_first_come(const ExpectedWork& work, const std::vector<std::size_t>& instances,
                                LayoutGoal goal, const LayoutScore* beat = nullptr);

/// The layouts of one GPU beside what is there already, of placements among `useful`: each that
/// leaves no room for another, one for each combination of profiles.
std::vector<PlacementSet> full_layouts(const Geometry& geometry, PlacementSet taken,
                                       PlacementSet useful);

/// The goal, and how much work may be spent on it.
struct LayoutSearchOptions {
  LayoutGoal goal = LayoutGoal::turnaround;
  std::size_t most_combinations =
      300'000;  // up to this many, all are tried, if that takes an eighth of
  std::size_t most_job_steps =
      200'000'000;  // work after which the search rests: jobs x layouts tried
};

/// The best layout found, and how thorough the search was.
struct FoundLayout {
  std::vector<PlacementSet> by_gpu;
  LayoutScore score;
  std::size_t tried = 0;    // layouts of the fleet
  bool exhaustive = false;  // none is better
};

FoundLayout search_layout(const Fleet& fleet, const ExpectedWork& work,
                          const LayoutSearchOptions& options = {});

}  // namespace cleave
