// `cleave cancel`: ends jobs.

#include <fnmatch.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/terminal_text.hpp"
#include "base/text.hpp"
#include "cli/daemon/daemon_client.hpp"

namespace cleave::cli {

namespace {

struct Options : DaemonOptions {
  bool now = false, all = false, dry_run = false;
  std::vector<std::string> jobs;
  std::string state, name;

  [[nodiscard]] bool chooses() const { return all || !state.empty() || !name.empty(); }
};

struct Range {
  std::int64_t first = 0, last = 0;
};
/// "12-40"
std::optional<Range> range_of(const std::string& word) {
  const auto parts = split(word, '-');
  if (parts.size() != 2) return std::nullopt;
  const auto first = parse_integer(parts[0]), last = parse_integer(parts[1]);
  if (!first || !last || *first < 1 || *last < *first) return std::nullopt;
  return Range{*first, *last};
}

/// The user's unfinished jobs, asked for when they are first needed.
class Unfinished {
 public:
  explicit Unfinished(ApiClient& daemon) : daemon_(&daemon) {}

  Result<std::vector<std::string>> where(const std::function<bool(const ApiJob&)>& wanted) {
    if (!jobs_) {
      const auto found = ask_jobs(*daemon_, "", std::numeric_limits<std::size_t>::max());
      if (!found) return std::unexpected(found.error());
      auto jobs = read_jobs(Json{{"jobs", *found}}, "the daemon's answer");
      if (!jobs) return std::unexpected(jobs.error());
      // Or what waits would begin where others have just been ended.
      std::ranges::sort(*jobs, {},
                        [](const ApiJob& job) { return std::pair(job.state != "queued", job.id); });
      jobs_ = std::move(*jobs);
    }
    std::vector<std::string> numbers;
    for (const ApiJob& job : *jobs_)
      if (wanted(job)) numbers.push_back(fmt::format("{}", job.id));
    return numbers;
  }

 private:
  ApiClient* daemon_;
  std::optional<std::vector<ApiJob>> jobs_;  // those that wait first, then the oldest
};

Error none(const std::string& place, const std::string& which) {
  return {ErrorKind::bad_input, place,
          fmt::format("none of your unfinished jobs {}", visible(which)), "`cleave ps` lists them"};
}

/// The jobs that are meant, each once: numbers, and names as they were given.
Result<std::vector<std::string>> chosen(ApiClient& daemon, const Options& options) {
  Unfinished unfinished(daemon);
  if (options.chooses()) {
    auto all = unfinished.where([&](const ApiJob& job) {
      return (options.state.empty() || job.state == options.state) &&
             (options.name.empty() ||
              ::fnmatch(options.name.c_str(), job.name.c_str(), FNM_NOESCAPE) == 0);
    });
    if (all && all->empty()) return std::unexpected(none("JOB", "is meant"));
    return all;
  }
  std::vector<std::string> words;
  for (const std::string& word : options.jobs) {
    const auto range = range_of(word);
    if (!range) {
      words.push_back(word);
      continue;
    }
    const auto within = unfinished.where(
        [&](const ApiJob& job) { return job.id >= range->first && job.id <= range->last; });
    if (!within) return within;
    if (within->empty()) return std::unexpected(none("JOB", fmt::format("is in {}", word)));
    words.insert(words.end(), within->begin(), within->end());
  }
  std::set<std::string> seen;
  std::erase_if(words, [&](const std::string& word) { return !seen.insert(word).second; });
  return words;
}

Result<Json> cancel_one(ApiClient& daemon, const std::string& job, bool now) {
  const auto number = find_job(daemon, job);
  if (!number) return std::unexpected(number.error());
  return daemon.ask_json("POST", fmt::format("/v1/jobs/{}/cancel{}", *number, now ? "?now=1" : ""));
}

Result<int> cancel(const Options& options) {
  if (options.jobs.empty() && !options.chooses())
    return fail(ErrorKind::bad_usage, "JOB", "no job is named",
                "give numbers, or one of --all, --state, --name");
  auto daemon = open_daemon(options);
  if (!daemon) return std::unexpected(daemon.error());
  const auto jobs = chosen(*daemon, options);
  if (!jobs) return std::unexpected(jobs.error());
  if (options.dry_run) {
    fmt::print("would cancel {}\n", visible(fmt::format("{}", fmt::join(*jobs, " "))));
    return 0;
  }
  int code = 0;
  Json documents = Json::array();
  for (const std::string& each : *jobs) {
    const auto document = cancel_one(*daemon, each, options.now);
    if (!document) {
      // The others are cancelled all the same, unless no daemon answers.
      if (daemon->unreachable() || jobs->size() == 1) return std::unexpected(document.error());
      code = std::max(code, report_error(document.error(), false));
      continue;
    }
    documents.push_back(*document);
    const auto job = read_job(*document, "the daemon's answer");
    if (!job) return std::unexpected(job.error());
    if (!options.json)
      fmt::print("{}\n", job->is_over() ? end_in_words(*job)
                                        : fmt::format("job {} is being stopped", job->id));
  }
  if (options.json) print(Json{{"jobs", documents}});
  return code;
}

}  // namespace

void add_cancel(CommandLine& program, Run& run) {
  const auto [command, options] = add_command(
      program, run, "cancel", "Cancel jobs: TERM, then KILL after the job's grace time",
      "cleave cancel 12 20-31\n  cleave cancel --state queued --name 'train-*'", cancel);
  Option* jobs =
      command
          ->add_option("JOB", options.jobs,
                       "Job numbers, names of unfinished jobs, or 12-40: your unfinished "
                       "jobs with these numbers")
          ->check(not_empty());
  Option* all = command->add_flag("--all", options.all, "All your unfinished jobs");
  Option* state = command->add_option("--state", options.state,
                                      "Those of your unfinished jobs that are in this state");
  state->check(Check::one_of({"queued", "starting", "running", "stopping"}));
  Option* name = command->add_option("--name", options.name,
                                     "Those with a name like this; * and ? stand for any letters, "
                                     "as in file names");
  name->check(not_empty());
  for (Option* each : {all, state, name}) each->excludes(jobs);
  command->add_flag("--now", options.now,
                    "KILL at once; also jobs that are being cancelled and have not ended yet");
  command->add_flag("--dry-run", options.dry_run, "Say which jobs are meant, and cancel none");
  add_daemon(*command, options);
}

}  // namespace cleave::cli
