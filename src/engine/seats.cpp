#include "engine/seats.hpp"

#include <algorithm>
#include <cassert>

namespace cleave {

JobId Seats::at(GpuId gpu, PlacementId placement) const {
  for (const JobId job : on(gpu))
    if (seats_[index(job)].placement == placement) return job;
  assert(false);
  return {};
}

void Seats::clear_way(GpuId gpu, PlacementId placement, std::vector<Command>& commands) {
  const GpuState& state = fleet_[gpu];
  for (const PlacementId idle : fleet_.destroys(state, placement))
    commands.push_back(DestroyInstance{gpu, idle});
  if (!state.idle.contains(placement)) commands.push_back(CreateInstance{gpu, placement});
}

void Seats::start(Waiting job, GpuId gpu, PlacementId placement, std::vector<Command>& commands) {
  clear_way(gpu, placement, commands);
  commands.push_back(StartJob{job.job, gpu, placement});
  fleet_.hold(gpu, placement);
  if (seats_.size() <= index(job.job)) seats_.resize(index(job.job) + 1);
  seats_[index(job.job)] = {gpu, placement, job.request, true};
  by_gpu_[index(gpu)].push_back(job.job);
}

Seat Seats::leave(JobId job) {
  Seat& seat = seats_[index(job)];
  assert(seat.taken);
  seat.taken = false;
  fleet_.release(seat.gpu, seat.placement);
  std::erase(by_gpu_[index(seat.gpu)], job);
  return seat;
}

void Seats::migrate(JobId job, GpuId gpu, PlacementId placement, std::vector<Command>& commands) {
  clear_way(gpu, placement, commands);
  commands.push_back(MigrateJob{job, gpu, placement});
  fleet_.hold(gpu, placement);
  const Seat old = leave(job);
  seats_[index(job)] = {gpu, placement, old.request, true};
  by_gpu_[index(gpu)].push_back(job);
}

void Seats::create(GpuId gpu, PlacementId placement, std::vector<Command>& commands) {
  clear_way(gpu, placement, commands);
  if (fleet_[gpu].idle.contains(placement)) return;
  fleet_.hold(gpu, placement);
  fleet_.release(gpu, placement);
}

void Seats::destroy(GpuId gpu, PlacementId placement, std::vector<Command>& commands) {
  commands.push_back(DestroyInstance{gpu, placement});
  fleet_.destroy_idle(gpu, placement);
}

std::vector<Waiting> Seats::lose(GpuId gpu) {
  std::vector<Waiting> homeless;
  for (const JobId job : on(gpu)) {
    seats_[index(job)].taken = false;
    homeless.push_back({job, seats_[index(job)].request});
  }
  by_gpu_[index(gpu)].clear();
  fleet_.withdraw(gpu);
  fleet_.clear(gpu);
  return homeless;
}

}  // namespace cleave
