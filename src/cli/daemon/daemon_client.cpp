#include "cli/daemon/daemon_client.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <thread>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/terminal_text.hpp"
#include "base/text.hpp"
#include "cli/daemon/job_text.hpp"

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
                  "Number of the job, name of an unfinished job, or 12_7: of array 12 the job with "
                  "index 7")
      ->required()
      ->check(not_empty());
}

void add_patience(CommandLine& command, std::int64_t& seconds_to_wait) {
  command
      .add_option("--patience", seconds_to_wait,
                  "Seconds to wait for a daemon that does not answer, such as while it restarts")
      ->check(whole_number(0))
      ->default_str("60");
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

namespace {

/// The jobs of an array, by index.
Result<std::map<std::int64_t, std::int64_t>> jobs_of_array(ApiClient& daemon, std::int64_t array) {
  const auto found = ask_jobs(daemon, fmt::format("all=1&array={}", array),
                              std::numeric_limits<std::size_t>::max());
  if (!found) return std::unexpected(found.error());
  const auto jobs = read_jobs(Json{{"jobs", *found}}, "the daemon's answer");
  if (!jobs) return std::unexpected(jobs.error());
  std::map<std::int64_t, std::int64_t> numbers;
  for (const ApiJob& each : *jobs)
    if (each.array && each.array->job == array) numbers.emplace(each.array->index, each.id);
  return numbers;
}

Result<std::vector<std::int64_t>> find_tasks(ApiClient& daemon, const NamedTasks& tasks) {
  const auto there = jobs_of_array(daemon, tasks.job);
  if (!there) return std::unexpected(there.error());
  std::vector<std::int64_t> numbers;
  for (const std::int64_t index : tasks.indices) {
    const auto found = there->find(index);
    if (found == there->end())
      return fail(ErrorKind::bad_input, "JOB",
                  fmt::format("array {} has no job with index {}", tasks.job, index),
                  fmt::format("`cleave ps --all --array {}` lists its jobs", tasks.job));
    numbers.push_back(found->second);
  }
  return numbers;
}

Result<std::vector<ApiJob>> unfinished_called(ApiClient& daemon, const std::string& name) {
  const auto unfinished = ask_jobs(daemon, "", std::numeric_limits<std::size_t>::max());
  if (!unfinished) return std::unexpected(unfinished.error());
  auto jobs = read_jobs(Json{{"jobs", *unfinished}}, "the daemon's answer");
  if (!jobs) return jobs;
  std::erase_if(*jobs, [&](const ApiJob& each) { return each.name != name; });
  return jobs;
}

/// The array that all of these are of; 0: there is none.
std::int64_t common_array(const std::vector<ApiJob>& jobs) {
  if (jobs.empty() || !jobs.front().array) return 0;
  const std::int64_t array = jobs.front().array->job;
  const auto is_of_it = [&](const ApiJob& job) { return job.array && job.array->job == array; };
  return std::ranges::all_of(jobs, is_of_it) ? array : 0;
}

/// Runs of numbers: "12-40" for those that follow one another.
std::vector<std::string> as_ranges(std::vector<std::int64_t> numbers) {
  std::ranges::sort(numbers);
  const std::string list = index_list(numbers);
  std::vector<std::string> ranges;
  for (const std::string_view each : split(list, ',')) ranges.emplace_back(each);
  return ranges;
}

}  // namespace

Result<std::vector<std::int64_t>> find_jobs(ApiClient& daemon, const std::string& word,
                                            seconds patience) {
  if (const auto tasks = parse_tasks(word)) return find_tasks(daemon, *tasks);
  std::int64_t array = 0;
  if (const auto number = parse_integer(word)) {
    const auto checked = find_job(daemon, word);
    if (!checked) return std::unexpected(checked.error());
    const auto document =
        patiently<Json>(daemon, patience, [&] { return ask_job(daemon, *number); });
    if (!document) return std::unexpected(document.error());
    const auto job = read_job(*document, "the daemon's answer");
    if (!job) return std::unexpected(job.error());
    if (!job->array || job->array->job != *number) return std::vector{*number};
    array = *number;
  } else {
    const auto called = unfinished_called(daemon, word);
    if (!called) return std::unexpected(called.error());
    array = common_array(*called);
    if (array == 0) {
      const auto one = find_job(daemon, word);
      if (!one) return std::unexpected(one.error());
      return std::vector{*one};
    }
  }
  const auto jobs = jobs_of_array(daemon, array);
  if (!jobs) return std::unexpected(jobs.error());
  std::vector<std::int64_t> numbers;
  for (const auto& [index, job] : *jobs) numbers.push_back(job);
  return numbers;
}

Result<std::vector<std::string>> find_dependency(ApiClient& daemon, const std::string& word) {
  const std::size_t colon = word.find(':');
  const std::string jobs = colon == word.npos ? std::string() : word.substr(colon + 1);
  // What is wrong with its form is said where that is checked.
  if (colon == word.npos || !parse_dependency(word.substr(0, colon) + ":1") ||
      (!parse_integer(jobs) && parse_dependency(word)))
    return std::vector{word};
  const auto numbers = find_jobs(daemon, jobs);
  if (!numbers) return std::unexpected(numbers.error());
  std::vector<std::string> all;
  for (const std::string& range : as_ranges(*numbers))
    all.push_back(fmt::format("{}:{}", word.substr(0, colon), range));
  return all;
}

Result<std::int64_t> find_job(ApiClient& daemon, const std::string& job) {
  if (const auto number = parse_integer(job)) {
    if (*number >= 1) return *number;
    return fail(ErrorKind::bad_input, "JOB", "job numbers begin at 1", "`cleave ps` shows them");
  }
  if (const auto tasks = parse_tasks(job)) {
    const auto found = find_tasks(daemon, *tasks);
    if (!found) return std::unexpected(found.error());
    if (found->size() == 1) return found->front();
    return fail(ErrorKind::bad_input, "JOB", fmt::format("{} jobs are meant", found->size()),
                "name one of them");
  }
  const auto called = unfinished_called(daemon, job);
  if (!called) return std::unexpected(called.error());
  std::vector<std::int64_t> named;
  for (const ApiJob& each : *called) named.push_back(each.id);
  if (named.size() == 1) return named.front();
  if (named.empty())
    return fail(
        ErrorKind::bad_input, "JOB",
        fmt::format("no unfinished job is called '{}'", visible(shown(job))),
        "give its number; `cleave ps` lists unfinished jobs, `cleave ps --all` finished ones "
        "too");
  return fail(ErrorKind::bad_input, "JOB",
              fmt::format("{} unfinished jobs are called '{}'", named.size(), visible(shown(job))),
              fmt::format("give a number: {}", fmt::join(named, ", ")));
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
      fmt::print(stderr, "cleave: {}\ncleave: jobs continue meanwhile; waiting for the daemon\n",
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
