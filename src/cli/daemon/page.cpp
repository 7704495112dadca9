// `cleave page`: the address of the daemon's live page, with a token; and the tokens there are.

#include "api/time_text.hpp"
#include "base/format.hpp"
#include "base/json.hpp"
#include "base/tell.hpp"
#include "base/terminal_text.hpp"
#include "base/text.hpp"
#include "cli/daemon/daemon_client.hpp"
#include "cli/table.hpp"
#include "cli/time_option.hpp"

namespace cleave::cli {

namespace {

constexpr const char* answer = "the daemon's answer";

struct PageCommandOptions : DaemonOptions {
  std::string scope = "view", lifetime = "8h", user, revoke;
  bool list = false;
};

Result<int> make(ApiClient& daemon, const PageCommandOptions& options) {
  Json ask{{"scope", options.scope},
           {"lifetime_s", time_given(options.lifetime) / std::chrono::seconds(1)}};
  if (!options.user.empty()) ask["user"] = options.user;
  const auto document = daemon.ask_json("POST", "/v1/tokens",
                                        ask.dump(-1, ' ', false, Json::error_handler_t::replace));
  if (!document) return std::unexpected(document.error());
  std::optional<Error> error;
  JsonReader in(*document, answer, error);
  const std::string address = in.text("address"), until = in.text("expires_at");
  if (error) return std::unexpected(*error);
  if (options.json) {
    print(*document);
    return 0;
  }
  // The address alone on standard output, so that it can be handed on to a program.
  fmt::print("{}\n", visible(address));
  tell("Open it in a browser on this machine. Until {} it lets anyone who has it {} as {}.\n",
       visible(until), options.scope == "act" ? "look, and act" : "look",
       options.user.empty() ? "you" : visible(options.user));
  return 0;
}

Result<int> list(ApiClient& daemon, const PageCommandOptions& options) {
  const auto document = daemon.ask_json(
      "GET", options.user.empty()
                 ? std::string("/v1/tokens")
                 : fmt::format("/v1/tokens?user={}", percent_encoded(options.user)));
  if (!document) return std::unexpected(document.error());
  if (options.json) {
    print(*document);
    return 0;
  }
  std::optional<Error> error;
  JsonReader in(*document, answer, error);
  Table table({"token", "scope", "made", "expires", "sessions"});
  std::size_t count = 0;
  for (JsonReader& each : in.objects("tokens")) {
    ++count;
    table.add({fmt::format("{}", each.integer("token", 1, INT64_MAX)), visible(each.text("scope")),
               visible(each.text("made_at")), visible(each.text("expires_at")),
               fmt::format("{}", each.integer("sessions", 0, INT64_MAX))});
  }
  if (error) return std::unexpected(*error);
  if (count == 0)
    fmt::print("no tokens\n");
  else
    fmt::print("{}", table.text());
  return 0;
}

Result<int> revoke(ApiClient& daemon, const PageCommandOptions& options) {
  const auto document =
      daemon.ask_json("POST", fmt::format("/v1/tokens/{}/revoke", percent_encoded(options.revoke)));
  if (!document) return std::unexpected(document.error());
  if (options.json) {
    print(*document);
    return 0;
  }
  std::optional<Error> error;
  JsonReader in(*document, answer, error);
  const auto sessions = static_cast<std::size_t>(in.integer("sessions", 0, INT64_MAX));
  if (error) return std::unexpected(*error);
  fmt::print("token {} has ended, with {}\n", visible(options.revoke),
             counted(sessions, "open session"));
  return 0;
}

Result<int> page(const PageCommandOptions& options) {
  auto daemon = open_daemon(options);
  if (!daemon) return std::unexpected(daemon.error());
  if (options.list) return list(*daemon, options);
  return options.revoke.empty() ? make(*daemon, options) : revoke(*daemon, options);
}

}  // namespace

void add_page(CommandLine& program, Run& run) {
  const auto [command, options] =
      add_command(program, run, "page", "Print the address of the daemon's live page, with a token",
                  "cleave page --scope act --for 8h", page);
  command
      ->add_option("--scope", options.scope,
                   "view may only look; act may do what you may do with the other commands")
      ->check(Check::one_of({"view", "act"}))
      ->default_str("view");
  command
      ->add_option("--for", options.lifetime,
                   "How long it is valid, such as 30m or 8h; at most 30d")
      ->type_name(time_type)
      ->check(time_between(std::chrono::seconds(1), std::chrono::hours(24 * 30)))
      ->default_str("8h");
  command
      ->add_option("--as", options.user, "Another user, by name or number, whose it is; for root")
      ->check(not_empty());
  Option* listing = command->add_flag("--list", options.list, "List your tokens, without secrets");
  command
      ->add_option("--revoke", options.revoke,
                   "End this token, by its number, and the sessions that were opened with it")
      ->check(not_empty())
      ->excludes(listing);
  add_daemon(*command, options);
}

}  // namespace cleave::cli
