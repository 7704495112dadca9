#pragma once
// A run as a file for timeline viewers such as Perfetto, in the Chrome trace-event format (JSON
// object form, "Trace Event Format", Google, 2016): every memory slice of every GPU over time.
//
// Each GPU is a process and each of its memory slices a thread. An instance is drawn on every slice
// that it covers, span after span: "creating PROFILE", "idle PROFILE", the job's id; where there
// is no instance, nothing is drawn. Spans of one slice never overlap, and none is inside another.
// A job on a whole GPU (MIG off) is drawn on all slices, and so is the time for which a GPU is
// lost; one of several places is drawn at each of them. Anything that takes no time is an instant
// event, a migration is a flow from the old place to the new one, and counters show the compute
// slices held on each GPU and how many jobs wait and run.
//
// Times are whole microseconds. Spans are written as soon as they are over, so that memory does
// not grow with the run; the file is not ordered by time, which the format allows.

#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "model/fleet_file.hpp"
#include "model/job.hpp"
#include "simulate/run_spans.hpp"

namespace cleave {

/// Writes the trace of one run, event by event.
class TraceEvents final : public RunObserver, private SpanSink {
 public:
  /// All three must outlive it. `about` describes the whole file to the viewer.
  TraceEvents(const FleetFile& fleet, const Workload& workload,
              const std::map<std::string, std::string>& about, std::ostream& out);
  TraceEvents(const TraceEvents&) = delete;
  TraceEvents& operator=(const TraceEvents&) = delete;
  void on(const RunEvent& event) override { spans_.on(event); }
  /// Ends all open spans at the last known instant, and the document.
  void finish();

 private:
  void span(const RunSpan& span) override;
  void mark(const RunEvent& event) override;
  void moved(RunSeat from, Instant left, RunSeat to, Instant arrives) override;
  void held(GpuId gpu, int slices, Instant since, Instant until) override;
  void waiting(int jobs, Instant since, Instant until) override;
  void running(int jobs, Instant since, Instant until) override;

  void write_header(const std::map<std::string, std::string>& about);
  void write_names(std::size_t gpu);
  void write_flow(const char* ph, RunSeat seat, Instant at);
  void write_counter(std::size_t pid, const char* name, int value, Instant since);
  void line(std::string_view event);

  [[nodiscard]] const Geometry& geometry(GpuId gpu) const;
  [[nodiscard]] int slices_of(GpuId gpu) const;
  [[nodiscard]] SliceMask slices(RunSeat seat) const;
  [[nodiscard]] std::string profile_name(RunSeat seat) const;
  [[nodiscard]] std::string job_text(const std::vector<JobId>& jobs) const;
  [[nodiscard]] std::string span_name(const RunSpan& span) const;

  const FleetFile* fleet_;
  const Workload* workload_;
  std::ostream* out_;
  RunSpans spans_;
  std::uint64_t flows_ = 0;
  bool first_line_ = true;
};

}  // namespace cleave
