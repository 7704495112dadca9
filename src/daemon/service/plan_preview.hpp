#pragma once
// A plan that is made beside the loop, for a client that cannot plan: a page. It changes nothing.

#include <memory>
#include <mutex>
#include <optional>

#include "base/result.hpp"
#include "control/requests.hpp"
#include "model/live_plan.hpp"
#include "planner/problem.hpp"

namespace cleave {

/// One plan and the thread that makes it, which holds it too. The loop asks whether it is there.
class PlanPreview {
 public:
  /// Begins to plan for the fleet as it stands. Fails where the system gives no thread.
  [[nodiscard]] static Result<std::shared_ptr<PlanPreview>> begin(LiveFleet fleet,
                                                                  ProblemKind kind);

  /// Empty while it is being made.
  [[nodiscard]] std::optional<Result<PlanOrder>> order() const;

  PlanPreview(LiveFleet fleet, ProblemKind kind) : fleet_(std::move(fleet)), kind_(kind) {}

 private:
  [[nodiscard]] Result<PlanOrder> made() const;

  const LiveFleet fleet_;
  const ProblemKind kind_;
  mutable std::mutex guard_;
  std::optional<Result<PlanOrder>> order_;
};

}  // namespace cleave
