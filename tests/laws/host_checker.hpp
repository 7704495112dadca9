#pragma once
// Checks that no node ever gives out more CPUs or memory of its host than it has. It sees the
// events of a run and keeps its own account, from the fleet file and the workload alone: who has
// how much of which node, from when and until when. It shares nothing with the engine nor the
// simulator, not even how a share is worked out.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/fleet_file.hpp"
#include "model/job.hpp"
#include "simulate/run_observer.hpp"

namespace cleave::laws {

/// The hosts of one run.
class HostChecker final : public RunObserver {
 public:
  HostChecker(const FleetFile& fleet, const Workload& workload);

  void on(const RunEvent& event) override;

  /// The first violations, in words.
  [[nodiscard]] const std::vector<std::string>& violations() const { return violations_; }
  /// Starts and moves that were checked, and the most that any host gave out, as a share.
  [[nodiscard]] std::size_t checked() const { return checked_; }
  [[nodiscard]] double fullest() const { return fullest_; }

 private:
  /// A process on a node.
  struct Holding {
    JobId job{};
    std::uint32_t rank = 0;
    GpuId gpu{};
    std::optional<PlacementId> placement;
    bool shared = false;
    Instant from{};
    std::optional<Instant> until;
  };
  /// A host. Nothing said: as much as is wanted.
  struct Host {
    std::optional<double> cpus, memory;
    double compute_slices = 0, memory_slices = 0;
    std::vector<Holding> holdings;
  };

  void enter(const RunEvent& event);
  void leave(const RunEvent& event, Instant until);
  void check(const RunEvent& event, Host& host);
  [[nodiscard]] double given(const Host& host, Instant at, bool cpus) const;
  [[nodiscard]] double part(const Host& host, const Holding& holding, bool cpus) const;

  const FleetFile& fleet_;
  const Workload& workload_;
  std::map<std::string, Host, std::less<>> hosts_;
  std::vector<std::string> violations_;
  std::size_t checked_ = 0;
  double fullest_ = 0;
};

}  // namespace cleave::laws
