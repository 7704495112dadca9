#include "compare.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"

namespace cleave::cases {

namespace {

constexpr double tolerance = 1e-9;
constexpr std::size_t longest_shown = 200;

/// A number as written in cases, plain or with its exact form.
struct Number {
  double value;
  std::optional<std::string> exact;
};

std::optional<Number> number_in(const Json& node) {
  if (node.is_number()) return Number{node.get<double>(), std::nullopt};
  if (!node.is_object() || node.size() != 2) return std::nullopt;
  const auto value = node.find("value"), exact = node.find("exact");
  if (value == node.end() || exact == node.end() || !value->is_number() || !exact->is_string())
    return std::nullopt;
  return Number{value->get<double>(), exact->get<std::string>()};
}

bool agree(const Number& a, const Number& b) {
  if (a.exact && b.exact) return a.exact == b.exact;
  return std::abs(a.value - b.value) <=
         tolerance * std::max({1.0, std::abs(a.value), std::abs(b.value)});
}

std::string on_a_line(const Json& node) {
  return shown(node.dump(-1, ' ', false, Json::error_handler_t::replace), longest_shown);
}

class Comparison {
 public:
  void compare(const Json& expected, const Json& got, const std::string& path) {
    if (expected.is_number() && got.is_array()) {
      // The format leaves open whether some keys list things or count them, so a list also matches
      // its count.
      if (expected != got.size()) differ(path, on_a_line(expected), on_a_line(got));
    } else if (const auto number = number_in(expected)) {
      const auto other = number_in(got);
      if (!other || !agree(*number, *other)) differ(path, on_a_line(expected), on_a_line(got));
    } else if (expected.is_object() && got.is_object()) {
      compare_keys(expected, got, path);
    } else if (expected.is_array() && got.is_array()) {
      compare_elements(expected, got, path);
    } else if (expected != got) {
      differ(path, on_a_line(expected), on_a_line(got));
    }
  }

  std::vector<Difference> found;

 private:
  void compare_keys(const Json& expected, const Json& got, const std::string& path) {
    for (const auto& [key, value] : expected.items()) {
      const std::string below = path.empty() ? shown(key) : fmt::format("{}.{}", path, shown(key));
      if (const auto other = got.find(key); other != got.end()) {
        compare(value, *other, below);
      } else {
        differ(below, on_a_line(value), "nothing");
      }
    }
  }

  void compare_elements(const Json& expected, const Json& got, const std::string& path) {
    // If an element is missing all that follow are out of step, so the whole lists are shown.
    if (expected.size() != got.size())
      return differ(path, fmt::format("{} elements {}", expected.size(), on_a_line(expected)),
                    fmt::format("{} elements {}", got.size(), on_a_line(got)));
    for (std::size_t i = 0; i < expected.size(); ++i)
      compare(expected[i], got[i], fmt::format("{}[{}]", path, i));
  }

  void differ(const std::string& path, std::string expected, std::string got) {
    found.push_back({path, std::move(expected), std::move(got)});
  }
};

}  // namespace

std::vector<Difference> differences(const Json& expected, const Json& got) {
  Comparison comparison;
  comparison.compare(expected, got, "");
  return std::move(comparison.found);
}

}  // namespace cleave::cases
