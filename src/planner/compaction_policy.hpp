#pragma once
// Which plan to begin now so that a waiting job gets room, if any (docs/planner.md, By policy). The
// one decision for the simulator and the daemon: pure, of the fleet as it is, the jobs that wait,
// the time of day, and which jobs were moved when.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/compaction_rules.hpp"
#include "planner/make_room.hpp"

namespace cleave {

/// When jobs were moved, by their numbers, as far as a policy needs to know.
class MoveHistory {
 public:
  void note(std::int64_t job, Instant at) { moves_[job].push_back(at); }
  /// Whether another move at this time stays within the limit.
  [[nodiscard]] bool may_move(std::int64_t job, const CompactionRules& rules, Instant now) const;
  /// Drops what is older than any limit looks back.
  void forget(const CompactionRules& rules, Instant now);

 private:
  std::map<std::int64_t, std::vector<Instant>> moves_;
};

/// A job that waits and has no room.
struct CompactionWaiting {
  std::int64_t job = 0;
  Instant since{};  // it waits
  RoomAsk ask;
  /// When the scheduler expects to start it, where it keeps a place for it.
  std::optional<Instant> expected = {};
};

/// All that the decision goes by.
struct CompactionScene {
  std::vector<const Geometry*> geometries;
  std::vector<RoomGpu> gpus;  // RoomWork::name is the job's number
  /// When jobs that run are expected to end; those that are not in it may run for ever.
  std::map<std::int64_t, Instant> ends;
  std::vector<CompactionWaiting> waiting;  // in the order of the queue
  /// No job may begin before one that is ahead of it: only the first is planned for.
  bool in_order = false;
  Instant now{};
  Duration since_midnight{};
};

/// A plan to begin, and what is expected of it.
struct CompactionPlan {
  std::int64_t job = 0;  // that is to have the room
  RoomPlan room;
  std::size_t fewest = 0;  // no plan has fewer moves
  Duration saved{};        // of its wait
  Instant room_at{};       // when it is to have its place
};

/// The decision.
struct CompactionDecision {
  std::optional<CompactionPlan> plan;
  std::string why_not;  // in words, of the first job that has waited long enough
  /// When it may come out otherwise although nothing has happened; empty: then never.
  std::optional<Instant> look_again;
};

[[nodiscard]] CompactionDecision decide_compaction(const CompactionRules& rules,
                                                   const CompactionScene& scene,
                                                   const MoveHistory& history,
                                                   const RoomLimits& limits = {});

}  // namespace cleave
