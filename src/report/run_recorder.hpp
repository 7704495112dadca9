#pragma once
// Watches a run for its report: what each instance does over time, as far as that can be drawn, and
// for the whole run how much of the fleet is held, how many jobs wait, what jobs draw.
//
// Memory is bounded: of a run with more spans than can be drawn, what each GPU, or each group of
// GPUs, holds is kept as means over parts of the time instead.

#include <map>
#include <optional>
#include <vector>

#include "base/json_fwd.hpp"
#include "graph/fragmentation.hpp"
#include "report/step_means.hpp"
#include "simulate/run_spans.hpp"

namespace cleave::report {

/// How much is kept.
struct Bounds {
  std::size_t spans = 120'000;
  std::size_t marks = 10'000;  // restarts, moves and the like
  std::size_t parts = 512;     // of the time
  std::size_t rows = 128;      // of GPUs, where spans are too many
};

/// One run.
class RunRecorder final : public RunObserver, private SpanSink {
 public:
  /// Both must outlive it.
  RunRecorder(const FleetFile& fleet, const Workload& workload, const Bounds& bounds = {});
  RunRecorder(const RunRecorder&) = delete;
  RunRecorder& operator=(const RunRecorder&) = delete;

  void on(const RunEvent& event) override { spans_.on(event); }
  void on_rate(Instant now, const RateChange& change) override;

  /// "series" and "timeline" of a run in a report (docs/formats.md). Ends the recording.
  [[nodiscard]] Json finish();

 private:
  void span(const RunSpan& span) override;
  void mark(const RunEvent& event) override;
  void moved(RunSeat from, Instant left, RunSeat to, Instant arrives) override;
  void held(GpuId gpu, int slices, Instant since, Instant until) override;
  void waiting(int jobs, Instant since, Instant until) override;
  void running(int jobs, Instant since, Instant until) override;
  void occupied(RunSeat seat, bool now, Instant at) override;

  /// A number that is constant from a moment on.
  struct Constant {
    Instant since{};
    double value = 0;
  };
  /// What one process does, and one GPU.
  struct Rate {
    Constant power, speed;
  };
  struct Gpu {
    PlacementSet occupied;
    Constant memory, fragmentation;
  };
  struct Move {
    RunSeat from, to;
    Instant left, arrives;
  };
  struct Mark {
    RunEvent::Kind kind;
    Instant at;
    std::optional<JobId> job;
    std::optional<GpuId> gpu;
  };

  [[nodiscard]] Duration since_begin(Instant at) const;
  void change(StepMeans& means, Constant& constant, double value, Instant at);
  [[nodiscard]] double fragmentation_of(GpuId gpu);
  [[nodiscard]] const Geometry& geometry(GpuId gpu) const;
  [[nodiscard]] Json series_json(Duration end) const;
  [[nodiscard]] Json spans_json() const;
  [[nodiscard]] Json rows_json(Duration end) const;
  [[nodiscard]] Json marks_json() const;
  [[nodiscard]] Json moves_json() const;
  [[nodiscard]] Json fleet_json() const;

  const FleetFile* fleet_;
  const Workload* workload_;
  Bounds bounds_;
  RunSpans spans_;
  std::vector<Gpu> gpus_;
  std::map<std::pair<JobId, std::uint32_t>, Rate> rates_;
  std::map<std::pair<std::size_t, std::uint32_t>, double> costs_;  // by geometry and occupied
  StepMeans waiting_, running_, compute_, memory_, fragmentation_, power_, speed_;
  std::vector<StepMeans> rows_;  // compute slices held, by group of GPUs
  std::vector<RunSpan> drawn_;
  std::vector<Move> moves_;
  std::vector<Mark> marks_;
  bool too_many_ = false, has_power_ = false;
};

}  // namespace cleave::report
