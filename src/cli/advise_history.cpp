#include "cli/advise_history.hpp"

#include <limits>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/read_text.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/daemon/daemon_client.hpp"

namespace cleave::cli {

namespace {

PastJob past_job(const ApiJob& job) {
  PastJob past;
  past.number = job.id;
  past.batch = job.kind == words_of_job_kind[static_cast<std::size_t>(JobKind::batch)];
  past.name = job.name;
  past.application = job.application.value_or("");
  past.user = job.user;
  past.asks = job.asks_now;
  past.places = job.places;
  past.priority = job.priority;
  past.submitted = job.submitted_at;
  past.started = job.started_at;
  past.ended = job.ended_at;
  past.ran_on = job.ran_on;
  past.peak = job.memory;
  past.state = job.state;
  for (const std::string_view text : split(job.awaited.value_or(""), ','))
    if (const auto dependency = parse_dependency(text)) past.after.push_back(*dependency);
  past.task = job.array;
  past.at_once = job.at_once;
  return past;
}

std::string place_of(const std::string& source) {
  if (source == ask_the_daemon) return "the daemon's answer";
  return source == "-" ? "standard input" : shown(source, 200);
}

/// {"jobs": [...]}
Result<Json> read_document(const std::string& source, const std::string& socket) {
  if (source != ask_the_daemon) {
    const auto text = read_text(source);
    if (!text) return std::unexpected(text.error());
    return parse_json(*text, place_of(source));
  }
  auto daemon = open_daemon({.socket = socket});
  if (!daemon) return std::unexpected(daemon.error());
  auto jobs = ask_jobs(*daemon, "all=1", std::numeric_limits<std::size_t>::max());
  if (!jobs) return std::unexpected(jobs.error());
  Json document = Json::object();
  document["jobs"] = std::move(*jobs);
  return document;
}

}  // namespace

Result<std::vector<PastJob>> read_history(const std::string& source, const std::string& socket) {
  const auto document = read_document(source, socket);
  if (!document) return std::unexpected(document.error());
  auto jobs = read_jobs(*document, place_of(source));
  if (!jobs && source == ask_the_daemon) return std::unexpected(jobs.error());
  if (!jobs)
    return fail(ErrorKind::bad_input, jobs.error().place, jobs.error().message,
                "give a file with what `cleave ps --all --json` printed");
  std::vector<PastJob> past;
  for (const ApiJob& job : *jobs) past.push_back(past_job(job));
  return past;
}

Result<FleetFile> fleet_of_daemon(const std::string& socket, const std::string& profiles) {
  auto daemon = open_daemon({.socket = socket});
  if (!daemon) return std::unexpected(daemon.error());
  const auto document = daemon->ask_json("GET", "/v1/gpus");
  if (!document) return std::unexpected(document.error());
  const auto gpus = read_gpus(*document, place_of(ask_the_daemon));
  if (!gpus) return std::unexpected(gpus.error());
  std::vector<std::string> parts;
  for (const ApiGpu& gpu : *gpus) {
    if (!gpu.managed) continue;
    const auto model = find_gpu_model(gpu.model);
    if (!model) return std::unexpected(model.error());
    parts.push_back(fmt::format("1x{}", (*model)->key));
  }
  if (parts.empty())
    return fail(ErrorKind::infeasible, "the daemon", "it manages no GPU",
                "name a fleet with --fleet");
  return load_fleet(fmt::format("{}", fmt::join(parts, ",")), profiles);
}

Result<std::string> scheduler_of_daemon(const std::string& socket) {
  auto daemon = open_daemon({.socket = socket});
  if (!daemon) return std::unexpected(daemon.error());
  const auto document = daemon->ask_json("GET", "/v1/status");
  if (!document) return std::unexpected(document.error());
  const auto status = read_status(*document, place_of(ask_the_daemon));
  if (!status) return std::unexpected(status.error());
  return status->scheduler;
}

}  // namespace cleave::cli
