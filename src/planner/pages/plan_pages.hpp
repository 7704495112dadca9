#pragma once
// The two pages on which a plan is drawn. Each draws the GPUs that change from `top` on and returns
// where the next thing may begin.

#include "planner/pages/plan_sheet.hpp"

namespace cleave {

/// A row for each GPU, wide enough for names, with an arrow for each move.
double draw_with_arrows(PlanSheet& sheet, double top);

/// Many small GPUs in columns; what moves has the same number before and after.
double draw_with_numbers(PlanSheet& sheet, double top);

}  // namespace cleave
