#pragma once
// The real door to Slurm: its command line tools, each with a deadline, and the daemons of the
// nodes over their sockets.

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/client.hpp"
#include "cli/command.hpp"
#include "slurm/slurm_port.hpp"

namespace cleave::cli {

/// How Slurm and the nodes are reached: the options of every `cleave slurm` command.
struct SlurmReach {
  /// %n is the node's name. The socket of a daemon elsewhere is brought here by ssh -L.
  std::string sockets;
  std::chrono::seconds deadline{10};  // of each tool
};
void add_reach(CommandLine& command, SlurmReach& reach);

/// Runs a tool of Slurm's to its end, or until the deadline.
[[nodiscard]] Result<std::string> run_tool(const SlurmReach& reach,
                                           const std::vector<std::string>& command);

/// What a node's daemon says, from its answers about GPUs and claims.
[[nodiscard]] Result<NodeReport> read_node_report(const std::string& node, const Json& gpus,
                                                  const Json& claims);

/// Slurm, by scontrol and squeue.
class SlurmTools final : public SlurmPort {
 public:
  explicit SlurmTools(SlurmReach reach) : reach_(std::move(reach)) {}
  [[nodiscard]] Result<SlurmSight> look() override;
  [[nodiscard]] Result<void> set_counts(const NodeUpdate& update) override;
  [[nodiscard]] Result<void> release(const ReleasedJob& job) override;
  [[nodiscard]] Result<void> gate(const GatedJob& job) override;
  [[nodiscard]] Result<void> hurry(std::int64_t job) override;
  [[nodiscard]] Result<void> unhold(std::int64_t job) override;
  [[nodiscard]] Result<void> requeue(const std::string& shown) override;
  [[nodiscard]] Result<std::vector<AccountedEnd>> ends(
      const std::vector<const SlurmJob*>& jobs) override;
  [[nodiscard]] Result<void> mark_ended(const AccountedEnd& end) override;
  [[nodiscard]] Result<void> ask_to_register(const std::string& node) override;
  [[nodiscard]] Result<void> give_back(const ClaimLeft& claim) override;

 private:
  void ask_daemons(SlurmSight& sight);
  [[nodiscard]] Result<NodeReport> ask_daemon(const std::string& node);
  [[nodiscard]] Result<void> update(const std::vector<std::string>& words);

  [[nodiscard]] std::optional<Instant> ask_begun();

  SlurmReach reach_;
  std::chrono::steady_clock::time_point asked_{};  // when slurmctld began
  std::optional<Instant> begun_;
  std::map<std::string, std::unique_ptr<ApiClient>> daemons_;  // by node; kept between looks
};

}  // namespace cleave::cli
