// `cleave advise`: whether MIG helps with these jobs on this fleet, which scheduler and which
// layout, and what it would be worth to measure.

#include "simulate/advice/advise.hpp"

#include <algorithm>
#include <memory>
#include <thread>

#include "base/format.hpp"
#include "base/json.hpp"
#include "cli/advise_text.hpp"
#include "cli/command.hpp"
#include "cli/history_replay.hpp"
#include "cli/report_file.hpp"
#include "cli/say.hpp"
#include "cli/workload_arguments.hpp"

namespace cleave::cli {

namespace {

/// What a site knows of its jobs that has measured nothing, and what it lets schedulers do.
constexpr const char* know_by_default = "speeds=learn;times=unknown;memory=true";
constexpr const char* may_by_default = "none";

struct AdviseCommandOptions {
  RunArguments run;
  HistoryArguments history;
  std::uint64_t draws = 0, threads = 0;
  std::string report;
  AdviseCommandOptions() {
    run.know = know_by_default;
    run.may = may_by_default;
  }
};

/// The options of the run, where what is predicted takes the place of what is known by default.
RunArguments arguments_of(const AdviseCommandOptions& options) {
  RunArguments run = options.run;
  const bool predicted = !run.profiles_repository.empty() || !run.time_model.empty();
  if (run.know == know_by_default && predicted) run.know.clear();
  return run;
}

/// Draws from one sequence of arrivals.
void resample(AdviceDraw recorded, std::size_t judging, AdviceQuestion& question) {
  question.kind = DrawKind::resampled;
  for (std::size_t k = 0; k < judging + draws_for_layouts; ++k) {
    auto& draws = k < judging ? question.draws : question.for_layouts;
    ResampledWorkload drawn = resampled(recorded.workload, recorded.seed + k);
    AdviceDraw& draw = draws.emplace_back();
    draw.seed = recorded.seed + k;
    draw.workload = std::move(drawn.workload);
    if (recorded.ran_on.empty()) continue;
    for (const std::uint32_t job : drawn.source) draw.ran_on.push_back(recorded.ran_on[job]);
  }
  question.recorded = std::move(recorded);
}

/// A workload for each seed.
Result<void> draw(const RunArguments& run, Workload first, std::size_t judging,
                  AdviceQuestion& question) {
  question.draws.push_back({run.seed, std::move(first)});
  for (std::size_t k = 1; k < judging + draws_for_layouts; ++k) {
    auto workload = run.read_workload(run.seed + k);
    if (!workload) return std::unexpected(workload.error());
    auto& draws = k < judging ? question.draws : question.for_layouts;
    draws.push_back({run.seed + k, *std::move(workload)});
  }
  return {};
}

Result<void> has_batches(const Workload& workload) {
  const bool some = std::ranges::any_of(
      workload.jobs, [&](const Job& job) { return workload.kind_of(job) == JobKind::batch; });
  if (some) return {};
  return fail(ErrorKind::bad_input, "the workload", "it has no batches to be advised on",
              "give jobs that end by themselves");
}

/// The workload as it is, or with the first seed; or what a daemon has run.
Result<AdviceDraw> read_first(const AdviseCommandOptions& options, const RunArguments& run,
                              AdviceQuestion& question) {
  if (options.history.source.empty()) {
    auto workload = run.read_workload(run.seed);
    if (!workload) return std::unexpected(workload.error());
    return AdviceDraw{run.seed, *std::move(workload)};
  }
  const auto jobs = options.history.read_jobs();
  if (!jobs) return std::unexpected(jobs.error());
  auto past = past_workload(*jobs, question.fleet);
  if (!past) return std::unexpected(past.error());
  question.past = past->sizes;
  return AdviceDraw{run.seed, std::move(past->workload), std::move(past->ran_on)};
}

Result<AdviceQuestion> read_question(const AdviseCommandOptions& options) {
  const RunArguments run = arguments_of(options);
  AdviceQuestion question;
  const auto fits = options.history.check(run.names_workload());
  if (!fits) return std::unexpected(fits.error());
  auto fleet = run.read_fleet();
  if (!fleet) return std::unexpected(fleet.error());
  question.fleet = *std::move(fleet);
  auto simulation = run.read_simulation(question.fleet);
  if (!simulation) return std::unexpected(simulation.error());
  question.simulation = *std::move(simulation);
  auto first = read_first(options, run, question);
  if (!first) return std::unexpected(first.error());
  if (const auto checked = has_batches(first->workload); !checked)
    return std::unexpected(checked.error());
  const DrawCounts counts = draw_counts(first->workload.jobs.size());
  const std::size_t judging = options.draws > 0 ? options.draws : counts.as_things_are;
  question.draws_changed = std::min(judging, counts.changed);
  if (!options.history.source.empty() || !run.workload_is_drawn()) {
    resample(*std::move(first), judging, question);
  } else if (const auto drawn = draw(run, std::move(first->workload), judging, question); !drawn) {
    return std::unexpected(drawn.error());
  }
  return question;
}

/// The stages of the runs on the terminal, one after the other.
class StageLine {
 public:
  ProgressOfRun begin(const std::string& what, std::size_t runs) {
    line_.reset();  // wipes its words before others are written
    line_ = std::make_unique<ProgressLine>(what, runs);
    return [this](std::size_t run) { return line_->of_run(run); };
  }

