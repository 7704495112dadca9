// `cleave ps`: the daemon's jobs.

#include <algorithm>
#include <future>
#include <iterator>
#include <limits>

#include "api/job_list.hpp"
#include "base/format.hpp"
#include "base/json.hpp"
#include "base/tell.hpp"
#include "base/terminal.hpp"
#include "base/terminal_text.hpp"
#include "base/text.hpp"
#include "cli/daemon/daemon_client.hpp"
#include "cli/daemon/job_columns.hpp"
#include "cli/daemon/job_text.hpp"

namespace cleave::cli {

namespace {

struct PsCommandOptions : DaemonOptions {
  bool all = false, processes = false, tasks = false;
  std::int64_t array = 0;  // 0: not given
  std::string user, state, columns;
  std::int64_t limit = std::numeric_limits<std::int64_t>::max();
};

std::string query_of(const PsCommandOptions& options) {
  std::vector<std::string> parts;
  // Jobs that have ended are listed only on request.
  const bool final =
      options.state == "finished" || options.state == "failed" || options.state == "cancelled";
  if (options.all || final) parts.emplace_back("all=1");
  if (!options.state.empty()) parts.push_back(fmt::format("state={}", options.state));
  if (options.array > 0) parts.push_back(fmt::format("array={}", options.array));
  if (!options.user.empty()) parts.push_back(fmt::format("user={}", percent_encoded(options.user)));
  return fmt::format("{}", fmt::join(parts, "&"));
}

/// The lowest job number of a full page, found without parsing it: the next page begins below it.
/// Nothing if the page is not full or the text is not as the daemon writes it.
std::optional<std::int64_t> end_of_full_page(std::string_view text, std::size_t full) {
  constexpr std::string_view begin = R"({"id":)";
  std::size_t jobs = 0, last = 0;
  for (std::size_t at = text.find(begin); at != text.npos; at = text.find(begin, at + 1), ++jobs)
    last = at;
  if (jobs != full) return std::nullopt;
  std::string_view number = text.substr(last + begin.size());
  number = number.substr(0, number.find_first_not_of("0123456789"));
  return parse_integer(number);
}

/// Page by page, so that a long list takes little memory here and the daemon can do other work in
/// between. While one page is parsed here, the daemon makes the next.
Result<std::vector<ApiJob>> read_pages(ApiClient& daemon, const std::string& query,
                                       std::size_t limit) {
  constexpr std::size_t page = 2000;
  std::vector<ApiJob> jobs;
  const auto ask = [&](std::size_t wanted, std::optional<std::int64_t> before) {
    std::string target =
        fmt::format("/v1/jobs?{}{}limit={}", query, query.empty() ? "" : "&", wanted);
    if (before) target += fmt::format("&before={}", *before);
    return daemon.ask("GET", target);
  };
  std::size_t wanted = std::min(page, limit);
  std::optional<std::int64_t> before;
  std::future<decltype(ask(wanted, before))> coming;
  while (wanted > 0) {
    const auto found = coming.valid() ? coming.get() : ask(wanted, before);
    if (!found) return std::unexpected(found.error());
    const std::size_t after = std::min(page, limit - std::min(limit, jobs.size() + wanted));
    if (const auto end = end_of_full_page(found->body, wanted); end && after > 0)
      coming = std::async(std::launch::async, ask, after, end);
    auto read = read_jobs_text(found->body, "the daemon's answer");
    if (!read) return std::unexpected(read.error());
    for (const ApiJob& job : *read) {
      if (before && job.id >= *before)
        return fail(ErrorKind::internal, "the daemon's answer", "its jobs are not in order");
      before = job.id;
    }
    const bool last = read->size() < wanted;
    std::ranges::move(*read, std::back_inserter(jobs));
    if (last) break;
    wanted = after;
  }
  return jobs;
}

/// Shows troubles such as a full disk or a lost GPU, whether or not a job waits for them.
void tell_troubles(ApiClient& daemon) {
  const auto document = daemon.ask_json("GET", "/v1/status");
  if (!document) return;
  const auto status = read_status(*document, "the daemon's answer");
  if (!status) return;
  for (const std::string& trouble : status->troubles)
    tell("cleave: trouble: {}\n", visible(trouble));
}

/// The processes of the jobs that have several, and the replicas of services.
Result<void> print_processes(ApiClient& daemon, const std::vector<ApiJob>& jobs) {
  for (const ApiJob& each : jobs) {
    if (each.places == 1 && !each.replicas) continue;
    const auto document = ask_job(daemon, each.id);
    if (!document) return std::unexpected(document.error());
    const auto job = read_job(*document, "the daemon's answer");
    if (!job) return std::unexpected(job.error());
    fmt::print("\njob {}\n{}", job->id, processes_table(*job, terminal_width()));
  }
  return {};
}

Result<int> ps(const PsCommandOptions& options) {
  JobsView view{std::chrono::system_clock::now(), terminal_width(), !options.user.empty(), {}};
  if (!options.columns.empty()) {
    auto columns = read_job_columns(options.columns);
    if (!columns) return std::unexpected(columns.error());
    view.columns = std::move(*columns);
  }
  auto daemon = open_daemon(options);
  if (!daemon) return std::unexpected(daemon.error());
  const auto limit = static_cast<std::size_t>(options.limit);
  if (options.json) {
    auto found = ask_jobs(*daemon, query_of(options), limit);
    if (!found) return std::unexpected(found.error());
    Json document = Json::object();
    document["jobs"] = std::move(*found);
    if (const auto jobs = read_jobs(document, "the daemon's answer"); !jobs)
      return std::unexpected(jobs.error());
    print(document);
    return 0;
  }
  auto jobs = read_pages(*daemon, query_of(options), limit);
  if (!jobs) return std::unexpected(jobs.error());
  tell_troubles(*daemon);
  if (jobs->empty()) {
    tell("no {}jobs{}\n", options.all ? "" : "unfinished ",
         options.all ? "" : "; `cleave ps --all` shows those that have ended");
    return 0;
  }
  sort_for_people(*jobs);
  view.gathered = !options.tasks;
  fmt::print("{}", jobs_table(*jobs, view));
  if (options.processes)
    if (const auto printed = print_processes(*daemon, *jobs); !printed)
      return std::unexpected(printed.error());
  return 0;
}

}  // namespace

void add_ps(CommandLine& program, Run& run) {
  const auto [command, options] =
      add_command(program, run, "ps", "List your jobs: where each one runs, or why it waits",
                  "cleave ps --all", ps);
  command->add_flag("-a,--all", options.all, "Include jobs that have ended");
  Option* processes = command->add_flag(
      "--processes", options.processes,
      "Also list the processes of jobs of several instances or GPUs, and replicas of "
      "services");
  command->add_flag("--tasks", options.tasks,
                    "A line for each job of an array, also for those that only wait their turn");
  command->add_option("--array", options.array, "Only the jobs of this array")
      ->check(whole_number(1));
  command
      ->add_option("--user", options.user,
                   "Jobs of this user, by name or number, or of all users; only operators see "
                   "those of others")
      ->check(not_empty());
  command->add_option("--state", options.state, "Only jobs in this state")
      ->check(
          Check::one_of(std::vector<std::string>(job_state_names.begin(), job_state_names.end())));
  command->add_option("--limit", options.limit, "Show at most N jobs, the newest")
      ->check(whole_number(1));
  command
      ->add_option("--columns", options.columns,
                   fmt::format("Which columns, and in which order: some of {}",
                               fmt::join(job_column_names(), ", ")))
      ->check(not_empty());
  add_daemon(*command, options);
  processes->excludes("--json");
}

}  // namespace cleave::cli
