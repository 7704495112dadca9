// `cleave purge`: forgets jobs that have ended, with their outputs.

#include <algorithm>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/tell.hpp"
#include "base/terminal_text.hpp"
#include "base/text.hpp"
#include "cli/daemon/daemon_client.hpp"
#include "cli/daemon/job_choice.hpp"
#include "cli/time_option.hpp"

namespace cleave::cli {

namespace {

struct PurgeCommandOptions : DaemonOptions {
  std::vector<std::string> jobs;
  std::string older, user;
  bool all = false, dry_run = false;
};

/// Of one answer, or of several together.
struct Freed {
  std::int64_t jobs = 0, bytes = 0, left = 0;
  Json which = Json::array();  // {"id", "name"} of the first of them
};

Result<Freed> read_freed(const Json& document) {
  std::optional<Error> error;
  JsonReader in(document, "the daemon's answer", error);
  Freed freed;
  freed.jobs = in.integer("jobs", 0, INT64_MAX);
  freed.bytes = in.integer("bytes", 0, INT64_MAX);
  freed.left = in.integer("left", 0, INT64_MAX);
  if (error) return std::unexpected(std::move(*error));
  return freed;
}

Result<void> ask(ApiClient& daemon, const std::string& target, Freed& sum) {
  const auto document = daemon.ask_json("POST", target);
  if (!document) return std::unexpected(document.error());
  const auto freed = read_freed(*document);
  if (!freed) return std::unexpected(freed.error());
  sum.jobs += freed->jobs;
  sum.bytes += freed->bytes;
  sum.left += freed->left;
  // Daemons of before do not say it.
  if (const auto which = document->find("which"); which != document->end() && which->is_array())
    sum.which.insert(sum.which.end(), which->begin(), which->end());
  return {};
}

Result<void> check(const PurgeCommandOptions& options) {
  const bool many = options.all || !options.older.empty();
  if (options.jobs.empty() == !many || (options.all && !options.older.empty()))
    return fail(ErrorKind::bad_usage, "", "which jobs is not clear",
                "name jobs, or say --older TIME, or --all");
  if (!options.user.empty() && !many)
    return fail(ErrorKind::bad_usage, "--user", "jobs that are named need no user",
                "leave it out, or say --older TIME, or --all");
  return {};
}

std::string target_of(const PurgeCommandOptions& options) {
  std::string target = fmt::format("/v1/purge?dry_run={}", options.dry_run ? 1 : 0);
  if (options.all) target += "&all=1";
  if (!options.older.empty()) {
    const Duration older = time_given(options.older);
    target +=
        fmt::format("&older_s={}", std::chrono::duration_cast<std::chrono::seconds>(older).count());
  }
  if (!options.user.empty()) target += fmt::format("&user={}", percent_encoded(options.user));
  return target;
}

/// Names are not taken: many jobs that have ended may share one.
Result<std::int64_t> number_of(ApiClient& daemon, const std::string& word) {
  if (parse_integer(word) || parse_tasks(word)) return find_job(daemon, word);
  return fail(ErrorKind::bad_input, "JOB",
              fmt::format("'{}' is not the number of a job", visible(shown(word))),
              "`cleave ps --all` shows the numbers of those that have ended");
}

/// The others are forgotten all the same, unless no daemon answers.
Result<int> purge_named(ApiClient& daemon, const PurgeCommandOptions& options, Freed& freed) {
  int code = 0;
  for (const std::string& each : options.jobs) {
    const auto number = number_of(daemon, each);
    const auto asked =
        number ? ask(daemon,
                     fmt::format("/v1/jobs/{}/purge?dry_run={}", *number, options.dry_run ? 1 : 0),
                     freed)
               : std::unexpected(number.error());
    if (asked) continue;
    if (daemon.unreachable() || options.jobs.size() == 1) return std::unexpected(asked.error());
    code = std::max(code, report_error(asked.error(), false));
  }
  return code;
}

/// "job 12 (train)", a line for each of the first.
void print_jobs(const Freed& freed) {
  constexpr std::int64_t most_lines = 20;
  std::int64_t lines = 0;
  for (const Json& each : freed.which) {
    if (lines == most_lines || !each.is_object()) break;
    const std::string name = each.value("name", "");
    fmt::print("job {}{}\n", each.value("id", std::int64_t{0}),
               name.empty() ? "" : fmt::format(" ({})", visible(name)));
    ++lines;
  }
  if (lines > 0 && freed.jobs > lines) fmt::print("... and {} more\n", freed.jobs - lines);
}

Result<int> purge(const PurgeCommandOptions& options) {
  if (const auto fine = check(options); !fine) return std::unexpected(fine.error());
  auto daemon = open_daemon(options);
  if (!daemon) return std::unexpected(daemon.error());
  Freed freed;
  int code = 0;
  if (options.jobs.empty()) {
    if (const auto asked = ask(*daemon, target_of(options), freed); !asked)
      return std::unexpected(asked.error());
  } else {
    const auto named = purge_named(*daemon, options, freed);
    if (!named) return named;
    code = *named;
  }
  if (options.json) {
    print(Json{{"jobs", freed.jobs},
               {"bytes", freed.bytes},
               {"left", freed.left},
               {"dry_run", options.dry_run},
               {"which", freed.which}});
    return code;
  }
  print_jobs(freed);
  fmt::print("{} {}, {:.1f} MiB\n", counted(static_cast<std::size_t>(freed.jobs), "ended job"),
             options.dry_run   ? "would be forgotten"
             : freed.jobs == 1 ? "is forgotten"
                               : "are forgotten",
             static_cast<double>(freed.bytes) / (1 << 20));
  if (freed.left > 0)
    tell("{} not be forgotten yet; try again\n",
         freed.left == 1 ? "one could" : fmt::format("{} could", freed.left));
  return code;
}

}  // namespace

void add_purge(CommandLine& program, Run& run) {
  const auto [command, options] =
      add_command(program, run, "purge", "Forget jobs that have ended, with their outputs",
                  "cleave purge --older 2d", purge);
  command->add_option("JOB", options.jobs, "Job numbers")->check(not_empty());
  command
      ->add_option("--older", options.older,
                   "All of your jobs that ended longer ago, such as 12h or 2d")
      ->type_name(time_type)
      ->check(time_between(Duration{}));
  command->add_flag("--all", options.all, "All of your jobs that have ended");
  command
      ->add_option("--user", options.user,
                   "With --older or --all: jobs of this user, or of `all`; for operators")
      ->check(not_empty());
  command->add_flag("--dry-run", options.dry_run, "Say what it would free, and forget nothing");
  add_daemon(*command, options);
}

}  // namespace cleave::cli
