// `cleave health [SIGN]`: what the daemon does about each sign of a GPU's health, and from where
// that is known.

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "cli/columns.hpp"
#include "cli/command.hpp"
#include "cli/say.hpp"
#include "model/health_facts.hpp"

namespace cleave::cli {

namespace {

struct HealthCommandOptions {
  std::string sign;
  bool json = false;
};

std::string none_as_dash(std::string_view text) {
  return text.empty() ? "-" : std::string(text);
}

const Columns<HealthFact> columns = {
    {"sign", "sign", [](const HealthFact& fact) { return name(fact); }},
    {"what", "what it is", &HealthFact::what},
    {"reaction", "reaction", [](const HealthFact& fact) { return name(fact.reaction); }},
    {"without_instance", json_only,
     [](const HealthFact& fact) { return name(fact.without_instance); }},
    {"left_to_recovery_action", json_only, &HealthFact::deferred},
    {"stops_jobs", "stops jobs", &HealthFact::stops_jobs},
    {"cure", "good again after", [](const HealthFact& fact) { return in_words(fact.cure); },
     [](const HealthFact& fact) { return none_as_dash(in_words(fact.cure)); }},
    {"why", json_only, &HealthFact::why},
    {"source", "from", &HealthFact::source},
};

void explain(const HealthFact& fact) {
  say("{}\n    reaction: {}\n", in_words(fact), name(fact.reaction));
  if (fact.without_instance != fact.reaction)
    say("    where the driver names no instance: {}\n", name(fact.without_instance));
  if (fact.deferred)
    say("    where the driver tells a recovery action: {}; the action decides about the GPU\n",
        name(HealthReaction::requeue_job));
  say("    why: {}\n", fact.why);
  if (fact.stops_jobs) say("    jobs there are stopped\n");
  if (fact.cure != HealthCure::nothing) say("    good again after: {}\n", in_words(fact.cure));
  for (const HealthSource& source : health_sources())
    if (source.key == fact.source)
      say("    from: {}{}{}\n", source.title, source.address.empty() ? "" : ", ", source.address);
}

Result<int> show(const HealthCommandOptions& options) {
  std::vector<HealthFact> rows(health_facts().begin(), health_facts().end());
  if (!options.sign.empty()) {
    const HealthFact* wanted = find_health_fact(options.sign);
    if (wanted == nullptr)
      return fail(
          ErrorKind::bad_input, "SIGN",
          fmt::format("there is no row '{}'; Xids without one are only said", shown(options.sign)),
          "`cleave health` lists all");
    rows = {*wanted};
  }
  if (options.json) {
    print(Json{{"signs", json_rows(columns, rows)}});
  } else if (!options.sign.empty()) {
    explain(rows.front());
  } else {
    say("{}", text_rows(columns, rows));
  }
  return 0;
}

}  // namespace

void add_health(CommandLine& program, Run& run) {
  const auto [command, options] =
      add_command(program, run, "health",
                  "What the daemon does about each Xid, memory error and recovery action",
                  "cleave health xid-94", show);
  command->add_option("SIGN", options.sign, "Only this one, with its reasons");
  add_json(*command, options.json);
}

}  // namespace cleave::cli
