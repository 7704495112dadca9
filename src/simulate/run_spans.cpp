#include "simulate/run_spans.hpp"

#include <algorithm>

#include "placement/fleet.hpp"

namespace cleave {

namespace {

constexpr auto doing_names = std::to_array<std::string_view>(
    {"creating", "idle", "starting", "running", "wall", "resident", "lost"});

std::pair<JobId, std::uint32_t> process_of(const RunEvent& event) {
  return {*event.job, event.rank.value_or(0)};
}

/// Spans are told where they differ in whole microseconds, so that times that are equal in the run
/// are equal in a file.
std::int64_t microseconds(Instant at) {
  return std::chrono::floor<std::chrono::microseconds>(at.time_since_epoch()).count();
}

template <class Use>
void for_each_slice(SliceMask mask, Use use) {
  for (int slice = 0; mask >> slice != 0; ++slice)
    if ((mask >> slice & 1) != 0) use(slice);
}

}  // namespace

std::string_view name(Doing doing) {
  return doing_names[static_cast<std::size_t>(doing)];
}

RunSpans::RunSpans(const FleetFile& fleet, SpanSink& sink)
    : fleet_(&fleet), sink_(&sink), gpus_(fleet.gpus.size()) {}

template <class Tell>
void RunSpans::change(Counter& counter, int by, Instant now, Tell tell) {
  if (microseconds(now) > microseconds(counter.since)) tell(counter, now);
  counter.since = now;
  counter.value += by;
}

// Events.

void RunSpans::on(const RunEvent& event) {
  if (!begun_) begin(event.at);
  last_ = std::max({last_, event.at, event.until.value_or(event.at)});
  count_jobs(event);
  if (event.gpu) {
    flush(*event.gpu, event.at);
    on_gpu(event);
  }
  mark(event);
}

/// Starts and ends are visible without a mark.
void RunSpans::mark(const RunEvent& event) {
  switch (event.kind) {
    case RunEvent::Kind::submitted:
    case RunEvent::Kind::created:
    case RunEvent::Kind::destroyed:
    case RunEvent::Kind::started:
    case RunEvent::Kind::finished:
      return;
    default:
      return sink_->mark(event);
  }
}

void RunSpans::on_gpu(const RunEvent& event) {
  switch (event.kind) {
    case RunEvent::Kind::created:
      return created(event);
    case RunEvent::Kind::destroyed:
      return destroyed(event);
    case RunEvent::Kind::started:
      return started(event);
    case RunEvent::Kind::migrated:
      return migrated(event);
    case RunEvent::Kind::gpu_lost:
      return lost(event);
    case RunEvent::Kind::gpu_returned:
      return returned(event);
    case RunEvent::Kind::submitted:
    case RunEvent::Kind::rejected:
    case RunEvent::Kind::warned:
      return;
    case RunEvent::Kind::finished:
    case RunEvent::Kind::failed:
    case RunEvent::Kind::ran_out:
    case RunEvent::Kind::stopped:
    case RunEvent::Kind::restarted_early:
    case RunEvent::Kind::checkpointed:
    case RunEvent::Kind::evicted:
      return job_ended(event);
  }
}

/// The state of the fleet before the run.
void RunSpans::begin(Instant now) {
  begun_ = true;
  first_ = last_ = waiting_.since = running_.since = now;
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    gpus_[i].held.since = now;
    gpus_[i].free_from.fill(now);
    show_present(static_cast<GpuId>(i), now);
  }
}

void RunSpans::show_present(GpuId gpu, Instant now) {
  for (const InstanceEntry& entry : fleet_->gpus[index(gpu)].instances) {
    Instance& instance = gpus_[index(gpu)].instances[entry.placement];
    instance.settled = now;
    const bool wall = !entry.owned || (!entry.workload && !entry.movable);
    const Doing what = wall ? Doing::wall : entry.workload ? Doing::resident : Doing::idle;
    instance.phases.push_back({now, what, {}, entry.workload.value_or("")});
    if (what == Doing::resident) occupy({gpu, entry.placement}, true, now);
  }
}

void RunSpans::created(const RunEvent& event) {
  const Seat seat{*event.gpu, *event.placement};
  Instance& instance = gpus_[index(seat.gpu)].instances[seat.placement];
  instance = {{{event.at, Doing::creating, {}, {}}}, {}, *event.until};
  restate(seat, instance, event.at);
}

void RunSpans::destroyed(const RunEvent& event) {
  const Seat seat{*event.gpu, *event.placement};
  auto& instances = gpus_[index(seat.gpu)].instances;
  const auto found = instances.find(seat.placement);
  if (found == instances.end()) return;
  // A process that leaves later still has it until then.
  const bool in_use = found->second.phases.front().doing == Doing::running;
  close(seat, found->second, in_use ? std::max(event.at, found->second.settled) : event.at,
        event.at);
  instances.erase(found);
}

