#pragma once
// Layouts for sites that must keep one: every way to fill a GPU, the same on all GPUs of a model,
// and those that `static:layout=best` would have made for workloads of its own, which may differ
// from GPU to GPU.

#include <memory>
#include <optional>
#include <vector>

#include "simulate/advice/candidates.hpp"
#include "simulate/advice/parted_fleet.hpp"
#include "simulate/simulator.hpp"

namespace cleave {

/// A candidate and the fleet that it runs on, where that shows its layout or is parted; null: the
/// fleet as it is.
struct FurnishedCandidate {
  AdviceCandidate candidate;
  std::shared_ptr<const FleetFile> fleet = nullptr;
  std::shared_ptr<const PartedFleet> parts = nullptr;
};

/// One for each combination of plain profiles that fills a GPU; of a fleet of several models, whose
/// combinations are too many, only `stacon`.
[[nodiscard]] std::vector<FurnishedCandidate> uniform_layouts(const FleetFile& fleet);

/// The same of the GPUs under MIG of a parted fleet.
[[nodiscard]] std::vector<FurnishedCandidate> parted_layouts(const PartedFleet& parts);

/// The same where short jobs may overtake.
[[nodiscard]] FurnishedCandidate with_backfill(const FurnishedCandidate& layout);

/// The layout that is best for exactly these jobs. Nothing where the fleet shows instances already,
/// or where none is found.
[[nodiscard]] std::optional<FurnishedCandidate> layout_for(const FleetFile& fleet,
                                                           const Workload& workload,
                                                           const SimulationOptions& options);

}  // namespace cleave
