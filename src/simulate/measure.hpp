#pragma once
// Measures a run while it goes: what each GPU holds is summed over time, touched only when it
// changes, so that a run costs the same an event whatever the size of the fleet.

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/time.hpp"
#include "model/run_summary.hpp"
#include "simulate/world.hpp"

namespace cleave {

/// What the GPUs of a run hold, summed over time.
class Measure {
 public:
  Measure(const World& world, Instant begin);

  /// Must be called before what `gpu` holds changes.
  void before_change(GpuId gpu, Instant now);
  /// A job makes progress on the GPU at this relative speed from `from` on, for Dyna-P's equation
  /// 5; before that its instance is made and its process starts.
  void add_speed(GpuId gpu, double speed, Instant from);
  /// What was added no more counts.
  void remove_speed(GpuId gpu, double speed, Instant from);
  /// The GPU changes soon: has the memory fetch what that needs.
  void expect(GpuId gpu) const { __builtin_prefetch(&sums_[index(gpu)], 1); }

  /// Closes the account at `end`, or at the last change if that is later.
  void finish(Instant end, RunSummary& summary);

 private:
  /// A job that will make progress.
  struct Start {
    Instant from;
    double speed;
    friend bool operator==(const Start&, const Start&) = default;
  };
  /// Of one GPU; one cache line.
  struct alignas(64) Sum {
    Instant since{};   // when it changed last
    double speed = 0;  // of the jobs that make progress there
    std::uint32_t starts = 0;
    std::array<Start, 2> next{};  // the first of the jobs that will
  };
  static_assert(sizeof(Sum) == 64);

  void push(GpuId gpu, const Start& start);
  /// The GPU's start number `which`.
  [[nodiscard]] Start& start_of(GpuId gpu, std::size_t which);
  void erase(GpuId gpu, std::size_t which);

  const World* world_;
  Instant begin_;
  std::vector<Sum> sums_;                                                 // by GPU
  std::unordered_map<std::uint32_t, std::vector<Start>> more_starts_;     // by GPU, rarely any
  double compute_ = 0, memory_ = 0, fragmentation_ = 0, throughput_ = 0;  // times seconds
};

}  // namespace cleave
