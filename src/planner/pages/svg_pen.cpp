#include "planner/pages/svg_pen.hpp"

#include <algorithm>
#include <cmath>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

/// A coordinate; never "-0.0".
std::string number(double value) {
  const double tenths = std::round(value * 10);
  return fmt::format("{:.1f}", tenths == 0 ? 0.0 : tenths / 10);
}

std::string attributes(std::string_view look, std::string_view more) {
  return fmt::format(" class=\"{}\"{}{}", look, more.empty() ? "" : " ", more);
}

/// The characters of UTF-8 text, each with all its bytes.
std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> list;
  std::size_t from = 0;
  for (std::size_t at = 1; at <= text.size(); ++at) {
    if (at < text.size() && (text[at] & 0xc0) == 0x80) continue;
    list.push_back(text.substr(from, at - from));
    from = at;
  }
  return list;
}

/// Widths relative to the font's size, near those of the common sans serifs.
double character_width(std::string_view character) {
  const auto byte = static_cast<unsigned char>(character.front());
  if (byte >= 0xe1 && character != "\u2192" && character != "\u2026")
    return 1.05;  // most of these are wide
  if (byte >= 0x80) return 0.75;
  if (std::string_view("ijl.,:;|!'").contains(character.front())) return 0.33;
  if (std::string_view("tfr()[]/ -I").contains(character.front())) return 0.42;
  if (std::string_view("mwMW@%").contains(character.front())) return 0.96;
  return character.front() >= 'A' && character.front() <= 'Z' ? 0.71 : 0.63;
}

/// Valid in XML, except for the five characters that are escaped.
std::string cleaned(std::string_view text) {
  std::string safe = shown(text, text.size());
  for (const std::string_view forbidden : {"\uFFFE", "\uFFFF"})
    for (std::size_t at = safe.find(forbidden); at != std::string::npos; at = safe.find(forbidden))
      safe = fmt::format("{}?{}", safe.substr(0, at), safe.substr(at + forbidden.size()));
  return safe;
}

/// The point at `length` along the way from one point to another.
SvgPoint along(SvgPoint from, SvgPoint to, double length) {
  const double whole = std::hypot(to.x - from.x, to.y - from.y);
  if (whole == 0) return from;
  return {from.x + (to.x - from.x) * length / whole, from.y + (to.y - from.y) * length / whole};
}

}  // namespace

std::string xml_escaped(std::string_view text) {
  std::string out;
  for (const char c : cleaned(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

double text_width(std::string_view text, double size) {
  double width = 0;
  for (const std::string_view character : characters(text)) width += character_width(character);
  return width * size;
}

std::string fitted(std::string_view text, double width, double size) {
  const std::string safe = cleaned(text);
  if (text_width(safe, size) <= width) return safe;
  const std::vector<std::string_view> list = characters(safe);
  const double room = width - text_width("\u2026", size);
  std::string front, back;
  double used = 0;
  // Two characters of the front for one of the back.
  for (std::size_t i = 0, head = 0, tail = 0; i < list.size(); ++i) {
    const bool at_back = i % 3 == 2;
    const std::string_view next = at_back ? list[list.size() - 1 - tail++] : list[head++];
    used += text_width(next, size);
    if (used > room) break;
    if (at_back)
      back = fmt::format("{}{}", next, back);
    else
      front += next;
  }
  return front.empty() ? front : fmt::format("{}\u2026{}", front, back);
}

void SvgPen::rect(std::string_view look, const SvgBox& box, std::string_view more) {
  out_ += fmt::format("<rect{} x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n",
                      attributes(look, more), number(box.x), number(box.y), number(box.width),
                      number(box.height));
}

void SvgPen::circle(std::string_view look, SvgPoint centre, double radius, std::string_view more) {
  out_ += fmt::format("<circle{} cx=\"{}\" cy=\"{}\" r=\"{}\"/>\n", attributes(look, more),
                      number(centre.x), number(centre.y), number(radius));
}

void SvgPen::line(std::string_view look, SvgPoint from, SvgPoint to, std::string_view more) {
  out_ += fmt::format("<path{} d=\"M{} {}L{} {}\"/>\n", attributes(look, more), number(from.x),
                      number(from.y), number(to.x), number(to.y));
}

void SvgPen::route(std::string_view look, const std::vector<SvgPoint>& points,
                   std::string_view more) {
  constexpr double radius = 6;
  std::string path = fmt::format("M{} {}", number(points.front().x), number(points.front().y));
  for (std::size_t i = 1; i + 1 < points.size(); ++i) {
    const SvgPoint corner = points[i];
    const auto cut = [&](SvgPoint other) {
      const double whole = std::hypot(other.x - corner.x, other.y - corner.y);
      return along(corner, other, std::min(radius, whole / 2));
    };
    const SvgPoint in = cut(points[i - 1]), out = cut(points[i + 1]);
    path += fmt::format("L{} {}Q{} {} {} {}", number(in.x), number(in.y), number(corner.x),
                        number(corner.y), number(out.x), number(out.y));
  }
  path += fmt::format("L{} {}", number(points.back().x), number(points.back().y));
  out_ += fmt::format("<path{} d=\"{}\"/>\n", attributes(look, more), path);
}

void SvgPen::polygon(std::string_view look, const std::vector<SvgPoint>& points,
                     std::string_view more) {
  std::string path;
  for (const SvgPoint point : points)
    path += fmt::format("{}{} {}", path.empty() ? "M" : "L", number(point.x), number(point.y));
  out_ += fmt::format("<path{} d=\"{}Z\"/>\n", attributes(look, more), path);
}

void SvgPen::text(std::string_view look, SvgPoint at, double size, std::string_view words) {
  out_ +=
      fmt::format("<text{} x=\"{}\" y=\"{}\" font-size=\"{}\">{}</text>\n", attributes(look, {}),
                  number(at.x), number(at.y), number(size), xml_escaped(words));
}

void SvgPen::open(std::string_view more, std::string_view tip) {
  out_ += fmt::format("<g{}{}>", more.empty() ? "" : " ", more);
  if (!tip.empty()) out_ += fmt::format("<title>{}</title>", xml_escaped(tip));
  out_ += "\n";
}

void SvgPen::close() {
  out_ += "</g>\n";
}

std::string SvgPen::document(double width, double height, std::string_view title,
                             std::string_view style, std::string_view definitions) const {
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} "
      "{1}\" "
      "role=\"img\">\n<title>{2}</title>\n<style>\n{3}</style>\n<defs>\n{4}</defs>\n"
      "<rect x=\"0\" y=\"0\" width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n{5}</svg>\n",
      number(width), number(height), xml_escaped(title), style, definitions, out_);
}

}  // namespace cleave
