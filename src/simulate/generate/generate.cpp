#include "simulate/generate/generate.hpp"

#include <algorithm>
#include <vector>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

std::span<const GeneratorRow> generators() {
  static const std::vector<GeneratorRow> all = [] {
    std::vector<GeneratorRow> rows;
    for (const auto family :
         {lab_day_generators(), migm_generators(), online_generators(), dyna_p_generators()})
      rows.insert(rows.end(), family.begin(), family.end());
    return rows;
  }();
  return all;
}

Result<Workload> generate_workload(std::string_view spec, std::uint64_t seed) {
  const std::string_view name = spec.substr(0, spec.find(':'));
  const auto rows = generators();
  const auto row = std::ranges::find(rows, name, &GeneratorRow::name);
  if (row == rows.end()) {
    std::vector<std::string> known;
    for (const GeneratorRow& other : rows) known.emplace_back(other.name);
    return fail(ErrorKind::bad_usage, "", fmt::format("there is no generator '{}'", shown(name)),
                suggestion(name, known));
  }
  const std::string place = fmt::format("generator '{}'", shown(spec));
  const auto given = options_of(spec, place);
  if (!given) return std::unexpected(given.error());
  const auto options = complete(*given, row->options, fmt::format("generator {}", row->name));
  if (!options) return fail_at(place, options.error());
  auto workload = row->make(seed, *options);
  if (!workload) return fail_at(place, workload.error());
  return workload;
}

}  // namespace cleave