 private:
  std::unique_ptr<ProgressLine> line_;
};

Result<Advice> advise_with_progress(const AdviceQuestion& question, std::uint64_t threads) {
  const std::size_t cores = std::max<std::size_t>(1, std::thread::hardware_concurrency());
  StageLine line;
  return advise(question, threads > 0 ? threads : cores,
                [&](const std::string& what, std::size_t runs) { return line.begin(what, runs); });
}

/// As things are, but for what stands below.
SimulationOptions terms_of(const AdviceQuestion& question) {
  SimulationOptions other = question.simulation;
  other.know = {};
  other.may = MayInterrupt::all;
  return other;
}

Json json_of(const AdviceQuestion& question, const Advice& advice, const Workload& workload) {
  Json json = to_json(question, advice);
  json["world"] = world_json(question.simulation.world, workload);
  return json;
}

std::string page_of(const AdviceQuestion& question, const Advice& advice,
                    const Workload& workload) {
  report::Report report =
      report_of("cleave advise", {}, question.fleet, workload, terms_of(question));
  report.assumed = assumptions(question, advice);
  report.advice = json_of(question, advice, workload).dump();
  return report::page_of(report);
}

void print_text(const AdviceQuestion& question, const Advice& advice, const Workload& workload) {
  say("{}\n{}{}\n{}\nassumed:\n", answer_text(advice), introduction(question.fleet, workload),
      run_text(terms_of(question), question.fleet), tables_text(question, advice));
  for (const std::string& sentence : assumptions(question, advice)) say("- {}\n", sentence);
}

Result<int> advise_command(const AdviseCommandOptions& options) {
  for (const auto& free : {options.run.not_read("--report", options.report),
                           not_read_too("--report", options.report, {options.history.source})})
    if (!free) return std::unexpected(free.error());
  const auto question = read_question(options);
  if (!question) return std::unexpected(question.error());
  std::unique_ptr<WholeFile> page;
  if (!options.report.empty()) {
    auto opened = WholeFile::open(options.report);
    if (!opened) return std::unexpected(opened.error());
    page = *std::move(opened);
  }
  const auto advice = advise_with_progress(*question, options.threads);
  if (!advice) return std::unexpected(advice.error());
  const Workload& workload =
      question->recorded ? question->recorded->workload : question->draws.front().workload;
  if (page != nullptr) {
    page->stream() << page_of(*question, *advice, workload);
    if (const auto done = page->finish(); !done) return std::unexpected(done.error());
  }
  if (options.run.json)
    print(json_of(*question, *advice, workload));
  else
    print_text(*question, *advice, workload);
  return 0;
}

}  // namespace

void add_advise(CommandLine& program, Run& run) {
  const auto [command, options] = add_command(
      program, run, "advise",
      "Say whether MIG helps with these jobs on this fleet, which scheduler and which layout to "
      "take, and what to measure first",
      "cleave advise --fleet 4xA100-40GB --workload data/workloads/lab-day.jsonl", advise_command);
  options.run.add(*command);
  options.history.add(*command);
  command
      ->add_option("--draws", options.draws,
                   "Number of draws of the workload: other seeds of what is generated, other "
                   "mixtures of the hours or days of what was recorded")
      ->check(Check::range(std::int64_t{6}, std::int64_t{1000}))
      ->default_str("21, fewer of more than 47,619 jobs");
  command
      ->add_option("--threads", options.threads,
                   "Number of draws that run at a time; the answer does not depend on it")
      ->check(whole_number(1))
      ->default_str("one for each core");
  add_report_option(*command, options.report);
}

}  // namespace cleave::cli
