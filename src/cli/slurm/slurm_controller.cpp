// `cleave slurm controller`: keeps the counts that Slurm sees, and in cluster mode the order of
// what waits.

#include <chrono>
#include <thread>

#include "base/format.hpp"
#include "base/json.hpp"
#include "cli/interrupts.hpp"
#include "cli/slurm/controller_lease.hpp"
#include "cli/slurm/slurm_commands.hpp"
#include "cli/slurm/slurm_tools.hpp"
#include "engine/scheduler.hpp"

namespace cleave::cli {

namespace {

struct SlurmControllerCommandOptions {
  SlurmReach reach;
  std::string mode = "node", scheduler{default_scheduler}, template_nodes = "cleave-template[1-4]";
  std::string lease;
  double period_s = 1, lease_s = 30, patience_s = 60;
  bool once = false, dry_run = false, json = false;
};

Instant wall_time() {
  return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
}

std::chrono::nanoseconds steady_time() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

std::chrono::nanoseconds nanoseconds(double seconds) {
  return std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
}

ControllerSettings settings_of(const SlurmControllerCommandOptions& options) {
  ControllerSettings settings;
  settings.mode = options.mode == "cluster" ? SlurmMode::cluster : SlurmMode::node;
  settings.counts.template_nodes = settings.cluster.template_nodes = options.template_nodes;
  settings.cluster.scheduler = options.scheduler;
  settings.cluster.patience = nanoseconds(options.patience_s);
  return settings;
}

/// Looks as Slurm does, and does nothing.
class DryPort final : public SlurmPort {
 public:
  explicit DryPort(SlurmPort& real) : real_(&real) {}
  [[nodiscard]] Result<SlurmSight> look() override { return real_->look(); }
  [[nodiscard]] Result<void> set_counts(const NodeUpdate&) override { return {}; }
  [[nodiscard]] Result<void> release(const ReleasedJob&) override { return {}; }
  [[nodiscard]] Result<void> gate(const GatedJob&) override { return {}; }
  [[nodiscard]] Result<void> hurry(std::int64_t) override { return {}; }
  [[nodiscard]] Result<void> unhold(std::int64_t) override { return {}; }
  [[nodiscard]] Result<void> requeue(const std::string&) override { return {}; }
  [[nodiscard]] Result<std::vector<AccountedEnd>> ends(
      const std::vector<const SlurmJob*>& jobs) override {
    return real_->ends(jobs);
  }
  [[nodiscard]] Result<void> mark_ended(const AccountedEnd&) override { return {}; }
  [[nodiscard]] Result<void> ask_to_register(const std::string&) override { return {}; }
  [[nodiscard]] Result<void> give_back(const ClaimLeft&) override { return {}; }

