#pragma once
// A cluster in memory behind the controller's door: nodes with GPUs, jobs that come, start by
// counts alone as Slurm starts them, and end; and daemons that put an instance where they like. It
// breaks every promise that it can: within what it was told, Slurm takes jobs in any order, and a
// node takes any place. For tests and benchmarks.

#include <map>

#include "base/random.hpp"
#include "slurm/slurm_port.hpp"

namespace cleave {

/// Which place a node gives an instance.
enum class DoublePlacing : std::uint8_t {
  anywhere,
  /// The place of the same profile that was left last; else where no instance that was left has to
  /// go, or those that were left first.
  where_left
};

/// Nodes with GPUs of one model, and jobs.
class SlurmDouble final : public SlurmPort {
 public:
  struct Size {
    std::size_t nodes = 3, gpus = 4;  // GPUs of each node
    std::string model = "A100-40GB";
    std::int64_t cpus = 64;  // of each node
  };
  SlurmDouble(const Size& size, std::uint64_t seed);

  // The controller's side.
  [[nodiscard]] Result<SlurmSight> look() override;
  [[nodiscard]] Result<void> set_counts(const NodeUpdate& update) override;
  [[nodiscard]] Result<void> release(const ReleasedJob& job) override;
  [[nodiscard]] Result<void> gate(const GatedJob& job) override;
  [[nodiscard]] Result<void> hurry(std::int64_t job) override;
  [[nodiscard]] Result<void> unhold(std::int64_t job) override;
  [[nodiscard]] Result<void> requeue(const std::string& shown) override;
  [[nodiscard]] Result<void> requeue(std::int64_t job);
  [[nodiscard]] Result<std::vector<AccountedEnd>> ends(
      const std::vector<const SlurmJob*>& jobs) override;
  [[nodiscard]] Result<void> mark_ended(const AccountedEnd& end) override;
  [[nodiscard]] Result<void> ask_to_register(const std::string& node) override;
  [[nodiscard]] Result<void> give_back(const ClaimLeft& claim) override;

  // The users' side.

  /// `gated`: as the submit plugin of cluster mode leaves it.
  std::int64_t submit(const GresCounts& asks, bool gated, std::int64_t priority = 1000,
                      std::int64_t nodes = 1);
  /// Slurm starts what its counts allow, by priority or, with `wild`, any of it in any order.
  void schedule(bool wild = false);
  /// Jobs that have started get their instances: where the mark says, or anywhere. A node without
  /// room puts the job back in the queue, which is counted.
  void prolog();
  void end(std::int64_t job);
  /// The job ends, and slurmctld is killed before it has saved that.
  void forget_end(std::int64_t job);
  /// Each running job ends with this probability.
  void end_some(double share);
  /// Nodes and daemons as they are, to change them.
  [[nodiscard]] SlurmSight& world() { return world_; }
  void at(Instant now) { now_ = now; }

  [[nodiscard]] std::size_t put_back() const { return put_back_; }
  [[nodiscard]] std::size_t started() const { return started_; }
  [[nodiscard]] std::size_t waiting() const;
  [[nodiscard]] const SlurmJob* find(std::int64_t job) const;
  [[nodiscard]] Random& random() { return random_; }
  [[nodiscard]] const std::shared_ptr<const StateGraph>& graph() const { return graph_; }
  DoublePlacing placing = DoublePlacing::anywhere;
  /// Called before each look, so that tests can have things happen between effects.
  std::function<void()> meanwhile;

 private:
  [[nodiscard]] SlurmJob* job(std::int64_t number);
  bool try_start(SlurmJob& job);
  bool make(NodeReport& node, const SlurmJob& job);
  bool make_one(NodeReport& node, const SlurmJob& job, const std::string& profile,
                const MarkedPlace* place);
  void free_counts(const SlurmJob& job);
  /// A place of one node: the GPU in its report, and the placement.
  using Place = std::pair<std::size_t, PlacementId>;
  [[nodiscard]] std::vector<Place> free_places(const NodeReport& node,
                                               const std::string& profile) const;
  /// What is better than the others of `places`, by `placing`.
  [[nodiscard]] std::vector<Place> preferred(const NodeReport& node,
                                             std::vector<Place> places) const;

  std::shared_ptr<const StateGraph> graph_;
  SlurmSight world_;
  std::map<std::string, std::size_t> node_at_;
  std::map<std::string, std::vector<Place>> left_;  // by node, the last at the end
  std::vector<AccountedEnd> accounted_;
  Random random_;
  Instant now_{std::chrono::seconds{1'764'000'000}};
  std::int64_t next_ = 1;
  std::size_t put_back_ = 0, started_ = 0;
};

}  // namespace cleave
