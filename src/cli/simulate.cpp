// `cleave simulate`: one scheduler on one workload and fleet.

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/nothing_ran.hpp"
#include "cli/output_files.hpp"
#include "cli/report_file.hpp"
#include "cli/run_outcomes.hpp"
#include "cli/say.hpp"
#include "cli/table.hpp"
#include "cli/workload_arguments.hpp"
#include "manual/help_text.hpp"
#include "model/default_scheduler.hpp"
#include "report/run_recorder.hpp"
#include "simulate/event_log.hpp"
#include "simulate/trace_events.hpp"

namespace cleave::cli {

namespace {

struct SimulateCommandOptions {
  RunArguments run;
  std::string scheduler{default_scheduler}, events, trace_events, outcomes, report;
};

std::string text_of(const RunFigure&, const Distribution& d) {
  if (d.count == 0) return "-";
  return fmt::format("mean {}, median {}, 95 % within {}, longest {}", human(d.mean), human(d.p50),
                     human(d.p95), human(d.max));
}
std::string text_of(const RunFigure& figure, const Ratios& r) {
  const auto in = [&](double value) { return in_unit(figure.unit, value); };
  return fmt::format("mean {}, 95 % within {}, 99 % within {}, most {}", in(r.mean), in(r.p95),
                     in(r.p99), in(r.max));
}
std::string text_of(const RunFigure&, Duration duration) {
  return human(duration);
}
std::string text_of(const RunFigure&, std::size_t count) {
  return fmt::format("{}", count);
}
std::string text_of(const RunFigure& figure, double value) {
  return in_unit(figure.unit, value);
}
std::string text_of(const RunFigure& figure, std::optional<double> value) {
  return value ? in_unit(figure.unit, *value) : "-";
}
std::string text_of(const RunFigure&, const std::vector<ReasonCount>& counts) {
  return fmt::format("{}", counts.size());
}

/// Unknown, or nothing at all.
bool says_nothing(const RunFigure& figure, const RunSummary& run) {
  return std::visit(
      [&](auto member) {
        const auto value = std::invoke(member, run);
        if constexpr (std::is_convertible_v<decltype(value), double>)
          return value == 0;
        else if constexpr (std::is_same_v<decltype(value), const std::optional<double>>)
          return !value;
        else if constexpr (std::is_same_v<decltype(value), const Ratios> ||
                           std::is_same_v<decltype(value), const Distribution>)
          return value.count == 0;
        else
          return false;
      },
      figure.value);
}

/// The figure in its words; empty where it is left out.
std::string figure_words(const RunFigure& figure, const RunSummary& run) {
  if (figure.optional && says_nothing(figure, run)) return "";
  const std::string value = std::visit(
      [&](auto member) { return text_of(figure, std::invoke(member, run)); }, figure.value);
  const auto* count = std::get_if<std::size_t RunSummary::*>(&figure.value);
  return fmt::format(fmt::runtime(figure.words), fmt::arg("n", value),
                     fmt::arg("counted", counted(count != nullptr ? run.**count : 0, figure.unit)));
}

/// The figures in words, by lines.
std::vector<report::Line> summary_lines(const RunSummary& s, const std::vector<UserEnergy>& by_user,
                                        const std::vector<SliceShare>& slices) {
  std::vector<const RunFigure*> shown;
  std::map<std::string_view, std::size_t> places;  // where a line's first figure is in the table
  for (const RunFigure& figure : run_figures())
    if (!figure.line.empty()) {
      places.emplace(figure.line, shown.size());
      shown.push_back(&figure);
    }
  std::ranges::sort(shown, {}, [&](const RunFigure* figure) {
    return std::pair(places.at(figure->line), figure->place);
  });
  std::vector<report::Line> lines;
  for (const RunFigure* figure : shown)
    if (const std::string words = figure_words(*figure, s); !words.empty()) {
      if (lines.empty() || lines.back().first != figure->line)
        lines.emplace_back(figure->line, words);
      else
        lines.back().second += ", " + words;
    }
  std::vector<std::string> users, shares;
  for (const UserEnergy& of : by_user)
    users.push_back(fmt::format("{} {}", of.user ? cleave::shown(*of.user) : "no user",
                                in_unit("J", of.energy_j)));
  if (!users.empty()) lines.emplace_back("by user", fmt::format("{}", fmt::join(users, ", ")));
  for (const SliceShare& of : slices)
    shares.push_back(fmt::format("{} {}", of.name ? cleave::shown(*of.name) : "no user",
                                 in_unit("%", of.share)));
  if (!shares.empty())
    lines.emplace_back("shares",
                       fmt::format("{} of compute-slice seconds", fmt::join(shares, ", ")));
  return lines;
}

/// The answer is there whatever it says; a run in which no job could run has failed all the same.
int exit_code_of(const RunSummary& summary) {
  const RunSummary* runs[] = {&summary};
  const auto nothing = nothing_ran(runs);
  return nothing ? report_error(*nothing, false) : 0;
}

void print_text(const RunSummary& summary, const std::vector<report::Line>& lines,
                bool measured_times) {
  say("\nscheduler {}\n", summary.scheduler);
  for (const auto& [line, words] : lines)
    fmt::print("{}", fitted_help(fmt::format("  {:13} {}\n", line, words), terminal_width()));
  say("\n{}", remarks(summary, measured_times));
}

report::RunPart part_of(const RunSummary& summary, const std::vector<report::Line>& lines,
                        const std::vector<JobOutcome>& outcomes,
                        const std::vector<SliceShare>& slices, const Json& recorded) {
  report::RunPart part{summary.scheduler,
                       summary.seed,
                       lines,
                       to_json(summary).dump(),
                       recorded.dump(),
                       report::distributions(outcomes).dump(),
                       {}};
  for (const SliceShare& of : slices)
    part.users.push_back({of.name.value_or("no user"), of.jobs, of.share});
  return part;
}

/// The files that a run writes; each has its name only when all is in it.
class RunFiles {
 public:
  [[nodiscard]] Result<void> open(const SimulateCommandOptions& options, const FleetFile& fleet,
                                  const Workload& workload) {
    const std::vector<OutputOption> outputs = {{"--events", options.events},
                                               {"--trace-events", options.trace_events},
                                               {"--outcomes", options.outcomes},
                                               {"--report", options.report}};
    if (const auto apart = written_once(outputs); !apart) return std::unexpected(apart.error());
    for (const auto& [name, path] : outputs)
      if (const auto apart = options.run.not_read(name.c_str(), path); !apart)
        return std::unexpected(apart.error());
    if (!options.outcomes.empty()) {
      auto file = WholeFile::open(options.outcomes);
      if (!file) return std::unexpected(file.error());
      outcomes_file_ = std::move(*file);
      outcome_form_ = form_of(options.outcomes);
    }
    if (!options.events.empty()) {
      auto file = WholeFile::open(options.events);
      if (!file) return std::unexpected(file.error());
      log_file_ = std::move(*file);
      log_.emplace(fleet, workload, log_file_->stream());
    }
    if (!options.trace_events.empty()) {
      auto file = WholeFile::open(options.trace_events);
      if (!file) return std::unexpected(file.error());
      trace_file_ = std::move(*file);
      trace_.emplace(
          fleet, workload,
          std::map<std::string, std::string>{{"scheduler", options.scheduler},
                                             {"seed", fmt::format("{}", options.run.seed)}},
          trace_file_->stream());
    }
    if (!options.report.empty()) {
      auto file = WholeFile::open(options.report);
      if (!file) return std::unexpected(file.error());
      report_file_ = std::move(*file);
      recorder_.emplace(fleet, workload);
    }
    return {};
  }

