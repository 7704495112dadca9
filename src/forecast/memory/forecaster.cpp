#include "forecast/memory/forecaster.hpp"

#include <algorithm>
#include <vector>

#include "base/format.hpp"
#include "base/text.hpp"
#include "forecast/memory/forecasters.hpp"

namespace cleave {

namespace {

Result<std::unique_ptr<Forecaster>> make_none(const OptionTexts&) {
  return nullptr;
}

}  // namespace

std::span<const ForecasterRow> forecasters() {
  static const ForecasterRow table[] = {
      {"none", "jobs restart when they have run out of memory", "no forecast", {}, make_none},
      laws_row,
      trend_row,
      last_value_row,
      running_max_row,
  };
  return table;
}

Result<std::unique_ptr<Forecaster>> make_forecaster(std::string_view spec) {
  const auto read = read_spec(forecasters(), spec, "forecaster");
  if (!read) return std::unexpected(read.error());
  auto made = read->row->make(read->options);
  if (!made) return fail_at(fmt::format("forecaster '{}'", shown(spec)), made.error());
  return made;
}

}  // namespace cleave
