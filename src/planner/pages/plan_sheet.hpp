#pragma once
// What the pages that draw a plan have in common: the title and notes above, the marks of which
// bars and boxes are made, the list of moves at the end. The pages differ in how they join before
// and after.

#include <string>
#include <string_view>
#include <vector>

#include "planner/pages/plan_picture.hpp"
#include "planner/pages/svg_pen.hpp"

namespace cleave {

inline constexpr double page_width = 1180, page_margin = 28;

/// The document while it is being drawn.
class PlanSheet {
 public:
  /// How a page joins the box before and the box after: by lines, or by the same number in both.
  enum class Joined { by_arrows, by_numbers };

  PlanSheet(const PlanProblem& problem, const Plan& plan, const Moves& moves,
            const PlanPicture& picture, Joined joined)
      : problem_(problem), plan_(plan), moves_(moves), picture_(picture), joined_(joined) {}

  [[nodiscard]] const PlanProblem& problem() const { return problem_; }
  [[nodiscard]] const PlanPicture& picture() const { return picture_; }
  [[nodiscard]] Joined joined() const { return joined_; }
  SvgPen& pen() { return pen_; }

  /// Title and notes. This and draw_foot return where the next part may begin.
  double draw_head();
  /// How many GPUs are not drawn, and every move by wave.
  double draw_foot(double top);
  [[nodiscard]] std::string document(double height) const;

  /// A GPU with nothing on it, with a cell for each memory slice.
  void draw_bar(const SvgBox& bar, const Geometry& geometry);
  /// The box of an instance without its words: fill, border, lock, wasted slices. Returns its
  /// outline.
  SvgBox draw_box(const SvgBox& bar, const Geometry& geometry, const PictureBox& box);
  /// Marks a bar that holds nothing.
  void draw_empty(const SvgBox& bar, double size);
  /// The number of a wave in a small circle; nothing for wave 0.
  void draw_wave(SvgPoint centre, double radius, std::size_t wave);
  /// A word on a dark ground; `at` is its upper left corner.
  void draw_badge(SvgPoint at, double size, std::string_view word);
  static double badge_width(double size, std::string_view word);
  /// Marks work that must not be touched; `at` is the upper left corner.
  void draw_lock(SvgPoint at);
  /// Marks wasted slices.
  void draw_cross(const SvgBox& box);

  /// The class that gives a trip its colour.
  static std::string colour(const Trip& trip);
  /// The workload's name, or a word for an instance without one.
  [[nodiscard]] std::string_view box_name(const PictureBox& box) const;
  /// Begins a box with its tooltip; `id` is "before" or "after" and the trip's number.
  void open_box(std::string_view id, GpuId gpu, const PictureBox& box);

 private:
  /// One line of the list: one wave's part of a trip.
  struct Line {
    std::size_t wave;
    std::uint32_t trip;
    std::size_t hop;
  };

  [[nodiscard]] std::vector<std::string> notes() const;
  double draw_list(double top);
  void draw_line(const Line& line, SvgPoint at, double width);

  const PlanProblem& problem_;
  const Plan& plan_;
  const Moves& moves_;
  const PlanPicture& picture_;
  Joined joined_;
  SvgPen pen_;
};

}  // namespace cleave