  [[nodiscard]] RunObservers observers() {
    return {log_ ? &*log_ : nullptr, trace_ ? &*trace_ : nullptr,
            recorder_ ? &*recorder_ : nullptr};
  }

  /// What was recorded of the run, once; nothing where no report is wanted.
  [[nodiscard]] std::optional<Json> recorded() {
    return recorder_ ? std::optional(recorder_->finish()) : std::nullopt;
  }
  [[nodiscard]] Result<void> write_report(const report::Report& report) {
    report_file_->stream() << report::page_of(report);
    return report_file_->finish();
  }

  [[nodiscard]] Result<void> finish(const Workload& workload,
                                    const std::vector<JobOutcome>& outcomes) {
    if (trace_) trace_->finish();
    if (outcomes_file_) {
      write_outcomes_header(outcomes_file_->stream(), std::nullopt, outcome_form_);
      write_outcomes(outcomes_file_->stream(), workload, outcomes, std::nullopt, outcome_form_);
    }
    for (WholeFile* file : {log_file_.get(), trace_file_.get(), outcomes_file_.get()})
      if (file != nullptr)
        if (auto done = file->finish(); !done) return done;
    return {};
  }

 private:
  std::unique_ptr<WholeFile> log_file_, trace_file_, outcomes_file_;
  OutcomeForm outcome_form_ = OutcomeForm::json_lines;
  std::optional<EventLog> log_;
  std::optional<TraceEvents> trace_;
  std::unique_ptr<WholeFile> report_file_;
  std::optional<report::RunRecorder> recorder_;
};

Result<int> simulate_command(const SimulateCommandOptions& options) {
  const auto spec = parse_scheduler(options.scheduler);
  if (!spec) return std::unexpected(spec.error());
  const auto fleet = options.run.read_fleet();
  if (!fleet) return std::unexpected(fleet.error());
  auto run = options.run.read_simulation(*fleet);
  if (!run) return std::unexpected(run.error());
  const auto workload = options.run.read_workload(options.run.seed);
  if (!workload) return std::unexpected(workload.error());
  report_without_predictions(*run, *fleet, *workload);
  RunFiles files;
  if (const auto opened = files.open(options, *fleet, *workload); !opened)
    return std::unexpected(opened.error());
  RunObservers observers = files.observers();
  if (!observers.empty()) run->observer = &observers;
  std::vector<JobOutcome> outcomes;
  run->outcomes = &outcomes;
  Result<RunSummary> summary;
  const auto begin = std::chrono::steady_clock::now();
  {
    ProgressLine progress("simulating", 1);
    run->progress = progress.of_run(0);
    summary = simulate(*fleet, *workload, *spec, *run);
  }
  const double seconds = in_seconds(std::chrono::steady_clock::now() - begin);
  if (!summary) return std::unexpected(summary.error());
  if (const auto written = files.finish(*workload, outcomes); !written)
    return std::unexpected(written.error());
  const std::vector<UserEnergy> by_user = energy_by_user(*workload, outcomes);
  const std::vector<SliceShare> slices = slices_by_user(*workload, outcomes),
                                of_accounts = slices_by_account(*workload, outcomes);
  const std::vector<report::Line> lines = summary_lines(*summary, by_user, slices);
  if (const auto recorded = files.recorded()) {
    report::Report report =
        report_of("cleave simulate",
                  {{"scheduler", options.scheduler}, {"seed", fmt::format("{}", options.run.seed)}},
                  *fleet, *workload, *run);
    add_remarks(report, remarks(*summary, options.run.reconfiguration.empty()));
    report.runs.push_back(part_of(*summary, lines, outcomes, slices, *recorded));
    if (const auto written = files.write_report(report); !written)
      return std::unexpected(written.error());
  }
  if (options.run.json) {
    Json json = to_json(*summary);
    json["run"] = run_json(*run, *fleet, *spec);
    json["world"] = world_json(run->world, *workload);
    if (!by_user.empty()) json["energy_by_user"] = to_json(by_user);
    if (!slices.empty()) json["slices_by_user"] = to_json(slices, "user");
    if (!of_accounts.empty()) json["slices_by_account"] = to_json(of_accounts, "account");
    if (options.run.timing) json["seconds"] = seconds;
    print(json);
    return exit_code_of(*summary);
  }
  say("{}{}", introduction(*fleet, *workload), run_text(*run, *fleet));
  print_text(*summary, lines, options.run.reconfiguration.empty());
  if (options.run.timing) fmt::print("simulated in {:.3f} s\n", seconds);
  return exit_code_of(*summary);
}

}  // namespace

void add_simulate(CommandLine& program, Run& run) {
  const auto [command, options] = add_command(
      program, run, "simulate", "Run a workload on a simulated fleet under one scheduler",
      "cleave simulate --fleet 4xA100-40GB --workload data/workloads/lab-day.jsonl",
      simulate_command);
  options.run.add(*command);
  command
      ->add_option("--scheduler", options.scheduler,
                   "NAME[:key=value;key=value]; listed by `cleave schedulers`")
      ->default_str(std::string(default_scheduler));
  command
      ->add_option("--events", options.events, "Write every event to FILE, one line of JSON each")
      ->check(not_empty())
      ->type_name("FILE");
  command
      ->add_option("--outcomes", options.outcomes,
                   "Write what became of each job, its times and its energy to FILE, one line of "
                   "JSON each")
      ->check(not_empty())
      ->type_name("FILE");
  command
      ->add_option(
          "--trace-events", options.trace_events,
          "Write every slice of every GPU over time to FILE, for Perfetto (ui.perfetto.dev)")
      ->check(not_empty())
      ->type_name("FILE");
  add_report_option(*command, options.report);
}

}  // namespace cleave::cli
