#include "planner/pages/plan_pages.hpp"

#include <set>

namespace cleave {

namespace {

enum class Mark {
  bar,
  arrow,
  number,
  wave,
  detour,
  visitor,
  starts,
  stops,
  stays,
  idle,
  locked,
  empty,
  falls_empty,
  wasted_memory,
  wasted_compute,
};

struct Meaning {
  Mark mark;
  std::string_view words;
};

constexpr Meaning meanings[] = {
    {Mark::bar, "a GPU: a cell for each memory slice, pale ones free; left now, right after"},
    {Mark::arrow, "work that moves, from its old instance to its new one"},
    {Mark::number, "work that moves: the same number and colour in its old and its new instance"},
    {Mark::wave, "the number of a wave: what is in one wave may happen at the same time"},
    {Mark::detour, "a temporary place on the way, left again in a later wave"},
    {Mark::visitor, "work with these numbers is on this GPU for a while, on its way"},
    {Mark::starts, "new work that gets its place"},
    {Mark::stops, "work that is stopped"},
    {Mark::stays, "work that stays where it is"},
    {Mark::idle, "idle: an instance without work"},
    {Mark::locked, "fixed: must stay as it is, or belongs to somebody else"},
    {Mark::empty, "a GPU without any instance"},
    {Mark::falls_empty, "above a GPU that loses all its work"},
    {Mark::wasted_memory, "wasted: a memory slice that nothing can use as things stand"},
    {Mark::wasted_compute, "wasted: a compute slice that the instance covers and does not have"},
};

constexpr double sample_width = 56, sample_height = 20;

void collect(const PictureBox& box, std::set<Mark>& marks) {
  constexpr std::pair<BoxKind, Mark> kinds[] = {{BoxKind::starts, Mark::starts},
                                                {BoxKind::stops, Mark::stops},
                                                {BoxKind::stays, Mark::stays},
                                                {BoxKind::idle, Mark::idle},
                                                {BoxKind::locked, Mark::locked}};
  for (const auto& [kind, mark] : kinds)
    if (box.kind == kind) marks.insert(mark);
  if (box.waste.memory > 0) marks.insert(Mark::wasted_memory);
  if (box.waste.compute > 0) marks.insert(Mark::wasted_compute);
}

std::set<Mark> marks_of(const PlanSheet& sheet) {
  const bool arrows = sheet.joined() == PlanSheet::Joined::by_arrows;
  std::set<Mark> marks;
  if (!sheet.picture().gpus.empty()) marks.insert(Mark::bar);
  for (const PictureGpu& gpu : sheet.picture().gpus) {
    for (const PictureBox& box : gpu.before) collect(box, marks);
    for (const PictureBox& box : gpu.after) collect(box, marks);
    if (gpu.used_before && !gpu.used_after) marks.insert(Mark::falls_empty);
    if (gpu.before.empty() || gpu.after.empty()) marks.insert(Mark::empty);
    if (!gpu.visitors.empty()) marks.insert(arrows ? Mark::detour : Mark::visitor);
  }
  for (const Trip& trip : sheet.picture().trips) {
    if (trip.moves()) marks.insert(arrows ? Mark::arrow : Mark::number);
    if (trip.first_wave() > 0) marks.insert(Mark::wave);
  }
  return marks;
}

/// An instance with two letters in it.
void draw_instance(SvgPen& pen, std::string_view look, const SvgBox& box, std::string_view words) {
  pen.rect(look, box, "rx=\"3\"");
  if (!words.empty()) pen.text("b m", {box.middle(), box.y + box.height / 2 + 3.5}, 9.5, words);
}

void draw_way(PlanSheet& sheet, Mark mark, const SvgBox& box) {
  SvgPen& pen = sheet.pen();
  const double y = box.y + box.height / 2;
  if (mark == Mark::detour) {
    pen.rect("c0 c", {box.x + 16, box.y + 3, box.width - 32, box.height - 6}, "rx=\"3\"");
    pen.line("c0 a t", {box.x, y}, {box.x + 16, y});
    pen.line("c0 a t", {box.right() - 16, y}, {box.right(), y});
    return;
  }
  const double end = box.right() - 18;
  draw_instance(pen, "c0 v", {box.x, box.y + 1, 18, box.height - 2},
                mark == Mark::number ? "7" : "");
  draw_instance(pen, "c0 v", {end, box.y + 1, 18, box.height - 2}, mark == Mark::number ? "7" : "");
  if (mark == Mark::number) return;
  pen.line("c0 a", {box.x + 18, y}, {end - 5, y});
  pen.polygon("c0", {{end - 8, y - 4}, {end - 8, y + 4}, {end, y}});
}

void draw_slices(PlanSheet& sheet, Mark mark, const SvgBox& box) {
  SvgPen& pen = sheet.pen();
  pen.rect("f", box);
  for (int i = 1; i < 4; ++i)
    pen.line("f", {box.x + i * 14, box.y}, {box.x + i * 14, box.bottom()});
  if (mark == Mark::wasted_memory)
    sheet.draw_cross({box.right() - 13, box.y + 1, 12, box.height - 2});
  if (mark == Mark::wasted_compute) {
    pen.rect("s", {box.x + 1, box.y + 1, box.width - 2, box.height - 2}, "rx=\"3\"");
    sheet.draw_cross({box.right() - 13, box.bottom() - 9, 10, 6});
  }
}

void draw_sample(PlanSheet& sheet, Mark mark, const SvgBox& box) {
  SvgPen& pen = sheet.pen();
  switch (mark) {
    case Mark::bar:
    case Mark::wasted_memory:
    case Mark::wasted_compute:
      return draw_slices(sheet, mark, box);
    case Mark::arrow:
    case Mark::number:
    case Mark::detour:
      return draw_way(sheet, mark, box);
    case Mark::wave:
      return sheet.draw_wave({box.middle(), box.y + box.height / 2}, 7, 1);
    case Mark::visitor:
      return pen.text("b m", {box.middle(), box.y + 14}, 9.5, "stop: 7, 9");
    case Mark::starts:
      draw_instance(pen, "n", box, "");
      sheet.draw_badge({box.x + 15, box.y + 4}, 9, "new");
      return;
    case Mark::stops:
      pen.rect("x", box, "rx=\"3\"");
      pen.line("z", {box.x, box.y}, {box.right(), box.bottom()});
      return pen.line("z", {box.x, box.bottom()}, {box.right(), box.y});
    case Mark::stays:
      return draw_instance(pen, "s", box, "name");
    case Mark::idle:
      return draw_instance(pen, "h", box, "idle");
    case Mark::locked:
      draw_instance(pen, "l", box, "");
      return sheet.draw_lock({box.middle() - 4, box.y + 5});
    case Mark::falls_empty:
      return sheet.draw_badge({box.x, box.y + 5}, 7.5, "becomes empty");
    case Mark::empty:
      return sheet.draw_empty(box, 9.5);
  }
}

}  // namespace

double draw_legend(PlanSheet& sheet, double top) {
  constexpr double row = 27, size = 11.5;
  constexpr double column = (page_width - 2 * page_margin) / 2;
  const std::set<Mark> marks = marks_of(sheet);
  if (marks.empty()) return top;
  std::size_t drawn = 0;
  const std::size_t rows = (marks.size() + 1) / 2;
  for (const Meaning& meaning : meanings) {
    if (!marks.contains(meaning.mark)) continue;
    const SvgBox box{page_margin + static_cast<double>(drawn / rows) * column,
                     top + static_cast<double>(drawn % rows) * row + 6, sample_width,
                     sample_height};
    draw_sample(sheet, meaning.mark, box);
    sheet.pen().text("", {box.right() + 10, box.y + 14}, size, meaning.words);
    ++drawn;
  }
  const double end = top + static_cast<double>(rows) * row + 10;
  sheet.pen().line("f", {page_margin, end}, {page_width - page_margin, end});
  return end;
}

}  // namespace cleave
