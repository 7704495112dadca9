#pragma once
// A plan that a daemon carries out: which jobs move, from where to where and in which wave, and
// what has become of each. The same record goes over the socket, into the store and through the
// loop.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/record.hpp"
#include "base/time.hpp"

namespace cleave {

/// A place on a GPU, as people and drivers name it: no number of a plan's own.
struct PlannedPlace {
  std::string gpu;  // UUID; in an order also the index
  std::string profile;
  std::int64_t start = 0;
  friend bool operator==(const PlannedPlace&, const PlannedPlace&) = default;
};

/// The name of a job's process in a fleet that a planner reads, and back.
[[nodiscard]] std::string workload_of(std::int64_t job);
[[nodiscard]] std::optional<std::int64_t> job_of_workload(std::string_view name);

/// What has become of a move. The last three are for good.
enum class MovePhase : std::uint8_t {
  open,    // not begun
  moving,  // its place is being made, or the job is on its way
  done,    // the job runs there, and no process of it elsewhere
  over,    // its job has ended: there is nothing to move
  left,    // not moved; why_not says why
};
inline constexpr std::array<std::string_view, 5> move_phase_names = {"open", "moving", "done",
                                                                     "over", "left"};
template <>
inline constexpr std::span<const std::string_view> words_of<MovePhase> = move_phase_names;
constexpr bool is_settled(MovePhase state) {
  return state >= MovePhase::done;
}

/// How a job gets to another place.
enum class MoveWay : std::uint8_t { stays, replica, checkpoint };
inline constexpr std::array<std::string_view, 3> move_way_names = {"stays", "replica",
                                                                   "checkpoint"};
template <>
inline constexpr std::span<const std::string_view> words_of<MoveWay> = move_way_names;

/// One job from one place to another. A job that steps aside first has two moves, in two waves.
struct PlannedMove {
  std::int64_t wave = 1;
  std::int64_t job = 0;  // of a further replica of a service: its own number
  PlannedPlace from, to;
  MovePhase state = MovePhase::open;
  std::string why_not;             // of one that was left
  std::int64_t attempts_then = 0;  // of its job, when the move began
  friend bool operator==(const PlannedMove&, const PlannedMove&) = default;
};

/// What a plan is doing. The last three are for good.
enum class PlanState : std::uint8_t {
  running,
  paused,      // no move begins; what is on its way arrives
  stopping,    // likewise, and then it has stopped
  cancelling,  // likewise, because an operator wants it
  finished,    // every move is done, or its job has ended
  stopped,     // it did not get to its end; why says why
  cancelled,
};
inline constexpr std::array<std::string_view, 7> plan_state_names = {
    "running", "paused", "stopping", "cancelling", "finished", "stopped", "cancelled"};
template <>
inline constexpr std::span<const std::string_view> words_of<PlanState> = plan_state_names;
constexpr bool is_final(PlanState state) {
  return state >= PlanState::finished;
}

/// What an operator hands in; also the content of a plan file.
struct PlanOrder {
  std::string kind;                         // compact, reconfigure, joint, migrate
  Duration within = std::chrono::hours(1);  // how long it may take, and holds its places
  std::vector<PlannedMove> moves;
  std::optional<Duration> expected = {};  // how long it is expected to take
  friend bool operator==(const PlanOrder&, const PlanOrder&) = default;
};

/// The most moves in one plan.
inline constexpr std::int64_t most_moves = 1000;

/// What the policy of compaction expected of a plan that it began.
struct PlanPurpose {
  std::int64_t job = 0;     // that is to have the room
  std::int64_t fewest = 0;  // no plan has fewer moves
  Duration saved{};         // of the job's wait
  Instant room_at{};        // when it is to have its place
  friend bool operator==(const PlanPurpose&, const PlanPurpose&) = default;
};

/// A plan and what has become of it.
struct LivePlan {
  std::int64_t number = 0;  // from 1; none is used again
  std::string kind, by;     // by: the operator, for people
  PlanState state = PlanState::running;
  std::string why;  // in words, why it stopped or is about to
  Instant begun{}, until{};
  std::optional<Duration> expected = {};  // how long it was to take
  std::optional<Instant> ended;
  std::vector<PlannedMove> moves;
  std::vector<std::string> frees;      // UUIDs of the GPUs that are to be empty in the end
  std::optional<PlanPurpose> purpose;  // of one that makes room for a job
  std::optional<bool> served;          // whether that job had its place when the plan had ended
  std::optional<std::int64_t> freed;   // those of them that were, when it ended
  friend bool operator==(const LivePlan&, const LivePlan&) = default;
};

template <>
inline constexpr auto fields_of<PlannedPlace> = std::tuple{
    field("gpu", &PlannedPlace::gpu,
          {.help = "UUID of the GPU; in an order its index too",
           .least = 1,
           .most = 100,
           .needed = true,
           .always_stored = true}),
    field("profile", &PlannedPlace::profile,
          {.help = "Profile of the instance",
           .least = 1,
           .most = 100,
           .needed = true,
           .always_stored = true}),
    field("start", &PlannedPlace::start,
          {.help = "First memory slice of the instance",
           .least = 0,
           .most = 99,
           .needed = true,
           .always_stored = true}),
};
template <>
inline constexpr std::string_view schema_of<PlannedPlace> = "PlannedPlace";

template <>
inline constexpr auto fields_of<PlannedMove> = std::tuple{
    field("wave", &PlannedMove::wave,
          {.help = "Wave in which it moves; waves follow one another",
           .least = 1,
           .most = 1000,
           .needed = true,
           .always_stored = true}),
    field("job", &PlannedMove::job,
          {.help = "Number of the job; of a further replica of a service its own",
           .least = 1,
           .needed = true,
           .always_stored = true}),
    field("from", &PlannedMove::from,
          {.help = "Where it runs", .needed = true, .always_stored = true}),
    field("to", &PlannedMove::to,
          {.help = "Where it is to run", .needed = true, .always_stored = true}),
    field("state", &PlannedMove::state, {.help = "What has become of it"}),
    field("why_not", &PlannedMove::why_not,
          {.help = "Why it was left, in words", .null = NullWhen::empty}),
    field("attempts_then", &PlannedMove::attempts_then, {.least = 0, .use = FieldUse::stored}),
};
template <>
inline constexpr std::string_view schema_of<PlannedMove> = "PlannedMove";

template <>
inline constexpr auto fields_of<PlanOrder> = std::tuple{
    field("kind", &PlanOrder::kind,
          {.help = "What it is for: compact, reconfigure, joint, migrate",
           .least = 1,
           .most = 40,
           .needed = true}),
    field("within_s", &PlanOrder::within,
          {.help = "How long it may take; its places are held for it no longer",
           .least = 1,
           .most = 86400}),
    field("expected_s", &PlanOrder::expected,
          {.help = "How long it is expected to take; shown beside what it took", .least = 0}),
    field("moves", &PlanOrder::moves, {.help = "The moves"}),
};
template <>
inline constexpr std::string_view schema_of<PlanOrder> = "PlanOrder";

template <>
inline constexpr auto fields_of<PlanPurpose> = std::tuple{
    field("job", &PlanPurpose::job,
          {.help = "Number of the job that is to have the room",
           .least = 1,
           .needed = true,
           .always_stored = true}),
    field("fewest", &PlanPurpose::fewest,
          {.help = "The least number of moves that make room for it, as was proven", .least = 0}),
    field("saved_s", &PlanPurpose::saved,
          {.help = "How much shorter its wait was expected to be", .least = 0}),
    field("room_at", &PlanPurpose::room_at,
          {.help = "When it was expected to have its place", .null = NullWhen::never}),
};
template <>
inline constexpr std::string_view schema_of<PlanPurpose> = "PlanPurpose";

template <>
inline constexpr auto fields_of<LivePlan> = std::tuple{
    field("plan", &LivePlan::number,
          {.help = "Its number", .least = 1, .use = FieldUse::wire, .needed = true}),
    field("kind", &LivePlan::kind, {.help = "What it is for"}),
    field("by", &LivePlan::by,
          {.help = "The operator who had it carried out, or compaction policy"}),
    field("state", &LivePlan::state,
          {.help = "What it is doing", .use = FieldUse::wire, .needed = true}),
    field("why", &LivePlan::why,
          {.help = "Why it stopped, or is about to, in words", .null = NullWhen::empty}),
    field("begun_at", &LivePlan::begun, {.help = "When it began", .null = NullWhen::never}),
    field("until", &LivePlan::until,
          {.help = "When it stops at the latest, and holds no place any more",
           .null = NullWhen::never}),
    field("expected_s", &LivePlan::expected,
          {.help = "How long it was expected to take when it was made", .least = 0}),
    field("ended_at", &LivePlan::ended, {.help = "When it ended", .use = FieldUse::wire}),
    field("moves", &LivePlan::moves, {.help = "Its moves, wave by wave"}),
    field("frees", &LivePlan::frees,
          {.help = "UUIDs of the GPUs that have no job in the end, as predicted"}),
    field("freed", &LivePlan::freed,
          {.help = "Number of those that had none when it ended", .least = 0}),
    field("purpose", &LivePlan::purpose,
          {.help = "The job for which the policy of compaction made room, and what it expected"}),
    field("served", &LivePlan::served,
          {.help = "Whether that job had its place when the plan had ended"}),
};
template <>
inline constexpr std::string_view schema_of<LivePlan> = "Plan";

}  // namespace cleave