void RunSpans::started(const RunEvent& event) {
  const Seat seat{*event.gpu, event.placement.value_or(whole)};
  Gpu& gpu = gpus_[index(seat.gpu)];
  Instance& instance = gpu.instances[seat.placement];
  if (instance.jobs.empty()) occupy(seat, true, event.at);
  if (instance.phases.empty())
    instance.phases.push_back({event.at, Doing::starting, {*event.job}, {}});
  instance.jobs.push_back(*event.job);
  instance.settled = std::max(instance.settled, *event.until);
  seats_[process_of(event)] = seat;
  restate(seat, instance, event.at);
}

void RunSpans::job_ended(const RunEvent& event) {
  const auto found = seats_.find(process_of(event));
  if (found == seats_.end()) return;
  const Seat seat = found->second;
  seats_.erase(found);
  Gpu& gpu = gpus_[index(seat.gpu)];
  const auto place = gpu.instances.find(seat.placement);
  if (place == gpu.instances.end()) return;
  Instance& instance = place->second;
  instance.jobs.erase(std::ranges::find(instance.jobs, *event.job));
  if (instance.jobs.empty()) occupy(seat, false, event.at);
  if (event.until) instance.settled = std::max(instance.settled, *event.until);
  if (seat.placement != whole) return restate(seat, instance, event.at);
  close(seat, instance, event.at, event.at);
  gpu.instances.erase(place);
}

void RunSpans::migrated(const RunEvent& event) {
  const auto found = seats_.find(process_of(event));
  if (found == seats_.end()) return;
  const Seat from = found->second, to{*event.gpu, *event.placement};
  flush(from.gpu, event.at);
  RunEvent leaves = event;
  job_ended(leaves);
  Instance& target = gpus_[index(to.gpu)].instances[to.placement];
  if (!target.phases.empty() && target.settled <= event.at) {
    append(to, target, {event.at, Doing::starting, {*event.job}, {}}, event.at);
  }
  started(event);
  sink_->moved(seat_of(from), event.at, seat_of(to), *event.until);
}

void RunSpans::lost(const RunEvent& event) {
  Gpu& gpu = gpus_[index(*event.gpu)];
  for (const Ahead& ahead : gpu.ahead)
    tell_span({*event.gpu, ahead.placement}, ahead.phase, event.at);
  for (auto& [placement, instance] : gpu.instances)
    close({*event.gpu, placement}, instance, event.at, event.at);
  std::erase_if(seats_, [&](const auto& each) { return each.second.gpu == *event.gpu; });
  for (const auto& [placement, instance] : gpu.instances)
    if (!instance.jobs.empty()) sink_->occupied(seat_of({*event.gpu, placement}), false, event.at);
  gpu.ahead.clear();
  gpu.instances.clear();
  gpu.free_from.fill(event.at);
  hold(*event.gpu, -gpu.held.value, event.at);
  gpu.instances[whole] = {{{event.at, Doing::lost, {}, {}}}, {}, event.at};
}

void RunSpans::returned(const RunEvent& event) {
  Gpu& gpu = gpus_[index(*event.gpu)];
  const auto found = gpu.instances.find(whole);
  if (found == gpu.instances.end()) return;
  close({*event.gpu, whole}, found->second, event.at, event.at);
  gpu.instances.erase(found);
}

void RunSpans::count_jobs(const RunEvent& event) {
  if (!event.counts()) return;
  int waiting = 0, running = 0;
  switch (event.kind) {
    case RunEvent::Kind::submitted:
      waiting = 1;
      break;
    case RunEvent::Kind::rejected:
      waiting = -1;
      break;
    case RunEvent::Kind::started:
      waiting = -1;
      running = 1;
      break;
    case RunEvent::Kind::finished:
      running = -1;
      break;
    case RunEvent::Kind::failed:
      // Without a GPU: it ran out of memory and waits.
      (event.gpu ? running : waiting) = -1;
      break;
    case RunEvent::Kind::ran_out:
    case RunEvent::Kind::stopped:
    case RunEvent::Kind::restarted_early:
    case RunEvent::Kind::checkpointed:
    case RunEvent::Kind::evicted:
      waiting = 1;
      running = -1;
      break;
    case RunEvent::Kind::created:
    case RunEvent::Kind::destroyed:
    case RunEvent::Kind::migrated:
    case RunEvent::Kind::gpu_lost:
    case RunEvent::Kind::gpu_returned:
    case RunEvent::Kind::warned:
      break;
  }
  if (waiting != 0)
    change(waiting_, waiting, event.at, [&](const Counter& before, Instant until) {
      sink_->waiting(before.value, before.since, until);
    });
  if (running != 0)
    change(running_, running, event.at, [&](const Counter& before, Instant until) {
      sink_->running(before.value, before.since, until);
    });
}

