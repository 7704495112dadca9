#pragma once
// A run as a file for timeline viewers such as Perfetto, in the Chrome trace-event format (JSON
// object form, "Trace Event Format", Google, 2016): every memory slice of every GPU over time.
//
// Each GPU is a process and each of its memory slices a thread. An instance is drawn on every slice
// that it covers, phase after phase: "creating PROFILE", "idle PROFILE", the job's id; where there
// is no instance, nothing is drawn. Phases of one slice never overlap, and none is inside another.
// A job on a whole GPU (MIG off) is drawn on all slices, and so is the time for which a GPU is
// lost; one of several places is drawn at each of them. Anything that takes no time is an instant
// event, a migration is a flow from the old place to the new one, and counters show the compute
// slices held on each GPU and how many jobs wait and run.
//
// Times are whole microseconds. Phases are written as soon as they are over, so that memory does
// not grow with the run; the file is not ordered by time, which the format allows.

#include <array>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "model/fleet_file.hpp"
#include "model/job.hpp"
#include "simulate/run_observer.hpp"

namespace cleave {

/// Writes the trace of one run, event by event.
class TraceEvents final : public RunObserver {
 public:
  /// All three must outlive it. `about` describes the whole file to the viewer.
  TraceEvents(const FleetFile& fleet, const Workload& workload,
              const std::map<std::string, std::string>& about, std::ostream& out);
  void on(const RunEvent& event) override;
  /// Ends all open phases at the last known instant, and the document.
  void finish();

 private:
  /// What a phase shows.
  enum class What : std::uint8_t { creating, idle, starting, running, wall, resident, lost };
  /// A span of time in which an instance does one thing.
  struct Phase {
    Instant begin;
    What what;
    std::vector<JobId> jobs;
    std::string text;  // a workload of the fleet file
  };
  /// A span whose end is known but in the future: the loss of its GPU would still cut it short.
  struct Ahead {
    Instant end;
    Phase phase;
    PlacementId placement;
  };
  /// One instance, with the part of its history that is not yet written.
  struct Instance {
    std::vector<Phase>
        phases;  // not yet written, by their beginnings; those after the first lie ahead
    std::vector<JobId> jobs;
    Instant settled{};  // until then the present phase continues, whatever is decided meanwhile
  };
  /// A counter's value is written when its time has passed: only the last value of an instant
  /// counts.
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
  /// Where a job runs.
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

  void write_header(const std::map<std::string, std::string>& about);
  void write_names(std::size_t gpu);
  void write_span(Seat seat, const Phase& phase, Instant end);
  void write_mark(const RunEvent& event);
  void write_flow(const char* ph, std::uint64_t id, Seat seat, Instant at);
  void change(Counter& counter, int by, Instant now, std::size_t pid, const char* name);
  void write_counter(const Counter& counter, std::size_t pid, const char* name);
  void line(std::string_view event);

  [[nodiscard]] const Geometry& geometry(GpuId gpu) const;
  [[nodiscard]] int slices_of(GpuId gpu) const;
  [[nodiscard]] SliceMask slices(Seat seat) const;
  [[nodiscard]] int compute(Seat seat) const;
  [[nodiscard]] std::string profile_name(Seat seat) const;
  [[nodiscard]] std::string job_text(const std::vector<JobId>& jobs) const;
  [[nodiscard]] std::string phase_name(Seat seat, const Phase& phase) const;

  const FleetFile* fleet_;
  const Workload* workload_;
  std::ostream* out_;
  std::vector<Gpu> gpus_;
  std::map<std::pair<JobId, std::uint32_t>, Seat> seats_;  // of running processes, by rank
  Counter waiting_, running_;
  std::uint64_t flows_ = 0;
  Instant last_{};
  bool begun_ = false, first_line_ = true;
};

}  // namespace cleave
