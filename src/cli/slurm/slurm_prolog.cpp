// `cleave slurm prolog`: before a job's first step on a node, its instances are made there. It
// never fails, since a failing prolog drains its node. Where there is no room, because the counts
// that Slurm went by were a moment old, a batch job waits again, and an interactive one, which
// Slurm cannot requeue, is told why and ends.

#include <functional>
#include <optional>

#include "base/format.hpp"
#include "cli/daemon/claim_client.hpp"
#include "cli/slurm/slurm_commands.hpp"
#include "cli/slurm/slurm_hooks.hpp"

namespace cleave::cli {

namespace {

using std::chrono::seconds;

/// For processes of an earlier run, which Slurm is ending.
constexpr seconds left_over_patience{20};

/// What becomes of a job that has no instance.
void turn_away(const HookJob& hook, const SlurmJob& job, bool requeue, const std::string& why) {
  const std::string said = comment_text(fmt::format("cleave on {}: {}", hook.node, why));
  (void)ask_slurm({"scontrol", "update", "JobId=" + job.shown, "AdminComment=" + said});
  if (requeue && put_back(job)) return;
  (void)ask_slurm({"scontrol", "notify", job.shown, said});
  (void)ask_slurm({"scancel", job.shown});
}

/// `room`: how long to wait for it, which is only asked where there is none at once.
Result<ApiClaim> claim_for(ApiClient& daemon, const HookOptions& options, const HookJob& hook,
                           const ClaimOrder& order, const std::function<seconds()>& room) {
  const std::string key = slurm_claim_key(hook.number);
  const auto first = make_claim(daemon, key, order, {});
  if (!first && first.error().place == "differs") {
    // The job ran here before, at another place, and its epilog never did.
    (void)release_claim(daemon, key, left_over_patience);
    return make_claim(daemon, key, order, {.room = room()});
  }
  if (first || !(may_have_room_later(first.error()) || daemon.unreachable())) return first;
  // Jobs that have ended without their epilog may be what has the room.
  (void)release_left_over(daemon, options, hook.node);
  return make_claim(daemon, key, order, {.room = room()});
}

Result<void> begin(const HookOptions& given) {
  const auto hook = hook_job();
  if (!hook) return std::unexpected(hook.error());
  const HookOptions options = on_node(given, hook->node);
  remove_note(options, *hook);
  const auto job = look_up_patiently(hook->number, seconds(options.wait_s));
  if (!job) {
    (void)write_note(options, *hook, {{}, job.error().text()});
    return std::unexpected(job.error());
  }
  const ClaimOrder order = claim_order_of(*job, *hook);
  if (order.asks.empty()) return write_note(options, *hook, {{}, {}, job->starts});
  std::optional<bool> known;
  const auto requeues = [&] {
    if (!known) known = job->requeueable && is_batch(hook->number);
    return *known;
  };
  const auto refuse = [&](const Error& why) -> Result<void> {
    (void)write_note(options, *hook, {{}, why.text()});
    turn_away(*hook, *job, requeues(), why.text());
    return std::unexpected(why);
  };
  auto daemon = open_daemon(options);
  if (!daemon) return refuse(daemon.error());
  const auto claim = claim_for(*daemon, options, *hook, order, [&] {
    return seconds(requeues() ? options.batch_wait_s : options.wait_s);
  });
  if (!claim) return refuse(claim.error());
  const auto noted =
      write_note(options, *hook, {claim->environment.visible_devices, {}, job->starts});
  if (noted) return {};
  (void)release_claim(*daemon, slurm_claim_key(hook->number), {});
  return refuse(noted.error());
}

Result<int> prolog(const HookOptions& given) {
  return never_failing("prolog", begin(given));
}

}  // namespace

void add_slurm_prolog(CommandLine& group, Run& run) {
  const auto [command, options] = add_command(
      group, run, "prolog",
      "For Slurm's Prolog on a node: make the instances of a job. Its exit code is always 0",
      "cleave slurm prolog", prolog);
  add_hook_options(*command, options);
  command
      ->add_option("--wait", options.wait_s,
                   "Seconds that an interactive job waits for room before it ends")
      ->default_str("60")
      ->check(whole_number(0));
  command
      ->add_option("--batch-wait", options.batch_wait_s,
                   "Seconds that a batch job waits for room before it is requeued")
      ->default_str("5")
      ->check(whole_number(0));
}

}  // namespace cleave::cli