void RunSpans::finish() {
  const Instant end = last_;
  for (std::size_t i = 0; i < gpus_.size() && begun_; ++i) {
    const auto gpu = static_cast<GpuId>(i);
    flush(gpu, end);
    for (auto& [placement, instance] : gpus_[i].instances)
      close({gpu, placement}, instance, end, end);
    sink_->held(gpu, gpus_[i].held.value, gpus_[i].held.since, end);
  }
  sink_->waiting(waiting_.value, waiting_.since, end);
  sink_->running(running_.value, running_.since, end);
}

// Phases.

void RunSpans::restate(Seat seat, Instance& instance, Instant at) {
  // The future was announced before this was known.
  while (instance.phases.size() > 1 && instance.phases.back().begin > at)
    instance.phases.pop_back();
  append(seat, instance,
         {std::max(at, instance.settled),
          instance.jobs.empty() ? Doing::idle : Doing::running,
          instance.jobs,
          {}},
         at);
}

/// Writes the phases that are over; among the others all but the first are in the future.
void RunSpans::append(Seat seat, Instance& instance, Phase phase, Instant now) {
  instance.phases.push_back(std::move(phase));
  while (instance.phases.size() > 1 && instance.phases[1].begin <= now) {
    emit(seat, instance.phases[0], instance.phases[1].begin, now);
    instance.phases.erase(instance.phases.begin());
  }
}

void RunSpans::close(Seat seat, Instance& instance, Instant end, Instant now) {
  for (std::size_t i = 0; i < instance.phases.size(); ++i) {
    const Instant next = i + 1 < instance.phases.size() ? instance.phases[i + 1].begin : end;
    if (instance.phases[i].begin < end) emit(seat, instance.phases[i], std::min(next, end), now);
  }
}

void RunSpans::emit(Seat seat, const Phase& phase, Instant end, Instant now) {
  if (end <= now) return tell_span(seat, phase, end);
  gpus_[index(seat.gpu)].ahead.push_back({end, phase, seat.placement});
}

void RunSpans::flush(GpuId id, Instant now) {
  Gpu& gpu = gpus_[index(id)];
  std::erase_if(gpu.ahead, [&](const Ahead& ahead) {
    if (ahead.end <= now) tell_span({id, ahead.placement}, ahead.phase, ahead.end);
    return ahead.end <= now;
  });
  // Before anything new is written there, so that spans come slice by slice in order of time.
  for (auto& [placement, instance] : gpu.instances)
    while (instance.phases.size() > 1 && instance.phases[1].begin <= now) {
      emit({id, placement}, instance.phases[0], instance.phases[1].begin, now);
      instance.phases.erase(instance.phases.begin());
    }
}

// Telling.

void RunSpans::tell_span(Seat seat, const Phase& phase, Instant end) {
  Gpu& gpu = gpus_[index(seat.gpu)];
  const SliceMask mask = slices(seat);
  // The driver makes an instance after those that were in its place are gone.
  Instant from = phase.begin;
  for_each_slice(mask, [&](int slice) {
    from = std::max(from, gpu.free_from[static_cast<std::size_t>(slice)]);
  });
  if (microseconds(end) <= microseconds(from)) return;
  for_each_slice(mask, [&](int slice) { gpu.free_from[static_cast<std::size_t>(slice)] = end; });
  sink_->span({seat_of(seat), phase.doing, phase.jobs, phase.text, from, end});
}

void RunSpans::hold(GpuId gpu, int by, Instant now) {
  change(gpus_[index(gpu)].held, by, now, [&](const Counter& held, Instant until) {
    sink_->held(gpu, held.value, held.since, until);
  });
}

void RunSpans::occupy(Seat seat, bool held, Instant now) {
  hold(seat.gpu, held ? compute(seat) : -compute(seat), now);
  sink_->occupied(seat_of(seat), held, now);
}

// Sizes.

RunSeat RunSpans::seat_of(Seat seat) {
  return {seat.gpu, seat.placement == whole ? std::nullopt : std::optional(seat.placement)};
}

const Geometry& RunSpans::geometry(GpuId gpu) const {
  return fleet_->geometries[fleet_->gpus[index(gpu)].geometry];
}

SliceMask RunSpans::slices(Seat seat) const {
  const Geometry& of = geometry(seat.gpu);
  return seat.placement == whole
             ? static_cast<SliceMask>((1U << of.model().memory_slices.value) - 1)
             : of[seat.placement].slices;
}

int RunSpans::compute(Seat seat) const {
  const Geometry& of = geometry(seat.gpu);
  return static_cast<int>(
      (seat.placement == whole ? of.model().compute : of[seat.placement].profile->compute).value);
}

}  // namespace cleave