 private:
  SlurmPort* real_;
};

Json to_json(const ControllerRound& round, double took_s) {
  Json updates = Json::array(), released = Json::array(), gated = Json::array(),
       ended = Json::array(), given_back = Json::array();
  for (const auto* each : {&round.counts.updates, &round.cluster.updates})
    for (const NodeUpdate& update : *each)
      updates.push_back({{"node", update.node}, {"gres", gres_text(update.counts)}});
  for (const ReleasedJob& job : round.cluster.released)
    released.push_back({{"job", job.shown}, {"nodes", job.nodes}, {"comment", job.comment}});
  for (const GatedJob& job : round.cluster.gated)
    gated.push_back({{"job", job.shown}, {"why", job.why}});
  for (const AccountedEnd& end : round.ended)
    ended.push_back({{"job", end.job}, {"status", end.status}});
  for (const ClaimLeft& claim : round.given_back)
    given_back.push_back({{"node", claim.node}, {"claim", claim.key}});
  Json json{{"updates", updates},
            {"released", released},
            {"gated", gated},
            {"ended", ended},
            {"registered", round.registered},
            {"given_back", given_back},
            {"unheld", round.unheld},
            {"waiting", round.cluster.waiting},
            {"trouble", round.trouble},
            {"seconds", took_s}};
  if (round.counts.kept)
    json["kept"] = {{"job", round.counts.kept->job}, {"node", round.counts.kept->node}};
  return json;
}

void tell(const ControllerRound& round, double took_s,
          const SlurmControllerCommandOptions& options) {
  if (options.json) {
    print(to_json(round, took_s));
    return;
  }
  for (const std::string& trouble : round.trouble) fmt::print(stderr, "{}\n", trouble);
  for (const auto* each : {&round.counts.updates, &round.cluster.updates})
    for (const NodeUpdate& update : *each)
      fmt::print("{} {}\n", update.node, gres_text(update.counts));
  for (const ReleasedJob& job : round.cluster.released)
    fmt::print("job {} to {}\n", job.shown, job.nodes);
  for (const GatedJob& job : round.cluster.gated)
    fmt::print("job {} waits again: {}\n", job.shown, job.why);
  for (const AccountedEnd& end : round.ended)
    fmt::print("job {} has ended, which Slurm had forgotten\n", end.job);
  for (const std::string& node : round.registered)
    fmt::print("node {} is to say which jobs it has\n", node);
  for (const ClaimLeft& claim : round.given_back)
    fmt::print("claim {} on {} was left and is given back\n", claim.key, claim.node);
  for (const std::int64_t job : round.unheld)
    fmt::print("job {} is held no more: its nodes have enough\n", job);
  std::fflush(stdout);
}

/// One round, by a controller that may act; whether Slurm answered.
bool serve(SlurmPort& port, const SlurmControllerCommandOptions& options, ControllerMemory& memory,
           const std::function<bool()>& may_act) {
  const auto begun = steady_time();
  const auto round = run_round(port, settings_of(options), memory, wall_time(), may_act);
  if (!round) {
    fmt::print(stderr, "{}\n", round.error().text());
    return false;
  }
  tell(*round, std::chrono::duration<double>(steady_time() - begun).count(), options);
  return true;
}

void rest(const SlurmControllerCommandOptions& options) {
  const auto until = steady_time() + nanoseconds(options.period_s);
  while (Interrupts::came() == 0 && steady_time() < until)
    std::this_thread::sleep_for(std::min(until - steady_time() + std::chrono::nanoseconds(1),
                                         std::chrono::nanoseconds(std::chrono::milliseconds(50))));
}

Result<int> controller(const SlurmControllerCommandOptions& options) {
  if (const auto spec = parse_scheduler(options.scheduler); !spec)
    return fail_at("--scheduler", spec.error());
  if (options.lease_s < 2.5 * static_cast<double>(options.reach.deadline.count()))
    return fail(ErrorKind::bad_usage, "--lease-lasts", "a round's commands may outlast it",
                fmt::format("give it at least {} s",
                            2.5 * static_cast<double>(options.reach.deadline.count())));
  SlurmTools tools(options.reach);
  DryPort dry(tools);
  SlurmPort& port = options.dry_run ? static_cast<SlurmPort&>(dry) : tools;
  ControllerMemory memory;
  const std::function<bool()> always = [] { return true; };
  if (options.once || options.dry_run) return serve(port, options, memory, always) ? 0 : 1;
  if (options.lease.empty())
    return fail(ErrorKind::bad_usage, "--lease", "a controller that goes on needs a lease",
                "name a folder that all machines with a controller share");
  const Interrupts interrupts(Interrupts::Waiting::ends);
  ControllerLease lease(options.lease, controller_name(), nanoseconds(options.lease_s), steady_time,
                        controller_is_gone);
  for (bool first = true, had = false; Interrupts::came() == 0; first = false) {
    const auto has = lease.keep();
    if (!has && first) return std::unexpected(has.error());
    if (!has) fmt::print(stderr, "{}\n", has.error().text());
    const bool now = has && *has;
    if (now != had || first)
      fmt::print(stderr, "{} has the lease\n",
                 now ? fmt::format("this controller, number {},", lease.number()) : lease.owner());
    had = now;
    if (now) serve(port, options, memory, [&] { return lease.may_act(); });
    rest(options);
  }
  lease.leave();
  return 0;
}

}  // namespace

void add_slurm_controller(CommandLine& group, Run& run) {
  const auto [command, options] = add_command(
      group, run, "controller", "Keep the counts that Slurm sees true, and order what waits",
      "cleave slurm controller --mode cluster --lease /shared/slurm/cleave", controller);
  command
      ->add_option("--mode", options.mode,
                   "node: Slurm chooses the node by counts; cluster: Cleave decides node and time")
      ->check(Check::one_of({"node", "cluster"}))
      ->default_str("node");
  command
      ->add_option("--lease", options.lease,
                   "A folder that all machines with a controller share, for the lease")
      ->check(not_empty());
  command
      ->add_option("--lease-lasts", options.lease_s,
                   "Seconds without a sign until a backup takes over")
      ->check(number_from(1, 3600))
      ->default_str("30");
  command->add_option("--period", options.period_s, "Seconds between two rounds")
      ->check(number_from(0.05, 3600))
      ->default_str("1");
  command
      ->add_option("--patience", options.patience_s,
                   "Seconds in which Slurm must start a job that was released")
      ->check(number_from(1, 86400))
      ->default_str("60");
  command->add_option("--scheduler", options.scheduler, "Scheduler of cluster mode")
      ->default_str(options.scheduler);
  command
      ->add_option("--template", options.template_nodes,
                   "Nodes that have every profile and never run a job")
      ->default_str(options.template_nodes);
  command->add_flag("--once", options.once, "One round, without a lease");
  command->add_flag("--dry-run", options.dry_run, "One round that changes nothing");
  add_reach(*command, options.reach);
  add_json(*command, options.json);
}

}  // namespace cleave::cli
