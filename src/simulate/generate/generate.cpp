#include "simulate/generate/generate.hpp"

#include <vector>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

std::span<const GeneratorRow> generators() {
  static const std::vector<GeneratorRow> all = [] {
    std::vector<GeneratorRow> rows;
    for (const auto family : {lab_day_generators(), services_generators(), migm_generators(),
                              taming_generators(), online_generators(), dyna_p_generators()})
      rows.insert(rows.end(), family.begin(), family.end());
    return rows;
  }();
  return all;
}

Result<Workload> generate_workload(std::string_view spec, std::uint64_t seed) {
  const auto read = read_spec(generators(), spec, "generator");
  if (!read) return std::unexpected(read.error());
  auto workload = read->row->make(seed, read->options);
  if (!workload) return fail_at(fmt::format("generator '{}'", shown(spec)), workload.error());
  return workload;
}

}  // namespace cleave
