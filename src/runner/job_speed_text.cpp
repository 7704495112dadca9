#include "runner/job_speed_text.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"
#include "physics/measured_speeds.hpp"

namespace cleave {

namespace {

struct NamedNumber {
  std::string name;
  double number;
};

/// Reads "a=1,b=2": each name once, numbers at or above zero.
Result<std::vector<NamedNumber>> named_numbers(std::string_view text, const std::string& place) {
  std::vector<NamedNumber> all;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    const auto number =
        equals == std::string_view::npos ? std::nullopt : parse_number(part.substr(equals + 1));
    if (!number || equals == 0 || *number < 0)
      return fail(ErrorKind::bad_input, place, fmt::format("'{}' is not NAME=NUMBER", shown(part)),
                  "several are separated by commas");
    const std::string name(part.substr(0, equals));
    if (std::ranges::find(all, name, &NamedNumber::name) != all.end())
      return fail(ErrorKind::bad_input, place, fmt::format("'{}' is given twice", shown(name)));
    all.push_back({name, *number});
  }
  return all;
}

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

/// The key of the speed without MIG.
constexpr std::string_view no_mig = "none";

std::vector<std::string> profiles_of_all_models() {
  std::vector<std::string> names;
  for (const GpuModel& model : gpu_models())
    for (const Profile& profile : model.profiles) names.emplace_back(profile.name);
  std::ranges::sort(names);
  const auto again = std::ranges::unique(names);
  names.erase(again.begin(), again.end());
  return names;
}

}  // namespace

Result<SpeedModel> parse_speeds(std::string_view text) {
  const auto numbers = named_numbers(text, "--speeds");
  if (!numbers) return std::unexpected(numbers.error());
  SpeedTable table;
  const std::vector<std::string> known = profiles_of_all_models();
  for (const NamedNumber& row : *numbers) {
    // A misspelt name would otherwise become a job that does not fit there.
    if (row.name != no_mig && std::ranges::find(known, row.name) == known.end())
      return fail(ErrorKind::bad_input, "--speeds",
                  fmt::format("no GPU model has a profile '{}'", shown(row.name)),
                  suggestion(row.name, known));
    if (row.number <= 0)
      return fail(ErrorKind::bad_input, "--speeds",
                  fmt::format("{} has no speed above zero", shown(row.name)),
                  "leave out profiles on which the job does not run");
    table[row.name] = row.number;
  }
  SpeedModel speed;
  speed.table = std::move(table);
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
