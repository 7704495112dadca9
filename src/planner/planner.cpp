#include "planner/planner.hpp"

namespace cleave {

std::string_view name(PlanStatus status) {
  switch (status) {
    case PlanStatus::optimal:
      return "optimal";
    case PlanStatus::feasible:
      return "feasible";
    case PlanStatus::infeasible:
      return "infeasible";
  }
  return "";
}

}  // namespace cleave
