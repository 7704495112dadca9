#include "compare.hpp"

#include <algorithm>
#include <cmath>

#include "base/format.hpp"

namespace cleave::cases {

namespace {

bool near(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::max({1.0, std::abs(a), std::abs(b)});
}

class Comparison {
 public:
  void compare(const std::string& path, const Json& expected, const Json& got) {
    if (expected.is_object() && got.is_object()) return compare_objects(path, expected, got);
    if (expected.is_array() && got.is_array()) return compare_lists(path, expected, got);
    const bool equal = expected.is_number() && got.is_number()
                           ? near(expected.get<double>(), got.get<double>())
                           : expected == got;
    if (!equal) differ(path, expected, got);
  }

  std::vector<std::string> found;

 private:
  void differ(const std::string& path, const Json& expected, const Json& got) {
    found.push_back(
        fmt::format("{}: expected {}, got {}", path.empty() ? "answer" : path, expected.dump(), got.dump()));
  }

  void compare_objects(const std::string& path, const Json& expected, const Json& got) {
    const bool rational = expected.contains("exact") && expected.contains("value") && got.contains("exact");
    for (const auto& [key, value] : expected.items()) {
      if (rational && key == "value") continue;
      const std::string inner = path.empty() ? key : path + "." + key;
      if (got.contains(key)) {
        compare(inner, value, got[key]);
      } else {
        found.push_back(fmt::format("{}: expected {}, got nothing", inner, value.dump()));
      }
    }
  }

  void compare_lists(const std::string& path, const Json& expected, const Json& got) {
    if (expected.size() != got.size()) return differ(path, expected, got);
    for (std::size_t i = 0; i < expected.size(); ++i)
      compare(fmt::format("{}[{}]", path, i), expected[i], got[i]);
  }
};

}  // namespace

std::vector<std::string> differences(const Json& expected, const Json& got) {
  Comparison comparison;
  comparison.compare("", expected, got);
  return comparison.found;
}

}  // namespace cleave::cases
