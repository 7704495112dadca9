#pragma once
// The events of a run as spans of time: what each instance does from when to when, how many jobs
// wait and run, and what each GPU holds. Files of trace events and reports draw from these.
//
// A span is told once it is over, so that memory does not grow with the run; spans of one slice
// come in order of time and never overlap.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/fleet_file.hpp"
#include "model/job.hpp"
#include "simulate/run_observer.hpp"

namespace cleave {

/// What an instance, or a GPU, does for a span of time.
enum class Doing : std::uint8_t { creating, idle, starting, running, wall, resident, lost };
/// "creating". A wall is an instance that is not ours, or may not be touched.
std::string_view name(Doing doing);

/// Where a job runs; without a placement it has the whole GPU.
struct RunSeat {
  GpuId gpu;
  std::optional<PlacementId> placement;
};

/// A span of time in which an instance does one thing. The whole GPU is meant where a job runs with
/// MIG off, and where the GPU is lost.
struct RunSpan {
  RunSeat seat;
  Doing doing{};
  std::vector<JobId> jobs;
  std::string resident;  // a workload of the fleet file
  Instant begin, end;
};

/// Is told of spans and of what changes at a moment.
class SpanSink {
 public:
  virtual ~SpanSink() = default;
  virtual void span(const RunSpan& span) = 0;
  /// Something that happened, other than that a job or an instance began or ended.
  virtual void mark(const RunEvent& event) = 0;
  /// A job moves: it leaves at one time and runs on at another.
  virtual void moved(RunSeat from, Instant left, RunSeat to, Instant arrives) = 0;
  /// This many compute slices of the GPU are held from `since` to `until`.
  virtual void held(GpuId gpu, int slices, Instant since, Instant until) = 0;
  virtual void waiting(int jobs, Instant since, Instant until) = 0;
  virtual void running(int jobs, Instant since, Instant until) = 0;
  /// The first job has come to the place, or the last has left it.
  virtual void occupied(RunSeat /*seat*/, bool /*now*/, Instant /*at*/) {}
};

/// Turns the events of one run into spans.
class RunSpans final : public RunObserver {
 public:
  /// Both must outlive it.
  RunSpans(const FleetFile& fleet, SpanSink& sink);
  void on(const RunEvent& event) override;
  /// Ends all spans at the last known instant.
  void finish();
  [[nodiscard]] std::optional<Instant> began() const {
    return begun_ ? std::optional(first_) : std::nullopt;
  }
  [[nodiscard]] Instant last() const { return last_; }

 private:
  /// A span that is not over.
  struct Phase {
    Instant begin;
    Doing doing;
    std::vector<JobId> jobs;
    std::string text;  // a workload of the fleet file
  };
  /// A span whose end is known but in the future: the loss of its GPU would still cut it short.
  struct Ahead {
    Instant end;
    Phase phase;
    PlacementId placement;
  };
  /// One instance, with the part of its history that is not yet told.
  struct Instance {
    std::vector<Phase>
        phases;  // not yet told, by their beginnings; those after the first lie ahead
    std::vector<JobId> jobs;
    Instant settled{};  // until then the present phase continues, whatever is decided meanwhile
  };
  /// A number that changes; only its last value of an instant counts.
  struct Counter {
    Instant since{};
    int value = 0;
  };
  /// One GPU.
  struct Gpu {
    std::map<PlacementId, Instance> instances;  // the key `whole` is for MIG off and for a loss
    std::vector<Ahead> ahead;
    std::array<Instant, Starts::most> free_from{};  // by slice
    Counter held;
  };
  struct Seat {
    GpuId gpu;
    PlacementId placement;
  };
  static constexpr PlacementId whole = PlacementSet::most;

  void on_gpu(const RunEvent& event);
  void created(const RunEvent& event);
  void destroyed(const RunEvent& event);
  void started(const RunEvent& event);
  void job_ended(const RunEvent& event);
  void migrated(const RunEvent& event);
  void lost(const RunEvent& event);
  void returned(const RunEvent& event);
  void count_jobs(const RunEvent& event);
  void begin(Instant now);
  void show_present(GpuId gpu, Instant now);

  /// From `at` on (or after the settled phase) the instance is idle or has its jobs.
  void restate(Seat seat, Instance& instance, Instant at);
  void append(Seat seat, Instance& instance, Phase phase, Instant now);
  void close(Seat seat, Instance& instance, Instant end, Instant now);
  void emit(Seat seat, const Phase& phase, Instant end, Instant now);
  void flush(GpuId gpu, Instant now);

  void mark(const RunEvent& event);
  [[nodiscard]] static RunSeat seat_of(Seat seat);
  void tell_span(Seat seat, const Phase& phase, Instant end);
  void hold(GpuId gpu, int by, Instant now);
  /// Jobs are there, or none any more.
  void occupy(Seat seat, bool held, Instant now);
  template <class Tell>
  void change(Counter& counter, int by, Instant now, Tell tell);

  [[nodiscard]] const Geometry& geometry(GpuId gpu) const;
  [[nodiscard]] SliceMask slices(Seat seat) const;
  [[nodiscard]] int compute(Seat seat) const;

  const FleetFile* fleet_;
  SpanSink* sink_;
  std::vector<Gpu> gpus_;
  std::map<std::pair<JobId, std::uint32_t>, Seat> seats_;  // of running processes, by rank
  Counter waiting_, running_;
  Instant first_{}, last_{};
  bool begun_ = false;
};

}  // namespace cleave
