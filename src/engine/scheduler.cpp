#include "engine/scheduler.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"
#include "engine/adaptive/adaptive.hpp"
#include "engine/queue/queue_rules.hpp"
#include "engine/schedulers/dyna_p.hpp"
#include "engine/schedulers/full_gpu.hpp"
#include "engine/schedulers/miso.hpp"
#include "engine/schedulers/online.hpp"
#include "engine/schedulers/scheme_a.hpp"
#include "engine/schedulers/scheme_b.hpp"
#include "engine/schedulers/static_scheduler.hpp"

namespace cleave {

namespace {

constexpr std::string_view by_priority = "jobs of higher priority first, then in order of arrival",
                           by_batches = "batches of the highest priority first, then of the next";

const SchedulerRow table[] = {
    {.name = "adaptive",
     .summary = "each job the size that a slice is worth at the moment; changed where that pays",
     .source = "Cleave: docs/adaptive.md",
     .priority = "jobs of higher priority first, then by what is left of them",
     .kinds = true,
     .several = true,
     .options = adaptive_options(),
     .make = make_adaptive},
    {.name = "full-gpu",
     .summary = "one job at a time on each whole GPU, MIG off",
     .source = "the baseline of all five papers",
     .priority = by_priority,
     .fcfs = true,
     .whole_gpus = true,
     .kinds = true,
     .several = true,
     .options = queue_options,
     .make = make_full_gpu},
    {.name = "static",
     .summary = "instances that are made once and never changed",
     .source = "Dyna-P, section 4 (StaCon)",
     .priority = by_priority,
     .fcfs = true,
     .furnishes = true,
     .kinds = true,
     .several = true,
     .options = static_options(),
     .make = make_static},
    {.name = "scheme-a",
     .summary = "jobs by size, smallest first: each GPU cut for one size at a time",
     .source = "Managing Multi Instance GPUs, 4.3",
     .priority = "within a size, and for the size that an empty GPU is cut for next",
     .by_profile = true,
     .options = scheme_a_options(),
     .make = make_scheme_a},
    {.name = "scheme-b",
     .summary = "jobs in order, each on the tightest instance; idle ones merged and split",
     .source = "Managing Multi Instance GPUs, 4.3",
     .priority = by_priority,
     .fcfs = true,
     .by_profile = true,
     .kinds = true,
     .several = true,
     .options = scheme_b_options(),
     .make = make_scheme_b},
    {.name = "online",
     .summary = "an instance for each job as it arrives; jobs move when another has left",
     .source = "An Online Fragmentation-Aware Scheduler, IV",
     .priority = by_priority,
     .fcfs = true,
     .by_profile = true,
     .kinds = true,
     .several = true,
     .options = online_options(),
     .make = make_online},
    {.name = "miso",
     .summary =
         "each new job is measured first; then the partition of the highest predicted total speed",
     .source = "MISO (Li et al., SoCC 2022), as its abstract, Dyna-P and MIGM describe it",
     .priority = by_priority,
     .fcfs = true,
     .interrupts = true,
     .options = miso_options(),
     .make = make_miso},
    {.name = "dyna-p",
     .summary = "the batch of best system throughput for each GPU; jobs restarted as a last resort",
     .source = "Dyna-P, section 3",
     .priority = by_batches,
     .options = dyna_p_options(),
     .make = make_dyna_p},
    {.name = "oracle",
     .summary = "dyna-p with true times",
     .source = "Dyna-P, section 4",
     .priority = by_batches,
     .truth = true,
     .options = oracle_options(),
     .make = make_oracle},
};

}  // namespace

std::span<const SchedulerRow> schedulers() {
  return table;
}

bool has_queue_options(const SchedulerRow& row) {
  return std::ranges::find(row.options, std::string_view("backfill"), &OptionRow::name) !=
         row.options.end();
}

bool keeps_order(const SchedulerSpec& spec) {
  if (!has_queue_options(*spec.row)) return spec.row->fcfs;
  const auto rules = queue_rules(spec.options);
  return spec.row->fcfs && rules && rules->plain();
}

Result<SchedulerSpec> parse_scheduler(std::string_view spec) {
  auto read = read_spec(schedulers(), spec, "scheduler");
  if (!read && spec.substr(0, spec.find(':')).contains(','))
    return fail(ErrorKind::bad_usage, "", fmt::format("'{}' names several schedulers", shown(spec)),
                "`cleave compare` takes several");
  if (!read) return std::unexpected(read.error());
  return SchedulerSpec{read->row, std::move(read->options), std::string(spec)};
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
                  fmt::format("scheduler '{}' was given twice", shown(parsed->text)),
                  "name each scheduler once");
    all.push_back(std::move(*parsed));
  }
  return all;
}

Result<std::unique_ptr<Scheduler>> make_scheduler(const SchedulerSpec& spec,
                                                  const SchedulerSetup& setup) {
  if (!setup.reservations.empty() && !has_queue_options(*spec.row))
    return fail(ErrorKind::bad_usage, fmt::format("scheduler '{}'", shown(spec.text)),
                "it keeps no GPU for the user who reserved it",
                "full-gpu, static, scheme-b and online do");
  if (setup.user_limits != UserLimits{} && !has_queue_options(*spec.row))
    return fail(ErrorKind::bad_usage, fmt::format("scheduler '{}'", shown(spec.text)),
                "it knows no limits of what a user may have at a time",
                "adaptive, full-gpu, static, scheme-b and online do");
  auto made = spec.row->make(setup, spec.options);
  if (!made) return fail_at(fmt::format("scheduler '{}'", shown(spec.text)), made.error());
  return made;
}

}  // namespace cleave
