#include "engine/seats.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace cleave {

namespace {

constexpr auto nobody = static_cast<JobId>(0xffffffff);

}  // namespace

Seats::Seats(const Fleet& fleet) : fleet_(fleet) {
  for (const auto& graph : fleet.graphs()) {
    const Geometry& geometry = graph->geometry();
    width_ = std::max(width_, static_cast<std::size_t>(geometry.model().memory_slices.value));
    StartSlices& starts = starts_.emplace_back();
    for (const PlacementId id : geometry.all())
      starts[id] = static_cast<std::uint8_t>(geometry[id].start);
  }
  holders_.assign(fleet.size() * width_, nobody);
  absence_.reserve(fleet.size());
  for (const GpuState& gpu : fleet.gpus())
    absence_.push_back(gpu.absent ? static_cast<std::uint8_t>(Absence::withdrawn) : 0);
}

void Seats::set_absent(GpuId gpu, Absence why, bool absent) {
  const auto reason = static_cast<std::uint8_t>(why);
  std::uint8_t& reasons = absence_[index(gpu)];
  reasons = static_cast<std::uint8_t>(absent ? reasons | reason : reasons & ~reason);
  if (fleet_[gpu].absent == (reasons != 0)) return;
  if (reasons != 0) {
    fleet_.withdraw(gpu);
  } else {
    fleet_.restore(gpu);
  }
}

std::vector<JobId> Seats::all_at(GpuId gpu, PlacementId placement) const {
  if (const auto shared = sharers_.find(cell(gpu, placement)); shared != sharers_.end())
    return shared->second;
  if (at(gpu, placement) == nobody) return {};
  return {at(gpu, placement)};
}

std::vector<JobId> Seats::on(GpuId gpu) const {
  std::vector<JobId> jobs;
  for (const PlacementId placement : fleet_[gpu].held)
    for (const JobId job : all_at(gpu, placement)) jobs.push_back(job);
  return jobs;
}

void Seats::sit(Waiting job, GpuId gpu, PlacementId placement) {
  if (seats_.size() <= index(job.job)) seats_.resize(index(job.job) + 1);
  seats_[index(job.job)] = {gpu, placement, job.request, true};
  holders_[cell(gpu, placement)] = job.job;
}

void Seats::sit_whole(Waiting job, GpuId gpu) {
  if (seats_.size() <= index(job.job)) seats_.resize(index(job.job) + 1);
  seats_[index(job.job)] = {gpu, 0, job.request, true, true};
  whole_[gpu] = job.job;
  set_absent(gpu, Absence::whole, true);
}

void Seats::start_whole(Waiting job, GpuId gpu, std::vector<Command>& commands) {
  for (const PlacementId idle : fleet_[gpu].idle) destroy(gpu, idle, commands);
  commands.emplace_back(StartOnWholeGpu{job.job, gpu});
  sit_whole(job, gpu);
}

bool Seats::adopt_whole(const Adopted& adopted) {
  const GpuState& state = fleet_[adopted.gpu];
  if (!(state.held | state.idle | state.walls).empty() || whole_.contains(adopted.gpu))
    return false;
  sit_whole({adopted.job, adopted.request}, adopted.gpu);
  return true;
}

bool Seats::adopt(const Adopted& adopted) {
  if (!adopted.placement || !fleet_[adopted.gpu].idle.contains(*adopted.placement)) return false;
  fleet_.hold(adopted.gpu, *adopted.placement);
  sit({adopted.job, adopted.request}, adopted.gpu, *adopted.placement);
  return true;
}

bool Seats::adopt_shared(const Adopted& adopted) {
  if (!adopted.placement) return false;
  const std::size_t where = cell(adopted.gpu, *adopted.placement);
  const bool held = fleet_[adopted.gpu].held.contains(*adopted.placement);
  if (!held && !adopt(adopted)) return false;
  if (held && !sharers_.contains(where)) return false;
  if (held) sit({adopted.job, adopted.request}, adopted.gpu, *adopted.placement);
  sharers_[where].push_back(adopted.job);
  return true;
}

std::vector<Waiting> Seats::hear(const InstanceGone& gone) {
  std::vector<Waiting> homeless;
  if (!gone.placement) {
    if (const auto whole = whole_.find(gone.gpu); whole != whole_.end()) {
      const JobId job = whole->second;
      homeless.push_back({job, leave(job).request});
    }
    return homeless;
  }
  if (fleet_[gone.gpu].held.contains(*gone.placement))
    for (const JobId job : all_at(gone.gpu, *gone.placement))
      homeless.push_back({job, leave(job).request});
  if (fleet_[gone.gpu].idle.contains(*gone.placement))
    fleet_.destroy_idle(gone.gpu, *gone.placement);
  return homeless;
}

