// `cleave events`: what happened, and what happens.

#include <algorithm>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/terminal_text.hpp"
#include "base/text.hpp"
#include "cli/daemon/daemon_client.hpp"
#include "cli/daemon/job_text.hpp"

namespace cleave::cli {

namespace {

struct EventsCommandOptions : DaemonOptions {
  bool follow = false;
  std::int64_t after = -1;
  std::string patience = usual_patience;
};

Result<void> print_event(const Json& document, bool json) {
  if (json) {
    fmt::print("{}\n", document.dump(-1, ' ', false, Json::error_handler_t::replace));
    return {};
  }
  const auto event = read_event(document, "the daemon's answer");
  if (!event) return std::unexpected(event.error());
  fmt::print("{:>6}  {}  {:<20}  {}\n", event->id, event->at ? local_time(*event->at) : "",
             visible(event->kind), visible(event->text));
  return {};
}

/// Prints those that are kept after `after`, page by page; the number of the last.
Result<std::int64_t> print_past(ApiClient& daemon, const EventsCommandOptions& options,
                                std::int64_t after) {
  while (true) {
    const auto page = daemon.ask_json("GET", fmt::format("/v1/events?format=json&after={}", after));
    if (!page) return std::unexpected(page.error());
    const auto events = read_events(*page, "the daemon's answer");
    if (!events) return std::unexpected(events.error());
    const std::int64_t before = after;
    for (std::size_t i = 0; i < events->size(); ++i) {
      if ((*events)[i].id <= after) continue;
      after = (*events)[i].id;
      if (const auto printed = print_event((*page)["events"][i], options.json); !printed)
        return std::unexpected(printed.error());
    }
    if (after == before) return after;
  }
}

Result<void> follow_events(ApiClient& daemon, const EventsCommandOptions& options) {
  std::string last = options.after >= 0 ? fmt::format("{}", options.after) : std::string();
  std::optional<Error> wrong;
  std::int64_t seen = options.after;
  const auto on_event = [&](const ServerEvent& event) {
    const auto document = parse_json(event.data, "the daemon's event");
    const auto number = parse_integer(event.id);
    if (!document) wrong = document.error();
    if (wrong || (number && *number <= seen)) return !wrong.has_value();
    if (number) seen = *number;
    if (const auto printed = print_event(*document, options.json); !printed)
      wrong = printed.error();
    std::fflush(stdout);
    return !wrong.has_value();
  };
  while (true) {
    // Patience starts over whenever the daemon has answered.
    const auto followed =
        patiently<Json>(daemon, patience_of(options.patience), [&]() -> Result<Json> {
          const std::string target =
              last.empty() ? std::string("/v1/events") : fmt::format("/v1/events?after={}", last);
          const std::string before = last;
          auto end = daemon.follow(target, last, on_event);
          if (end || last != before) return Json();
          return std::unexpected(end.error());
        });
    if (wrong) return std::unexpected(*wrong);
    if (!followed) return std::unexpected(followed.error());
  }
}

Result<int> events(const EventsCommandOptions& options) {
  auto daemon = open_daemon(options);
  if (!daemon) return std::unexpected(daemon.error());
  if (options.follow) {
    if (const auto followed = follow_events(*daemon, options); !followed)
      return std::unexpected(followed.error());
    return 0;
  }
  const auto printed = print_past(*daemon, options, std::max<std::int64_t>(options.after, 0));
  if (!printed) return std::unexpected(printed.error());
  return 0;
}

}  // namespace

void add_events(CommandLine& program, Run& run) {
  const auto [command, options] =
      add_command(program, run, "events",
                  "Print the events of your jobs and the GPUs; with -f, follow new ones",
                  "cleave events -f", events);
  command->add_flag("-f,--follow", options.follow,
                    "Keep printing new events, also through a restart of the daemon");
  command
      ->add_option("--after", options.after,
                   "Events after this number; by default all that are kept, with -f only new ones")
      ->check(whole_number(0));
  add_patience(*command, options.patience);
  add_daemon(*command, options, false);
  command->add_flag("--json", options.json, "Print one line of JSON per event");
}

}  // namespace cleave::cli
