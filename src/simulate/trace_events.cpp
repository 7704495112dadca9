#include "simulate/trace_events.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/json.hpp"
#include "placement/fleet.hpp"

namespace cleave {

namespace {

// Viewers take process and thread 0 for the idle task of a machine, and some identify threads by
// number alone: numbers start at 1, and no thread has the number of another process.
constexpr std::size_t jobs_pid = 1;
constexpr std::size_t thread_factor = 32;
static_assert(thread_factor > Starts::most);

std::size_t pid_of(GpuId gpu) {
  return jobs_pid + 1 + index(gpu);
}
std::size_t tid_of(std::size_t pid, int slice) {
  return pid * thread_factor + static_cast<std::size_t>(slice);
}

/// Rounded the same way everywhere, so that times that are equal in the run are equal in the file.
std::int64_t microseconds(Instant at) {
  return std::chrono::floor<std::chrono::microseconds>(at.time_since_epoch()).count();
}

std::string as_json(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

constexpr std::string_view category(std::size_t what) {
  constexpr std::string_view names[] = {"creating", "idle",     "starting", "running",
                                        "wall",     "resident", "lost"};
  return names[what];
}

std::pair<JobId, std::uint32_t> process_of(const RunEvent& event) {
  return {*event.job, event.rank.value_or(0)};
}

template <class Use>
void for_each_slice(SliceMask mask, Use use) {
  for (int slice = 0; mask >> slice != 0; ++slice)
    if ((mask >> slice & 1) != 0) use(slice);
}

}  // namespace

TraceEvents::TraceEvents(const FleetFile& fleet, const Workload& workload,
                         const std::map<std::string, std::string>& about, std::ostream& out)
    : fleet_(&fleet), workload_(&workload), out_(&out), gpus_(fleet.gpus.size()) {
  write_header(about);
}

// Events.

void TraceEvents::on(const RunEvent& event) {
  if (!begun_) begin(event.at);
  last_ = std::max({last_, event.at, event.until.value_or(event.at)});
  count_jobs(event);
  if (event.gpu) {
    flush(*event.gpu, event.at);
    on_gpu(event);
  }
  write_mark(event);
}

void TraceEvents::on_gpu(const RunEvent& event) {
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
void TraceEvents::begin(Instant now) {
  begun_ = true;
  last_ = waiting_.since = running_.since = now;
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    gpus_[i].held.since = now;
    gpus_[i].free_from.fill(now);
    show_present(static_cast<GpuId>(i), now);
  }
}

void TraceEvents::show_present(GpuId gpu, Instant now) {
  for (const InstanceEntry& entry : fleet_->gpus[index(gpu)].instances) {
    Instance& instance = gpus_[index(gpu)].instances[entry.placement];
    instance.settled = now;
    const bool wall = !entry.owned || (!entry.workload && !entry.movable);
    const What what = wall ? What::wall : entry.workload ? What::resident : What::idle;
    instance.phases.push_back({now, what, {}, entry.workload.value_or("")});
    if (what == What::resident)
      change(gpus_[index(gpu)].held, compute({gpu, entry.placement}), now, pid_of(gpu),
             "compute slices held");
  }
}

void TraceEvents::created(const RunEvent& event) {
  const Seat seat{*event.gpu, *event.placement};
  Instance& instance = gpus_[index(seat.gpu)].instances[seat.placement];
  instance = {{{event.at, What::creating, {}, {}}}, {}, *event.until};
  restate(seat, instance, event.at);
}

void TraceEvents::destroyed(const RunEvent& event) {
  const Seat seat{*event.gpu, *event.placement};
  auto& instances = gpus_[index(seat.gpu)].instances;
  const auto found = instances.find(seat.placement);
  if (found == instances.end()) return;
  // A process that leaves later still has it until then.
  const bool in_use = found->second.phases.front().what == What::running;
  close(seat, found->second, in_use ? std::max(event.at, found->second.settled) : event.at,
        event.at);
  instances.erase(found);
}

void TraceEvents::started(const RunEvent& event) {
  const Seat seat{*event.gpu, event.placement.value_or(whole)};
  Gpu& gpu = gpus_[index(seat.gpu)];
  Instance& instance = gpu.instances[seat.placement];
  if (instance.jobs.empty())
    change(gpu.held, compute(seat), event.at, pid_of(seat.gpu), "compute slices held");
  if (instance.phases.empty())
    instance.phases.push_back({event.at, What::starting, {*event.job}, {}});
  instance.jobs.push_back(*event.job);
  instance.settled = std::max(instance.settled, *event.until);
  seats_[process_of(event)] = seat;
  restate(seat, instance, event.at);
}

void TraceEvents::job_ended(const RunEvent& event) {
  const auto found = seats_.find(process_of(event));
  if (found == seats_.end()) return;
  const Seat seat = found->second;
  seats_.erase(found);
  Gpu& gpu = gpus_[index(seat.gpu)];
  const auto place = gpu.instances.find(seat.placement);
  if (place == gpu.instances.end()) return;
  Instance& instance = place->second;
  instance.jobs.erase(std::ranges::find(instance.jobs, *event.job));
  if (instance.jobs.empty())
    change(gpu.held, -compute(seat), event.at, pid_of(seat.gpu), "compute slices held");
  if (event.until) instance.settled = std::max(instance.settled, *event.until);
  if (seat.placement != whole) return restate(seat, instance, event.at);
  close(seat, instance, event.at, event.at);
  gpu.instances.erase(place);
}

void TraceEvents::migrated(const RunEvent& event) {
  const auto found = seats_.find(process_of(event));
  if (found == seats_.end()) return;
  const Seat from = found->second, to{*event.gpu, *event.placement};
  flush(from.gpu, event.at);
  RunEvent leaves = event;
  job_ended(leaves);
  Instance& target = gpus_[index(to.gpu)].instances[to.placement];
  if (!target.phases.empty() && target.settled <= event.at) {
    append(to, target, {event.at, What::starting, {*event.job}, {}}, event.at);
  }
  started(event);
  write_flow("s", ++flows_, from, event.at);
  write_flow("f", flows_, to, *event.until);
}

void TraceEvents::lost(const RunEvent& event) {
  Gpu& gpu = gpus_[index(*event.gpu)];
  for (const Ahead& ahead : gpu.ahead)
    write_span({*event.gpu, ahead.placement}, ahead.phase, event.at);
  for (auto& [placement, instance] : gpu.instances)
    close({*event.gpu, placement}, instance, event.at, event.at);
  std::erase_if(seats_, [&](const auto& each) { return each.second.gpu == *event.gpu; });
  gpu.ahead.clear();
  gpu.instances.clear();
  gpu.free_from.fill(event.at);
  change(gpu.held, -gpu.held.value, event.at, pid_of(*event.gpu), "compute slices held");
  gpu.instances[whole] = {{{event.at, What::lost, {}, {}}}, {}, event.at};
}

void TraceEvents::returned(const RunEvent& event) {
  Gpu& gpu = gpus_[index(*event.gpu)];
  const auto found = gpu.instances.find(whole);
  if (found == gpu.instances.end()) return;
  close({*event.gpu, whole}, found->second, event.at, event.at);
  gpu.instances.erase(found);
}

void TraceEvents::count_jobs(const RunEvent& event) {
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
  if (waiting != 0) change(waiting_, waiting, event.at, jobs_pid, "waiting jobs");
  if (running != 0) change(running_, running, event.at, jobs_pid, "running jobs");
}

void TraceEvents::finish() {
  const Instant end = last_;
  for (std::size_t i = 0; i < gpus_.size() && begun_; ++i) {
    const auto gpu = static_cast<GpuId>(i);
    flush(gpu, end);
    for (auto& [placement, instance] : gpus_[i].instances)
      close({gpu, placement}, instance, end, end);
    write_counter(gpus_[i].held, pid_of(gpu), "compute slices held");
  }
  write_counter(waiting_, jobs_pid, "waiting jobs");
  write_counter(running_, jobs_pid, "running jobs");
  *out_ << "\n]}\n";
}

// Phases.

void TraceEvents::restate(Seat seat, Instance& instance, Instant at) {
  // The future was announced before this was known.
  while (instance.phases.size() > 1 && instance.phases.back().begin > at)
    instance.phases.pop_back();
  append(seat, instance,
         {std::max(at, instance.settled),
          instance.jobs.empty() ? What::idle : What::running,
          instance.jobs,
          {}},
         at);
}

/// Writes the phases that are over; among the others all but the first are in the future.
void TraceEvents::append(Seat seat, Instance& instance, Phase phase, Instant now) {
  instance.phases.push_back(std::move(phase));
  while (instance.phases.size() > 1 && instance.phases[1].begin <= now) {
    emit(seat, instance.phases[0], instance.phases[1].begin, now);
    instance.phases.erase(instance.phases.begin());
  }
}

void TraceEvents::close(Seat seat, Instance& instance, Instant end, Instant now) {
  for (std::size_t i = 0; i < instance.phases.size(); ++i) {
    const Instant next = i + 1 < instance.phases.size() ? instance.phases[i + 1].begin : end;
    if (instance.phases[i].begin < end) emit(seat, instance.phases[i], std::min(next, end), now);
  }
}

void TraceEvents::emit(Seat seat, const Phase& phase, Instant end, Instant now) {
  if (end <= now) return write_span(seat, phase, end);
  gpus_[index(seat.gpu)].ahead.push_back({end, phase, seat.placement});
}

void TraceEvents::flush(GpuId id, Instant now) {
  Gpu& gpu = gpus_[index(id)];
  std::erase_if(gpu.ahead, [&](const Ahead& ahead) {
    if (ahead.end <= now) write_span({id, ahead.placement}, ahead.phase, ahead.end);
    return ahead.end <= now;
  });
  // Before anything new is written there, so that spans come slice by slice in order of time.
  for (auto& [placement, instance] : gpu.instances)
    while (instance.phases.size() > 1 && instance.phases[1].begin <= now) {
      emit({id, placement}, instance.phases[0], instance.phases[1].begin, now);
      instance.phases.erase(instance.phases.begin());
    }
}

// Writing.

void TraceEvents::line(std::string_view event) {
  *out_ << (first_line_ ? "\n" : ",\n") << event;
  first_line_ = false;
}

void TraceEvents::write_header(const std::map<std::string, std::string>& about) {
  std::vector<std::string> entries;
  for (const auto& [key, value] : about)
    entries.push_back(fmt::format("{}: {}", as_json(key), as_json(value)));
  *out_ << fmt::format(R"({{"displayTimeUnit": "ms", "otherData": {{{}}}, "traceEvents": [)",
                       fmt::join(entries, ", "));
  line(fmt::format(R"({{"ph": "M", "name": "process_name", "pid": {}, "tid": {}, "ts": 0, )"
                   R"("args": {{"name": "jobs"}}}})",
                   jobs_pid, tid_of(jobs_pid, 0)));
  for (std::size_t i = 0; i < gpus_.size(); ++i) write_names(i);
}

void TraceEvents::write_names(std::size_t gpu) {
  const auto id = static_cast<GpuId>(gpu);
  const std::size_t pid = pid_of(id);
  const std::string title = fmt::format("{} {}", fleet_->gpus[gpu].name, geometry(id).model().key);
  const auto meta = [&](std::string_view name, std::size_t tid, const std::string& args) {
    line(
        fmt::format(R"({{"ph": "M", "name": "{}", "pid": {}, "tid": {}, "ts": 0, "args": {{{}}}}})",
                    name, pid, tid, args));
  };
  meta("process_name", tid_of(pid, 0), fmt::format(R"("name": {})", as_json(title)));
  meta("process_sort_index", tid_of(pid, 0), fmt::format(R"("sort_index": {})", pid));
  for (int slice = 0; slice < slices_of(id); ++slice) {
    meta("thread_name", tid_of(pid, slice), fmt::format(R"("name": "slice {}")", slice));
    meta("thread_sort_index", tid_of(pid, slice), fmt::format(R"("sort_index": {})", slice));
  }
}

void TraceEvents::write_span(Seat seat, const Phase& phase, Instant end) {
  Gpu& gpu = gpus_[index(seat.gpu)];
  const SliceMask mask = slices(seat);
  // The driver makes an instance after those that were in its place are gone.
  Instant from = phase.begin;
  for_each_slice(mask, [&](int slice) {
    from = std::max(from, gpu.free_from[static_cast<std::size_t>(slice)]);
  });
  if (microseconds(end) <= microseconds(from)) return;
  const std::size_t pid = pid_of(seat.gpu);
  const std::string name = as_json(phase_name(seat, phase));
  std::string jobs;
  if (phase.jobs.size() > 1) {
    std::vector<std::string> ids;
    for (const JobId job : phase.jobs) ids.push_back(as_json(workload_->jobs[index(job)].id));
    jobs = fmt::format(R"(, "jobs": [{}])", fmt::join(ids, ", "));
  }
  for_each_slice(mask, [&](int slice) {
    gpu.free_from[static_cast<std::size_t>(slice)] = end;
    line(fmt::format(
        R"({{"ph": "X", "name": {}, "cat": "{}", "pid": {}, "tid": {}, "ts": {}, "dur": {}, )"
        R"("args": {{"instance": "{}"{}}}}})",
        name, category(static_cast<std::size_t>(phase.what)), pid, tid_of(pid, slice),
        microseconds(from), microseconds(end) - microseconds(from), profile_name(seat), jobs));
  });
}

/// Events with a mark of their own; starts and ends are visible without one.
void TraceEvents::write_mark(const RunEvent& event) {
  switch (event.kind) {
    case RunEvent::Kind::submitted:
    case RunEvent::Kind::created:
    case RunEvent::Kind::destroyed:
    case RunEvent::Kind::started:
    case RunEvent::Kind::finished:
      return;
    default:
      break;
  }
  std::size_t pid = jobs_pid, tid = tid_of(jobs_pid, 0);
  if (event.gpu) {
    pid = pid_of(*event.gpu);
    const SliceMask mask = slices({*event.gpu, event.placement.value_or(whole)});
    tid = tid_of(pid, std::countr_zero(mask));
  }
  const std::string args =
      event.job ? fmt::format(R"("job": {})", as_json(workload_->jobs[index(*event.job)].id)) : "";
  line(fmt::format(
      R"({{"ph": "i", "name": "{}", "cat": "event", "pid": {}, "tid": {}, "ts": {}, "s": "{}", )"
      R"("args": {{{}}}}})",
      name(event.kind), pid, tid, microseconds(event.at), event.placement ? "t" : "p", args));
}

void TraceEvents::write_flow(const char* ph, std::uint64_t id, Seat seat, Instant at) {
  const std::size_t pid = pid_of(seat.gpu);
  line(fmt::format(
      R"({{"ph": "{}", "name": "migration", "cat": "migration", "id": {}, "pid": {}, "tid": {}, )"
      R"("ts": {}{}}})",
      ph, id, pid, tid_of(pid, std::countr_zero(slices(seat))), microseconds(at),
      *ph == 'f' ? R"(, "bp": "e")" : ""));
}

void TraceEvents::change(Counter& counter, int by, Instant now, std::size_t pid, const char* name) {
  if (microseconds(now) > microseconds(counter.since)) write_counter(counter, pid, name);
  counter.since = now;
  counter.value += by;
}

void TraceEvents::write_counter(const Counter& counter, std::size_t pid, const char* name) {
  line(fmt::format(
      R"({{"ph": "C", "name": "{}", "pid": {}, "tid": {}, "ts": {}, "args": {{"value": {}}}}})",
      name, pid, tid_of(pid, 0), microseconds(counter.since), counter.value));
}

// Names and sizes.

const Geometry& TraceEvents::geometry(GpuId gpu) const {
  return fleet_->geometries[fleet_->gpus[index(gpu)].geometry];
}

int TraceEvents::slices_of(GpuId gpu) const {
  return static_cast<int>(geometry(gpu).model().memory_slices.value);
}

SliceMask TraceEvents::slices(Seat seat) const {
  return seat.placement == whole ? static_cast<SliceMask>((1U << slices_of(seat.gpu)) - 1)
                                 : geometry(seat.gpu)[seat.placement].slices;
}

int TraceEvents::compute(Seat seat) const {
  const Geometry& of = geometry(seat.gpu);
  return static_cast<int>(
      (seat.placement == whole ? of.model().compute : of[seat.placement].profile->compute).value);
}

std::string TraceEvents::profile_name(Seat seat) const {
  if (seat.placement == whole) return "whole GPU";
  const Placement& where = geometry(seat.gpu)[seat.placement];
  return fmt::format("{}@{}", where.profile->name, where.start);
}

std::string TraceEvents::job_text(const std::vector<JobId>& jobs) const {
  if (jobs.size() != 1) return fmt::format("{} jobs", jobs.size());
  return workload_->jobs[index(jobs.front())].id;
}

std::string TraceEvents::phase_name(Seat seat, const Phase& phase) const {
  const std::string profile = seat.placement == whole
                                  ? "whole GPU"
                                  : std::string(geometry(seat.gpu)[seat.placement].profile->name);
  switch (phase.what) {
    case What::creating:
      return fmt::format("creating {}", profile);
    case What::idle:
      return fmt::format("idle {}", profile);
    case What::starting:
      return fmt::format("starting {}", job_text(phase.jobs));
    case What::running:
      return job_text(phase.jobs);
    case What::wall:
      return fmt::format("not ours {}", profile);
    case What::resident:
      return phase.text;
    case What::lost:
      return "GPU lost";
  }
  return "";
}

}  // namespace cleave
