#include "study/arena/arena_contestants.hpp"

#include <algorithm>

#include "base/format.hpp"

namespace cleave {

namespace {

/// The baselines and those that know the future; `least` is what must be allowed to be done with
/// running jobs for the scheduler to make sense.
struct ArenaRow {
  std::string_view spec;
  ArenaRole role = ArenaRole::baseline;
  MayInterrupt least = MayInterrupt::never;
};
constexpr ArenaRow table[] = {
    {"full-gpu"},
    {"static"},
    {"scheme-a"},
    {"scheme-b"},
    {"online:migration=off"},
    {"online", ArenaRole::baseline, MayInterrupt::all},
    {"dyna-p"},
    {"miso:checkpoint=all", ArenaRole::baseline, MayInterrupt::checkpoint},
    {"miso:checkpoint=moved", ArenaRole::baseline, MayInterrupt::checkpoint},
    {"full-gpu:backfill=easy"},
    {"static:backfill=easy"},
    {"scheme-b:backfill=easy"},
    {"online:backfill=easy;migration=off"},
    {"online:backfill=easy", ArenaRole::baseline, MayInterrupt::all},
    {"full-gpu:backfill=conservative"},
    {"static:backfill=conservative"},
    {"scheme-b:backfill=conservative"},
    {"online:backfill=conservative;migration=off"},
    {"online:backfill=conservative", ArenaRole::baseline, MayInterrupt::all},
    {"static:layout=best", ArenaRole::hindsight},
    {"oracle", ArenaRole::hindsight},
};

/// Whether `least` is more than `may`.
bool more_than(MayInterrupt least, MayInterrupt may) {
  return least < may;  // from all to never
}

/// miso measures a job for a while first, unless speeds are known.
std::string with_measuring(const std::string& spec, const ArenaCell& cell) {
  if (!spec.starts_with("miso") || spec.contains("measure=")) return spec;
  return fmt::format("{}{}measure={}", spec, spec.contains(':') ? ';' : ':',
                     cell.know.speeds == KnownSpeeds::truth ? 0 : 30);
}

Result<void> add_specs(std::string_view specs, ArenaRole role, std::string_view option,
                       std::vector<ArenaContestant>& all) {
  const auto parsed = parse_schedulers(specs);
  if (!parsed) return fail_at(std::string(option), parsed.error());
  for (const SchedulerSpec& spec : *parsed) all.push_back({spec.text, role});
  return {};
}

}  // namespace

Result<std::vector<ArenaContestant>> arena_contestants(std::string_view tested,
                                                       std::string_view baselines) {
  std::vector<ArenaContestant> all;
  if (const auto added = add_specs(tested, ArenaRole::tested, "--schedulers", all); !added)
    return std::unexpected(added.error());
  std::vector<ArenaContestant> others;
  if (!baselines.empty()) {
    if (const auto added = add_specs(baselines, ArenaRole::baseline, "--baselines", others); !added)
      return std::unexpected(added.error());
  } else {
    for (const ArenaRow& row : table) others.push_back({std::string(row.spec), row.role});
  }
  const std::size_t under_test = all.size();
  for (ArenaContestant& other : others) {
    const auto end = all.begin() + static_cast<std::ptrdiff_t>(under_test);
    if (std::find_if(all.begin(), end,
                     [&](const ArenaContestant& each) { return each.spec == other.spec; }) == end)
      all.push_back(std::move(other));
  }
  return all;
}

Result<SchedulerSpec> spec_in(const ArenaContestant& contestant, const ArenaCell& cell) {
  const auto* const row = std::ranges::find(table, contestant.spec, &ArenaRow::spec);
  if (row != std::end(table) && contestant.role == ArenaRole::baseline &&
      more_than(row->least, cell.may))
    return fail(ErrorKind::bad_usage, cell.place,
                row->least == MayInterrupt::all ? "jobs may not be moved for nothing here"
                                                : "no job may be stopped here");
  return parse_scheduler(with_measuring(contestant.spec, cell));
}

Knowledge told_in(const ArenaContestant& contestant, const ArenaCell& cell) {
  return contestant.role == ArenaRole::hindsight ? Knowledge() : cell.know;
}

}  // namespace cleave
