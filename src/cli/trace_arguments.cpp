#include "cli/trace_arguments.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/read_limits.hpp"
#include "base/tell.hpp"
#include "base/text.hpp"
#include "cli/time_option.hpp"
#include "model/share_rule_text.hpp"

namespace cleave::cli {

void TraceArguments::add(CommandLine& command) {
  const auto add = [&](const std::string& name, auto& value, const std::string& help) {
    Option* option = command.add_option(name, value, help)->default_str(fmt::format("{}", value));
    given.push_back(option);
    return option;
  };
  add("--rule", rule, "Traces: how a share of a GPU becomes a profile")
      ->check(Check::one_of({words_of_share_rule.begin(), words_of_share_rule.end()}));
  add("--compress", compress,
      "Traces: factor by which arrivals come faster; run times stay the same");
  add("--limit", limit, "Traces: use only the first N records by arrival")
      ->check(whole_number(1))
      ->default_str("");
  add("--several", several,
      "Traces: what becomes of jobs that had several GPUs: they ask for as many GPUs with MIG off, "
      "for as many of the largest instances, or are left out, with those of several instances")
      ->check(Check::one_of({words_of_several.begin(), words_of_several.end()}));
  add("--shares", shares,
      "Trace philly, which records no shares of GPUs: every job asks for a whole GPU, or for a "
      "share drawn from those of Alibaba's sharing pods")
      ->check(Check::one_of({"whole", "alibaba"}));
  add("--gap", gap,
      "Trace miso, which records no arrivals: mean time between two arrivals, drawn at random")
      ->check(time_between(Duration{}))
      ->type_name(time_type);
  add("--processors-per-gpu", processors_per_gpu,
      "Trace swf: number of processors that make a whole GPU")
      ->check(whole_number(1));
  add("--sizes", sizes,
      "Trace sacct: where a job's use of its GPU is known, it asks for what it used, or still for "
      "what it asked for")
      ->check(Check::one_of({"used", "asked"}));
  add("--dcgm", dcgm,
      "Trace sacct: samples of GPUs as CSV with DCGM's names, which say what jobs used; they are "
      "joined by a column hpc_job, or by Hostname and timestamp")
      ->check(not_empty())
      ->type_name("FILE");
  add("--application", application,
      "Traces: columns whose values together name the program of a job, COLUMN,COLUMN,..., or "
      "none; jobs of one program teach each other's speeds. Where they are there, it is User and "
      "JobName of sacct, app_name of alibaba2025, and executable of swf")
      ->check(not_empty())
      ->default_str("by the format")
      ->type_name("COLUMNS");
  command.add_flag("--skip-bad-lines", skip_bad_lines,
                   "Workload files and traces: pass over lines that cannot be read; the first of "
                   "them are listed, and all are counted");
}

Result<TraceOptions> TraceArguments::read(const std::string& trace, std::uint64_t seed,
                                          BadLines& bad) const {
  const auto format = trace_format(trace);
  if (!format) return std::unexpected(format.error());
  for (const Option* option : given)
    if (option->count() > 0 && !(*format)->has_option(option->name().substr(2)))
      return fail(ErrorKind::bad_usage, option->name(),
                  fmt::format("the trace format {} has no such option", (*format)->name),
                  "leave it out");
  TraceOptions options;
  options.rule = parse_share_rule(rule).value_or(ShareRule::round_up);
  options.several = static_cast<SeveralGpus>(std::ranges::find(words_of_several, several) -
                                             words_of_several.begin());
  options.shares = shares == "alibaba" ? Shares::alibaba : Shares::whole;
  options.processors_per_gpu = static_cast<std::int64_t>(processors_per_gpu);
  options.seed = seed;
  if (skip_bad_lines) options.bad_lines = &bad;
  const auto faster = Ratio::parse(compress);
  if (!faster) return fail_at("--compress", faster.error());
  if (*faster <= Ratio(0, 1))
    return fail(ErrorKind::bad_usage, "--compress", fmt::format("{} is not above 0", compress));
  options.compress = *faster;
  options.gap = time_given(gap);
  if (options.gap <= Duration{})
    return fail(ErrorKind::bad_usage, "--gap", fmt::format("{} is not above 0", gap));
  if (limit > 0) options.limit = limit;
  options.by_use = sizes == "used";
  if (!application.empty()) {
    options.application.emplace();
    if (application != "none")
      for (const std::string_view column : split(application, ','))
        options.application->emplace_back(trimmed(column));
  }
  if (!dcgm.empty()) {
    auto samples = read_text(dcgm, trace_limits);
    if (!samples) return std::unexpected(samples.error());
    options.samples =
        std::make_shared<const NamedText>(NamedText{shown(dcgm, 200), *std::move(samples)});
  }
  return options;
}

Result<void> TraceArguments::without_trace() const {
  for (const Option* option : given)
    if (option->count() > 0)
      return fail(ErrorKind::bad_usage, option->name(), "this belongs to traces",
                  "leave it out, or use --trace");
  return {};
}

Option* add_skip_bad_lines(CommandLine& command, bool& skip) {
  return command.add_flag("--skip-bad-lines", skip,
                          "Pass over lines of the file that cannot be read; the first of them are "
                          "listed, and all are counted");
}

void report(const BadLines& bad) {
  if (bad.count == 0) return;
  for (const Error& error : bad.first) tell("cleave: {}\n", error.text());
  if (bad.count > bad.first.size()) tell("cleave: and {} more\n", bad.count - bad.first.size());
  tell("cleave: {} passed over\n", counted(bad.count, "bad line"));
}

std::vector<std::string> trace_forms() {
  return names_of(trace_formats(), [](const TraceFormat& format) {
    return fmt::format("{}:FILE ({})", format.name, format.summary);
  });
}

namespace {

/// A count that the reader of a trace thought worth reporting, in words.
std::string note(const std::string& key, std::size_t count) {
  constexpr std::string_view state = "state_";
  const bool one = count == 1;
  if (key == "censored" && count == 0) return "no job was still running when the trace ends\n";
  if (key == "censored")
    return fmt::format("{} still running when the trace ends; {} to its end\n",
                       counted(count, "job") + (one ? " was" : " were"),
                       one ? "it runs" : "they run");
  if (key == "no_gpu")
    return fmt::format("not counted: {} without a GPU\n", counted(count, "record"));
  if (key == "sized_by_use")
    return fmt::format(
        "{} asked for a whole GPU and {} used\n", counted(count, "job"),
        one ? "counts as large and fast as what it" : "count as large and fast as what they");
  if (key == "applications")
    return fmt::format("the jobs are of {}\n", counted(count, "application"));
  if (key == "gpu_unused") return fmt::format("{} of these used no GPU memory at all\n", count);
  if (key == "began_before")
    return fmt::format("{} ran already when the trace begins; {} then\n", counted(count, "job"),
                       one ? "it arrives" : "they arrive");
  if (key == "requests")
    return fmt::format("{} {} the load of the services\n", counted(count, "request"),
                       one ? "makes" : "make");
  if (key == "requests_unserved")
    return fmt::format("not counted: {} that did not succeed\n", counted(count, "request"));
  if (key == "awaited_elsewhere")
    return fmt::format("{} to start after jobs that the workload does not have, and {} not\n",
                       counted(count, "job") + (one ? " is" : " are"), one ? "does" : "do");
  if (key == "samples") return fmt::format("samples of GPUs: {} read\n", count);
  if (key == "samples_of_no_job")
    return fmt::format("samples of GPUs: {} of no job that is read\n", count);
  if (key == "samples_ambiguous")
    return fmt::format("samples of GPUs: {} while several jobs shared the node\n", count);
  if (key == "bad_lines")
    return fmt::format("passed over: {} that cannot be read\n", counted(count, "line"));
  if (key == "steps") return fmt::format("not counted: {} of jobs\n", counted(count, "step"));
  if (key == "speeds_unreliable")
    return fmt::format("the measured speeds of {} are unreliable: deepspeech2\n",
                       counted(count, "job"));
  if (key.starts_with(state))
    return fmt::format("{} ended as {} in the trace; run for the recorded time\n",
                       counted(count, "job"), key.substr(state.size()));
  return "";
}

/// What was left out, of records or of their GPU-hours, with reasons.
std::string left_out_text(std::string sum, const std::vector<std::string>& by_reason) {
  return fmt::format("{} left out{}\n", sum,
                     by_reason.empty() ? "" : fmt::format(": {}", fmt::join(by_reason, ", ")));
}

}  // namespace

std::string trace_text(const Workload& workload) {
  const auto bad = workload.notes.find("bad_lines");
  if (workload.options.empty()) {
    std::string text = bad == workload.notes.end() ? "" : note(bad->first, bad->second);
    if (const auto found = workload.notes.find("awaited_elsewhere"); found != workload.notes.end())
      text += note(found->first, found->second);
    return text;
  }
  std::vector<std::string> options, records, hours;
  for (const auto& [key, value] : workload.options)
    options.push_back(fmt::format("{} {}", key, value));
  std::size_t count = 0;
  double sum = 0;
  for (const ReasonCount& entry : workload.left_out) {
    records.push_back(fmt::format("{} {}", entry.count, entry.reason));
    if (entry.gpu_hours > 0)
      hours.push_back(fmt::format("{:.1f} {}", entry.gpu_hours, entry.reason));
    count += entry.count;
    sum += entry.gpu_hours;
  }
  std::string text = fmt::format("trace: {}\n", fmt::join(options, ", "));
  text += fmt::format("{} read, {}", counted(workload.read, "record"),
                      left_out_text(fmt::format("{}", count), records));
  text += fmt::format("GPU-hours: {:.1f} read, {}", workload.gpu_hours_read,
                      left_out_text(fmt::format("{:.1f}", sum), hours));
  for (const auto& [key, number] : workload.notes)
    if (number > 0 || key == "censored" || key == "no_gpu") text += note(key, number);
  return text;
}

}  // namespace cleave::cli
