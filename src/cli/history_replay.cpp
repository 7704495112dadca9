#include "cli/history_replay.hpp"

#include <algorithm>
#include <cmath>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "cli/advise_history.hpp"
#include "cli/table.hpp"

namespace cleave::cli {

void HistoryArguments::add(CommandLine& command) {
  command
      .add_option("--history", source,
                  "The past jobs of a daemon: a file with what `cleave ps --all --json` printed, "
                  "- for standard input, or `daemon` to ask it")
      ->check(not_empty())
      ->type_name("FILE");
  command
      .add_option("--since", since,
                  "With --history: only jobs that were submitted since then; 7d or 12h before the "
                  "last job's end, or a time such as 2024-01-31T12:00:00Z")
      ->check(not_empty());
  command.add_option("--socket", socket, "With --history daemon: the daemon's socket")
      ->check(not_empty());
}

Result<void> HistoryArguments::check(bool other_workload) const {
  if (!source.empty() && other_workload)
    return fail(ErrorKind::bad_usage, "--history", "another workload is given beside it",
                "leave out --workload, --trace and --generate, or --history");
  for (const auto& [name, value] :
       {std::pair("--since", &since), {"--ran", &ran}, {"--socket", &socket}})
    if (source.empty() && !value->empty())
      return fail(ErrorKind::bad_usage, name, "this belongs to --history", "leave it out");
  return {};
}

Result<std::vector<PastJob>> HistoryArguments::read_jobs() const {
  auto jobs = read_history(source, socket);
  if (!jobs || since.empty()) return jobs;
  return cleave::since(*std::move(jobs), since);
}

Result<FleetFile> HistoryArguments::read_fleet(const std::string& fleet,
                                               const std::string& profiles) const {
  if (!fleet.empty()) return load_fleet(fleet, profiles);
  if (source == ask_the_daemon) return fleet_of_daemon(socket, profiles);
  return fail(ErrorKind::bad_usage, "--fleet", "it is required",
              source.empty() ? "name a fleet file, or empty GPUs such as 4xA100-40GB"
                             : "a list of jobs does not say which GPUs there were");
}

Result<HistoryReplay> read_replay(const HistoryArguments& arguments, const FleetFile& fleet) {
  HistoryReplay replay;
  const auto jobs = arguments.read_jobs();
  if (!jobs) return std::unexpected(jobs.error());
  auto past = past_workload(*jobs, fleet);
  if (!past) return std::unexpected(past.error());
  replay.past = *std::move(past);
  replay.ran = arguments.ran;
  if (replay.ran.empty() && arguments.source == ask_the_daemon) {
    auto ran = scheduler_of_daemon(arguments.socket);
    if (!ran) return std::unexpected(ran.error());
    replay.ran = *std::move(ran);
  }
  const auto assumed = [&](AssumedSpeed speed) {
    return with_speeds(replay.past.workload, replay.past.ran_on, {.of_others = speed});
  };
  replay.workload = assumed(AssumedSpeed::between);
  replay.others = {{"use a part", {assumed(AssumedSpeed::uses_a_part)}},
                   {"half-way", {}},
                   {"fill the GPU", {assumed(AssumedSpeed::fills_gpu)}}};
  return replay;
}

SchedulerComparison seen_row(const HistoryReplay& replay, const SchedulerComparison& like) {
  const SeenFigures seen = seen_figures(replay.past);
  SchedulerComparison row = like;
  row.scheduler = "as it ran";
  const std::pair<std::string_view, Duration> known[] = {
      {"makespan_s", seen.makespan},
      {"wait_mean_s", seen.wait.mean},
      {"wait_p95_s", seen.wait.p95},
      {"turnaround_mean_s", seen.turnaround.mean}};
  for (FigureComparison& figure : row.figures) {
    figure.value.reset();
    figure.bound.reset();
    for (const auto& [name, value] : known)
      if (figure.figure == name) figure.value = spread_of({in_seconds(value)});
  }
  return row;
}

namespace {

/// "1 has not ended", "6 have not ended", "2 never ran".
std::string left_out_of(const ReasonCount& entry) {
  constexpr std::pair<std::string_view, std::string_view> of_many[] = {
      {"has not ended", "have not ended"}, {"is a service or lease", "are services or leases"}};
  std::string_view reason = entry.reason;
  for (const auto& [one, many] : of_many)
    if (reason == one && entry.count != 1) reason = many;
  return fmt::format("{} {}", entry.count, reason);
}

/// A line on jobs of which something is assumed; none where there are no such jobs.
std::string assumed_of(std::size_t jobs, std::string_view of_one, std::string_view of_many) {
  if (jobs == 0) return "";
  return fmt::format("assumed: {} {}\n", counted(jobs, "job"), jobs == 1 ? of_one : of_many);
}

/// Which jobs wait for others again; nothing where none did.
std::string order_of(const PastOrder& order) {
  std::vector<std::string> parts;
  if (order.after > 0)
    parts.push_back(fmt::format("{} {} for others", counted(order.after, "job"),
                                order.after == 1 ? "waits" : "wait"));
  if (order.at_once > 0)
    parts.push_back(fmt::format("{} {} of arrays that run only some of their tasks at a time",
                                counted(order.at_once, "job"), order.at_once == 1 ? "is" : "are"));
  std::string text;
  if (!parts.empty()) text = fmt::format("as it was: {}\n", fmt::join(parts, ", "));
  return text + assumed_of(order.elsewhere,
                           "waited for jobs that are not among these, and waits for none of them",
                           "waited for jobs that are not among these, and wait for none of them");
}

}  // namespace

std::string introduction_of(const PastWorkload& past, const FleetFile& fleet) {
  std::vector<std::string> left_out;
  for (const ReasonCount& entry : past.workload.left_out) left_out.push_back(left_out_of(entry));
  std::string text = fmt::format(
      "history: {} read, {}\n", counted(past.workload.read, "job"),
      left_out.empty() ? "none left out" : fmt::format("left out: {}", fmt::join(left_out, ", ")));
  text += assumed_of(past.sizes.by_peak, "asked for no size; it is the memory that it reported",
                     "asked for no size; it is the memory that they reported");
  text += assumed_of(past.sizes.by_place,
                     "asked for no size and reported no memory; it is that of where it ran",
                     "asked for no size and reported no memory; it is that of where they ran");
  text +=
      assumed_of(past.sizes.nowhere, "ran at a place that is not known and counts as a whole GPU",
                 "ran at places that are not known and count as whole GPUs");
  text += order_of(past.order);
  text += fmt::format(
      "assumed: of all jobs the time on one profile is known; elsewhere it follows as if they "
      "were\n  {}\n",
      in_words(AssumedSpeed::between, fleet.geometries.front()));
  return text;
}

namespace {

std::string signed_percent(const std::optional<double>& error) {
  return error ? fmt::format("{:+.1f} %", 100 * *error) : "-";
}

}  // namespace

std::string errors_text(const HistoryReplay& replay, const std::optional<ReplayErrors>& errors) {
  if (!errors)
    return "which scheduler ran is not known: name it with --ran, and it is compared with what was "
           "seen\n";
  std::string text = fmt::format(
      "{} ran; its simulation against what was seen: makespan {}, mean wait {}, mean turnaround "
      "{}\n",
      replay.ran, signed_percent(errors->makespan), signed_percent(errors->wait),
      signed_percent(errors->turnaround));
  if (errors->job_median)
    text += fmt::format(
        "job by job: half within {:.1f} %, nine in ten within {:.1f} % of the "
        "turnaround seen, of {}\n",
        100 * *errors->job_median, 100 * *errors->job_p90, counted(errors->jobs, "job"));
  return text;
}

Json to_json(const HistoryReplay& replay, const std::optional<ReplayErrors>& errors) {
  const SeenFigures seen = seen_figures(replay.past);
  const auto number = [](const std::optional<double>& value) {
    return value ? Json(*value) : Json(nullptr);
  };
  Json json{{"ran", replay.ran.empty() ? Json(nullptr) : Json(replay.ran)},
            {"read", replay.past.workload.read},
            {"left_out", cleave::to_json(replay.past.workload.left_out)},
            {"seen",
             {{"makespan_s", in_seconds(seen.makespan)},
              {"wait_mean_s", in_seconds(seen.wait.mean)},
              {"wait_p95_s", in_seconds(seen.wait.p95)},
              {"turnaround_mean_s", in_seconds(seen.turnaround.mean)}}},
            {"order",
             {{"after", replay.past.order.after},
              {"at_once", replay.past.order.at_once},
              {"elsewhere", replay.past.order.elsewhere}}},
            {"errors", nullptr}};
  if (errors)
    json["errors"] = {{"jobs", errors->jobs},
                      {"makespan", number(errors->makespan)},
                      {"wait_mean", number(errors->wait)},
                      {"turnaround_mean", number(errors->turnaround)},
                      {"job_median", number(errors->job_median)},
                      {"job_p90", number(errors->job_p90)}};
  return json;
}

}  // namespace cleave::cli
