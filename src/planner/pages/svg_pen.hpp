#pragma once
// Writes SVG: shapes and text one after the other, then the document around them. Knows XML and the
// width of letters, and nothing of what is drawn. Coordinates have one decimal, so the same calls
// give the same bytes.

#include <string>
#include <string_view>
#include <vector>

namespace cleave {

/// As text or an attribute's value in XML: escaped, control characters as \xNN, invalid UTF-8 as
/// '?'.
std::string xml_escaped(std::string_view text);

/// How much wider bold letters are than plain ones of the same size.
inline constexpr double bold_width = 1.14;

/// Estimated width of the text in a plain sans serif of this size; rather too wide, since the
/// reader's font is unknown.
double text_width(std::string_view text, double size);

/// The text shortened in the middle just enough to fit; both ends stay, since they tell names
/// apart. Empty if not even one letter fits. Escapes nothing.
std::string fitted(std::string_view text, double width, double size);

/// A point on the page; y grows downwards.
struct SvgPoint {
  double x = 0, y = 0;
};

/// A rectangle by its upper left corner.
struct SvgBox {
  double x = 0, y = 0, width = 0, height = 0;
  [[nodiscard]] double right() const { return x + width; }
  [[nodiscard]] double bottom() const { return y + height; }
  [[nodiscard]] double middle() const { return x + width / 2; }
};

/// `look` is a class of the document's style sheet; `more` are further attributes, written
/// unchanged.
class SvgPen {
 public:
  void rect(std::string_view look, const SvgBox& box, std::string_view more = {});
  void circle(std::string_view look, SvgPoint centre, double radius, std::string_view more = {});
  void line(std::string_view look, SvgPoint from, SvgPoint to, std::string_view more = {});
  /// Through the points, with rounded corners.
  void route(std::string_view look, const std::vector<SvgPoint>& points,
             std::string_view more = {});
  /// A closed shape.
  void polygon(std::string_view look, const std::vector<SvgPoint>& points,
               std::string_view more = {});
  /// `at` is where the base line begins, or its middle or end, depending on the look.
  void text(std::string_view look, SvgPoint at, double size, std::string_view words);
  /// A group with a tooltip; `more` as above.
  void open(std::string_view more, std::string_view tip);
  void close();

  /// The whole document: `style` is CSS, `definitions` are what the shapes refer to.
  [[nodiscard]] std::string document(double width, double height, std::string_view title,
                                     std::string_view style, std::string_view definitions) const;

 private:
  std::string out_;
};

}  // namespace cleave
