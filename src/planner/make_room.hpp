#pragma once
// Room for one piece of work that fits by size and not by position: which running work moves, and
// where to, with the fewest moves. Each piece moves once at most, to another place of the same
// profile on a GPU of the same model, and never before that place is free: so that a second copy
// may take over.
//
// The search tries one move, then two, and so on; so what it finds has the fewest moves of all such
// plans. Its effort is counted in places looked at and limited, which gives the same answer on
// every machine. Where the limit ends it, `fewest` is what was proven until then.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/time.hpp"
#include "model/geometry.hpp"

namespace cleave {

/// Work that runs on an instance.
struct RoomWork {
  PlacementId placement = 0;
  bool movable = false;
  Duration interrupted{};  // by a move, for nothing else is done meanwhile
  Duration takes{};        // a move, until its old place is free
  std::int64_t name = 0;   // the caller's
};

/// A GPU that takes work. Idle instances of ours are not said: they make room by themselves.
struct RoomGpu {
  std::size_t kind = 0;  // index into the geometries
  PlacementSet walls;    // instances that must stay, whatever is on them
  std::vector<RoomWork> works;
};

/// What is to have a place: one of these placements, by GPU model; or a GPU with nothing on it, of
/// a model for which there are any.
struct RoomAsk {
  std::vector<PlacementSet> candidates;
  bool whole = false;
};

/// A place by the numbers of the problem.
struct RoomPlace {
  std::size_t gpu = 0;
  PlacementId placement = 0;
  friend bool operator==(const RoomPlace&, const RoomPlace&) = default;
};

/// One piece of work moves. Those of one wave may move at the same time.
struct RoomMove {
  std::int64_t wave = 1;
  std::size_t work = 0;  // index into the works of `from.gpu`
  RoomPlace from, to;
};

/// The room that was found.
struct RoomPlan {
  RoomPlace place;  // of a whole GPU: its first candidate
  std::vector<RoomMove> moves;
  Duration interrupted{};  // the sum over all moves
  Duration takes{};        // until the place is free: the longest move of each wave
};

/// How far a search goes.
struct RoomLimits {
  std::size_t moves = 6;        // in one plan
  std::size_t effort = 50'000;  // places and GPUs looked at
};

/// What came of it.
struct RoomFound {
  std::optional<RoomPlan> plan;
  std::size_t fewest = 0;  // no plan has fewer moves
  bool all_seen = true;    // the effort was enough to say so of every number up to the limit
};

/// Whether it has a place without any move.
[[nodiscard]] bool has_room(std::span<const Geometry* const> geometries,
                            std::span<const RoomGpu> gpus, const RoomAsk& ask);

/// The plan of the fewest moves; of several such, one that interrupts least.
[[nodiscard]] RoomFound make_room(std::span<const Geometry* const> geometries,
                                  std::span<const RoomGpu> gpus, const RoomAsk& ask,
                                  const RoomLimits& limits = {});

}  // namespace cleave
