// `cleave claim`: instances for somebody else's engine, made, shown and given back.

#include "base/format.hpp"
#include "base/json.hpp"
#include "cli/columns.hpp"
#include "cli/daemon/claim_client.hpp"
#include "cli/daemon/daemon_client.hpp"

namespace cleave::cli {

namespace {

struct ClaimCommandOptions : DaemonOptions {
  std::string action, key;
  std::vector<std::string> profiles, memories;
  std::string holder;
  std::int64_t uid = -1, gpu = -1, start = -1, wait_s = 0;
};

Result<ClaimOrder> order_of(const ClaimCommandOptions& options) {
  ClaimOrder order{options.holder, options.uid, {}};
  const auto add = [&](const std::vector<std::string>& words, bool by_memory) -> Result<void> {
    for (const std::string& word : words) {
      auto ask = parse_claim_ask(word, by_memory);
      if (!ask) return std::unexpected(ask.error());
      if (options.gpu >= 0) ask->gpu = options.gpu;
      if (options.start >= 0) ask->start = options.start;
      order.asks.push_back(std::move(*ask));
    }
    return {};
  };
  if (const auto added = add(options.profiles, false); !added)
    return std::unexpected(added.error());
  if (const auto added = add(options.memories, true); !added) return std::unexpected(added.error());
  if (order.asks.empty())
    return fail(ErrorKind::bad_usage, "", "nothing is asked for",
                "say --profile 3g.20gb, or --memory 9G");
  return order;
}

std::string place_in_words(const ApiClaimInstance& instance) {
  const std::string where = instance.gpu ? fmt::format("GPU {}", *instance.gpu) : instance.gpu_uuid;
  return fmt::format("{}@{} on {}{}", instance.profile, instance.start, where,
                     instance.lost ? ", lost" : "");
}

std::string places_in_words(const ApiClaim& claim) {
  std::vector<std::string> words;
  for (const ApiClaimInstance& each : claim.instances) words.push_back(place_in_words(each));
  return words.empty() ? "-" : fmt::format("{}", fmt::join(words, "; "));
}

Result<int> say(const ClaimCommandOptions& options, const Result<ApiClaim>& claim) {
  if (!claim) return std::unexpected(claim.error());
  if (options.json) {
    print(to_json(*claim));
    return 0;
  }
  fmt::print("claim {}: {}{}\n", claim->key,
             claim_state_names[static_cast<std::size_t>(claim->state)],
             claim->why.empty() ? "" : fmt::format(" ({})", claim->why));
  for (const ApiClaimInstance& each : claim->instances)
    fmt::print("  {}  {}\n", place_in_words(each), each.uuid.empty() ? "-" : each.uuid);
  return 0;
}

Result<int> list(const ClaimCommandOptions& options, ApiClient& daemon) {
  const auto claims = list_claims(daemon);
  if (!claims) return std::unexpected(claims.error());
  if (options.json) {
    Json all = Json::array();
    for (const ApiClaim& each : *claims) all.push_back(to_json(each));
    print(Json{{"claims", std::move(all)}});
    return 0;
  }
  const Columns<ApiClaim> columns = {
      {text_only, "claim", &ApiClaim::key},
      {text_only, "state",
       [](const ApiClaim& each) {
         return std::string(claim_state_names[static_cast<std::size_t>(each.state)]);
       }},
      {text_only, "instances", [](const ApiClaim& each) { return places_in_words(each); }},
      {text_only, "holder", &ApiClaim::holder}};
  fmt::print("{}", claims->empty() ? "there are no claims\n" : text_rows(columns, *claims));
  return 0;
}

Result<int> claim(const ClaimCommandOptions& options) {
  auto daemon = open_daemon(options);
  if (!daemon) return std::unexpected(daemon.error());
  if (options.action == "list") return list(options, *daemon);
  if (!is_claim_key(options.key))
    return fail(ErrorKind::bad_usage, "KEY",
                options.key.empty() ? "which claim is not said" : "this is not the key of a claim",
                "take letters, digits and ._:-, such as slurm:1234");
  const std::chrono::seconds wait(options.wait_s);
  if (options.action == "release") return say(options, release_claim(*daemon, options.key, wait));
  if (options.action == "show") {
    const auto document = daemon->ask_json("GET", claim_target(options.key));
    if (!document) return std::unexpected(document.error());
    return say(options, read_claim(*document, "the daemon's answer"));
  }
  const auto order = order_of(options);
  if (!order) return std::unexpected(order.error());
  return say(options, make_claim(*daemon, options.key, *order, {.room = wait}));
}

}  // namespace

void add_claim(CommandLine& program, Run& run) {
  const auto [command, options] = add_command(
      program, run, "claim",
      "Take instances for another engine's job, show them and give them back",
      "cleave claim make slurm:1234 --profile 3g.20gb --holder 'job 1234 of alice'", claim);
  command->add_option("ACTION", options.action, "What to do")
      ->required()
      ->check(Check::one_of({"make", "release", "show", "list"}));
  command->add_option("KEY", options.key, "The claim's name, chosen by its holder");
  command
      ->add_option("--profile", options.profiles,
                   "With make: PROFILE, or PROFILE:N for several; may be repeated")
      ->one_each_time();
  command
      ->add_option("--memory", options.memories,
                   "With make: the smallest instance with this memory, as 9G or 9G:2; may be "
                   "repeated")
      ->one_each_time();
  command->add_option("--holder", options.holder, "With make: who has it, for people");
  command->add_option("--uid", options.uid, "With make: the user whose programs run there")
      ->check(whole_number(0));
  command->add_option("--gpu", options.gpu, "With make: only on the GPU with this index")
      ->check(whole_number(0));
  command->add_option("--start", options.start, "With make: only at this memory slice")
      ->check(whole_number(0));
  command
      ->add_option("--wait", options.wait_s,
                   "Seconds to wait: with make for room, with release for processes to end")
      ->default_str("0")
      ->check(whole_number(0));
  add_daemon(*command, options);
}

}  // namespace cleave::cli
