// `cleave show`: all that the daemon knows of a job.

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/format.hpp"
#include "base/human_size.hpp"
#include "base/json.hpp"
#include "base/shell_word.hpp"
#include "base/terminal_text.hpp"
#include "cli/columns.hpp"
#include "cli/daemon/daemon_client.hpp"
#include "cli/daemon/job_choice.hpp"
#include "cli/daemon/job_text.hpp"
#include "model/output_pattern.hpp"

namespace cleave::cli {

namespace {

struct ShowJobCommandOptions : DaemonOptions {
  std::string job;
};

void line(const char* what, const std::string& value) {
  if (!value.empty()) fmt::print("{:<13}{}\n", what, value);
}

/// The command as one could type it, for a shell.
std::string as_typed(const std::vector<std::string>& command) {
  std::vector<std::string> words;
  for (const std::string& word : command) words.push_back(shell_word(visible(word)));
  return fmt::format("{}", fmt::join(words, " "));
}

/// What may be done with it, as far as it was said.
std::string allowances(const ApiJob& job) {
  std::vector<std::string> words;
  if (job.restartable) words.emplace_back("may be restarted");
  if (job.movable) words.emplace_back("may be moved");
  if (job.progress) words.push_back(fmt::format("progress {}", visible(*job.progress)));
  if (job.priority != 0) words.push_back(fmt::format("priority {}", job.priority));
  return fmt::format("{}", fmt::join(words, ", "));
}

/// What it asked for of the host.
std::string host_text(const ApiJob& job) {
  std::vector<std::string> words;
  if (job.cpus) words.push_back(fmt::format("{:g} CPU{}", *job.cpus, *job.cpus == 1 ? "" : "s"));
  if (job.host_memory) words.push_back(fmt::format("{} of memory", memory_text(*job.host_memory)));
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string service_text(const ApiJob& job) {
  if (!job.replicas) return {};
  const std::string up = job.is_over() ? "" : fmt::format("; {} up", job.up.value_or(0));
  return fmt::format("{} wanted{}; started again {}", *job.replicas, up,
                     job.restarts == 1 ? "once" : fmt::format("{} times", job.restarts));
}

/// When it should start, and by when its place was expected.
std::string start_text(const ApiJob& job) {
  std::vector<std::string> words;
  if (job.lease && job.lease->starts_within)
    words.push_back(fmt::format("within {}", human(*job.lease->starts_within)));
  if (job.promised_at)
    words.push_back(fmt::format("its place was expected by {}", local_time(*job.promised_at)));
  return fmt::format("{}", fmt::join(words, "; "));
}

std::string idle_text(const ApiJob& job, Instant now) {
  if (!job.lease || !job.lease->idle_after) return {};
  std::string text = fmt::format("after {} without GPU work: {}", human(*job.lease->idle_after),
                                 words_of_then[static_cast<std::size_t>(job.lease->then)]);
  if (job.state == "running" && !job.idle_measured)
    return text + "; its work is not counted here, so that it is not idle";
  if (job.idle_since)
    text += fmt::format("; none since {}, for {}", local_time(*job.idle_since),
                        human(std::max(now - *job.idle_since, Duration{})));
  return text;
}

/// How the expected end is known, in words; a later daemon may know other ways.
std::string known_by(const std::string& word) {
  constexpr std::pair<TimeSource, std::string_view> words[] = {
      {TimeSource::guess, "a guess from one profile, off by 30 to 40 %"},
      {TimeSource::model, "by the trained model"},
      {TimeSource::measured_elsewhere, "from measurements of the application on other profiles"},
      {TimeSource::measured, "as measured of the application"},
      {TimeSource::declared, "as declared"},
      {TimeSource::law, "by the law of slices from declared times"},
      {TimeSource::earlier_reports, "from the pace reported on another profile"},
      {TimeSource::reports, "by what it reports"}};
  for (const auto& [source, text] : words)
    if (name(source) == word) return std::string(text);
  return visible(word);
}

std::string expected_end_text(const ApiJob& job, Instant now) {
  if (!job.expected_end_at) return {};
  const Duration left = *job.expected_end_at - now;
  return fmt::format("{}, {}; {}", local_time(*job.expected_end_at),
                     left < Duration::zero() ? fmt::format("{} ago", human(-left))
                                             : fmt::format("in {}", human(left)),
                     known_by(job.expected_by.value_or("")));
}

/// The latest attempt's prediction, beside what was seen where it ended the job well.
std::string prediction_text(const ApiJob& job) {
  if (job.history.empty()) return {};
  const ApiAttempt& latest = job.history.back();
  if (!latest.predicted) return {};
  std::string text =
      fmt::format("{}, {}", human(*latest.predicted), known_by(latest.predicted_by.value_or("")));
  if (job.state != "finished" || !latest.lasted || *latest.lasted <= Duration::zero()) return text;
  const double error = in_seconds(*latest.predicted) / in_seconds(*latest.lasted) - 1;
  text += fmt::format("; took {}", human(*latest.lasted));
  if (std::fabs(error) < 0.0005) return text + ", as predicted";
  return text + fmt::format(", predicted {:.1f} % too {}", 100 * std::fabs(error),
                            error > 0 ? "long" : "short");
}

/// "1.24 kJ; nothing is known of 12 s"
std::string energy_text(const ApiJob& job) {
  if (!job.energy) return {};
  const double kilojoules = *job.energy / 1000;
  std::string text = kilojoules < 1      ? fmt::format("{:.1f} J", *job.energy)
                     : kilojoules < 3600 ? fmt::format("{:.2f} kJ", kilojoules)
                                         : fmt::format("{:.2f} kWh", kilojoules / 3600);
  if (job.unmetered > Duration{})
    text += fmt::format("; that of {} is not known", human(job.unmetered));
  return text;
}

/// "12_7, one of 200, 20 at a time"
std::string array_text(const ApiJob& job) {
  if (!job.array) return {};
  std::string text = fmt::format("{}, one of {}", in_short(*job.array), job.array->tasks);
  if (job.array->at_once > 0) text += fmt::format(", {} at a time", job.array->at_once);
  return text;
}

/// The file of a pattern, in which only what differs between its processes and runs is left open.
std::string output_text(const std::string& pattern, const ApiJob& job) {
  if (pattern.empty()) return {};
  OutputNames names{job.id, job.id, 0, 0, std::max<std::int64_t>(job.attempts, 1), job.name};
  if (job.array) {
    names.array = job.array->job;
    names.index = job.array->index;
  }
  const std::string file = output_file(pattern, job.directory, names);
  const bool of_each_process = job.places > 1 && has_letter(pattern, 'r');
  return of_each_process ? fmt::format("{}, of process 0", visible(file)) : visible(file);
}

/// What its latest attempt is heading for.
std::string warning_text(const ApiJob& job) {
  if (job.history.empty() || !job.history.back().too_large) return {};
  return fmt::format("forecast to need {}, more than any GPU here has",
                     memory_text(*job.history.back().too_large));
}

/// Why an attempt ended.
std::string end_of(const ApiAttempt& attempt) {
  std::string end = visible(attempt.end);
  if (!attempt.why.empty())
    end += fmt::format("{}{}", end.empty() ? "" : ": ", visible(attempt.why));
  if (const std::string code = exit_code_text(attempt.exit_code, attempt.why); !code.empty())
    end += fmt::format("{}{}", end.empty() ? "" : ", ", code);
  return end.empty() && !attempt.ended ? "(runs)" : end;
}

void print_history(const ApiJob& job, Instant now) {
  if (job.history.empty()) return;
  if (job.history_left_out > 0)
    fmt::print("\n{} older attempts are not kept\n", job.history_left_out);
  using A = ApiAttempt;
  const Columns<A> columns = {
      {text_only, "attempt", &A::attempt},
      {text_only, "where", [](const A& of) { return of.instance ? text(*of.instance) : ""; }},
      {text_only, "from", [](const A& of) { return of.started ? local_time(*of.started) : ""; }},
      {text_only, "for",
       [now](const A& of) {
         return of.started ? human(std::max(of.ended.value_or(now) - *of.started, Duration{})) : "";
       }},
      {text_only, "peak", [](const A& of) { return of.peak ? memory_cell(*of.peak) : ""; }},
      {text_only, "why it ended", end_of}};
  fmt::print("\n{}", text_rows(columns, job.history));
}

void print_job(const ApiJob& job, Instant now) {
  const std::string name = job.name.empty() ? "" : fmt::format(" ({})", visible(job.name));
  fmt::print("job {}{}\n", job.id, name);
  line(job.is_over() ? "ended" : "state",
       job.reason.empty()
           ? visible(job.state)
           : fmt::format("{}: {}", visible(job.state), visible(with_human_sizes(job.reason))));
  if (job.kind != "batch") line("kind", visible(job.kind));
  line("array", array_text(job));
  line("replicas", service_text(job));
  line("should start", start_text(job));
  line("idle", idle_text(job, now));
  if (job.exit_code) line("exit code", fmt::format("{}", *job.exit_code));
  if (job.instance) {
    line("where", where_text(job));
    if (job.places == 1) line("device", visible(job.instance->device));
  }
  if (!job.is_over()) line("size", visible(with_human_sizes(job.why_size.value_or(""))));
  line("asked for", visible(with_human_sizes(job.asked)));
  if (job.asks_now != job.asked && job.attempts > 1)
    line("asks now for", visible(with_human_sizes(job.asks_now)));
  if (job.memory) line("memory", fmt::format("{} as last reported", memory_text(*job.memory)));
  line("energy", energy_text(job));
  line("warning", warning_text(job));
  line("user", job.user.empty() ? fmt::format("{}", job.uid) : visible(job.user));
  line("command", as_typed(job.command));
  line("image", visible(job.image.value_or("")));
  line("host", host_text(job));
  line("directory", visible(job.directory));
  line("after", visible(fmt::format("{}", fmt::join(job.after, ", "))));
  line("output", output_text(job.output, job));
  line("error", output_text(job.error, job));
  line("", allowances(job));
  if (job.submitted_at) line("submitted", local_time(*job.submitted_at));
  if (job.started_at) line("started", local_time(*job.started_at));
  if (job.ended_at) line("ended", local_time(*job.ended_at));
  if (job.deadline_at) line("deadline", local_time(*job.deadline_at));
  if (job.time_limit) line("time limit", human(*job.time_limit));
  line("time", time_text(job, now));
  line("expected end", expected_end_text(job, now));
  line("predicted", prediction_text(job));
  if (!job.processes.empty()) fmt::print("\n{}", processes_table(job, 0));
  print_history(job, now);
}

/// "array 12: 3 finished, 20 running, 177 queued"
Result<void> print_array(ApiClient& daemon, std::int64_t array) {
  const auto found = ask_jobs(daemon, fmt::format("all=1&array={}", array),
                              std::numeric_limits<std::size_t>::max());
  if (!found) return std::unexpected(found.error());
  const auto jobs = read_jobs(Json{{"jobs", *found}}, "the daemon's answer");
  if (!jobs) return std::unexpected(jobs.error());
  std::vector<std::string> counts;
  for (auto state = job_state_names.rbegin(); state != job_state_names.rend(); ++state)
    if (const auto count = std::ranges::count(*jobs, *state, &ApiJob::state); count > 0)
      counts.push_back(fmt::format("{} {}", count, *state));
  fmt::print("\narray {}: {}\n", array, fmt::join(counts, ", "));
  return {};
}

Result<int> show(const ShowJobCommandOptions& options) {
  auto daemon = open_daemon(options);
  if (!daemon) return std::unexpected(daemon.error());
  const auto number = find_job(*daemon, options.job);
  if (!number) return std::unexpected(number.error());
  const auto document = ask_job(*daemon, *number);
  if (!document) return std::unexpected(document.error());
  if (options.json) {
    print(*document);
    return 0;
  }
  const auto job = read_job(*document, "the daemon's answer");
  if (!job) return std::unexpected(job.error());
  print_job(*job, std::chrono::system_clock::now());
  if (job->array && job->array->job == job->id)
    if (const auto printed = print_array(*daemon, job->id); !printed)
      return std::unexpected(printed.error());
  return 0;
}

}  // namespace

void add_show(CommandLine& program, Run& run) {
  const auto [command, options] =
      add_command(program, run, "show",
                  "Show a job: why it waits, what it asked for, and each instance it ran on",
                  "cleave show 12", show);
  add_job(*command, options.job);
  add_daemon(*command, options);
}

}  // namespace cleave::cli
