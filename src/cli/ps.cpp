// `cleave ps`: the daemon's jobs.

#include <algorithm>
#include <iterator>
#include <limits>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/terminal_text.hpp"
#include "cli/daemon.hpp"
#include "cli/job_text.hpp"

namespace cleave::cli {

namespace {

struct Options : DaemonOptions {
  bool all = false;
  std::string user, state;
  std::int64_t limit = std::numeric_limits<std::int64_t>::max();
};

std::string query_of(const Options& options) {
  std::vector<std::string> parts;
  // Jobs that are over are not among those that live.
  const bool final = options.state == "finished" || options.state == "failed" || options.state == "cancelled";
  if (options.all || final) parts.emplace_back("all=1");
  if (!options.state.empty()) parts.push_back(fmt::format("state={}", options.state));
  if (!options.user.empty()) parts.push_back(fmt::format("user={}", percent_encoded(options.user)));
  return fmt::format("{}", fmt::join(parts, "&"));
}

/// Page by page: a list takes some memory here, and time in which the daemon does nothing else for this user.
Result<std::vector<ApiJob>> read_pages(ApiClient& daemon, const std::string& query, std::size_t limit) {
  constexpr std::size_t page = 10000;
  std::vector<ApiJob> jobs;
  while (jobs.size() < limit) {
    const std::size_t wanted = std::min(page, limit - jobs.size());
    std::string target = fmt::format("/v1/jobs?{}{}limit={}", query, query.empty() ? "" : "&", wanted);
    if (!jobs.empty()) target += fmt::format("&before={}", jobs.back().id);
    const auto found = daemon.ask("GET", target);
    if (!found) return std::unexpected(found.error());
    auto read = read_jobs_text(found->body, "the daemon's answer");
    if (!read) return std::unexpected(read.error());
    for (const ApiJob& job : *read)
      if (!jobs.empty() && job.id >= jobs.back().id)
        return fail(ErrorKind::internal, "the daemon's answer", "its jobs are not in order");
    const bool last = read->size() < wanted;
    if (jobs.empty())
      jobs = std::move(*read);
    else
      std::ranges::move(*read, std::back_inserter(jobs));
    if (last) break;
  }
  return jobs;
}

/// A full disk or a lost GPU is what a look at the jobs should show, whether or not one of them waits for it.
void tell_troubles(ApiClient& daemon) {
  const auto document = daemon.ask_json("GET", "/v1/status");
  if (!document) return;
  const auto status = read_status(*document, "the daemon's answer");
  if (!status) return;
  for (const std::string& trouble : status->troubles)
    fmt::print(stderr, "cleave: trouble: {}\n", visible(trouble));
}

Result<int> ps(const Options& options) {
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
  const auto jobs = read_pages(*daemon, query_of(options), limit);
  if (!jobs) return std::unexpected(jobs.error());
  tell_troubles(*daemon);
  if (jobs->empty()) {
    fmt::print(stderr, "no {}jobs{}\n", options.all ? "" : "live ",
               options.all ? "" : "; `cleave ps --all` shows those that are over");
    return 0;
  }
  const Instant now = std::chrono::system_clock::now();
  fmt::print("{}", jobs_table(*jobs, now, terminal_width(), !options.user.empty()));
  return 0;
}

}  // namespace

void add_ps(CLI::App& program, Run& run) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      add_command(program, "ps", "Your jobs: where each is, or why it waits", "cleave ps --all");
  command->add_flag("-a,--all", options->all, "Those that are over too");
  command
      ->add_option("--user", options->user,
                   "Jobs of this user, by name or number, or of all; others' for operators only")
      ->check(not_empty());
  command->add_option("--state", options->state, "Jobs in this state only")
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(api_job_states), std::end(api_job_states))));
  command->add_option("--limit", options->limit, "At most so many, the newest")->check(whole_number(1));
  add_daemon(*command, *options);
  command->callback([options, &run] { run = [options] { return ps(*options); }; });
}

}  // namespace cleave::cli