void Seats::clear_way(GpuId gpu, PlacementId placement, std::vector<Command>& commands) {
  const GpuState& state = fleet_[gpu];
  for (const PlacementId idle : fleet_.destroys(state, placement))
    commands.emplace_back(DestroyInstance{gpu, idle});
  if (!state.idle.contains(placement)) commands.emplace_back(CreateInstance{gpu, placement});
}

void Seats::start(Waiting job, GpuId gpu, PlacementId placement, std::vector<Command>& commands) {
  clear_way(gpu, placement, commands);
  commands.emplace_back(StartJob{job.job, gpu, placement});
  fleet_.hold(gpu, placement);
  sit(job, gpu, placement);
}

void Seats::start_shared(Waiting job, GpuId gpu, PlacementId placement, InstanceShare share,
                         std::vector<Command>& commands) {
  if (!fleet_[gpu].held.contains(placement)) {
    clear_way(gpu, placement, commands);
    fleet_.hold(gpu, placement);
  }
  commands.emplace_back(StartShared{job.job, gpu, placement, share});
  sit(job, gpu, placement);
  sharers_[cell(gpu, placement)].push_back(job.job);
}

JobSeat Seats::leave(JobId job) {
  // Read before it is written: what has just been written in parts is slow to read as a whole.
  const JobSeat seat = std::exchange(seats_[index(job)], JobSeat{});
  assert(seat.taken);
  if (seat.whole) {
    whole_.erase(seat.gpu);
    set_absent(seat.gpu, Absence::whole, false);
    return seat;
  }
  if (!sharers_.empty()) {
    const auto shared = sharers_.find(cell(seat.gpu, seat.placement));
    if (shared != sharers_.end()) {
      std::erase(shared->second, job);
      if (!shared->second.empty()) return seat;
      sharers_.erase(shared);
    }
  }
  fleet_.release(seat.gpu, seat.placement);
  holders_[cell(seat.gpu, seat.placement)] = nobody;
  return seat;
}

void Seats::migrate(GpuId from, PlacementId from_placement, GpuId to, PlacementId to_placement,
                    std::vector<Command>& commands) {
  clear_way(to, to_placement, commands);
  const JobId job = std::exchange(holders_[cell(from, from_placement)], nobody);
  assert(job != nobody);
  commands.emplace_back(MigrateJob{job, to, to_placement});
  fleet_.hold(to, to_placement);
  fleet_.release(from, from_placement);
  holders_[cell(to, to_placement)] = job;
  // Only written: it lies wherever the job's number says, and nobody waits for it.
  JobSeat& seat = seats_[index(job)];
  seat.gpu = to;
  seat.placement = to_placement;
}

void Seats::create(GpuId gpu, PlacementId placement, std::vector<Command>& commands) {
  clear_way(gpu, placement, commands);
  if (fleet_[gpu].idle.contains(placement)) return;
  fleet_.hold(gpu, placement);
  fleet_.release(gpu, placement);
}

void Seats::destroy(GpuId gpu, PlacementId placement, std::vector<Command>& commands) {
  commands.emplace_back(DestroyInstance{gpu, placement});
  fleet_.destroy_idle(gpu, placement);
}

std::vector<Waiting> Seats::hear(const GpuLost& lost) {
  const GpuId gpu = lost.gpu;
  std::vector<Waiting> homeless;
  for (const JobId job : on(gpu)) {
    seats_[index(job)].taken = false;
    homeless.push_back({job, seats_[index(job)].request});
    const std::size_t where = cell(gpu, seats_[index(job)].placement);
    holders_[where] = nobody;
    sharers_.erase(where);
  }
  set_absent(gpu, Absence::withdrawn, true);
  if (const auto whole = whole_.find(gpu); whole != whole_.end()) {
    const JobId job = whole->second;
    homeless.push_back({job, leave(job).request});
  }
  fleet_.clear(gpu);
  return homeless;
}

std::vector<Waiting> Seats::hear(const GpuWithdrawn& withdrawn) {
  set_absent(withdrawn.gpu, Absence::withdrawn, true);
  return {};
}

std::vector<Waiting> Seats::hear(const GpuRestored& restored) {
  set_absent(restored.gpu, Absence::withdrawn, false);
  return {};
}

std::vector<Waiting> Seats::hear(const GpuReturned& returned) {
  set_absent(returned.gpu, Absence::withdrawn, false);
  return {};
}

}  // namespace cleave
