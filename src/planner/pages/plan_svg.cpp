#include "planner/pages/plan_svg.hpp"

#include <algorithm>

#include "planner/pages/plan_pages.hpp"

namespace cleave {

std::string plan_svg(const PlanProblem& problem, const Plan& plan, const Moves& moves) {
  // Beyond these numbers, arrows hide more than they show.
  constexpr std::size_t most_arrows = 25, most_rows = 16;
  const PlanPicture picture = picture_of(problem, plan, moves);
  const auto arrows = std::ranges::count_if(picture.trips, &Trip::moves);
  const bool few =
      arrows <= static_cast<std::ptrdiff_t>(most_arrows) && picture.gpus.size() <= most_rows;
  PlanSheet sheet(problem, plan, moves, picture,
                  few ? PlanSheet::Joined::by_arrows : PlanSheet::Joined::by_numbers);
  double y = draw_legend(sheet, sheet.draw_head());
  if (!picture.gpus.empty()) y = few ? draw_with_arrows(sheet, y) : draw_with_numbers(sheet, y);
  return sheet.document(sheet.draw_foot(y) + page_margin);
}

}  // namespace cleave
