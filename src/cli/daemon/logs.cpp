// `cleave logs`: what a job wrote to its outputs.

#include <unistd.h>

#include <thread>

#include "base/format.hpp"
#include "cli/daemon/daemon_client.hpp"
#include "cli/daemon/log_stream.hpp"

namespace cleave::cli {

namespace {

struct Options : DaemonOptions {
  std::string job;
  bool follow = false, error_output = false, both = false, raw = false;
  std::int64_t attempt = 0, tail = -1, patience = 60;
};

/// Where one of the two outputs begins.
Result<LogPiece> beginning(ApiClient& daemon, const Options& options, std::int64_t job,
                           const std::string& stream) {
  if (options.tail >= 0) return ask_tail(daemon, job, stream, options.attempt, options.tail);
  return ask_log(daemon, job, stream, options.attempt, 0);
}

Result<void> print_all(ApiClient& daemon, const Options& options, std::int64_t job,
                       const std::string& stream) {
  OutputSink sink(stream == "stderr" && options.both ? STDERR_FILENO : STDOUT_FILENO, options.raw);
  auto piece = beginning(daemon, options, job, stream);
  if (piece && options.tail < 0 && piece->offset > 0)
    fmt::print(stderr, "cleave: {} bytes of {} are gone\n", piece->offset, stream);
  while (piece && !piece->bytes.empty()) {
    sink.write(piece->bytes);
    piece = ask_log(daemon, job, stream, piece->attempt, piece->next);
  }
  sink.finish();
  if (!piece) return std::unexpected(piece.error());
  return {};
}

/// Follows one output; lines about it go to standard error.
Result<void> follow_one(const Options& options, std::int64_t job, const std::string& stream) {
  auto daemon = open_daemon(options);
  if (!daemon) return std::unexpected(daemon.error());
  OutputSink sink(stream == "stderr" && options.both ? STDERR_FILENO : STDOUT_FILENO, options.raw);
  LogRequest request{
      job, stream, options.attempt, options.attempt > 0, 0, std::chrono::seconds(options.patience)};
  if (options.tail >= 0) {
    const auto last = ask_tail(*daemon, job, stream, options.attempt, options.tail);
    // Before it has begun there is no last line, and what comes will be all.
    if (last && last->attempt > 0) request.offset = last->offset;
  }
  const auto followed = follow_log(
      *daemon, request, [&](std::string_view bytes) { sink.write(bytes); },
      [&](const std::string& remark) { fmt::print(stderr, "cleave: {}\n", remark); });
  sink.finish();
  return followed;
}

Result<int> logs(const Options& options) {
  auto daemon = open_daemon(options);
  if (!daemon) return std::unexpected(daemon.error());
  const auto job = find_job(*daemon, options.job);
  if (!job) return std::unexpected(job.error());
  // A job that does not exist is refused also where its output would only be waited for.
  if (const auto there = ask_job(*daemon, *job); !there) return std::unexpected(there.error());
  std::vector<std::string> streams;
  if (!options.error_output) streams.emplace_back("stdout");
  if (options.error_output || options.both) streams.emplace_back("stderr");
  std::vector<Result<void>> ends(streams.size());
  if (options.follow) {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < streams.size(); ++i)
      threads.emplace_back([&, i] { ends[i] = follow_one(options, *job, streams[i]); });
  } else {
    for (std::size_t i = 0; i < streams.size(); ++i)
      ends[i] = print_all(*daemon, options, *job, streams[i]);
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
  command->add_option("--tail", options.tail, "Print the last N lines")->check(whole_number(0));
  command->add_flag("--raw", options.raw,
                    "Print the output unchanged on a terminal too, which otherwise gets text and "
                    "colours but no other control sequences");
  add_patience(*command, options.patience);
  add_daemon(*command, options, false);
}

}  // namespace cleave::cli
