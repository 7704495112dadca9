#include "simulate/traces/tres_usage.hpp"

#include <algorithm>
#include <cmath>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

std::optional<MiB> slurm_memory(std::string_view text) {
  constexpr std::pair<char, double> units[] = {
      {'K', 1.0 / 1024}, {'M', 1}, {'G', 1024}, {'T', 1024.0 * 1024}, {'P', 1024.0 * 1024 * 1024}};
  double factor = 1;
  if (!text.empty())
    for (const auto& [suffix, mebibytes] : units)
      if (text.back() == suffix) {
        factor = mebibytes;
        text.remove_suffix(1);
        break;
      }
  const auto number = parse_number(text);
  if (!number || *number < 0 || *number * factor > 1e12) return std::nullopt;
  return MiB{static_cast<std::int64_t>(std::ceil(*number * factor))};
}

SeenUse read_tres_usage(Cells& cells, std::string_view text, std::string_view name) {
  SeenUse use;
  for (const std::string_view entry : split(text, ',')) {
    if (trimmed(entry).empty()) continue;
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) {
      cells.refuse(fmt::format("{} has '{}', expected NAME=NUMBER", name, shown(entry)));
      continue;
    }
    const std::string_view key = entry.substr(0, equals), value = entry.substr(equals + 1);
    if (key == "gres/gpumem") {
      use.memory = slurm_memory(value);
      if (!use.memory)
        cells.refuse(
            fmt::format("gres/gpumem is '{}', expected a size such as 8192M", shown(value)));
    } else if (key == "gres/gpuutil") {
      const auto busy = parse_number(value);
      // Of a task on several GPUs it is their sum.
      if (!busy || !(*busy >= 0 && *busy <= 100.0 * most_places))
        cells.refuse(fmt::format("gres/gpuutil is '{}', expected a percentage", shown(value)));
      else
        use.busy_percent = *busy;
    }
  }
  return use;
}

void StepsUse::add(const std::string& job, const SeenUse& average, const SeenUse& peak,
                   double seconds) {
  const auto busy = average.busy_percent ? average.busy_percent : peak.busy_percent;
  const auto memory = peak.memory ? peak.memory : average.memory;
  if (!busy && !memory) return;
  Sum& sum = jobs_[job];
  if (busy) {
    sum.busy_seconds += *busy * seconds;
    sum.busy_known = true;
  }
  if (memory) sum.memory = std::max(sum.memory.value_or(MiB{0}), *memory);
}

SeenUse StepsUse::of(const std::string& job, double seconds, double gpus) const {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return {};
  SeenUse use;
  use.memory = found->second.memory;
  if (found->second.busy_known && seconds > 0 && gpus > 0)
    use.busy_percent = std::min(100.0, found->second.busy_seconds / seconds / gpus);
  return use;
}

}  // namespace cleave
