#pragma once
// How much room each GPU has for places of one kind, as running jobs leave it, without looking at
// every GPU each time: it changes only where a job starts or leaves, or where the GPU comes or
// goes. Requests for the same kind of place, however many and wherever they lie to each other,
// share it.

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "engine/queue/holders.hpp"
#include "engine/queue/queue_host.hpp"
#include "placement/gang_room.hpp"
#include "placement/request_table.hpp"

namespace cleave {

/// The room for jobs whose places are looked for together.
class GangSpots {
 public:
  /// All must outlive this; of `fleet` only models and nodes matter.
  GangSpots(const Fleet& fleet, const RequestTable& requests, const Holders& holders)
      : fleet_(&fleet),
        requests_(&requests),
        holders_(&holders),
        nodes_(fleet),
        beside_(fleet),
        examples_(fleet.graphs().size()) {
    for (std::size_t i = gpus(); i-- > 0;)
      examples_[fleet[static_cast<GpuId>(i)].kind] = static_cast<GpuId>(i);
  }

  /// A job started, moved or left there, or the GPU's room is another one.
  void changed(GpuId gpu);

  /// Where no running job is in the way.
  [[nodiscard]] const GangRoom& free(RequestId request, QueueHost& host);
  /// By GPU model: every spot that it may have one day on some GPU of it, which takes work or not.
  /// To be asked for after `free`.
  [[nodiscard]] const std::vector<Room>& offered(RequestId request) {
    return kind_of(request).offered;
  }
  /// Some GPU of the model.
  [[nodiscard]] GpuId example(std::size_t kind) const { return examples_[kind]; }

  /// What of the room no running job is in the way of.
  [[nodiscard]] Room free_on(GpuId gpu, Room room) const;
  /// How many of these spots, which nothing is in the way of, can be had at a time, while jobs
  /// hold these.
  [[nodiscard]] int most(GpuId gpu, const Room& spots, PlacementSet held);
  /// Those of the spots after which `more` others can be had.
  [[nodiscard]] Room leaving(GpuId gpu, const Room& spots, PlacementSet held, int more);
  /// All that run on the GPU hold.
  [[nodiscard]] PlacementSet held(GpuId gpu) const;

  /// See least_in_the_way.hpp.
  [[nodiscard]] std::optional<std::vector<Spot>> least_in_the_way(
      const Request& request, const std::function<Room(GpuId)>& room) const;

  [[nodiscard]] const FleetNodes& nodes() const { return nodes_; }
  [[nodiscard]] std::size_t gpus() const { return nodes_.node_of.size(); }

 private:
  /// The room for one kind of place.
  struct Kind {
    Kind(const FleetNodes& nodes, std::size_t models) : room(nodes), offered(models) {}
    GangRoom room;
    std::vector<Room> offered;  // by GPU model
    std::size_t told = 0;       // of the log
  };
  /// What it depends on: whether whole GPUs, candidates and all that hold it on each model, and
  /// what it was found to need, where a host gives what a job does not ask for.
  struct Key {
    bool whole = false;
    std::vector<std::uint32_t> placements;
    std::optional<MiB> at_least;
    friend auto operator<=>(const Key&, const Key&) = default;
  };

  Kind& kind_of(RequestId request);
  void look_at(Kind& kind, GpuId gpu, RequestId request, QueueHost& host);

  const Fleet* fleet_;
  const RequestTable* requests_;
  const Holders* holders_;
  FleetNodes nodes_;
  SideBySide beside_;
  std::vector<GpuId> examples_;  // by GPU model
  std::map<Key, std::unique_ptr<Kind>> kinds_;
  std::vector<Kind*> kind_of_request_;
  std::vector<GpuId> log_;  // GPUs that changed
};

}  // namespace cleave
