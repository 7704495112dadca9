#pragma once
// What the scheduler knows as a question for plan_forward: the GPUs as they become free, and the
// first of those that wait as they would run. Of jobs whose times are not known what is left on
// average stands for what is left.

#include <span>
#include <vector>

#include "engine/adaptive/books.hpp"
#include "engine/adaptive/forward_plan.hpp"
#include "engine/adaptive/place_finder.hpp"

namespace cleave {

/// In a plan, how often a job is looked at on a GPU: one to three milliseconds.
inline constexpr std::size_t forward_effort = 24'000;

/// A question, and whom it is about.
struct ForwardView {
  std::vector<JobId> turn;  // those of the jobs that wait that are planned, in their order
  std::vector<ForwardGpu> gpus;
  std::vector<ForwardJob> jobs;  // those
  ForwardSetting setting;        // without `tries`
};

/// Whether starts can be planned. Jobs must wait. Only where the answer can be relied on: their
/// times are known, and the fleet is small enough that single starts decide. On many GPUs something
/// ends at any moment, and a price is as good.
[[nodiscard]] bool can_plan_forward(const Books& books);

/// Whether stops can be planned too. Jobs must wait. Their times must be known or all of them must
/// be planned; and to stop one must cost something of what it takes: those that are stopped for
/// next to nothing get many sizes before they end, and a plan gives them one.
[[nodiscard]] bool can_plan_stops(const Books& books);

/// The question of the moment; `finder` says what is expected to come.
[[nodiscard]] ForwardView look_forward(Books& books, const PlaceFinder& finder);

/// A job that does not run, `more_s` seconds before it goes on.
[[nodiscard]] ForwardJob as_it_would_run(Books& books, JobId job, std::span<const ForwardGpu> gpus,
                                         double more_s);

/// How many lists a search may look at, of this number of jobs on these GPUs.
[[nodiscard]] std::size_t tries_within_effort(std::size_t jobs, std::size_t gpus);

}  // namespace cleave
