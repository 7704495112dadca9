#pragma once
// Fleets for the planner's tests: written by hand, or drawn at random.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/format.hpp"
#include "base/random.hpp"
#include "planner/problem.hpp"

namespace cleave::testing_fleets {

/// A fleet file with the problem that refers to it.
struct Made {
  std::unique_ptr<FleetFile> file;
  PlanProblem problem;
};

inline Made make(FleetFile file, ProblemKind kind) {
  auto kept = std::make_unique<FleetFile>(std::move(file));
  auto problem = PlanProblem::make(*kept, kind, "test");
  if (!problem) throw std::runtime_error(problem.error().text());
  return {std::move(kept), std::move(*problem)};
}

/// "w1 4g.40gb@0, w2 1g.10gb@6!": workloads on one GPU; "!" marks work that must stay, the name "-"
/// an instance that is not ours.
inline GpuEntry gpu(const Geometry& geometry, std::size_t number, std::size_t kind,
                    std::string_view text) {
  GpuEntry entry{fmt::format("n{}/{}", number / 8, number % 8), kind, {}};
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(", "), text.size());
    std::string_view one = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 2, text.size()));
    InstanceEntry instance;
    instance.movable = !one.ends_with('!');
    if (!instance.movable) one.remove_suffix(1);
    const std::size_t space = one.find(' '), at = one.find('@');
    instance.placement = *geometry.find(one.substr(space + 1, at - space - 1),
                                        std::stoi(std::string(one.substr(at + 1))));
    if (one.starts_with('-'))
      instance.owned = false;
    else
      instance.workload = std::string(one.substr(0, space));
    entry.instances.push_back(std::move(instance));
  }
  return entry;
}

/// GPUs of one model. `waiting`: "w9 2g.20gb" each.
inline FleetFile fleet(std::string_view model, const std::vector<std::string_view>& gpus,
                       const std::vector<std::string_view>& waiting = {}) {
  FleetFile file;
  const GpuModel& found = **find_gpu_model(model);
  file.geometries.emplace_back(found, ProfileChoice().on(found));
  for (const std::string_view text : gpus)
    file.gpus.push_back(gpu(file.geometries[0], file.gpus.size(), 0, text));
  for (const std::string_view text : waiting) {
    const std::size_t space = text.find(' ');
    file.waiting.push_back({std::string(text.substr(0, space)),
                            {ByProfile{std::string(text.substr(space + 1))}, {}},
                            {}});
  }
  return file;
}

/// The parameters of a random fleet.
struct Draw {
  std::vector<std::string_view> models;
  std::string_view profiles = "plain";
  std::size_t gpus = 8;
  std::size_t waiting = 10;
  bool walls = false;        // some instances are not ours, some are idle, some work must stay
  bool constraints = false;  // pins, forbidden GPUs and groups
};

namespace detail {

inline Constraints constraints(Random& random, std::size_t gpus) {
  const auto any_gpu = [&] {
    const std::uint64_t number = random.below(gpus);
    return fmt::format("n{}/{}", number / 8, number % 8);
  };
  Constraints drawn;
  switch (random.below(8)) {
    case 0:
      drawn.pin = any_gpu();
      break;
    case 1:
      drawn.pin = fmt::format("n{}", random.below((gpus + 7) / 8));
      break;
    case 2:
      drawn.forbid = {any_gpu(), any_gpu()};
      break;
    case 3:
      drawn.group = fmt::format("group{}", random.below(3));
      break;
    case 4:
      drawn.group = "spread";
      drawn.spread_over_nodes = true;
      break;
    default:
      break;
  }
  return drawn;
}

inline PlacementId any(Random& random, PlacementSet from) {
  for (std::uint64_t skip = random.below(static_cast<std::uint64_t>(from.size())); skip > 0; --skip)
    from.erase(from.first());
  return from.first();
}

inline GpuEntry filled(Random& random, const Draw& draw, const Geometry& geometry,
                       std::size_t number, std::size_t kind, int& named) {
  GpuEntry entry{fmt::format("n{}/{}", number / 8, number % 8), kind, {}};
  if (random.below(10) < 4) return entry;
  PlacementSet taken;
  for (std::uint64_t left = 1 + random.below(5); left > 0 && !geometry.free(taken).empty();
       --left) {
    InstanceEntry instance;
    instance.placement = any(random, geometry.free(taken));
    taken.insert(instance.placement);
    const std::uint64_t what = draw.walls ? random.below(10) : 9;
    // Names are not in the order of places, since one method sorts by them.
    if (what > 1) instance.workload = fmt::format("w{}", ++named * 7919 % 10007);
    instance.owned = what != 0;
    instance.movable = what > 3;
    if (draw.constraints && instance.movable && instance.workload)
      instance.constraints = constraints(random, draw.gpus);
    entry.instances.push_back(std::move(instance));
  }
  return entry;
}

}  // namespace detail

inline FleetFile fleet(Random& random, const Draw& draw) {
  FleetFile file;
  const auto profiles = ProfileChoice::parse(draw.profiles);
  for (const std::string_view name : draw.models) {
    const GpuModel& model = **find_gpu_model(name);
    file.geometries.emplace_back(model, profiles->on(model));
  }
  int named = 0;
  for (std::size_t i = 0; i < draw.gpus; ++i) {
    const std::size_t kind = random.below(draw.models.size());
    file.gpus.push_back(detail::filled(random, draw, file.geometries[kind], i, kind, named));
  }
  for (std::size_t i = 0; i < draw.waiting; ++i) {
    // Only of models that the fleet has GPUs of.
    const Geometry& geometry = file.geometries[file.gpus[random.below(draw.gpus)].geometry];
    const Profile& profile = *geometry[detail::any(random, geometry.all())].profile;
    WaitingEntry entry{fmt::format("w{}", ++named * 7919 % 10007), {}, {}};
    if (random.below(4) == 0 && profile.usable)
      entry.request.wanted = BySize{*profile.usable, {0}};
    else
      entry.request.wanted = ByProfile{std::string(profile.name)};
    if (draw.constraints) entry.constraints = detail::constraints(random, draw.gpus);
    file.waiting.push_back(std::move(entry));
  }
  return file;
}

}  // namespace cleave::testing_fleets
