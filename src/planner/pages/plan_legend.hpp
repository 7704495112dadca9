#pragma once
// The legend of a plan's picture: every mark that occurs in it, beside what it means.

#include "planner/pages/plan_sheet.hpp"

namespace cleave {

/// Returns where the next thing may begin.
double draw_legend(PlanSheet& sheet, double top);

}  // namespace cleave
