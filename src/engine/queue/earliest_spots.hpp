#pragma once
// For each request the spot that is free for it earliest, without looking at every GPU: what one
// GPU has to offer changes only when a job starts or leaves there, when the GPU comes or goes, and
// when an end that was expected passes. A tournament over the GPUs keeps the best, and when the
// next of them changes by the passing of time. It is made when a request is first asked for, and
// told what has changed since when it is asked for again.
//
// The order of spots is that of served_queue.hpp: the earliest, where no time is known the one in
// whose way fewest slices are, the smaller, the lower.

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "engine/queue/holders.hpp"

namespace cleave {

/// How a spot ranks; smaller is better.
struct SpotRank {
  Instant from;        // not before `now`
  int in_the_way = 0;  // memory slices, where `from` is `never`
  int slices = 0;      // the spot's own
  Spot spot;
  friend auto operator<=>(const SpotRank&, const SpotRank&) = default;
};

/// The tournaments of a fleet, by request.
class EarliestSpots {
 public:
  /// Every spot of the GPU that this request may have one day.
  using RoomOf = std::function<Room(GpuId, RequestId)>;

  /// `holders` must outlive this.
  explicit EarliestSpots(const Holders& holders) : holders_(&holders) {}

  /// A job started, moved or left there, or the GPU's room is another one.
  void changed(GpuId gpu);
  /// The best spot of all GPUs but those for which `left_out` says so.
  [[nodiscard]] std::optional<SpotRank> best(RequestId request, Instant now, const RoomOf& room,
                                             const std::function<bool(GpuId)>& left_out);

  /// Of one GPU by itself: the definition.
  static std::optional<SpotRank> best_on(const Holders& holders, GpuId gpu, const Room& room,
                                         Instant now);

 private:
  /// What one GPU offers; the times are those of `looked_at`.
  struct Entry {
    std::optional<SpotRank> best;
    Instant changes = never;  // by the passing of time
  };
  struct Tournament {
    std::size_t leaves = 0;             // a power of two
    std::vector<Entry> entries;         // by GPU
    std::vector<std::uint32_t> winner;  // by node, 1 is the root; the GPU
    std::vector<Instant> changes;       // by node
    std::size_t told = 0;               // of the log
  };
  static constexpr std::uint32_t no_gpu = 0xffffffff;

  void look_at(Tournament& of, std::size_t gpu, RequestId request, Instant now,
               const RoomOf& room) const;
  void replay(Tournament& of, std::size_t node) const;
  void make(Tournament& of, RequestId request, Instant now, const RoomOf& room) const;
  void catch_up(Tournament& of, RequestId request, Instant now, const RoomOf& room) const;
  [[nodiscard]] static bool better(const Tournament& of, std::uint32_t a, std::uint32_t b);

  const Holders* holders_;
  std::vector<std::unique_ptr<Tournament>> by_request_;
  std::vector<GpuId> log_;  // GPUs that changed
};

}  // namespace cleave
