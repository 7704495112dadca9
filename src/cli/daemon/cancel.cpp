// `cleave cancel`: ends jobs.

#include <fnmatch.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/terminal_text.hpp"
#include "base/text.hpp"
#include "cli/daemon/daemon_client.hpp"
#include "cli/daemon/job_choice.hpp"

namespace cleave::cli {

namespace {

struct CancelCommandOptions : DaemonOptions {
  bool now = false, all = false, dry_run = false;
  std::vector<std::string> jobs;
  std::string state, name;

  [[nodiscard]] bool chooses() const { return all || !state.empty() || !name.empty(); }
};

/// The user's unfinished jobs, by number.
using Unfinished = std::map<std::int64_t, ApiJob>;

Result<Unfinished> unfinished_jobs(ApiClient& daemon) {
  const auto found = ask_jobs(daemon, "", std::numeric_limits<std::size_t>::max());
  if (!found) return std::unexpected(found.error());
  const auto jobs = read_jobs(Json{{"jobs", *found}}, "the daemon's answer");
  if (!jobs) return std::unexpected(jobs.error());
  Unfinished all;
  for (const ApiJob& job : *jobs) all.emplace(job.id, job);
  return all;
}

Error no_job(const std::string& why) {
  return {ErrorKind::bad_input, "JOB", visible(why), "`cleave ps` lists unfinished jobs"};
}

/// Of an array its unfinished jobs. Another number is taken as it is: the daemon knows jobs of
/// others, and those that have ended.
Result<std::vector<std::int64_t>> named(const std::string& word, const Unfinished& unfinished) {
  const auto tasks = parse_tasks(word);
  const auto number = tasks ? std::optional(tasks->job) : parse_integer(word);
  if (number && *number < 1) return std::unexpected(no_job("job numbers begin at 1"));
  if (number) {
    std::vector<std::int64_t> of_array;
    for (const auto& [id, job] : unfinished)
      if (job.array && job.array->job == *number &&
          (!tasks || std::ranges::binary_search(tasks->indices, job.array->index)))
        of_array.push_back(id);
    if (!of_array.empty()) return of_array;
    if (tasks)
      return std::unexpected(no_job(fmt::format("{} names no unfinished job of an array", word)));
    return std::vector{*number};
  }
  std::vector<std::int64_t> all;
  for (const auto& [id, job] : unfinished)
    if (job.name == word) all.push_back(id);
  if (all.size() == 1) return all;
  if (all.size() > 1)
    return fail(ErrorKind::bad_input, "JOB",
                fmt::format("{} unfinished jobs are called '{}'", all.size(), visible(shown(word))),
                fmt::format("give a number: {}; or --name for all of them", fmt::join(all, ", ")));
  const auto range = job_range(word);
  if (!range)
    return std::unexpected(no_job(fmt::format(
        "no unfinished job is called '{}', and it is not a range like 12-40", shown(word))));
  for (auto at = unfinished.lower_bound(range->first);
       at != unfinished.end() && at->first <= range->last; ++at)
    all.push_back(at->first);
  if (all.empty())
    return std::unexpected(no_job(fmt::format("none of your unfinished jobs is in {}", word)));
  return all;
}

std::vector<std::int64_t> like(const CancelCommandOptions& options, const Unfinished& unfinished) {
  std::vector<std::int64_t> all;
  for (const auto& [number, job] : unfinished)
    if ((options.state.empty() || job.state == options.state) &&
        (options.name.empty() ||
         ::fnmatch(options.name.c_str(), job.name.c_str(), FNM_NOESCAPE) == 0))
      all.push_back(number);
  return all;
}

/// What is meant, each job once, and which words mean nothing.
struct Chosen {
  std::vector<std::int64_t> jobs;
  std::vector<Error> wrong;
  std::set<std::int64_t> unfinished;  // those of them that are the user's own
};

Result<Chosen> chosen(ApiClient& daemon, const CancelCommandOptions& options) {
  auto listed = unfinished_jobs(daemon);
  if (!listed) return std::unexpected(listed.error());
  const Unfinished unfinished = std::move(*listed);
  Chosen chosen;
  std::set<std::int64_t> all;
  if (options.chooses()) {
    for (const std::int64_t each : like(options, unfinished)) all.insert(each);
    if (all.empty())
      return std::unexpected(no_job(unfinished.empty()
                                        ? "you have no unfinished jobs"
                                        : "none of your unfinished jobs is like that"));
  }
  for (const std::string& word : options.jobs) {
    const auto found = named(word, unfinished);
    if (found)
      all.insert(found->begin(), found->end());
    else
      chosen.wrong.push_back(found.error());
  }
  chosen.jobs.assign(all.begin(), all.end());
  for (const std::int64_t job : chosen.jobs)
    if (unfinished.contains(job)) chosen.unfinished.insert(job);
  // What waits goes first, or it would begin where others have just been ended.
  std::ranges::stable_partition(chosen.jobs, [&](std::int64_t job) {
    const auto found = unfinished.find(job);
    return found != unfinished.end() && found->second.state == "queued";
  });
  return chosen;
}

std::string in_words(const ApiJob& job) {
  return job.is_over() ? end_in_words(job) : fmt::format("job {} is being stopped", job.id);
}

/// What the daemon said of them: those that it cancelled, or that had ended, and those refused.
struct Answered {
  std::vector<Json> jobs;
  std::vector<Error> refused;
};

/// Adds what it says of some of them.
Result<void> ask_to_cancel(ApiClient& daemon, std::span<const std::int64_t> jobs, bool now,
                           Answered& answered) {
  const auto document =
      daemon.ask_json("POST", "/v1/cancellations", Json{{"jobs", jobs}, {"now", now}}.dump());
  if (!document) return std::unexpected(document.error());
  const auto list = [&](const char* key) {
    const auto found = document->is_object() ? document->find(key) : document->end();
    return found != document->end() && found->is_array() ? *found : Json::array();
  };
  for (const Json& each : list("jobs")) answered.jobs.push_back(each);
  for (const Json& each : list("refused")) answered.refused.push_back(read_error(404, each.dump()));
  return {};
}

/// In one request, unless these are very many.
Result<Answered> ask_to_cancel(ApiClient& daemon, std::span<const std::int64_t> jobs, bool now) {
  constexpr std::size_t most_at_a_time = 10'000;
  Answered answered;
  for (; !jobs.empty(); jobs = jobs.subspan(std::min(jobs.size(), most_at_a_time)))
    if (const auto asked =
            ask_to_cancel(daemon, jobs.first(std::min(jobs.size(), most_at_a_time)), now, answered);
        !asked)
      return std::unexpected(asked.error());
  return answered;
}

/// Of other jobs than the user's unfinished ones the daemon is asked what they are: they may be
/// others', have ended, or not exist.
Result<int> say_what_would_be(ApiClient& daemon, const CancelCommandOptions& options,
                              const Chosen& meant, int code) {
  std::vector<std::int64_t> would;
  for (const std::int64_t number : meant.jobs) {
    if (meant.unfinished.contains(number)) {
      would.push_back(number);
      continue;
    }
    const auto document = ask_job(daemon, number);
    if (!document && meant.jobs.size() == 1) return std::unexpected(document.error());
    if (!document) {
      code = std::max(code, report_error(document.error(), false));
      continue;
    }
    const auto job = read_job(*document, "the daemon's answer");
    if (!job) return std::unexpected(job.error());
    if (!job->is_over())
      would.push_back(number);
    else if (!options.json)
      fmt::print("{}\n", end_in_words(*job));
  }
  if (options.json)
    print(Json{{"would_cancel", would}});
  else if (!would.empty())
    fmt::print("would cancel {}\n", fmt::join(would, " "));
  return code;
}

Result<int> cancel(const CancelCommandOptions& options) {
  if (options.jobs.empty() && !options.chooses())
    return fail(ErrorKind::bad_usage, "JOB", "no job is named",
                "give numbers, or one of --all, --state, --name");
  auto daemon = open_daemon(options);
  if (!daemon) return std::unexpected(daemon.error());
  const auto meant = chosen(*daemon, options);
  if (!meant) return std::unexpected(meant.error());
  if (options.jobs.size() == 1 && !meant->wrong.empty())
    return std::unexpected(meant->wrong.front());
  int code = 0;
  // The others are cancelled all the same, unless no daemon answers.
  for (const Error& each : meant->wrong) code = std::max(code, report_error(each, false));
  if (options.dry_run) return say_what_would_be(*daemon, options, *meant, code);
  const auto answered = ask_to_cancel(*daemon, meant->jobs, options.now);
  if (!answered) return std::unexpected(answered.error());
  if (meant->jobs.size() == 1 && meant->wrong.empty() && !answered->refused.empty())
    return std::unexpected(answered->refused.front());
  for (const Error& each : answered->refused) code = std::max(code, report_error(each, false));
  for (const Json& each : answered->jobs) {
    const auto job = read_job(each, "the daemon's answer");
    if (!job) return std::unexpected(job.error());
    if (!options.json) fmt::print("{}\n", in_words(*job));
  }
  if (options.json) print(Json{{"jobs", answered->jobs}});
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
                       "Job numbers, names of unfinished jobs, 12-40: your unfinished jobs with "
                       "these numbers, or 12_7 and 12_1-5: those of array 12 with these indices; "
                       "12 itself for all jobs of that array")
          ->check(not_empty());
  Option* all = command->add_flag("--all", options.all, "All your unfinished jobs");
  Option* state = command->add_option("--state", options.state,
                                      "Those of your unfinished jobs that are in this state");
  state->check(Check::one_of({"queued", "starting", "running", "stopping"}));
  Option* name =
      command->add_option("--name", options.name,
                          "Those with a name like this; *, ? and [abc] stand for letters, "
                          "as in file names");
  name->check(not_empty());
  for (Option* each : {all, state, name}) each->excludes(jobs);
  command->add_flag("--now", options.now,
                    "KILL at once; also jobs that are being cancelled and have not ended yet");
  command->add_flag("--dry-run", options.dry_run, "Say which jobs are meant, and cancel none");
  add_daemon(*command, options);
}

}  // namespace cleave::cli
