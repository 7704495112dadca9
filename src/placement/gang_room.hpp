#pragma once
// Whether a job of several places fits on a fleet at once, and on which GPUs its places go. All
// that counts is how many places of its kind each GPU has room for; sums over nodes, and the
// largest of them, are kept while GPUs change, so that the answer takes no longer on a large fleet.
//
// The places go to as few nodes as possible: to the node with the least room that is enough, or
// else first to the one with most room. Within a node they go to GPUs by the same rule, and where
// each must lie on another GPU, to those with least room. Among equals the lowest is taken.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "model/request.hpp"
#include "placement/fleet.hpp"

namespace cleave {

[[nodiscard]] inline bool asks_for_whole(const Request& request) {
  return std::holds_alternative<WholeGpu>(request.wanted);
}

/// Whether the job's places are looked for together: it has several, or a GPU with MIG off.
[[nodiscard]] inline bool seated_together(const Request& request) {
  return request.places > 1 || asks_for_whole(request);
}

/// The GPUs of each node, and the node of each GPU.
struct FleetNodes {
  explicit FleetNodes(const Fleet& fleet);

  std::vector<std::uint32_t> node_of;    // by GPU
  std::vector<std::vector<GpuId>> gpus;  // by node
};

/// How many placements of a set can exist at a time, beside what is there; each worked out once.
class SideBySide {
 public:
  explicit SideBySide(const Fleet& fleet) : graphs_(&fleet.graphs()), known_(graphs_->size()) {}

  /// On a GPU of this model; each of `spots` must be free beside `occupied`.
  [[nodiscard]] int most(std::size_t kind, PlacementSet spots, PlacementSet occupied);
  /// Those of `spots` beside each of which `more` others of them can exist.
  [[nodiscard]] PlacementSet leaving(std::size_t kind, PlacementSet spots, PlacementSet occupied,
                                     int more);

 private:
  const std::vector<std::shared_ptr<const StateGraph>>* graphs_;
  std::vector<std::unordered_map<std::uint64_t, int>> known_;  // by GPU model
};

/// How many places each GPU has room for.
class GangRoom {
 public:
  /// None anywhere; `nodes` must outlive this.
  explicit GangRoom(const FleetNodes& nodes);

  void set(GpuId gpu, int places);
  [[nodiscard]] int on(GpuId gpu) const { return room_[index(gpu)]; }

  [[nodiscard]] bool fits(std::uint32_t places, Together together) const;

  /// So many places on a GPU.
  struct Share {
    GpuId gpu{};
    std::uint32_t places = 0;
    friend bool operator==(const Share&, const Share&) = default;
  };
  /// Where they go, by GPU; they must fit.
  [[nodiscard]] std::vector<Share> choose(std::uint32_t places, Together together) const;

 private:
  /// Numbers that come and go, and the largest of them.
  class Largest {
   public:
    void replace(std::uint32_t before, std::uint32_t after);
    [[nodiscard]] std::uint32_t value() const { return most_; }

   private:
    std::vector<std::uint32_t> count_;  // by number; zeros are not counted
    std::uint32_t most_ = 0;
  };

  const FleetNodes* nodes_;
  std::vector<std::uint8_t> room_;                       // by GPU
  std::vector<std::uint32_t> of_node_, gpus_with_room_;  // by node
  Largest largest_gpu_, largest_node_;
  std::uint64_t total_ = 0, gpus_ = 0;  // gpus_: those with room
};

}  // namespace cleave
