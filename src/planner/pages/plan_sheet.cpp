#include "planner/pages/plan_sheet.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

constexpr std::size_t most_named = 8;  // names in a note

// Okabe and Ito's colours without black and yellow, and two more that differ from them.
constexpr std::string_view palette[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                        "#8a6d00", "#56b4e9", "#6a3d9a", "#e69f00"};

// Classes are short because every shape has one. Work that moves is told from work that stays by
// colour, and in grey by its heavy border.
constexpr std::string_view style = R"(text{font-family:Helvetica,Arial,sans-serif;fill:#1c1c1c}
.b{font-weight:bold}.m{text-anchor:middle}.e{text-anchor:end}.q{fill:#5c5c5c})"
                                   R"(.i{fill:#fff;font-weight:bold}
.f{fill:#fafafa;stroke:#cfcfcf;stroke-width:.7}.o{fill:none;stroke:#8c8c8c}
.s{fill:#f0f0f0;stroke:#8c8c8c}.l{fill:#d2d2d2;stroke:#7a7a7a})"
                                   R"(.h{fill:url(#hatch);stroke:#8c8c8c;stroke-dasharray:3 2}
.v{fill-opacity:.24;stroke-width:2.2}.n{fill:#fff;stroke:#111;stroke-width:2.2}
.x{fill:#fff;stroke:#111;stroke-width:1.4;stroke-dasharray:5 2})"
                                   R"(.z{fill:none;stroke:#b4b4b4;stroke-width:1.4}
.w{fill:none;stroke:#6b6b6b;stroke-width:1}.g{fill:#fff;stroke:#6b6b6b;stroke-width:.7})"
                                   R"(.d{fill:#1c1c1c}
.y{fill:none;stroke:#8c8c8c;stroke-dasharray:6 4}.k{fill:none;stroke:#4a4a4a;stroke-width:1.3}
.a{fill:none;stroke-width:2.2}.t{stroke-dasharray:6 4}.u{fill:none;stroke:#fff;stroke-width:6}
.c{fill:#fff;stroke-width:1.6;stroke-dasharray:5 3}
)";

constexpr std::string_view definitions =
    "<pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
    "patternTransform=\"rotate(45)\"><rect width=\"6\" height=\"6\" fill=\"#fff\"/>"
    "<rect width=\"1.3\" height=\"6\" fill=\"#d8d8d8\"/></pattern>\n";

/// "a, b, c and 4 more"
std::string named(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most_named); ++i)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", names[i]);
  if (names.size() > most_named) text += fmt::format(" and {} more", names.size() - most_named);
  return text;
}

/// Broken between words into lines of at most this width.
std::vector<std::string> wrapped(std::string_view text, double width, double size) {
  std::vector<std::string> lines;
  for (const std::string_view word : split(text, ' ')) {
    const std::string next = fitted(word, width, size);
    if (!lines.empty() && text_width(fmt::format("{} {}", lines.back(), next), size) <= width)
      lines.back() += fmt::format(" {}", next);
    else
      lines.push_back(next);
  }
  return lines;
}

}  // namespace

std::string PlanSheet::document(double height) const {
  std::string looks;
  for (std::size_t i = 0; i < std::size(palette); ++i)
    looks += fmt::format(".c{0}{{fill:{1};stroke:{1}}}\n", i, palette[i]);
  looks += style;
  return pen_.document(page_width, height, headline(problem_, plan_, moves_, picture_), looks,
                       definitions);
}

std::string PlanSheet::colour(const Trip& trip) {
  return fmt::format("c{}", trip.colour % std::size(palette));
}

double PlanSheet::draw_head() {
  constexpr double width = page_width - 2 * page_margin, title = 18, note = 12.5;
  double y = page_margin + title;
  for (const std::string& line :
       wrapped(headline(problem_, plan_, moves_, picture_), width, bold_width * title)) {
    pen_.text("b", {page_margin, y}, title, line);
    y += title * 1.3;
  }
  for (const std::string& text : notes())
    for (const std::string& line : wrapped(text, width, note)) {
      pen_.text("", {page_margin, y}, note, line);
      y += note * 1.45;
    }
  return y;
}

std::vector<std::string> PlanSheet::notes() const {
  std::vector<std::string> list, emptied, pending, undone, disturbed;
  for (const PictureGpu& gpu : picture_.gpus)
    if (gpu.used_before && !gpu.used_after)
      emptied.emplace_back(fitted(problem_.gpus[index(gpu.gpu)].name, 200, 12.5));
  const auto name_of = [&](WorkloadIndex i) {
    return fitted(problem_.workloads[i].name, 200, 12.5);
  };
  for (const Pending& each : plan_.pending) pending.push_back(name_of(each.workload));
  for (const Disruption& each : moves_.disruptive) {
    const bool done = moves_.reached.goal.size() != plan_.goal.size() ||
                      moves_.reached.goal[each.workload] == plan_.goal[each.workload];
    (done ? disturbed : undone)
        .push_back(fmt::format("{} ({})", name_of(each.workload), each.reason));
  }
  if (!emptied.empty()) list.push_back(fmt::format("Emptied: {}.", named(emptied)));
  const std::size_t waves = moves_.waves.size();
  if (waves > 1 && moves_.waves_bound == static_cast<std::int64_t>(waves))
    list.push_back("Waves follow one another; no order needs fewer of them.");
  else if (waves > 1)
    list.push_back(fmt::format("Waves follow one another; every order needs at least {}.",
                               moves_.waves_bound));
  if (!undone.empty())
    list.push_back(
        fmt::format("Not done, since it would interrupt running work: {}.", named(undone)));
  if (!disturbed.empty()) list.push_back(fmt::format("Interrupted work: {}.", named(disturbed)));
  if (!pending.empty()) list.push_back(fmt::format("Without a place: {}.", named(pending)));
  return list;
}

void PlanSheet::draw_bar(const SvgBox& bar, const Geometry& geometry) {
  const int slices = geometry.model().memory_slices.value;
  const double slice = bar.width / slices;
  pen_.rect("f", bar);
  for (int i = 1; i < slices; ++i) {
    const double x = bar.x + i * slice;
    pen_.line("f", {x, bar.y}, {x, bar.bottom()});
  }
}

SvgBox PlanSheet::draw_box(const SvgBox& bar, const Geometry& geometry, const PictureBox& box) {
  constexpr double inset = 1.5;
  const double strip = std::min(7.0, bar.height * 0.13);
  const GpuModel& model = geometry.model();
  const Placement& where = geometry[box.placement];
  const double slice = bar.width / model.memory_slices.value;
  const SvgBox outline{bar.x + where.start * slice + inset, bar.y + inset,
                       where.profile->memory.value * slice - 2 * inset, bar.height - 2 * inset};
  const std::string look = [&]() -> std::string {
    switch (box.kind) {
      case BoxKind::stays:
        return "s";
      case BoxKind::moves:
        return fmt::format("{} v", colour(picture_.trips[box.trip]));
      case BoxKind::starts:
        return "n";
      case BoxKind::stops:
        return "x";
      case BoxKind::idle:
        return "h";
      case BoxKind::locked:
        return "l";
    }
    return {};
  }();
  pen_.rect(look, outline, "rx=\"3\"");
  if (box.kind == BoxKind::locked) draw_lock({outline.right() - 11, outline.y + 3});
  if (box.kind == BoxKind::stops) {
    pen_.line("z", {outline.x, outline.y}, {outline.right(), outline.bottom()});
    pen_.line("z", {outline.x, outline.bottom()}, {outline.right(), outline.y});
  }
  const double last = (model.memory_slices.value - 1) * slice;
  if (box.waste.memory > 0)
    draw_cross({bar.x + last + inset, outline.y, slice - 2 * inset, outline.height});
  // Of the compute slices that it covers, the last ones are those it does not have.
  const int end = std::min(where.start + where.profile->memory.value, model.compute.value);
  for (int i = 0; i < box.waste.compute; ++i)
    draw_cross({bar.x + (end - 1 - i) * slice + 3, outline.bottom() - strip - 1, slice - 6, strip});
  return outline;
}

void PlanSheet::draw_empty(const SvgBox& bar, double size) {
  const double width = text_width("empty", bold_width * size) + 12;
  pen_.rect("y", bar, "rx=\"3\"");
  pen_.rect("f",
            {bar.middle() - width / 2, bar.y + bar.height / 2 - size * 0.75, width, size * 1.5});
  pen_.text("b m", {bar.middle(), bar.y + bar.height / 2 + size * 0.36}, size, "empty");
}

void PlanSheet::draw_wave(SvgPoint centre, double radius, std::size_t wave) {
  if (wave == 0) return;
  const double size = radius * 1.45;
  const std::string words = std::to_string(wave);
  const double half = std::max(radius, text_width(words, bold_width * size) / 2 + radius * 0.15);
  pen_.rect("d", {centre.x - half, centre.y - radius, 2 * half, 2 * radius},
            fmt::format("rx=\"{:.1f}\"", radius));
  pen_.text("i m", {centre.x, centre.y + size * 0.36}, size, words);
}

double PlanSheet::badge_width(double size, std::string_view word) {
  return text_width(word, bold_width * size) + size * 0.6;
}

void PlanSheet::draw_badge(SvgPoint at, double size, std::string_view word) {
  const double width = badge_width(size, word);
  pen_.rect("d", {at.x, at.y, width, size * 1.3}, "rx=\"2\"");
  pen_.text("i m", {at.x + width / 2, at.y + size}, size, word);
}

void PlanSheet::draw_lock(SvgPoint at) {
  pen_.route("k", {{at.x + 2, at.y + 4}, {at.x + 2, at.y}, {at.x + 6, at.y}, {at.x + 6, at.y + 4}});
  pen_.rect("d", {at.x, at.y + 4, 8, 5.5});
}

void PlanSheet::draw_cross(const SvgBox& box) {
  pen_.rect("g", box);
  pen_.line("w", {box.x, box.y}, {box.right(), box.bottom()});
  pen_.line("w", {box.x, box.bottom()}, {box.right(), box.y});
}

std::string_view PlanSheet::box_name(const PictureBox& box) const {
  if (box.workload != none) return problem_.workloads[box.workload].name;
  return box.kind == BoxKind::idle ? "idle" : "fixed";
}

void PlanSheet::open_box(std::string_view id, GpuId gpu, const PictureBox& box) {
  if (box.trip != none) {
    pen_.open(fmt::format("id=\"{}-{}\"", id, box.trip + 1),
              told(problem_, picture_.trips[box.trip]));
    return;
  }
  const Placement& where = problem_.placement({gpu, box.placement});
  const std::string_view what = box.kind == BoxKind::idle     ? "nothing runs in it"
                                : box.kind == BoxKind::locked ? "must stay as it is"
                                                              : "stays";
  pen_.open("", fmt::format("{}: {} on {} at {}, {}", box_name(box), where.profile->name,
                            problem_.gpus[index(gpu)].name, where.start, what));
}

double PlanSheet::draw_foot(double top) {
  double y = top + 28;
  if (picture_.unchanged > 0) {
    const std::string_view more = picture_.gpus.empty() ? "" : "more ";
    const std::string_view thing = picture_.unchanged == 1 ? "GPU does" : "GPUs do";
    pen_.text("b", {page_margin, y}, 12.5,
              fmt::format("{} {}{} not change.", picture_.unchanged, more, thing));
    y += 26;
  }
  return picture_.trips.empty() ? y : draw_list(y);
}

double PlanSheet::draw_list(double top) {
  constexpr std::size_t columns = 3;
  constexpr double gap = 28, row = 14.5;
  constexpr double width = (page_width - 2 * page_margin - gap * (columns - 1)) / columns;
  std::vector<Line> lines;
  for (std::uint32_t i = 0; i < picture_.trips.size(); ++i) {
    const Trip& trip = picture_.trips[i];
    if (trip.is_stopped()) lines.push_back({trip.stop_wave, i, 0});
    for (std::size_t hop = 0; hop < trip.hops.size(); ++hop)
      lines.push_back({trip.hops[hop].wave, i, hop});
  }
  // In the order of the trips: those without a wave come last.
  std::ranges::stable_sort(lines, {}, [](const Line& line) { return line.wave - 1; });
  pen_.text("b", {page_margin, top}, 12.5, "Wave by wave");
  pen_.text("q", {page_margin, top + 17}, 10.5,
            fmt::format("wave, {}workload, instance, from where to where (GPU@first memory slice)",
                        joined_ == Joined::by_numbers ? "number, " : ""));
  const std::size_t rows = (lines.size() + columns - 1) / columns;
  for (std::size_t i = 0; i < lines.size(); ++i)
    draw_line(lines[i],
              {page_margin + static_cast<double>(i / rows) * (width + gap),
               top + 36 + static_cast<double>(i % rows) * row},
              width);
  return top + 36 + static_cast<double>(rows) * row;
}

void PlanSheet::draw_line(const Line& line, SvgPoint at, double width) {
  constexpr double size = 9.5, name_at = 56, profile_at = 136, where_at = 198;
  const Trip& trip = picture_.trips[line.trip];
  pen_.open(fmt::format("id=\"move-{}-{}\"", line.trip + 1, line.hop + 1), told(problem_, trip));
  draw_wave({at.x + 7, at.y - 3.4}, 6, line.wave);
  if (trip.moves()) pen_.rect(fmt::format("{} v", colour(trip)), {at.x + 19, at.y - 7.5, 8, 8});
  const bool numbered = joined_ == Joined::by_numbers;
  if (numbered) pen_.text("b e", {at.x + 51, at.y}, size, std::to_string(line.trip + 1));
  const PlanWorkload& work = problem_.workloads[trip.workload];
  const double name_from = numbered ? name_at : 34;
  pen_.text("", {at.x + name_from, at.y}, size,
            fitted(work.name, profile_at - name_from - 4, size));
  const Seat seat = trip.hops.empty() ? *trip.from : trip.hops[line.hop].seat;
  pen_.text("", {at.x + profile_at, at.y}, size,
            fitted(problem_.placement(seat).profile->name, where_at - profile_at - 4, size));
  const auto place = [&](Seat where) {
    const std::string start = fmt::format("@{}", problem_.placement(where).start);
    const double room = (width - where_at) / 2 - 10 - text_width(start, size);
    return fmt::format("{}{}", fitted(problem_.gpus[index(where.gpu)].name, room, size), start);
  };
  const std::optional<Seat> from = line.hop > 0 ? trip.hops[line.hop - 1].seat : trip.from;
  const std::string before = from ? place(*from) : std::string("new");
  pen_.text("", {at.x + where_at, at.y}, size,
            trip.is_stopped() ? fmt::format("{} stops", before)
                              : fmt::format("{} \u2192 {}", before, place(seat)));
  pen_.close();
}

}  // namespace cleave
