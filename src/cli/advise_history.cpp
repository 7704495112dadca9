#include "cli/advise_history.hpp"

#include <limits>

#include "base/json.hpp"
#include "base/read_text.hpp"
#include "base/text.hpp"
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

}  // namespace cleave::cli
