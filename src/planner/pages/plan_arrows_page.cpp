// A page for few GPUs: a row for each GPU, and an arrow for each part of a move. Arrows run in
// lanes of their own: from under the old box along a lane of its row to the middle, up or down
// there, and along a lane of the new row to under the new box. So no arrow crosses a box.

#include <algorithm>
#include <map>

#include "base/format.hpp"
#include "planner/pages/plan_pages.hpp"

namespace cleave {

namespace {

constexpr double head = 24, bar_height = 54, lane_gap = 17, row_gap = 18;
constexpr double station_width = 104, station_height = 22, station_gap = 5;

/// One arrow: a trip's way from one place to the next.
struct Leg {
  std::uint32_t trip = 0;
  std::size_t hop = 0;
  bool from_station = false, to_station = false;
  std::size_t from_row = 0, to_row = 0;
  SvgPoint from, to;                         // where it touches the boxes
  double from_lane = 0, to_lane = 0, x = 0;  // y, y and x on which it runs
};

struct Row {
  const PictureGpu* gpu = nullptr;
  SvgBox left, right;
  std::vector<std::pair<std::uint32_t, std::size_t>> stations;  // trip and hop
  double end = 0;
};

class ArrowPage {
 public:
  explicit ArrowPage(PlanSheet& sheet)
      : sheet_(sheet), pen_(sheet.pen()), trips_(sheet.picture().trips) {}

  double draw(double top) {
    collect();
    measure(top);
    connect();
    draw_columns(top);
    for (const Row& row : rows_) draw_row(row);
    for (const Leg& leg : legs_) draw_leg(leg);
    for (const Row& row : rows_) draw_stations(row);
    return rows_.back().end;
  }

 private:
  void collect() {
    std::map<GpuId, std::size_t> row_of;
    for (const PictureGpu& gpu : sheet_.picture().gpus) {
      row_of[gpu.gpu] = rows_.size();
      rows_.push_back({&gpu, {}, {}, {}, 0});
    }
    for (std::uint32_t i = 0; i < trips_.size(); ++i) {
      const Trip& trip = trips_[i];
      for (std::size_t hop = 0; hop < trip.hops.size(); ++hop) {
        const bool last = hop + 1 == trip.hops.size();
        const std::size_t to = row_of.at(trip.hops[hop].seat.gpu);
        if (!last) rows_[to].stations.emplace_back(i, hop);
        if (hop == 0 && !trip.from) continue;
        const Seat before = hop == 0 ? *trip.from : trip.hops[hop - 1].seat;
        legs_.push_back({i, hop, hop > 0, !last, row_of.at(before.gpu), to, {}, {}, 0, 0, 0});
      }
    }
  }

  /// Widths from the number of arrows, then each row's place.
  void measure(double top) {
    const auto count = [&](bool Leg::*which) {
      return static_cast<double>(std::ranges::count(legs_, true, which));
    };
    const double second = count(&Leg::from_station),
                 first = static_cast<double>(legs_.size()) - second;
    pitch_ = std::min(11.0, 190 / std::max(1.0, first + second));
    const double stations = second > 0 ? station_width + 40 : 0;
    const double gutter = 56 + pitch_ * (first + second) + stations;
    const double bar_width = (page_width - 2 * page_margin - gutter) / 2;
    first_lane_ = page_margin + bar_width + 16;
    station_x_ = first_lane_ + pitch_ * first + 24;
    second_lane_ = second > 0 ? station_x_ + station_width + 22 : first_lane_ + pitch_ * first;
    wave_x_ = page_margin + bar_width + gutter - 16;
    double y = top + 32;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      Row& row = rows_[i];
      row.left = {page_margin, y + head, bar_width, bar_height};
      row.right = {page_margin + bar_width + gutter, y + head, bar_width, bar_height};
      const auto stacked =
          static_cast<double>(row.stations.size()) * (station_height + station_gap);
      lanes_of(i, std::max(row.left.bottom(), row.left.y + stacked));
      y = row.end + row_gap;
    }
  }

  [[nodiscard]] double middle_of(const SvgBox& bar, Seat seat) const {
    const Placement& where = sheet_.problem().placement(seat);
    const double slice =
        bar.width / sheet_.problem().geometry(seat.gpu).model().memory_slices.value;
    return bar.x + slice * (where.start + where.profile->memory.value / 2.0);
  }

