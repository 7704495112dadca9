#include "study/bench/daemon_batch.hpp"

#include <unistd.h>

#include <chrono>
#include <fstream>

#include "api/time_text.hpp"
#include "base/format.hpp"
#include "base/json.hpp"
#include "cli/child_program.hpp"
#include "study/bench/daemon_process.hpp"
#include "study/bench/kept_connections.hpp"

namespace cleave {

namespace fs = std::filesystem;

namespace {

constexpr const char* gpus = "2xA100-40GB";
/// Running jobs are never moved, neither in the simulator nor on the daemon.
constexpr const char* scheduler = "online:migration=off";

/// Kinds of jobs as the workload `lab-day` has them: small work gains little from more slices,
/// training much.
struct Kind {
  const char* name;
  const char* profile;
  double seconds;  // on the whole GPU
  Json speed;
};

std::vector<Kind> kinds() {
  return {{"notebook", "1g.5gb", 2, {{"1g.5gb", 0.55}, {"7g.40gb", 1}}},
          {"inference", "2g.10gb", 4, {{"2g.10gb", 0.58}, {"7g.40gb", 1}}},
          {"fine-tune", "3g.20gb", 5, {{"3g.20gb", 0.5}, {"7g.40gb", 1}}},
          {"training", "4g.20gb", 6, {{"4g.20gb", 0.68}, {"7g.40gb", 1}}},
          {"whole", "7g.40gb", 2, {{"7g.40gb", 1}}}};
}

struct BatchJob {
  std::string id, profile;
  double seconds = 0;
  Json speed;
};

std::vector<BatchJob> batch_of(double stretch) {
  // Which kind comes when; the two that want a whole GPU come late.
  const std::vector<std::size_t> order = {0, 1, 3, 2, 0, 0, 1, 2, 3, 1, 0,
                                          2, 0, 1, 4, 0, 3, 1, 0, 2, 4, 0};
  const std::vector<Kind> all = kinds();
  std::vector<BatchJob> jobs;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Kind& kind = all[order[i]];
    const double seconds = kind.seconds * stretch * (1 + 0.05 * static_cast<double>(i % 7));
    jobs.push_back({fmt::format("{}-{}", kind.name, i), kind.profile, seconds, kind.speed});
  }
  return jobs;
}

Result<double> simulated_makespan(const DaemonBatchOptions& options,
                                  const std::vector<BatchJob>& jobs) {
  const fs::path file = options.folder / fmt::format("cleave-bench-batch.{}.jsonl", ::getpid());
  {
    std::ofstream out(file);
    for (const BatchJob& job : jobs)
      out << Json{{"id", job.id},           {"arrival_s", 0},
                  {"profile", job.profile}, {"duration_s", job.seconds},
                  {"speed", job.speed},     {"movable", false}}
                 .dump()
          << '\n';
  }
  const auto said = run_to_end({(options.programs / "cleave").string(), "simulate", "--fleet", gpus,
                                "--workload", file.string(), "--scheduler", scheduler, "--json"},
                               true);
  std::error_code ignored;
  fs::remove(file, ignored);
  if (!said) return std::unexpected(said.error());
  const auto summary = parse_json(*said, "cleave simulate");
  if (!summary) return std::unexpected(summary.error());
  return summary->value("makespan_s", 0.0);
}

std::string submission_of(const BatchJob& job, const fs::path& program) {
  std::string speeds;
  for (const auto& [profile, speed] : job.speed.items())
    speeds += fmt::format("{}{}={}", speeds.empty() ? "" : ",", profile, speed.get<double>());
  return Json{
      {"command",
       {program.string(), "--memory", "2GiB", "--seconds", fmt::format("{:.3f}", job.seconds),
        "--iterations", "10", "--speeds", speeds, "--quiet"}},
      {"environment", {"PATH=/usr/bin:/bin"}},
      {"directory", "/"},
      {"name", job.id},
      {"profile", job.profile}}
      .dump();
}

/// When the job ended.
Result<Instant> end_of(KeptConnections& daemon, std::int64_t job) {
  const auto answer = daemon.ask("GET", fmt::format("/v1/jobs/{}/wait?timeout_s=50", job));
  if (!answer) return std::unexpected(answer.error());
  const auto document = parse_json(answer->body, "the daemon's answer");
  if (!document) return std::unexpected(document.error());
  const Json& ended = (*document)["ended_at"];
  if (ended.is_null()) return end_of(daemon, job);
  if ((*document)["state"].get<std::string>() != "finished")
    return fail(ErrorKind::infeasible, fmt::format("job {}", job), (*document)["reason"].dump());
  const auto at = parse_utc_text(ended.get<std::string>());
  if (!at) return fail(ErrorKind::internal, "the daemon's answer", "a time cannot be read");
  return *at;
}

}  // namespace

Result<DaemonBatchResult> run_daemon_batch(const DaemonBatchOptions& options) {
  const std::vector<BatchJob> jobs = batch_of(options.stretch);
  const auto simulated = simulated_makespan(options, jobs);
  if (!simulated) return std::unexpected(simulated.error());
  const auto daemon = DaemonProcess::start({options.programs, options.folder, gpus, false});
  if (!daemon) return std::unexpected(daemon.error());
  const auto ask = KeptConnections::open((*daemon)->socket(), 1);
  if (!ask) return std::unexpected(ask.error());
  const auto chosen = (*ask)->ask("PUT", "/v1/scheduler", Json{{"scheduler", scheduler}}.dump());
  if (!chosen) return std::unexpected(chosen.error());
  if (const auto paused = (*ask)->ask("POST", "/v1/pause"); !paused)
    return std::unexpected(paused.error());
  for (const BatchJob& job : jobs)
    if (const auto taken =
            (*ask)->ask("POST", "/v1/jobs", submission_of(job, options.programs / "cleave-job"));
        !taken)
      return std::unexpected(taken.error());
  const auto resumed = (*ask)->ask("POST", "/v1/resume");
  if (!resumed) return std::unexpected(resumed.error());
  const Instant begin = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  Instant last = begin;
  for (std::size_t job = 1; job <= jobs.size(); ++job) {
    const auto end = end_of(**ask, static_cast<std::int64_t>(job));
    if (!end) return std::unexpected(end.error());
    last = std::max(last, *end);
  }
  return DaemonBatchResult{jobs.size(), in_seconds(last - begin), *simulated};
}

}  // namespace cleave
