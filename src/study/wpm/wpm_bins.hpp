#pragma once
// What WPM may put work into, for one problem: free GPUs, imaginary twins of used ones, and free
// partitions of used ones by algorithm 1, merged where that loses and adds nothing.

#include <vector>

#include "planner/problem.hpp"

namespace cleave {

/// A whole free GPU; the imaginary twin of a used one; a free partition of a used one.
enum class WpmBinKind { free, imaginary, partition };

/// A place for work in the model.
struct WpmBin {
  WpmBinKind kind = WpmBinKind::free;
  std::size_t gpu = 0;
  int compute = 0, memory = 0;  // slices: C_g and M_g
  SliceMask slices = 0;         // the memory slices it stands for
};

/// The bins of one GPU as numbers, and whether it is in use whatever happens.
struct WpmGpu {
  bool in_use = false;
  bool media_taken = false;          // by an instance that stays
  std::optional<std::size_t> whole;  // free or imaginary
  std::vector<std::size_t> partitions;
};

/// All bins of a problem.
struct WpmBins {
  std::vector<WpmBin> bins;
  std::vector<WpmGpu> gpus;
  std::size_t unmerged = 0;  // GPUs whose free partitions stay apart
};

WpmBins wpm_bins(const PlanProblem& problem);

}  // namespace cleave
