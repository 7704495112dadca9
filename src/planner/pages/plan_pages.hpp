#pragma once
// The parts of a drawn plan: the legend and the two pages. Each draws from `top` on and returns
// where the next part may begin.

#include "planner/pages/plan_sheet.hpp"

namespace cleave {

/// Every mark that occurs in the picture, with its meaning.
double draw_legend(PlanSheet& sheet, double top);

/// A row for each GPU that changes, wide enough for names, with an arrow for each move.
double draw_with_arrows(PlanSheet& sheet, double top);

/// Many small GPUs in columns; a workload that moves has the same number before and after.
double draw_with_numbers(PlanSheet& sheet, double top);

}  // namespace cleave
