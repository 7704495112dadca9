#pragma once
// A planning problem read a second time: from the fleet's JSON text into plain facts, without any
// of the planner's code. Plans are checked against it, and the exhaustive search uses it. Slow and
// obvious on purpose. Of the program only the tables of GPU models are used, and none of its rules
// of coexistence.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "model/gpu_model.hpp"

namespace cleave::plans {

/// The four planning problems.
enum class Task { deploy, compact, reconfigure, joint };
inline constexpr Task tasks[] = {Task::deploy, Task::compact, Task::reconfigure, Task::joint};
std::string_view name(Task task);

/// The question, beside the fleet.
struct Question {
  std::string fleet;  // JSON text
  Task task = Task::deploy;
  std::optional<std::int64_t> max_migrations, max_moved_mib;
  bool may_evict = false;  // running work may end up pending, unless it must stay
};

/// A profile at a start.
struct Instance {
  const Profile* profile;
  int start;  // memory slice
  friend bool operator==(const Instance&, const Instance&) = default;
  [[nodiscard]] int end() const { return start + profile->memory.value; }
};

/// An instance on a GPU.
struct Position {
  std::size_t gpu;
  Instance instance;
  friend bool operator==(const Position&, const Position&) = default;
};

/// One GPU, without the work of the problem.
struct Gpu {
  std::string name;
  const GpuModel* model;
  std::size_t node;
  std::vector<Instance> walls;  // must stay and are not work of the problem
  std::vector<Instance> ours;   // exist now and may go: idle ones, and those of running work
};

/// A workload, running or waiting.
struct Work {
  std::string name;
  std::optional<Position> now;  // where it runs; empty: it waits
  bool stays = false;
  /// For each GPU, the profiles that it may have there.
  std::vector<std::vector<const Profile*>> wanted;
  std::vector<bool> allowed;  // for each GPU, whether pin and forbid allow it there
  std::optional<std::size_t> group;
  std::int64_t moved_mib = 0;  // what a migration transfers
  int least_memory = 0;        // memory slices of its smallest possible instance
  /// The fewest GPU slices of a possible instance, in the paper's table 1.
  int least_table_slices = 0;
};

/// Works that must be kept apart.
struct Group {
  std::string name;
  bool over_nodes = false;
  std::optional<std::int64_t> max_moving;  // the smallest value of its members
};

/// The whole problem.
struct Scene {
  Task task = Task::deploy;
  std::optional<std::int64_t> max_migrations, max_moved_mib;
  bool may_evict = false;
  std::vector<Gpu> gpus;
  std::vector<std::string> nodes;
  /// Running ones in the order of the file; then, for deploy and joint, the waiting ones.
  std::vector<Work> works;
  std::vector<Group> groups;

  [[nodiscard]] bool may_pend(const Work& work) const {
    return !work.now || (may_evict && !work.stays);
  }
  /// The GPU or node that only one member of the group may use.
  [[nodiscard]] std::size_t domain(std::size_t group, std::size_t gpu) const {
    return groups[group].over_nodes ? gpus[gpu].node : gpu;
  }
};

/// Fails if the fleet is not a valid planning problem.
[[nodiscard]] Result<Scene> read_scene(const Question& question);

/// The place of each work; empty: pending.
using Seats = std::vector<std::optional<Position>>;
/// The present state.
Seats seats_of_now(const Scene& scene);

/// Whether the GPU's compute slices lie beside its memory slices, so that an instance blocks them
/// by position; elsewhere they are a budget.
bool by_position(const GpuModel& model);
/// Compute slices that are unavailable while this instance exists.
int blocked_compute(const GpuModel& model, const Instance& instance);
/// What an instance wastes in addition to what it takes.
struct Spoiled {
  int memory = 0, compute = 0;
};
Spoiled spoiled(const GpuModel& model, const Instance& instance);

/// Why these instances cannot coexist on one GPU of the model; empty: they can.
std::string unlawful(const GpuModel& model, const std::vector<Instance>& instances);

/// Everything that is wrong with the seats: laws of the GPUs, constraints and limits.
std::vector<std::string> faults(const Scene& scene, const Seats& seats);

}  // namespace cleave::plans
