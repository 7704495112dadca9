// `cleave logs`: what a job wrote to its outputs.

#include <unistd.h>

#include <algorithm>
#include <thread>

#include "base/format.hpp"
#include "base/tell.hpp"
#include "base/text.hpp"
#include "cli/daemon/daemon_client.hpp"
#include "cli/daemon/job_choice.hpp"
#include "cli/daemon/log_stream.hpp"

namespace cleave::cli {

namespace {

struct LogsCommandOptions : DaemonOptions {
  std::string job, rank = "0";
  bool follow = false, error_output = false, both = false, raw = false;
  std::int64_t attempt = 0, tail = -1;
  std::string patience = usual_patience;
};

/// One output of one process, and where it is printed.
struct Output {
  LogOf log;
  std::string prefix;

  [[nodiscard]] OutputSink sink(const LogsCommandOptions& options) const {
    const bool beside = log.stream == "stderr" && options.both;
    return {beside ? STDERR_FILENO : STDOUT_FILENO, options.raw, prefix};
  }
};

/// Where the output begins.
Result<LogPiece> beginning(ApiClient& daemon, const LogsCommandOptions& options, const LogOf& log) {
  if (options.tail >= 0) return ask_tail(daemon, log, options.attempt, options.tail);
  return ask_log(daemon, log, options.attempt, 0);
}

Result<void> print_all(ApiClient& daemon, const LogsCommandOptions& options, const Output& output) {
  OutputSink sink = output.sink(options);
  auto piece = beginning(daemon, options, output.log);
  if (piece && options.tail < 0 && piece->offset > 0)
    tell("cleave: {} bytes of {} are gone\n", piece->offset, output.log.stream);
  while (piece && !piece->bytes.empty()) {
    sink.write(piece->bytes);
    piece = ask_log(daemon, output.log, piece->attempt, piece->next);
  }
  sink.finish();
  if (!piece) return std::unexpected(piece.error());
  return {};
}

/// Follows one output; lines about it go to standard error.
Result<void> follow_one(const LogsCommandOptions& options, const Output& output) {
  auto daemon = open_daemon(options);
  if (!daemon) return std::unexpected(daemon.error());
  OutputSink sink = output.sink(options);
  const auto& [job, rank, stream] = output.log;
  LogRequest request{job,
                     std::string(stream),
                     options.attempt,
                     options.attempt > 0,
                     0,
                     patience_of(options.patience),
                     rank};
  if (options.tail >= 0) {
    const auto last = ask_tail(*daemon, output.log, options.attempt, options.tail);
    // Before it has begun there is no last line, and what comes will be all.
    if (last && last->attempt > 0) request.offset = last->offset;
  }
  const auto followed = follow_log(
      *daemon, request, [&](std::string_view bytes) { sink.write(bytes); },
      [&](const std::string& remark) { tell("cleave: {}\n", remark); });
  sink.finish();
  return followed;
}

/// The processes whose output is asked for.
Result<std::vector<std::int64_t>> ranks_of(const LogsCommandOptions& options, const ApiJob& job) {
  std::vector<std::int64_t> all;
  for (const ApiProcess& each : job.processes)
    if (!each.held) all.push_back(each.rank);
  if (all.empty()) all.push_back(0);
  if (options.rank == "all") return all;
  const std::int64_t rank = parse_integer(options.rank).value_or(-1);
  if (std::ranges::find(all, rank) != all.end()) return std::vector{rank};
  return fail(
      ErrorKind::bad_input, "--rank",
      fmt::format("job {} has no process {}", job.id, shown(options.rank)),
      all.size() == 1 ? "it has one, 0" : fmt::format("give 0 to {}, or all", all.size() - 1));
}

Result<std::vector<Output>> outputs_of(const LogsCommandOptions& options, const ApiJob& job) {
  const auto ranks = ranks_of(options, job);
  if (!ranks) return std::unexpected(ranks.error());
  std::vector<Output> outputs;
  for (const std::int64_t rank : *ranks) {
    const std::string prefix = ranks->size() > 1 ? fmt::format("[{}] ", rank) : "";
    if (!options.error_output) outputs.push_back({{job.id, rank, "stdout"}, prefix});
    if (options.error_output || options.both) outputs.push_back({{job.id, rank, "stderr"}, prefix});
  }
  return outputs;
}

Result<int> logs(const LogsCommandOptions& options) {
  auto daemon = open_daemon(options);
  if (!daemon) return std::unexpected(daemon.error());
  const auto number = find_job(*daemon, options.job);
  if (!number) return std::unexpected(number.error());
  // A job that does not exist is refused also where its output would only be waited for.
  const auto there = ask_job(*daemon, *number);
  if (!there) return std::unexpected(there.error());
  const auto job = read_job(*there, "the daemon's answer");
  if (!job) return std::unexpected(job.error());
  if (job->array && job->array->job == job->id && !parse_tasks(options.job))
    return fail(ErrorKind::bad_input, "JOB",
                fmt::format("{} is an array of {} jobs", job->id, job->array->tasks),
                fmt::format("name one of them, such as {}", in_short(*job->array)));
  const auto outputs = outputs_of(options, *job);
  if (!outputs) return std::unexpected(outputs.error());
  std::vector<Result<void>> ends(outputs->size());
  if (options.follow) {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < outputs->size(); ++i)
      threads.emplace_back([&, i] { ends[i] = follow_one(options, (*outputs)[i]); });
  } else {
    for (std::size_t i = 0; i < outputs->size(); ++i)
      ends[i] = print_all(*daemon, options, (*outputs)[i]);
  }
  for (const auto& end : ends)
    if (!end) return std::unexpected(end.error());
  return 0;
}

}  // namespace

void add_logs(CommandLine& program, Run& run) {
  const auto [command, options] = add_command(
      program, run, "logs", "Print or follow a job's standard output", "cleave logs -f 12", logs);
  add_job(*command, options.job);
  command->add_flag("-f,--follow", options.follow,
                    "Keep printing until the job has ended, also through restarts");
  Option* error_output = command->add_flag("--stderr", options.error_output,
                                           "Standard error instead of standard output");
  command->add_flag("--both", options.both, "Both streams, each to the stream of the same name")
      ->excludes(error_output);
  command
      ->add_option("--attempt", options.attempt,
                   "Output of this attempt only; the latest by default")
      ->check(whole_number(1));
  command
      ->add_option("--rank", options.rank,
                   "Of a job of several processes: which one, or all of them, each line with its "
                   "number")
      ->check(not_empty());
  command->add_option("--tail", options.tail, "Print the last N lines")->check(whole_number(0));
  command->add_flag("--raw", options.raw,
                    "Print the output unchanged on a terminal too, which otherwise gets text and "
                    "colours but no other control sequences");
  add_patience(*command, options.patience);
  add_daemon(*command, options, false);
}

}  // namespace cleave::cli
