#include "runner/job_speed_text.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/named_numbers.hpp"
#include "base/text.hpp"
#include "model/speed_table.hpp"
#include "physics/measured_speeds.hpp"

namespace cleave {

namespace {

struct SetName {
  std::string_view name;
  MeasuredSet set;
};
constexpr SetName set_names[] = {{"miso", MeasuredSet::miso},
                                 {"parvagpu", MeasuredSet::parvagpu},
                                 {"rodinia", MeasuredSet::rodinia}};

/// The names in the set, for a remedy.
std::vector<std::string> applications(MeasuredSet set) {
  std::vector<std::string> names;
  for (const MeasuredSpeed& row : measured_speeds(set)) {
    const std::string name = row.batch == 0 ? std::string(row.application)
                                            : fmt::format("{}:{}", row.application, row.batch);
    names.push_back(name);
  }
  return names;
}

}  // namespace

Result<SpeedModel> parse_speeds(std::string_view text) {
  auto table = parse_by_profile(text, "--speeds",
                                {"speed", "leave out profiles on which the job does not run"});
  if (!table) return std::unexpected(table.error());
  SpeedModel speed;
  speed.table = std::move(*table);
  return speed;
}

Result<SpeedModel> parse_phases(std::string_view text) {
  const auto numbers = named_numbers(text, "--phases");
  if (!numbers) return std::unexpected(numbers.error());
  // Their sum is a duration too.
  double sum = 0;
  for (const NamedNumber& row : *numbers) sum += row.number;
  if (const auto all = duration_from_seconds(sum); !all) return fail_at("--phases", all.error());
  Phases phases;
  const std::vector<std::string> known = {"cpu", "transfer", "compute", "bandwidth"};
  Duration* const into[] = {&phases.cpu, &phases.transfer, &phases.compute, &phases.bandwidth};
  for (const NamedNumber& row : *numbers) {
    const auto found = std::ranges::find(known, row.name);
    if (found == known.end())
      return fail(ErrorKind::bad_input, "--phases",
                  fmt::format("there is no phase '{}'", shown(row.name)),
                  suggestion(row.name, known));
    const auto time = duration_from_seconds(row.number);
    if (!time) return fail_at("--phases", time.error());
    *into[found - known.begin()] = *time;
  }
  if (whole(phases) == Duration::zero())
    return fail(ErrorKind::bad_input, "--phases", "all phases together take no time");
  SpeedModel speed;
  speed.phases = phases;
  return speed;
}

Result<SpeedModel> speeds_like(std::string_view text) {
  const auto parts = split(text, ':');
  const auto set = std::ranges::find(set_names, parts.front(), &SetName::name);
  if (set == std::end(set_names) || parts.size() < 2 || parts.size() > 3)
    return fail(
        ErrorKind::bad_input, "--like", fmt::format("'{}' names no measured job", shown(text)),
        "SET:APPLICATION[:BATCH] with the sets miso, parvagpu and rodinia, such as miso:resnet:64");
  const auto batch = parts.size() == 3 ? parse_integer(parts[2]) : 0;
  const bool in_range = batch && *batch >= 0 && *batch <= INT32_MAX;
  const MeasuredSpeed* row =
      in_range ? find_measured(set->set, parts[1], static_cast<int>(*batch)) : nullptr;
  if (row == nullptr)
    return fail(
        ErrorKind::bad_input, "--like",
        fmt::format("{} did not measure '{}'", set->name, shown(text)),
        suggestion(std::string(text.substr(parts.front().size() + 1)), applications(set->set)));
  SpeedModel speed;
  speed.table = row->speeds;
  if (const auto reference = find_gpu_model(row->reference)) speed.reference = *reference;
  return speed;
}

Duration whole(const Phases& phases) {
  return phases.cpu + phases.transfer + phases.compute + phases.bandwidth;
}

}  // namespace cleave
