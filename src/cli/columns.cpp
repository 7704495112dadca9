#include "cli/columns.hpp"

#include "base/format.hpp"

namespace cleave::cli {

std::string plain_text(const Json& value) {
  if (value.is_null()) return "-";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (!value.is_array()) return value.dump();
  std::vector<std::string> parts;
  for (const Json& each : value) parts.push_back(plain_text(each));
  return fmt::format("{}", fmt::join(parts, " "));
}

CellText decimals(int digits, double factor, std::string none) {
  return [digits, factor, none = std::move(none)](const Json& value) {
    return value.is_null() ? none : fmt::format("{:.{}f}", value.get<double>() * factor, digits);
  };
}

CellText or_word(std::string none) {
  return [none = std::move(none)](const Json& value) {
    return value.is_null() ? none : plain_text(value);
  };
}

std::string yes_or_alarm(const Json& value) {
  return value.get<bool>() ? "yes" : "NO";
}

std::string percent_text(const Json& value) {
  return percent(value.get<double>());
}

Json ratio_json(Ratio ratio) {
  return {{"value", ratio.value()}, {"exact", ratio.exact()}};
}

}  // namespace cleave::cli
