// `cleave top`: GPUs and jobs on a screen that refreshes itself.

#include <unistd.h>

#include <algorithm>
#include <thread>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/terminal.hpp"
#include "base/terminal_text.hpp"
#include "base/text.hpp"
#include "cli/daemon/daemon_client.hpp"
#include "cli/daemon/job_columns.hpp"
#include "cli/daemon/job_text.hpp"
#include "cli/daemon/top_terminal.hpp"
#include "cli/daemon/top_view.hpp"
#include "cli/interrupts.hpp"
#include "cli/time_option.hpp"

namespace cleave::cli {

namespace {

struct TopCommandOptions : DaemonOptions {
  bool once = false;
  std::string every = "1s";
  std::string user;
};

/// The three answers, as they came.
struct Look {
  Json status, gpus, jobs;
};

Result<Look> look(ApiClient& daemon, const TopCommandOptions& options) {
  constexpr std::size_t most_jobs = 1000;  // no screen shows more
  const auto status = daemon.ask_json("GET", "/v1/status");
  if (!status) return std::unexpected(status.error());
  const auto gpus = daemon.ask_json("GET", "/v1/gpus");
  if (!gpus) return std::unexpected(gpus.error());
  const std::string query =
      options.user.empty() ? std::string() : fmt::format("user={}", percent_encoded(options.user));
  const auto jobs = ask_jobs(daemon, query, most_jobs);
  if (!jobs) return std::unexpected(jobs.error());
  return Look{*status, *gpus, *jobs};
}

Result<TopData> read(const Look& seen, bool with_user) {
  auto status = read_status(seen.status, "the daemon's answer");
  if (!status) return std::unexpected(status.error());
  auto gpus = read_gpus(seen.gpus, "the daemon's answer");
  if (!gpus) return std::unexpected(gpus.error());
  auto jobs = read_jobs(Json{{"jobs", seen.jobs}}, "the daemon's answer");
  if (!jobs) return std::unexpected(jobs.error());
  return TopData{*std::move(status), *std::move(gpus), *std::move(jobs),
                 std::chrono::system_clock::now(), with_user};
}

Result<std::string> screen_of(const Look& seen, bool with_user, std::size_t width) {
  auto data = read(seen, with_user);
  if (!data) return std::unexpected(data.error());
  std::string text = fmt::format("{}\n{}", fitted(top_heading(data->status, data->now), width),
                                 gpus_table(data->gpus, width));
  if (std::ranges::any_of(data->gpus, &ApiGpu::mig))
    text += "a letter is an instance: A in use, a idle; # is not Cleave's, . is free\n";
  sort_for_people(data->jobs);
  if (!data->jobs.empty())
    text += fmt::format("\n{}", jobs_table(data->jobs, {data->now, width, with_user, {}, true}));
  return text;
}

Result<std::string> shown_once(ApiClient& daemon, const TopCommandOptions& options) {
  const auto seen = look(daemon, options);
  if (!seen) return std::unexpected(seen.error());
  if (!options.json) return screen_of(*seen, !options.user.empty(), terminal_width());
  const Json line{{"status", seen->status},
                  {"gpus", seen->gpus.value("gpus", Json::array())},
                  {"jobs", seen->jobs}};
  return line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

void pause_for(double seconds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (Interrupts::came() == 0 && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

/// Lines of JSON until a signal comes.
Result<int> follow_json(ApiClient& daemon, const TopCommandOptions& options) {
  Result<std::string> text = shown_once(daemon, options);
  while (Interrupts::came() == 0) {
    if (!text && !daemon.unreachable() && !daemon.stopped()) return std::unexpected(text.error());
    if (text) fmt::print("{}", *text);
    std::fflush(stdout);
    pause_for(in_seconds(time_given(options.every)));
    if (Interrupts::came() == 0) text = shown_once(daemon, options);
  }
  return 0;
}

/// The newest data; while the daemon cannot be reached, the last ones, which say so.
Result<TopData> refreshed(ApiClient& daemon, const TopCommandOptions& options, TopData last) {
  const auto seen = look(daemon, options);
  if (seen) return read(*seen, !options.user.empty());
  if (!daemon.unreachable() && !daemon.stopped()) return std::unexpected(seen.error());
  last.trouble = seen.error().text();
  return last;
}

Result<int> follow_on_screen(ApiClient& daemon, const TopCommandOptions& options) {
  using Clock = std::chrono::steady_clock;
  // Before the screen is taken, so that an error at the start stays visible.
  const auto first = look(daemon, options);
  if (!first) return std::unexpected(first.error());
  auto data = read(*first, !options.user.empty());
  if (!data) return std::unexpected(data.error());
  TopTerminal terminal;
  TopState state;
  std::string bytes;
  auto due = Clock::now() + time_given(options.every);
  while (Interrupts::came() == 0 && !state.ends) {
    const ScreenSize size{terminal_width(), terminal_height()};
    terminal.show(top_screen(state, *data, size));
    const double left = std::chrono::duration<double>(due - Clock::now()).count();
    const std::string typed = terminal.typed_within(std::max(left, 0.0));
    bytes += typed;
    for (const Key key : take_keys(bytes, typed.size() == 1))
      state = after_key(std::move(state), key, *data, size);
    if (Interrupts::came() != 0 || state.ends || Clock::now() < due) continue;
    due = Clock::now() + time_given(options.every);
    data = refreshed(daemon, options, *std::move(data));
    if (!data) return std::unexpected(data.error());
  }
  return 0;
}

Result<int> top(const TopCommandOptions& options) {
  const bool refreshes = !options.once && (options.json || ::isatty(STDOUT_FILENO) == 1);
  if (!refreshes) {
    auto daemon = open_daemon(options);
    if (!daemon) return std::unexpected(daemon.error());
    const auto text = shown_once(*daemon, options);
    if (!text) return std::unexpected(text.error());
    fmt::print("{}", *text);
    return 0;
  }
  const Interrupts interrupts(Interrupts::Waiting::ends);
  auto daemon = open_daemon(options, [] { return Interrupts::came() != 0; });
  if (!daemon) return std::unexpected(daemon.error());
  return options.json ? follow_json(*daemon, options) : follow_on_screen(*daemon, options);
}

}  // namespace

void add_top(CommandLine& program, Run& run) {
  const auto [command, options] =
      add_command(program, run, "top",
                  "Show GPUs, their instances and jobs, refreshed; ? lists the keys, q quits",
                  "cleave top", top);
  command->add_flag("--once", options.once,
                    "Print once and exit; the default where there is no terminal");
  command->add_option("--every", options.every, "Time between refreshes")
      ->type_name(time_type)
      ->check(time_between(std::chrono::milliseconds(100), std::chrono::hours(24)))
      ->default_str("1s");
  command
      ->add_option("--user", options.user,
                   "Jobs of this user, or of all users; only operators see those of others")
      ->check(not_empty());
  add_daemon(*command, options, false);
  command->add_flag("--json", options.json, "Print one line of JSON per refresh");
}

}  // namespace cleave::cli
