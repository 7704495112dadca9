#include "engine/scheduler.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"
#include "engine/schedulers/dyna_p.hpp"
#include "engine/schedulers/full_gpu.hpp"
#include "engine/schedulers/miso.hpp"
#include "engine/schedulers/online.hpp"
#include "engine/schedulers/scheme_a.hpp"
#include "engine/schedulers/scheme_b.hpp"
#include "engine/schedulers/static_scheduler.hpp"

namespace cleave {

namespace {

const SchedulerRow table[] = {
    {"full-gpu",
     "one job at a time on each whole GPU, MIG off",
     "the baseline of all five papers",
     true,
     {},
     make_full_gpu,
     false,
     false,
     true},
    {"static", "instances that are made once and never changed", "Dyna-P, section 4 (StaCon)", true,
     static_options(), make_static, false, true},
    {"scheme-a", "jobs by size, smallest first: each GPU cut for one size at a time",
     "Managing Multi Instance GPUs, 4.3", false, scheme_a_options(), make_scheme_a},
    {"scheme-b",
     "jobs in order, each on the tightest instance; idle ones merged and split",
     "Managing Multi Instance GPUs, 4.3",
     true,
     {},
     make_scheme_b},
    {"online", "an instance for each job as it arrives; jobs move when one has left",
     "An Online Fragmentation-Aware Scheduler, IV", true, online_options(), make_online},
    {"miso", "each new job measured first, then the partition of the greatest predicted speed",
     "MISO (Li et al., SoCC 2022), as its abstract, Dyna-P and MIGM describe it", true,
     miso_options(), make_miso, true},
    {"dyna-p", "the batch of best system throughput for each GPU; jobs restarted as a last resort",
     "Dyna-P, section 3", false, dyna_p_options(), make_dyna_p},
    {"oracle", "dyna-p with true times", "Dyna-P, section 4", false, oracle_options(), make_oracle},
};

}  // namespace

std::span<const SchedulerRow> schedulers() {
  return table;
}

Result<SchedulerSpec> parse_scheduler(std::string_view spec) {
  const std::string_view name = spec.substr(0, spec.find(':'));
  const auto row = std::ranges::find(table, name, &SchedulerRow::name);
  const std::string place = fmt::format("scheduler '{}'", shown(spec));
  if (row == std::end(table)) {
    if (spec.find(',') != std::string_view::npos)
      return fail(ErrorKind::bad_usage, "",
                  fmt::format("'{}' names several schedulers", shown(spec)),
                  "`cleave compare` takes several");
    std::vector<std::string> known;
    for (const SchedulerRow& other : table) known.emplace_back(other.name);
    return fail(ErrorKind::bad_usage, "", fmt::format("there is no scheduler '{}'", shown(name)),
                suggestion(name, known));
  }
  const auto given = options_of(spec, place);
  if (!given) return std::unexpected(given.error());
  auto options = complete(*given, row->options, fmt::format("scheduler {}", row->name));
  if (!options) return fail_at(place, options.error());
  return SchedulerSpec{row, std::move(*options), std::string(spec)};
}

Result<std::vector<SchedulerSpec>> parse_schedulers(std::string_view specs) {
  std::vector<SchedulerSpec> all;
  for (const std::string_view spec : split(specs, ',')) {
    auto parsed = parse_scheduler(trimmed(spec));
    if (!parsed) return std::unexpected(parsed.error());
    const bool twice =
        std::ranges::any_of(all, [&](const auto& other) { return other.text == parsed->text; });
    if (twice)
      return fail(ErrorKind::bad_usage, "",
                  fmt::format("scheduler '{}' is named twice", shown(parsed->text)));
    all.push_back(std::move(*parsed));
  }
  return all;
}

Result<std::unique_ptr<Scheduler>> make_scheduler(const SchedulerSpec& spec,
                                                  const SchedulerSetup& setup) {
  auto made = spec.row->make(setup, spec.options);
  if (!made) return fail_at(fmt::format("scheduler '{}'", shown(spec.text)), made.error());
  return made;
}

}  // namespace cleave
