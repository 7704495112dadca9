#include "engine/seats.hpp"

#include <algorithm>
#include <cassert>

namespace cleave {

namespace {

constexpr auto nobody = static_cast<JobId>(0xffffffff);

}  // namespace

Seats::Seats(const Fleet& fleet) : fleet_(fleet) {
  for (const auto& graph : fleet.graphs())
    width_ = std::max(width_, static_cast<std::size_t>(graph->geometry().size()));
  holders_.assign(fleet.size() * width_, nobody);
}

std::vector<JobId> Seats::on(GpuId gpu) const {
  std::vector<JobId> jobs;
  for (const PlacementId placement : fleet_[gpu].held)
    if (at(gpu, placement) != nobody) jobs.push_back(at(gpu, placement));
  return jobs;
}

void Seats::sit(JobId job, const JobSeat& seat) {
  if (seats_.size() <= index(job)) seats_.resize(index(job) + 1);
  seats_[index(job)] = seat;
  holders_[cell(seat.gpu, seat.placement)] = job;
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
  sit(job.job, {gpu, placement, job.request, true});
}

JobSeat Seats::leave(JobId job) {
  JobSeat& seat = seats_[index(job)];
  assert(seat.taken);
  seat.taken = false;
  fleet_.release(seat.gpu, seat.placement);
  holders_[cell(seat.gpu, seat.placement)] = nobody;
  return seat;
}

void Seats::migrate(JobId job, GpuId gpu, PlacementId placement, std::vector<Command>& commands) {
  clear_way(gpu, placement, commands);
  commands.push_back(MigrateJob{job, gpu, placement});
  fleet_.hold(gpu, placement);
  const JobSeat old = leave(job);
  sit(job, {gpu, placement, old.request, true});
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
    holders_[cell(gpu, seats_[index(job)].placement)] = nobody;
  }
  fleet_.withdraw(gpu);
  fleet_.clear(gpu);
  return homeless;
}

}  // namespace cleave
