#include "figures.hpp"

#include <algorithm>

namespace cleave::plans {

namespace {

bool overlap(const Instance& a, const Instance& b) {
  return a.start < b.end() && b.start < a.end();
}

/// Whether an instance that exists now cannot exist beside one of the goal.
bool gives_way(const GpuModel& model, const Instance& existing, const Instance& wanted) {
  return existing != wanted && !unlawful(model, {existing, wanted}).empty();
}

bool holds_work_now(const Scene& scene, std::size_t gpu) {
  return std::ranges::any_of(scene.works,
                             [&](const Work& work) { return work.now && work.now->gpu == gpu; });
}

}  // namespace

std::array<std::string_view, objectives> objective_names(Task task) {
  if (task == Task::reconfigure)
    return {"pending_memory_slices", "gpus", "wasted_slices", "previously_used_gpus",
            "migration_memory_slices"};
  return {"pending_memory_slices", "gpus", "wasted_slices", "migration_memory_slices",
          "repartitioned_gpus"};
}

Objectives share(const Scene& scene, std::size_t gpu, std::span<const Holder> holders) {
  const Gpu& here = scene.gpus[gpu];
  std::int64_t wasted = 0, migrated = 0;
  const auto add_waste = [&](const Instance& instance) {
    const Spoiled waste = spoiled(*here.model, instance);
    wasted += waste.memory + waste.compute;
  };
  for (const Instance& wall : here.walls) add_waste(wall);
  bool repartitioned = false;
  for (const auto& [work, instance] : holders) {
    add_waste(instance);
    const std::optional<Position>& now = scene.works[work].now;
    if (now && *now != Position{gpu, instance}) migrated += now->instance.profile->memory.value;
    for (const Instance& existing : here.ours)
      repartitioned |= gives_way(*here.model, existing, instance);
  }
  const bool used = !holders.empty() || !here.walls.empty();
  if (scene.task == Task::reconfigure) {
    const bool again = !holders.empty() && holds_work_now(scene, gpu);
    return {0, used ? 1 : 0, wasted, again ? 1 : 0, migrated};
  }
  return {0, used ? 1 : 0, wasted, migrated, repartitioned ? 1 : 0};
}

Objectives value(const Scene& scene, const Seats& seats) {
  Objectives sum{};
  std::vector<std::vector<Holder>> holders(scene.gpus.size());
  for (std::size_t i = 0; i < seats.size(); ++i) {
    if (seats[i])
      holders[seats[i]->gpu].emplace_back(i, seats[i]->instance);
    else
      sum[0] += scene.works[i].least_memory;
    if (!seats[i] && scene.works[i].now)
      sum[migrated_slices(scene.task)] += scene.works[i].now->instance.profile->memory.value;
  }
  for (std::size_t gpu = 0; gpu < holders.size(); ++gpu) {
    const Objectives part = share(scene, gpu, holders[gpu]);
    for (std::size_t i = 0; i < objectives; ++i) sum[i] += part[i];
  }
  return sum;
}

namespace {

/// Sums over the GPUs in use.
struct Held {
  std::int64_t memory = 0, memory_of = 0, compute = 0, compute_of = 0;
};

void add_gpu(const Gpu& gpu, const std::vector<Instance>& standing, Metrics& sum, Held& held) {
  sum.availability += gpu.model->compute.value;
  if (standing.empty()) return;
  ++sum.gpus;
  held.memory_of += gpu.model->memory_slices.value;
  held.compute_of += gpu.model->compute.value;
  for (const Instance& instance : standing) {
    const Spoiled waste = spoiled(*gpu.model, instance);
    sum.memory_wastage += waste.memory;
    sum.compute_wastage += waste.compute;
    sum.availability -= blocked_compute(*gpu.model, instance);
    held.memory += instance.profile->memory.value;
    held.compute += instance.profile->compute.value;
  }
}

/// Whether work now runs on slices that the seat takes.
bool in_use_now(const Scene& scene, const Position& seat) {
  return std::ranges::any_of(scene.works, [&](const Work& work) {
    return work.now && work.now->gpu == seat.gpu && overlap(work.now->instance, seat.instance);
  });
}

}  // namespace

Metrics metrics(const Scene& scene, const Seats& seats) {
  Metrics sum;
  Held held;
  std::vector<std::vector<Instance>> standing;
  for (const Gpu& gpu : scene.gpus) standing.push_back(gpu.walls);
  for (std::size_t i = 0; i < seats.size(); ++i) {
    const Work& work = scene.works[i];
    if (!seats[i]) {
      sum.pending_size += work.least_memory;
      sum.availability -= work.least_table_slices;
      continue;
    }
    standing[seats[i]->gpu].push_back(seats[i]->instance);
    if (!work.now || work.now == seats[i]) continue;
    if (work.now->gpu == seats[i]->gpu) {
      ++sum.moved_inside_gpu;
      continue;
    }
    sum.migration_size += work.now->instance.profile->memory.value;
    sum.sequential_migrations += in_use_now(scene, *seats[i]) ? 1 : 0;
  }
  for (std::size_t gpu = 0; gpu < standing.size(); ++gpu)
    add_gpu(scene.gpus[gpu], standing[gpu], sum, held);
  if (sum.gpus > 0) {
    sum.memory_utilization = Ratio(held.memory, held.memory_of);
    sum.compute_utilization = Ratio(held.compute, held.compute_of);
  }
  return sum;
}

}  // namespace cleave::plans
