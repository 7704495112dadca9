// `cleave top`: GPUs and jobs on a screen that refreshes itself.

#include <unistd.h>

#include <algorithm>
#include <thread>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/terminal_text.hpp"
#include "base/text.hpp"
#include "cli/daemon/daemon_client.hpp"
#include "cli/daemon/job_columns.hpp"
#include "cli/daemon/job_text.hpp"
#include "cli/interrupts.hpp"
#include "cli/table.hpp"

namespace cleave::cli {

namespace {

struct Options : DaemonOptions {
  bool once = false;
  double every = 1;
  std::string user;
};

/// The three answers, as they came.
struct Look {
  Json status, gpus, jobs;
};

Result<Look> look(ApiClient& daemon, const Options& options) {
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

std::string heading(const ApiStatus& status, Instant now) {
  std::string text =
      fmt::format("cleaved {}{}", visible(status.version), status.simulated ? ", simulated" : "");
  if (!status.scheduler.empty()) text += fmt::format(", scheduler {}", visible(status.scheduler));
  if (status.started_at)
    text += fmt::format(", up {}", human(std::max(now - *status.started_at, Duration{})));
  text += fmt::format("\n{} running, {} starting, {} stopping, {} waiting{}\n", status.jobs.running,
                      status.jobs.starting, status.jobs.stopping, status.jobs.queued,
                      status.paused ? "; PAUSED, no jobs are started" : "");
  for (const ApiPredictionErrors& each : status.predictions)
    if (!each.by)
      text += fmt::format("predicted times of {}: median error {:.1f} %, 90 % within {:.1f} %\n",
                          counted(static_cast<std::size_t>(each.count), "finished job"),
                          100 * each.median, 100 * each.p90);
  for (const std::string& trouble : status.troubles)
    text += fmt::format("trouble: {}\n", visible(trouble));
  return text;
}

Result<std::string> screen_of(const Look& seen, bool with_user, std::size_t width) {
  const auto status = read_status(seen.status, "the daemon's answer");
  if (!status) return std::unexpected(status.error());
  const auto gpus = read_gpus(seen.gpus, "the daemon's answer");
  if (!gpus) return std::unexpected(gpus.error());
  auto jobs = read_jobs(Json{{"jobs", seen.jobs}}, "the daemon's answer");
  if (!jobs) return std::unexpected(jobs.error());
  const Instant now = std::chrono::system_clock::now();
  std::string text = fmt::format("{}\n{}", heading(*status, now), gpus_table(*gpus, width));
  if (std::ranges::any_of(*gpus, &ApiGpu::mig))
    text += "a letter is an instance: A in use, a idle; # is not Cleave's, . is free\n";
  sort_for_people(*jobs);
  if (!jobs->empty()) text += fmt::format("\n{}", jobs_table(*jobs, {now, width, with_user, {}}));
  return text;
}

Result<std::string> shown_once(ApiClient& daemon, const Options& options) {
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

/// The terminal's other screen, so that what stood there comes back.
class OtherScreen {
 public:
  OtherScreen() { fmt::print("\x1b[?1049h\x1b[?25l"); }
  ~OtherScreen() {
    try {
      fmt::print("\x1b[?25h\x1b[?1049l");
      std::fflush(stdout);
    } catch (const std::exception&) {
      // The terminal is gone.
    }
  }
  OtherScreen(const OtherScreen&) = delete;
  OtherScreen& operator=(const OtherScreen&) = delete;

  static void show(const std::string& text) {
    std::string screen = "\x1b[H";
    const std::size_t height = terminal_height(), width = terminal_width();
    std::size_t lines = 0;
    for (const std::string_view line : split(trimmed(text), '\n')) {
      if (height > 0 && ++lines >= height) break;
      screen += fmt::format("{}\x1b[K\n", width > 0 ? cut_to(line, width) : std::string(line));
    }
    fmt::print("{}\x1b[J", screen);
    std::fflush(stdout);
  }
};

Result<int> top(const Options& options) {
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
  // Before the screen is taken, so that an error at the start stays visible.
  auto text = shown_once(*daemon, options);
  if (!text) return std::unexpected(text.error());
  std::optional<OtherScreen> screen;
  if (!options.json) screen.emplace();
  while (Interrupts::came() == 0) {
    if (!text && !daemon->unreachable() && !daemon->stopped()) return std::unexpected(text.error());
    if (screen) {
      OtherScreen::show(text ? *text : text.error().text());
    } else if (text) {
      fmt::print("{}", *text);
      std::fflush(stdout);
    }
    pause_for(options.every);
    if (Interrupts::came() == 0) text = shown_once(*daemon, options);
  }
  return 0;
}

}  // namespace

void add_top(CommandLine& program, Run& run) {
  const auto [command, options] =
      add_command(program, run, "top",
                  "Show GPUs, a picture of their instances, and jobs, refreshed until Ctrl-C",
                  "cleave top", top);
  command->add_flag("--once", options.once,
                    "Print once and exit; the default where there is no terminal");
  command->add_option("--every", options.every, "Seconds between refreshes")
      ->check(number_from(0.1, 86400))
      ->default_str("1");
  command
      ->add_option("--user", options.user,
                   "Jobs of this user, or of all users; only operators see those of others")
      ->check(not_empty());
  add_daemon(*command, options, false);
  command->add_flag("--json", options.json, "Print one line of JSON per refresh");
}

}  // namespace cleave::cli