  /// Lanes under a row. The rightmost box leaves by the uppermost lane and the leftmost is reached
  /// by the uppermost: then arrows of one row do not cross under its bars.
  void lanes_of(std::size_t number, double from) {
    Row& row = rows_[number];
    std::vector<Leg*> leaving, arriving;
    for (Leg& leg : legs_) {
      const Trip& trip = trips_[leg.trip];
      if (!leg.from_station && leg.from_row == number) {
        leg.from = {middle_of(row.left, *trip.from), row.left.bottom()};
        leaving.push_back(&leg);
      }
      if (!leg.to_station && leg.to_row == number) {
        leg.to = {middle_of(row.right, trip.hops[leg.hop].seat), row.right.bottom()};
        arriving.push_back(&leg);
      }
    }
    std::ranges::stable_sort(leaving,
                             [](const Leg* a, const Leg* b) { return a->from.x > b->from.x; });
    std::ranges::stable_sort(arriving,
                             [](const Leg* a, const Leg* b) { return a->to.x < b->to.x; });
    // Half a lane apart, so that leaving and arriving arrows never share a line.
    for (std::size_t i = 0; i < leaving.size(); ++i)
      leaving[i]->from_lane = from + 10 + lane_gap * static_cast<double>(i);
    for (std::size_t i = 0; i < arriving.size(); ++i)
      arriving[i]->to_lane = from + 10 + lane_gap * (static_cast<double>(i) + 0.5);
    const auto lanes = static_cast<double>(std::max(leaving.size(), arriving.size()));
    row.end = from + lane_gap * lanes + (lanes > 0 ? 8 : 0);
  }

  [[nodiscard]] SvgBox station(std::size_t row, std::uint32_t trip, std::size_t hop) const {
    const auto& list = rows_[row].stations;
    const auto at = std::ranges::find(list, std::pair(trip, hop)) - list.begin();
    return {station_x_,
            rows_[row].left.y + static_cast<double>(at) * (station_height + station_gap),
            station_width, station_height};
  }

  /// The ends at temporary places, and the line in the middle on which each arrow goes up or down.
  void connect() {
    std::vector<Leg*> first, second;
    for (Leg& leg : legs_) {
      if (leg.from_station) {
        const SvgBox box = station(leg.from_row, leg.trip, leg.hop - 1);
        leg.from = {box.right(), box.y + station_height / 2 + (leg.to_station ? 5 : 0)};
        leg.from_lane = leg.from.y;
      }
      if (leg.to_station) {
        const SvgBox box = station(leg.to_row, leg.trip, leg.hop);
        leg.to = {leg.from_station ? box.right() : box.x, box.y + station_height / 2};
        leg.to_lane = leg.to.y;
      }
      (leg.from_station ? second : first).push_back(&leg);
    }
    // Arrows that go down first, the lowest of them leftmost; then those that go up, the highest
    // leftmost.
    const auto rank = [](const Leg* leg) {
      const bool down = leg->to_lane > leg->from_lane;
      return std::pair(down ? 0 : 1, down ? -leg->from_lane : leg->from_lane);
    };
    std::ranges::stable_sort(first, {}, rank);
    std::ranges::stable_sort(second, {}, rank);
    for (std::size_t i = 0; i < first.size(); ++i)
      first[i]->x = first_lane_ + pitch_ * static_cast<double>(i);
    for (std::size_t i = 0; i < second.size(); ++i)
      second[i]->x = second_lane_ + pitch_ * static_cast<double>(i);
  }

  void draw_columns(double top) {
    pen_.text("b q", {rows_[0].left.x, top + 20}, 13, "Now");
    pen_.text("b q", {rows_[0].right.x, top + 20}, 13, "After");
  }

  void draw_row(const Row& row) {
    const GpuId gpu = row.gpu->gpu;
    const GpuModel& model = sheet_.problem().geometry(gpu).model();
    const std::string name =
        fitted(sheet_.problem().gpus[index(gpu)].name, row.left.width * 0.6, bold_width * 12.5);
    for (const SvgBox& bar : {row.left, row.right}) {
      const double after_name = bar.x + text_width(name, bold_width * 12.5) + 4;
      pen_.text("b", {bar.x, bar.y - 11}, 12.5, name);
      pen_.text("q", {after_name, bar.y - 11}, 10.5,
                fitted(model.key, bar.right() - after_name - 80, 10.5));
    }
    if (row.gpu->used_before && !row.gpu->used_after)
      sheet_.draw_badge(
          {row.right.right() - PlanSheet::badge_width(9.5, "becomes empty"), row.right.y - 21}, 9.5,
          "becomes empty");
    draw_side(row, row.gpu->before, "before", row.left);
    draw_side(row, row.gpu->after, "after", row.right);
  }

