#pragma once
// What `dyna-p` and `oracle` can be told: the rows of their options, and the values as read.

#include <optional>

#include "engine/schedulers/partition_choice.hpp"
#include "engine/schedulers/reconfigure_last.hpp"

namespace cleave {

/// How many waiting jobs are considered at a time: all, as many as the GPU model has compute
/// slices, or a number.
struct WindowOption {
  bool all = false;
  std::optional<std::size_t> jobs;  // without it and not all: the compute slices
};

/// The options of `dyna-p`; those of `oracle` are the same with true times.
struct DynaPOptions {
  std::optional<int> w;
  /// How many later jobs may start before the one that waits longest; without it, four times as
  /// many as the fleet has compute slices.
  std::optional<std::size_t> overtakes;
  WindowOption window;
  bool layout_inside = true, by_deadline = true, by_end = false, reconfigure = true;
  PartitionOptions partition;
  Losses losses = Losses::every;
  ReconfigureOptions cost;
  Duration penalty{};
};

[[nodiscard]] Result<DynaPOptions> read_dyna_p_options(const OptionTexts& given, std::uint64_t seed,
                                                       bool true_times);

}  // namespace cleave
