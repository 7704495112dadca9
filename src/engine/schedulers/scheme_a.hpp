#pragma once
// `scheme-a`: jobs by size, the smallest first, with as few changes of layout as possible
// (*Managing Multi Instance GPUs*, 4.3, scheme A; readings M18 and M19). The jobs that wait fall
// into classes by their tightest memory size. A GPU is emptied and filled with as many instances of
// one size as it takes; these serve the class, in the order of submission, until the last of its
// jobs has ended; only then the GPU is cut for the next larger size that a job waits for,
// and after the largest for the smallest again.
//
// `shares=equal` gives each instance an equal part of the class's jobs when the layout is made -
// the paper's multi-threaded version, and its corner case Ml3; jobs that come later go to whoever
// has done its share.
//
// The paper has one GPU and all jobs at its beginning. With several, those that are drained take
// classes in their order, and the next one looks at a larger class once there are instances enough
// for the jobs that wait. A class closes when a GPU is cut for it: jobs that arrive later join it
// only while no job of another class has waited longer, so that none waits for ever.
//
// A GPU on which jobs are adopted goes on serving their class, when they are all of one and so is
// every instance of ours there. Otherwise it serves none, and is cut again when the last of them
// has ended.

#include "engine/scheduler.hpp"
#include "graph/state_graph.hpp"

namespace cleave {

/// As many instances of `allowed` as fit beside `occupied`: each step takes the place that leaves
/// most further places, then most future configurations, then most compute slices, then the lowest
/// start. The first is one of `first` where that is possible.
PlacementSet fill_with_one_size(const StateGraph& graph, StateId occupied, PlacementSet allowed,
                                PlacementSet first);

std::span<const OptionRow> scheme_a_options();
Result<std::unique_ptr<Scheduler>> make_scheme_a(const SchedulerSetup& setup,
                                                 const OptionTexts& options);

}  // namespace cleave