  void draw_side(const Row& row, const std::vector<PictureBox>& boxes, std::string_view side,
                 const SvgBox& bar) {
    const Geometry& geometry = sheet_.problem().geometry(row.gpu->gpu);
    sheet_.draw_bar(bar, geometry);
    if (boxes.empty()) sheet_.draw_empty(bar, 13);
    for (const PictureBox& box : boxes) {
      sheet_.open_box(side, row.gpu->gpu, box);
      const SvgBox outline = sheet_.draw_box(bar, geometry, box);
      const double width = outline.width - 5;
      const bool tagged = box.kind == BoxKind::starts || box.kind == BoxKind::stops;
      const double base = outline.y + (tagged ? 27 : 23);
      const std::string_view label = sheet_.box_name(box);
      const double size = text_width(label, bold_width * 11) <= width ? 11 : 9.5;
      pen_.text("b m", {outline.middle(), base}, size, fitted(label, width, bold_width * size));
      pen_.text("m", {outline.middle(), base + 12}, 9.5,
                fitted(geometry[box.placement].profile->name, width, 9.5));
      if (box.kind == BoxKind::starts) draw_tag(outline, "new", trips_[box.trip].hops.back().wave);
      if (box.kind == BoxKind::stops) draw_tag(outline, "stops", trips_[box.trip].stop_wave);
      pen_.close();
    }
  }

  /// On the upper edge of a box that no arrow leads to: what happens, and in which wave.
  void draw_tag(const SvgBox& outline, std::string_view word, std::size_t wave) {
    const double badge = PlanSheet::badge_width(9, word), circle = wave > 0 ? 17 : 0;
    const double x = outline.middle() - (badge + circle) / 2;
    sheet_.draw_badge({x, outline.y + 1}, 9, word);
    sheet_.draw_wave({x + badge + 10, outline.y + 7}, 6.5, wave);
  }

  void draw_stations(const Row& row) {
    for (const auto& [trip, hop] : row.stations) {
      const SvgBox box = station(static_cast<std::size_t>(&row - rows_.data()), trip, hop);
      const Seat seat = trips_[trip].hops[hop].seat;
      const std::string_view name = sheet_.problem().workloads[trips_[trip].workload].name;
      const Placement& where = sheet_.problem().placement(seat);
      pen_.open(fmt::format("id=\"stop-{}-{}\"", trip + 1, hop + 1),
                told(sheet_.problem(), trips_[trip]));
      pen_.rect(fmt::format("{} c", PlanSheet::colour(trips_[trip])), box, "rx=\"3\"");
      pen_.text("b m", {box.middle(), box.y + 9.5}, 8.5,
                fitted(name, box.width - 6, bold_width * 8.5));
      pen_.text("m", {box.middle(), box.y + 18.5}, 8,
                fmt::format("{} at {}", where.profile->name, where.start));
      pen_.close();
    }
  }

  void draw_leg(const Leg& leg) {
    const Trip& trip = trips_[leg.trip];
    const bool detour = leg.from_station || leg.to_station;
    std::vector<SvgPoint> way = {leg.from};
    if (!leg.from_station) way.push_back({leg.from.x, leg.from_lane});
    way.push_back({leg.x, leg.from_lane});
    way.push_back({leg.x, leg.to_lane});
    if (!leg.to_station) way.push_back({leg.to.x, leg.to_lane});
    const SvgPoint before = way.back();
    // The line ends at the base of the arrowhead, not at its tip.
    const double dx = leg.to_station ? (leg.to.x > before.x ? 1 : -1) : 0,
                 dy = leg.to_station ? 0 : -1;
    way.push_back({leg.to.x - dx * 6, leg.to.y - dy * 6});
    pen_.open(fmt::format("id=\"arrow-{}-{}\"", leg.trip + 1, leg.hop + 1),
              told(sheet_.problem(), trip));
    pen_.route("u", way);
    pen_.route(fmt::format("{} a{}", PlanSheet::colour(trip), detour ? " t" : ""), way);
    pen_.polygon(PlanSheet::colour(trip),
                 {leg.to,
                  {leg.to.x - dx * 9 - dy * 5, leg.to.y - dy * 9 - dx * 5},
                  {leg.to.x - dx * 9 + dy * 5, leg.to.y - dy * 9 + dx * 5}});
    if (!leg.from_station) pen_.circle(PlanSheet::colour(trip), leg.from, 3);
    const double x = leg.to_station ? leg.to.x - dx * 19 : wave_x_;
    sheet_.draw_wave({x, leg.to_lane}, 7.5, trip.hops[leg.hop].wave);
    pen_.close();
  }

  PlanSheet& sheet_;
  SvgPen& pen_;
  const std::vector<Trip>& trips_;
  std::vector<Row> rows_;
  std::vector<Leg> legs_;
  double pitch_ = 0, first_lane_ = 0, station_x_ = 0, second_lane_ = 0, wave_x_ = 0;
};

}  // namespace

double draw_with_arrows(PlanSheet& sheet, double top) {
  return ArrowPage(sheet).draw(top);
}

}  // namespace cleave
