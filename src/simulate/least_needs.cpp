#include "simulate/least_needs.hpp"

#include <algorithm>
#include <cmath>

#include "placement/gang_room.hpp"
#include "simulate/processes.hpp"

namespace cleave {

namespace {

/// `of_profile` and `of_gpu` say what an instance and a whole GPU hold of it.
FleetResource resource(const Fleet& fleet, const auto& of_profile, const auto& of_gpu) {
  FleetResource resource;
  for (const auto& graph : fleet.graphs()) {
    const GpuModel& model = graph->geometry().model();
    std::vector<double>& held = resource.held.emplace_back();
    for (const Profile& profile : model.profiles) held.push_back(of_profile(model, profile));
    held.push_back(of_gpu(model));
  }
  for (const GpuState& gpu : fleet.gpus()) resource.all += resource.held[gpu.kind].back();
  return resource;
}

}  // namespace

LeastNeeds::LeastNeeds(const Workload& workload, const Fleet& fleet, const Speeds& speeds)
    : workload_(&workload), fleet_(&fleet), speeds_(&speeds), by_speed_(workload.speeds.size()) {
  const auto compute = [](const GpuModel&, const Profile& profile) {
    return static_cast<double>(profile.compute.value);
  };
  const auto memory = [](const GpuModel&, const Profile& profile) {
    return static_cast<double>(profile.memory.value);
  };
  const auto all_compute = [](const GpuModel& model) {
    return static_cast<double>(model.compute.value);
  };
  const auto all_memory = [](const GpuModel& model) {
    return static_cast<double>(model.memory_slices.value);
  };
  const auto share_of = [](const auto& part, const auto& all) {
    return [part, all](const GpuModel& model, const Profile& profile) {
      return part(model, profile) / all(model);
    };
  };
  const auto one = [](const GpuModel&) { return 1.0; };
  resources_ = {resource(fleet, compute, all_compute), resource(fleet, memory, all_memory)};
  if (fleet.graphs().size() == 1) return;
  resources_.push_back(resource(fleet, share_of(compute, all_compute), one));
  resources_.push_back(resource(fleet, share_of(memory, all_memory), one));
}

bool LeastNeeds::holds(const Job& job, std::optional<MiB> usable) const {
  const auto* size = std::get_if<BySize>(&workload_->requests[job.request].wanted);
  return size == nullptr || !usable || size->memory <= *usable ||
         speeds_->host_memory(job, usable).has_value();
}

LeastNeeds::Needs LeastNeeds::work_out(const Job& job) const {
  Needs needs;
  needs.least.assign(resources_.size(), 0);
  const bool whole = asks_for_whole(workload_->requests[job.request]);
  const auto runs = [&](double speed, std::size_t kind, std::size_t column) {
    if (!(speed > 0)) return;
    const bool first = needs.shortest < 0;
    const double time = 1 / speed;
    needs.shortest = first ? time : std::min(needs.shortest, time);
    for (std::size_t r = 0; r < resources_.size(); ++r) {
      const double held = resources_[r].held[kind][column] * time;
      needs.least[r] = first ? held : std::min(needs.least[r], held);
    }
  };
  for (std::size_t kind = 0; kind < fleet_->graphs().size(); ++kind) {
    const Geometry& geometry = fleet_->graphs()[kind]->geometry();
    for (const Profile* profile : geometry.profile_list()) {
      const auto column = static_cast<std::size_t>(profile - geometry.model().profiles.data());
      if (!whole && holds(job, profile->usable))
        runs(speeds_->on(job, kind, column).relative, kind, column);
    }
    if (holds(job, geometry.model().largest().usable))
      runs(speeds_->on(job, kind, Speeds::whole_gpu).relative, kind,
           geometry.model().profiles.size());
  }
  return needs;
}

const LeastNeeds::Needs& LeastNeeds::needs_of(const Job& job) const {
  const Request& request = workload_->requests[job.request];
  if (!std::holds_alternative<BySize>(request.wanted) && !asks_for_whole(request)) {
    std::optional<Needs>& known = by_speed_[job.speed];
    if (!known) known = work_out(job);
    return *known;
  }
  const std::uint64_t key = std::uint64_t{job.speed} << 32U | job.request;
  const auto known = by_speed_and_request_.find(key);
  return known != by_speed_and_request_.end()
             ? known->second
             : by_speed_and_request_.emplace(key, work_out(job)).first->second;
}

std::optional<Duration> LeastNeeds::shortest(const Job& job) const {
  const Needs& needs = needs_of(job);
  if (needs.shortest < 0) return std::nullopt;
  constexpr auto longest = static_cast<double>(longest_duration.count());
  const double ns = static_cast<double>(job.duration.count()) * needs.shortest;
  return Duration{std::llround(std::min(ns, 2 * longest))};
}

double LeastNeeds::least(const Job& job, std::size_t resource) const {
  return places_of(*workload_, job) * in_seconds(job.duration) * needs_of(job).least[resource];
}

}  // namespace cleave
