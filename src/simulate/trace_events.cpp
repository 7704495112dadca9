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

template <class Use>
void for_each_slice(SliceMask mask, Use use) {
  for (int slice = 0; mask >> slice != 0; ++slice)
    if ((mask >> slice & 1) != 0) use(slice);
}

}  // namespace

TraceEvents::TraceEvents(const FleetFile& fleet, const Workload& workload,
                         const std::map<std::string, std::string>& about, std::ostream& out)
    : fleet_(&fleet), workload_(&workload), out_(&out), spans_(fleet, *this) {
  write_header(about);
}

void TraceEvents::finish() {
  spans_.finish();
  *out_ << "\n]}\n";
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
  for (std::size_t i = 0; i < fleet_->gpus.size(); ++i) write_names(i);
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

void TraceEvents::span(const RunSpan& span) {
  const std::size_t pid = pid_of(span.seat.gpu);
  const std::string name = as_json(span_name(span));
  std::string jobs;
  if (span.jobs.size() > 1) {
    std::vector<std::string> ids;
    for (const JobId job : span.jobs) ids.push_back(as_json(workload_->jobs[index(job)].id));
    jobs = fmt::format(R"(, "jobs": [{}])", fmt::join(ids, ", "));
  }
  for_each_slice(slices(span.seat), [&](int slice) {
    line(fmt::format(
        R"({{"ph": "X", "name": {}, "cat": "{}", "pid": {}, "tid": {}, "ts": {}, "dur": {}, )"
        R"("args": {{"instance": "{}"{}}}}})",
        name, cleave::name(span.doing), pid, tid_of(pid, slice), microseconds(span.begin),
        microseconds(span.end) - microseconds(span.begin), profile_name(span.seat), jobs));
  });
}

void TraceEvents::mark(const RunEvent& event) {
  std::size_t pid = jobs_pid, tid = tid_of(jobs_pid, 0);
  if (event.gpu) {
    pid = pid_of(*event.gpu);
    const SliceMask mask = slices({*event.gpu, event.placement});
    tid = tid_of(pid, std::countr_zero(mask));
  }
  const std::string args =
      event.job ? fmt::format(R"("job": {})", as_json(workload_->jobs[index(*event.job)].id)) : "";
  line(fmt::format(
      R"({{"ph": "i", "name": "{}", "cat": "event", "pid": {}, "tid": {}, "ts": {}, "s": "{}", )"
      R"("args": {{{}}}}})",
      name(event.kind), pid, tid, microseconds(event.at), event.placement ? "t" : "p", args));
}

void TraceEvents::write_flow(const char* ph, RunSeat seat, Instant at) {
  const std::size_t pid = pid_of(seat.gpu);
  line(fmt::format(
      R"({{"ph": "{}", "name": "migration", "cat": "migration", "id": {}, "pid": {}, "tid": {}, )"
      R"("ts": {}{}}})",
      ph, flows_, pid, tid_of(pid, std::countr_zero(slices(seat))), microseconds(at),
      *ph == 'f' ? R"(, "bp": "e")" : ""));
}

void TraceEvents::moved(RunSeat from, Instant left, RunSeat to, Instant arrives) {
  ++flows_;
  write_flow("s", from, left);
  write_flow("f", to, arrives);
}

void TraceEvents::held(GpuId gpu, int slices, Instant since, Instant) {
  write_counter(pid_of(gpu), "compute slices held", slices, since);
}

void TraceEvents::waiting(int jobs, Instant since, Instant) {
  write_counter(jobs_pid, "waiting jobs", jobs, since);
}

void TraceEvents::running(int jobs, Instant since, Instant) {
  write_counter(jobs_pid, "running jobs", jobs, since);
}

void TraceEvents::write_counter(std::size_t pid, const char* name, int value, Instant since) {
  line(fmt::format(
      R"({{"ph": "C", "name": "{}", "pid": {}, "tid": {}, "ts": {}, "args": {{"value": {}}}}})",
      name, pid, tid_of(pid, 0), microseconds(since), value));
}

// Names and sizes.

const Geometry& TraceEvents::geometry(GpuId gpu) const {
  return fleet_->geometries[fleet_->gpus[index(gpu)].geometry];
}

int TraceEvents::slices_of(GpuId gpu) const {
  return static_cast<int>(geometry(gpu).model().memory_slices.value);
}

SliceMask TraceEvents::slices(RunSeat seat) const {
  return seat.placement ? geometry(seat.gpu)[*seat.placement].slices
                        : static_cast<SliceMask>((1U << slices_of(seat.gpu)) - 1);
}

std::string TraceEvents::profile_name(RunSeat seat) const {
  if (!seat.placement) return "whole GPU";
  const Placement& where = geometry(seat.gpu)[*seat.placement];
  return fmt::format("{}@{}", where.profile->name, where.start);
}

std::string TraceEvents::job_text(const std::vector<JobId>& jobs) const {
  if (jobs.size() != 1) return fmt::format("{} jobs", jobs.size());
  return workload_->jobs[index(jobs.front())].id;
}

std::string TraceEvents::span_name(const RunSpan& span) const {
  const RunSeat seat = span.seat;
  const std::string profile =
      seat.placement ? std::string(geometry(seat.gpu)[*seat.placement].profile->name) : "whole GPU";
  switch (span.doing) {
    case Doing::creating:
      return fmt::format("creating {}", profile);
    case Doing::idle:
      return fmt::format("idle {}", profile);
    case Doing::starting:
      return fmt::format("starting {}", job_text(span.jobs));
    case Doing::running:
      return job_text(span.jobs);
    case Doing::wall:
      return fmt::format("not ours {}", profile);
    case Doing::resident:
      return span.resident;
    case Doing::lost:
      return "GPU lost";
  }
  return "";
}

}  // namespace cleave
