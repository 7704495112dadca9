#pragma once
// Keeps a run's books: what became of each job, how long it waited and ran, what of that time was
// overhead, how much memory was resident. The run summary is written from here and from Measure.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "model/run_summary.hpp"
#include "simulate/least_needs.hpp"
#include "simulate/memory_truth.hpp"

namespace cleave {

/// How long a process ran: until it made progress, and in all.
struct ProcessTime {
  Duration all{}, start{}, restore{};
};

/// The share of its job's work with which a process began and ended, and what of that is kept for
/// the next.
struct WorkShare {
  double before = 0, after = 0, kept = 0;
};

/// What became of each job of a run.
class Account {
 public:
  Account(const Workload& workload, const MemoryTruth& memory)
      : workload_(&workload), memory_(&memory), has_kinds_(workload.has_kinds()) {
    books_.resize(workload.jobs.size());
  }

  /// The job's process ran, or all of its processes together.
  void ran(std::size_t job, const ProcessTime& time, const WorkShare& work);
  /// Whether what jobs hold is still counted: not once it is unknown for one of them.
  [[nodiscard]] bool counts_memory() const { return resident_known_; }
  /// So did a process of the job, each of several, that could hold `most`.
  void resident(std::size_t job, Duration time, const WorkShare& work, std::optional<MiB> most);
  /// A process of the job began then.
  void began(std::size_t job, Instant begins) {
    if (std::exchange(books_[job].began, true) || !is_batch(job)) return;
    first_wait_ = std::max(first_wait_, begins - workload_->jobs[job].arrival);
  }
  /// The job is taken from its place, or dies there for want of memory.
  void disrupted(std::size_t job) { ++books_[job].disruptions; }
  /// The job waits for its instance to be made; less than nothing takes back what was not waited.
  void waits_for_instance(std::size_t job, Duration time) {
    if (time == Duration::zero()) return;
    creation_s_ += in_seconds(time);
    books_[job].set_up += time;
  }
  void wrote_checkpoint(std::size_t job, Duration time) {
    checkpoint_s_ += in_seconds(time);
    books_[job].set_up += time;
  }
  /// What was predicted of a job, and how long it took.
  void compare(std::size_t job, PredictedTime time) {
    if (predicted_.empty()) predicted_.resize(books_.size());
    predicted_[job] = time;
  }
  void finished(std::size_t job, Instant now);
  void failed(std::size_t job);
  /// One of these comes soon.
  void expect(std::size_t job) const { __builtin_prefetch(&books_[job], 1); }
  void rejected(std::size_t job, std::string_view reason);

  /// Everything that is known of jobs alone. `usable_mib` is what programs could use on the whole
  /// fleet; `now` is the end of the run.
  void write(RunSummary& summary, std::optional<double> usable_mib, const LeastNeeds& needs,
             Instant now);
  [[nodiscard]] std::vector<JobOutcome> outcomes(const LeastNeeds& needs) const;
  [[nodiscard]] bool open(std::size_t job) const {
    return books_[job].end == JobOutcome::End::waiting;
  }

 private:
  /// Half a cache line.
  struct alignas(32) Book {
    Duration turnaround{}, execution{};
    Duration set_up{};  // instance made, checkpoint written
    std::uint32_t disruptions = 0;
    JobOutcome::End end = JobOutcome::End::waiting;
    bool began = false;
  };
  static_assert(sizeof(Book) == 32);

  [[nodiscard]] bool late(std::size_t job) const;
  /// The others are measured in other ways: they have no work whose end is waited for.
  [[nodiscard]] bool is_batch(std::size_t job) const {
    return !has_kinds_ || workload_->kind_of(workload_->jobs[job]) == JobKind::batch;
  }
  [[nodiscard]] double slowdown(std::size_t job, const LeastNeeds& needs) const;
  [[nodiscard]] GpuHours gpu_hours() const;
  void write_predictions(RunSummary& summary) const;
  void lose_work(std::size_t job, Duration progress, const WorkShare& work);

  const Workload* workload_;
  const MemoryTruth* memory_;
  bool has_kinds_;           // there is anything but batches
  std::vector<Book> books_;  // by job
  std::vector<ReasonCount> rejections_;
  std::vector<Duration>
      kept_;  // by job, time of processes that ended, whose work is kept; or empty
  std::vector<std::optional<PredictedTime>> predicted_;  // by job; or empty
  Duration first_wait_{};
  double creation_s_ = 0, start_s_ = 0, checkpoint_s_ = 0, restore_s_ = 0, lost_s_ = 0;
  double resident_mib_seconds_ = 0;
  bool resident_known_ = true;
};

}  // namespace cleave
