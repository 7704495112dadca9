#pragma once
// The door to Slurm and to the daemons of the nodes, in the words of a round. The real one runs
// Slurm's tools (cli/slurm/slurm_tools.hpp); the double (slurm_double.hpp) is a cluster in memory.

#include <functional>
#include <map>

#include "slurm/cluster_round.hpp"
#include "slurm/held_jobs.hpp"
#include "slurm/lost_ends.hpp"
#include "slurm/node_repair.hpp"

namespace cleave {

/// What a controller may ask and do. Every call may take seconds and may fail.
class SlurmPort {
 public:
  virtual ~SlurmPort() = default;
  /// Nodes first, then jobs, then the nodes' daemons: a job that starts meanwhile is then seen as
  /// started without an instance, or by its instance, and never as room.
  [[nodiscard]] virtual Result<SlurmSight> look() = 0;
  [[nodiscard]] virtual Result<void> set_counts(const NodeUpdate& update) = 0;
  [[nodiscard]] virtual Result<void> release(const ReleasedJob& job) = 0;
  [[nodiscard]] virtual Result<void> gate(const GatedJob& job) = 0;
  /// Slurm may start it now.
  [[nodiscard]] virtual Result<void> hurry(std::int64_t job) = 0;
  /// Slurm holds it no more.
  [[nodiscard]] virtual Result<void> unhold(std::int64_t job) = 0;
  /// The job is stopped and waits again.
  [[nodiscard]] virtual Result<void> requeue(const std::string& shown) = 0;
  /// Runs of these jobs that have ended, by the accounting.
  [[nodiscard]] virtual Result<std::vector<AccountedEnd>> ends(
      const std::vector<const SlurmJob*>& jobs) = 0;
  /// Tells Slurm what it has forgotten.
  [[nodiscard]] virtual Result<void> mark_ended(const AccountedEnd& end) = 0;
  /// The node says anew which jobs are there, and a drain of it ends.
  [[nodiscard]] virtual Result<void> ask_to_register(const std::string& node) = 0;
  /// The node's daemon ends the claim; its instances are free when no process is there.
  [[nodiscard]] virtual Result<void> give_back(const ClaimLeft& claim) = 0;
};

/// The ways in which a cluster is driven.
enum class SlurmMode : std::uint8_t { node, cluster };

/// One look, and what follows from it.
struct ControllerRound {
  CountRound counts;                    // in node mode
  ClusterRound cluster;                 // in cluster mode
  std::vector<AccountedEnd> ended;      // that Slurm had forgotten
  std::vector<std::string> registered;  // nodes that were asked what is there
  std::vector<ClaimLeft> given_back;
  std::vector<std::int64_t> unheld;  // jobs that Slurm held for counts that have changed
  std::size_t done = 0;              // updates, releases and gates that Slurm took
  std::vector<std::string> trouble;
};

/// What a controller keeps between rounds: tables, and what it need not do twice.
struct ControllerMemory {
  CountLaws laws;
  std::map<std::string, Instant> registered;  // nodes, and when they were last asked to
  std::map<ClaimLeft, Instant> left;          // and since when it looks so
  HeldMemory held;
};

/// How a controller is to decide.
struct ControllerSettings {
  SlurmMode mode = SlurmMode::node;
  CountRules counts = {};
  ClusterRules cluster = {};
};

/// Looks, decides and does. `may_act` is asked before each effect: a controller that has lost its
/// lease does nothing more. Fails where Slurm does not answer.
[[nodiscard]] Result<ControllerRound> run_round(SlurmPort& port, const ControllerSettings& settings,
                                                ControllerMemory& memory, Instant now,
                                                const std::function<bool()>& may_act);

}  // namespace cleave
