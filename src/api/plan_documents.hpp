#pragma once
// Plans over the daemon's socket: what may be planned with, what an operator hands in, and what has
// become of it. An order is also the content of a plan file, and is read strictly.

#include <string>
#include <vector>

#include "base/json_fwd.hpp"
#include "base/result.hpp"
#include "model/fleet_file.hpp"
#include "model/live_plan.hpp"

namespace cleave {

/// A GPU of the fleet that the daemon shows.
struct ApiFleetGpu {
  std::string name, uuid;
  friend bool operator==(const ApiFleetGpu&, const ApiFleetGpu&) = default;
};
/// A job that runs there.
struct ApiFleetWork {
  std::string workload;  // its name in the fleet
  std::int64_t job = 0;
  std::string what;  // "replica 2 of job 12"
  std::string way;   // a word of moves, perhaps one of a later daemon
  Duration saves{}, starts{};
  friend bool operator==(const ApiFleetWork&, const ApiFleetWork&) = default;
};
/// How long instances take to be made or destroyed on this node.
struct ApiChangeTimes {
  std::int64_t count = 0;
  double factor = 1;
  friend bool operator==(const ApiChangeTimes&, const ApiChangeTimes&) = default;
};
/// What may be planned with.
struct ApiFleet {
  std::vector<ApiFleetGpu> gpus;
  std::vector<ApiFleetWork> work;
  std::optional<ApiChangeTimes> creates, destroys;  // empty: none was seen yet
  friend bool operator==(const ApiFleet&, const ApiFleet&) = default;
};

/// With the fleet under "fleet", as docs/formats.md has it.
[[nodiscard]] Json to_json(const ApiFleet& fleet, const FleetFile& file);
[[nodiscard]] Result<ApiFleet> read_fleet(const Json& document, const std::string& place);

[[nodiscard]] Json to_json(const PlanOrder& order);
[[nodiscard]] Result<PlanOrder> read_plan_order(const Json& document, const std::string& place);

[[nodiscard]] Json to_json(const LivePlan& plan);
[[nodiscard]] Result<LivePlan> read_live_plan(const Json& document, const std::string& place);
/// Of {"plans": [...]}.
[[nodiscard]] Result<std::vector<LivePlan>> read_live_plans(const Json& document,
                                                            const std::string& place);

template <>
inline constexpr auto fields_of<ApiFleetGpu> = std::tuple{
    field("name", &ApiFleetGpu::name, {.help = "Its name in the fleet", .needed = true}),
    field("uuid", &ApiFleetGpu::uuid, {.help = "UUID", .needed = true}),
};
template <>
inline constexpr std::string_view schema_of<ApiFleetGpu> = "FleetGpu";

template <>
inline constexpr auto fields_of<ApiFleetWork> = std::tuple{
    field("workload", &ApiFleetWork::workload, {.help = "Its name in the fleet", .needed = true}),
    field("job", &ApiFleetWork::job,
          {.help = "Number of the job; of a further replica of a service its own",
           .least = 1,
           .needed = true}),
    field("what", &ApiFleetWork::what, {.help = "The same in words"}),
    field("way", &ApiFleetWork::way,
          {.help = "How it may be moved: not at all, by a replica that takes over, or by saving "
                   "its work and starting again",
           .words = move_way_names}),
    field("saves_s", &ApiFleetWork::saves,
          {.help = "How long it has at most to save its work and end", .least = 0}),
    field("starts_s", &ApiFleetWork::starts,
          {.help = "How long it takes to start, as its latest start did", .least = 0}),
};
template <>
inline constexpr std::string_view schema_of<ApiFleetWork> = "FleetWork";

template <>
inline constexpr auto fields_of<ApiChangeTimes> = std::tuple{
    field("count", &ApiChangeTimes::count,
          {.help = "Number of the latest changes that count", .least = 0, .needed = true}),
    field("factor", &ApiChangeTimes::factor,
          {.help = "Median of how long they took, as a multiple of what the planner's law expects",
           .needed = true}),
};
template <>
inline constexpr std::string_view schema_of<ApiChangeTimes> = "ChangeTimes";

template <>
inline constexpr auto fields_of<ApiFleet> = std::tuple{
    field("gpus", &ApiFleet::gpus, {.help = "The GPUs that take work"}),
    field("work", &ApiFleet::work, {.help = "The jobs that run on them"}),
    field("creates", &ApiFleet::creates,
          {.help = "How long instances take to be made here, as was seen"}),
    field("destroys", &ApiFleet::destroys,
          {.help = "How long instances take to be destroyed here, as was seen"}),
};

}  // namespace cleave
