#pragma once
// A planning problem read a second time: from the fleet's JSON text into plain facts, with nothing
// of the planner's. What plans are checked against, and what the exhaustive search looks through.
// Slow and obvious on purpose. Of the program only the tables of GPU models are used, and none of
// its rules of coexistence.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "model/gpu_model.hpp"

namespace cleave::plans {

enum class Task { deploy, compact, reconfigure, joint };
inline constexpr Task tasks[] = {Task::deploy, Task::compact, Task::reconfigure, Task::joint};
std::string_view name(Task task);

/// What is asked, beside the fleet.
struct Question {
  std::string fleet;  // JSON text
  Task task = Task::deploy;
  std::optional<std::int64_t> max_migrations, max_moved_mib;
  bool may_evict = false;  // running work may end up pending, unless it must stay
};

struct Instance {
  const Profile* profile;
  int start;  // memory slice
  friend bool operator==(const Instance&, const Instance&) = default;
  [[nodiscard]] int end() const { return start + profile->memory.value; }
};

struct Position {
  std::size_t gpu;
  Instance instance;
  friend bool operator==(const Position&, const Position&) = default;
};

struct Gpu {
  std::string name;
  const GpuModel* model;
  std::size_t node;
  std::vector<Instance> walls;  // must stay and are no work of the problem
  std::vector<Instance> ours;   // exist now and may go: idle ones, and those of running work
};

struct Work {
  std::string name;
  std::optional<Position> now;  // where it runs; empty: it waits
  bool stays = false;
  std::vector<std::vector<const Profile*>>
      wanted;                 // for each GPU, the profiles that it may have there
  std::vector<bool> allowed;  // for each GPU, whether pin and forbid let it be there
  std::optional<std::size_t> group;
  std::int64_t moved_mib = 0;  // what a migration carries
  int least_memory = 0;        // memory slices of its smallest possible instance
  int least_table_slices =
      0;  // the fewest GPU slices of a possible instance, in the paper's table 1
};

struct Group {
  std::string name;
  bool over_nodes = false;
  std::optional<std::int64_t> max_moving;  // the least that a member says
};

struct Scene {
  Task task = Task::deploy;
  std::optional<std::int64_t> max_migrations, max_moved_mib;
  bool may_evict = false;
  std::vector<Gpu> gpus;
  std::vector<std::string> nodes;
  std::vector<Work> works;  // those that run, as written; then for deploy and joint those that wait
  std::vector<Group> groups;

  [[nodiscard]] bool may_pend(const Work& work) const {
    return !work.now || (may_evict && !work.stays);
  }
  /// GPU or node: what only one of the group may be in.
  [[nodiscard]] std::size_t domain(std::size_t group, std::size_t gpu) const {
    return groups[group].over_nodes ? gpus[gpu].node : gpu;
  }
};

/// Fails where the fleet is not one that plans can be made for.
[[nodiscard]] Result<Scene> read_scene(const Question& question);

/// Where each work is to be; empty: pending.
using Seats = std::vector<std::optional<Position>>;
/// Everything where it is now.
Seats seats_of_now(const Scene& scene);

/// Whether the GPU's compute slices lie beside its memory slices, so that an instance blocks them
/// by position; elsewhere they are a budget.
bool by_position(const GpuModel& model);
/// Compute slices that nobody else can have while this instance stands.
int blocked_compute(const GpuModel& model, const Instance& instance);
/// What an instance spoils beside what it takes.
struct Spoiled {
  int memory = 0, compute = 0;
};
Spoiled spoiled(const GpuModel& model, const Instance& instance);

/// Why these instances cannot stand on one GPU of the model; empty: they can.
std::string unlawful(const GpuModel& model, const std::vector<Instance>& instances);

/// Everything that is wrong with the seats: laws of the GPUs, constraints and limits.
std::vector<std::string> faults(const Scene& scene, const Seats& seats);

}  // namespace cleave::plans
