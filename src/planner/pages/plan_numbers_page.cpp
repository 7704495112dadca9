// A page for many GPUs: small bars in columns, joined by numbers.

#include "base/format.hpp"
#include "planner/pages/plan_pages.hpp"

namespace cleave {

namespace {

constexpr std::size_t columns = 3;
constexpr double column_gap = 28, between = 18, bar_height = 41, head = 14, row_gap = 11;
constexpr double column_width =
    (page_width - 2 * page_margin - column_gap * (columns - 1)) / columns;
constexpr double bar_width = (column_width - between) / 2;

/// From above, line by line: number or name, wave, name or what happens.
void draw_words(PlanSheet& sheet, const PictureBox& box, std::string_view profile,
                const SvgBox& outline) {
  SvgPen& pen = sheet.pen();
  const double middle = outline.middle(), width = outline.width - 2;
  if (box.trip == none) {
    constexpr double size = 7.5, small = 6.5;
    const double base = outline.y + (box.kind == BoxKind::locked ? 20 : 16);  // under the lock
    const std::string_view name = sheet.box_name(box);
    // A lock or a hatch says enough if there is no room for the word.
    if (box.workload != none || text_width(name, size) <= width)
      pen.text("q m", {middle, base}, size, fitted(name, width, size));
    if (text_width(profile, small) <= width) pen.text("q m", {middle, base + 9}, small, profile);
    return;
  }
  const Trip& trip = sheet.picture().trips[box.trip];
  pen.text("b m", {middle, outline.y + 8.5}, 8.5, std::to_string(box.trip + 1));
  if (trip.hops.size() > 1) {
    // Two waves or more; if there is no room for all of them, the list has them.
    sheet.draw_wave({middle - 4.7, outline.y + 14.8}, 4.5, trip.first_wave());
    sheet.draw_wave({middle + 4.7, outline.y + 14.8}, 4.5, trip.hops.back().wave);
  } else {
    sheet.draw_wave({middle, outline.y + 14.8}, 4.8, trip.first_wave());
  }
  const bool is_new = box.kind == BoxKind::starts;
  if (is_new)
    sheet.draw_badge({middle - PlanSheet::badge_width(6.5, "new") / 2, outline.y + 20.8}, 6.5,
                     "new");
  if (!is_new || box.waste.compute == 0)
    pen.text("m", {middle, outline.y + (is_new ? 36.2 : 27.5)}, 6.8,
             fitted(sheet.box_name(box), width, 6.8));
}

void draw_side(PlanSheet& sheet, const PictureGpu& gpu, const std::vector<PictureBox>& boxes,
               std::string_view side, const SvgBox& bar) {
  const Geometry& geometry = sheet.problem().geometry(gpu.gpu);
  sheet.draw_bar(bar, geometry);
  if (boxes.empty()) sheet.draw_empty(bar, 9.5);
  for (const PictureBox& box : boxes) {
    sheet.open_box(side, gpu.gpu, box);
    draw_words(sheet, box, geometry[box.placement].profile->name,
               sheet.draw_box(bar, geometry, box));
    sheet.pen().close();
  }
}

void draw_gpu(PlanSheet& sheet, const PictureGpu& gpu, SvgPoint at) {
  constexpr double size = 10, small = 8.5;
  SvgPen& pen = sheet.pen();
  const std::string_view name = sheet.problem().gpus[index(gpu.gpu)].name;
  const SvgBox left{at.x, at.y + head, bar_width, bar_height};
  const SvgBox right{left.right() + between, left.y, bar_width, bar_height};
  const std::string title = fitted(name, bar_width * 0.6, bold_width * size);
  pen.open("", fmt::format("{}, {}", name, sheet.problem().geometry(gpu.gpu).model().title));
  pen.text("b", {at.x, at.y + 10}, size, title);
  const double used = text_width(title, bold_width * size) + 3;
  pen.text("q", {at.x + used, at.y + 10}, small,
           fitted(sheet.problem().geometry(gpu.gpu).model().key, bar_width - used, small));
  pen.close();
  if (gpu.used_before && !gpu.used_after)
    sheet.draw_badge({right.x, at.y + 1}, 7.5, "becomes empty");
  if (!gpu.visitors.empty()) {
    std::string numbers = "stop: ";
    for (const std::uint32_t trip : gpu.visitors)
      numbers += fmt::format("{}{}", numbers.ends_with(' ') ? "" : ", ", trip + 1);
    pen.text("b e", {right.right(), at.y + 10}, small, fitted(numbers, bar_width - 60, small));
  }
  draw_side(sheet, gpu, gpu.before, "before", left);
  draw_side(sheet, gpu, gpu.after, "after", right);
  const double x = left.right() + between / 2, y = left.y + bar_height / 2;
  pen.polygon("l", {{x - 4, y - 5}, {x - 4, y + 5}, {x + 5, y}});
}

}  // namespace

double draw_with_numbers(PlanSheet& sheet, double top) {
  constexpr double row = head + bar_height + row_gap;
  const std::vector<PictureGpu>& gpus = sheet.picture().gpus;
  const std::size_t rows = (gpus.size() + columns - 1) / columns;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const std::size_t column = i / rows;
    draw_gpu(sheet, gpus[i],
             {page_margin + static_cast<double>(column) * (column_width + column_gap),
              top + 14 + static_cast<double>(i % rows) * row});
  }
  return top + 14 + static_cast<double>(rows) * row;
}

}  // namespace cleave
