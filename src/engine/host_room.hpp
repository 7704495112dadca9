#pragma once
// The room that the hosts of nodes have for jobs: their CPUs and their memory, where a fleet limits
// them. The one place in which that is counted for all schedulers.
//
// The engine tells what its jobs ask for and when they leave; what starts, moves and stops is read
// from the commands as the scheduler appends them. So a scheduler that asks whether a job may start
// hears of all that it has started before, and keeps no account of its own: it asks, and starts or
// moves no job where the answer is no.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/queue/spot.hpp"
#include "model/event.hpp"
#include "model/host_share.hpp"
#include "placement/fleet.hpp"
#include "placement/request_table.hpp"

namespace cleave {

/// What jobs have of each host, and what is left.
class HostRoom {
 public:
  /// `requests` must outlive it; of the fleet only models and nodes matter.
  HostRoom(const Fleet& fleet, const RequestTable& requests);

  // What the engine tells.

  /// The job, or process, asks for this from now on.
  void asks(JobId job, RequestId request);
  /// What is appended to these from now on happens in this order.
  void follow(const std::vector<Command>& commands);
  /// No more is appended.
  void unfollow();
  /// It runs already.
  void adopt(const Adopted& adopted);
  /// Nothing where it does not run.
  void leave(JobId job);
  /// All that run on the GPU are gone, or those that run on the spot.
  void gone(GpuId gpu);
  void gone(Spot spot);

  // What schedulers ask.

  /// What a job with this request gets there.
  [[nodiscard]] HostAmount amount(RequestId request, Spot spot) const;
  /// Whether it may start there now; `own` runs, and leaves its place for this.
  [[nodiscard]] bool takes(RequestId request, Spot spot, std::optional<JobId> own = {});
  /// Those of the placements where it may.
  [[nodiscard]] PlacementSet taking(RequestId request, GpuId gpu, PlacementSet among,
                                    std::optional<JobId> own = {});
  /// Whether the host would hold it if nothing else ran.
  [[nodiscard]] bool could_hold(RequestId request, Spot spot) const;
  /// The same of the smallest place there is, whichever GPU of the node.
  [[nodiscard]] bool could_hold(RequestId request, GpuId gpu) const;
  /// How many times a host has room for an amount of which it has so much left.
  [[nodiscard]] static std::uint32_t times(const HostNode& node, const HostAmount& left,
                                           const HostAmount& each);

  [[nodiscard]] std::uint32_t node(GpuId gpu) const { return node_of_[index(gpu)]; }
  [[nodiscard]] const HostNode& host(std::uint32_t node) const { return nodes_[node]; }
  /// Less than nothing where adopted jobs have more than there is. Of what is not limited, the
  /// amount says nothing.
  [[nodiscard]] HostAmount left(std::uint32_t node);
  /// The amount that this job has; nothing where it does not run.
  [[nodiscard]] HostAmount has(JobId job);
  /// The jobs that have something of the node.
  [[nodiscard]] const std::vector<JobId>& jobs_on(std::uint32_t node);

  /// Another number after each change of what jobs have.
  [[nodiscard]] std::uint64_t version() {
    catch_up();
    return version_;
  }

  /// Why no node could ever hold it: "no node has 64 CPUs".
  [[nodiscard]] std::string why_never(RequestId request) const;
  /// Why it waits, where no host that could hold it has room for it now; empty: some has. The
  /// scheduler may give whole GPUs, whatever is asked for.
  [[nodiscard]] std::string why_waits(RequestId request, bool whole_gpus);

 private:
  /// A job that runs, and what it has.
  struct Charge {
    bool runs = false;
    bool shares = false;  // its instance, with others that were started so
    Spot spot;
    HostAmount own;  // but for what its instance gives to all that share it
  };
  /// Those on a shared instance that have said nothing, of CPUs and of memory: they have its share
  /// together.
  struct Sharers {
    std::uint32_t of_cpus = 0, of_memory = 0;
  };

  void catch_up();
  void read(const Command& command);
  void start(JobId job, Spot spot, bool shares);
  /// As leave(), of what has been read: commands that follow are not looked at before this one is
  /// done.
  void drop(JobId job);
  [[nodiscard]] HostSlices slices(Spot spot) const;
  [[nodiscard]] const HostAsk& asked(RequestId request) const {
    return (*requests_)[request].request.host;
  }
  /// What `job` adds to its instance's share, or takes from it.
  void share(JobId job, Spot spot, bool enters);

  const RequestTable* requests_;
  std::vector<HostNode> nodes_;
  std::vector<std::uint32_t> node_of_;        // by GPU
  std::vector<std::uint16_t> kind_of_;        // by GPU
  std::vector<const Geometry*> geometry_of_;  // by GPU
  std::vector<std::shared_ptr<const StateGraph>> graphs_;
  std::vector<HostAmount> used_;             // by node
  std::vector<std::vector<JobId>> jobs_on_;  // by node
  std::vector<RequestId> request_of_;        // by job
  std::vector<Charge> charges_;              // by job
  std::map<std::pair<GpuId, PlacementId>, Sharers> sharers_;
  const std::vector<Command>* commands_ = nullptr;
  std::size_t read_ = 0;  // of those
  std::uint64_t version_ = 0;
};

}  // namespace cleave
