#include "cli/daemon/daemon_client.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <thread>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/tell.hpp"
#include "base/terminal_text.hpp"
#include "base/text.hpp"
#include "cli/daemon/job_text.hpp"
#include "cli/time_option.hpp"

namespace cleave::cli {

using std::chrono::milliseconds;
using std::chrono::seconds;

void add_daemon(CommandLine& command, DaemonOptions& options, bool with_json) {
  command
      .add_option("--socket", options.socket,
                  "The daemon's socket; by default $CLEAVE_SOCKET, else the user's own daemon, "
                  "else the system's")
      ->check(not_empty());
  if (with_json) add_json(command, options.json);
}

void add_job(CommandLine& command, std::string& job) {
  command
      .add_option("JOB", job,
                  "Number of the job; its name, which means the newest job of that name, an "
                  "unfinished one before those that have ended; or 12_7: of array 12 the job with "
                  "index 7")
      ->required()
      ->check(not_empty());
}

void add_patience(CommandLine& command, std::string& patience) {
  command
      .add_option("--patience", patience,
                  "How long to wait for a daemon that does not answer, such as while it restarts")
      ->type_name(time_type)
      ->check(time_between(Duration{}))
      ->default_str(usual_patience);
}

seconds patience_of(const std::string& patience) {
  return std::chrono::ceil<seconds>(time_given(patience));
}

Result<std::vector<SocketPlace>> sockets_of(const DaemonOptions& options) {
  SocketQuery query = socket_query_of_process();
  if (!options.socket.empty()) query.given = options.socket;
  return client_sockets(query);
}

Result<ApiClient> open_daemon(const DaemonOptions& options, std::function<bool()> stop) {
  auto places = sockets_of(options);
  if (!places) return std::unexpected(places.error());
  ApiClient::Settings settings;
  settings.stop = std::move(stop);
  return ApiClient(std::move(*places), std::move(settings));
}

Result<Json> ask_job(ApiClient& daemon, std::int64_t job) {
  return daemon.ask_json("GET", fmt::format("/v1/jobs/{}", job));
}

Result<Json> ask_jobs(ApiClient& daemon, const std::string& query, std::size_t limit) {
  constexpr std::size_t most_a_page = 1000;
  Json jobs = Json::array();
  std::int64_t before = std::numeric_limits<std::int64_t>::max();
  while (jobs.size() < limit) {
    const std::string page_of = jobs.empty() ? std::string() : fmt::format("&before={}", before);
    auto page = daemon.ask_json(
        "GET", fmt::format("/v1/jobs?{}{}limit={}{}", query, query.empty() ? "" : "&",
                           std::min(limit - jobs.size(), most_a_page), page_of));
    if (!page) return std::unexpected(page.error());
    if (!page->is_object() || !page->contains("jobs") || !(*page)["jobs"].is_array())
      return fail(ErrorKind::internal, "the daemon's answer", "it has no jobs");
    Json& read = (*page)["jobs"];
    if (read.empty()) break;
    for (Json& job : read) {
      const Json id = job.is_object() ? job.value("id", Json()) : Json();
      if (!id.is_number_integer() || id.get<std::int64_t>() >= before)
        return fail(ErrorKind::internal, "the daemon's answer", "its jobs are not in order");
      before = id.get<std::int64_t>();
      jobs.push_back(std::move(job));
    }
  }
  return jobs;
}

template <class Answer>
Result<Answer> patiently(ApiClient& daemon, seconds patience,
                         const std::function<Result<Answer>()>& ask) {
  const auto until = std::chrono::steady_clock::now() + patience;
  bool said = false;
  for (auto pause = milliseconds(50);; pause = std::min(2 * pause, milliseconds(1000))) {
    Result<Answer> answer = ask();
    if (answer || !daemon.unreachable() || std::chrono::steady_clock::now() + pause > until)
      return answer;
    if (!said)
      tell("cleave: {}\ncleave: jobs continue meanwhile; waiting for the daemon\n",
           visible(answer.error().text()));
    said = true;
    std::this_thread::sleep_for(pause);
  }
}
template Result<Json> patiently(ApiClient&, seconds, const std::function<Result<Json>()>&);
template Result<ApiAnswer> patiently(ApiClient&, seconds,
                                     const std::function<Result<ApiAnswer>()>&);

Result<Json> wait_for_job(ApiClient& daemon, std::int64_t job, seconds patience) {
  constexpr auto at_a_time = seconds(30);
  const std::string target = fmt::format("/v1/jobs/{}/wait?timeout_s={}", job, at_a_time.count());
  while (true) {
    const auto begin = std::chrono::steady_clock::now();
    const auto answer = patiently<Json>(
        daemon, patience, [&] { return daemon.ask_json("GET", target, "", at_a_time); });
    if (!answer) return std::unexpected(answer.error());
    const auto read = read_job(*answer, "the daemon's answer");
    if (!read) return std::unexpected(read.error());
    if (read->is_over()) return *answer;
    // If the daemon did not wait, do not ask in a tight loop.
    if (std::chrono::steady_clock::now() - begin < milliseconds(100))
      std::this_thread::sleep_for(milliseconds(100));
  }
}

int exit_code_of(const ApiJob& job) {
  if (!job.exit_code || *job.exit_code < 0 || *job.exit_code > 255) return cleave_failed;
  return *job.exit_code == 0 && job.state != "finished" ? 1 : *job.exit_code;
}

std::string end_in_words(const ApiJob& job) {
  constexpr std::string_view cancelled = "cancelled ";  // "by user ada"
  if (job.state == "cancelled" && job.reason.starts_with(cancelled)) {
    const std::string code = exit_code_text(job.exit_code, job.reason);
    return fmt::format("job {} was cancelled {}{}", job.id,
                       visible(job.reason.substr(cancelled.size())),
                       code.empty() ? "" : fmt::format(" ({})", code));
  }
  std::string text =
      fmt::format("job {} {}", job.id, job.state == "cancelled" ? "was cancelled" : job.state);
  if (const std::string code = exit_code_text(job.exit_code, job.reason); !code.empty())
    text += fmt::format(" with {}", code);
  if (!job.reason.empty()) text += fmt::format(": {}", visible(job.reason));
  return text;
}

Result<int> or_125(const Result<int>& code, bool json) {
  if (code) return *code;
  report_error(code.error(), json);
  // A mistake of the user's, such as a job that does not exist, is 2 for every command.
  constexpr int wrong_input = 2;
  return exit_code(code.error().kind) == wrong_input ? wrong_input : cleave_failed;
}

}  // namespace cleave::cli
