#pragma once
// What is known about jobs beyond their requests, for schedulers that use it. Whoever drives the
// engine answers: the simulator from the workload, the daemon from what was submitted and measured.
// Answers are asked for from the job's Submitted or Adopted on. Nothing has to be known; a
// scheduler must do with what it gets.

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "model/ids.hpp"
#include "model/job_kind.hpp"
#include "model/past_use.hpp"
#include "model/request.hpp"

namespace cleave {

struct SharedGpu;   // physics/contention.hpp
struct SharedLoad;  // there

/// The performance of one batch of an application on a profile, as measured before (Dyna-P, 3.1.1).
struct BatchRow {
  std::string application;
  std::int64_t batch = 0;
  std::size_t kind = 0;  // the GPU model, by its place among the fleet's
  int profile = 0;       // index into the model's profiles
  double latency_s = 0, throughput_per_s = 0;
};

/// The processes of a job, each of which has a place of its own and a number by which schedulers
/// know it. The job's own number is that of the first; the others have consecutive ones from
/// `others` on. A job of one place has size 1.
struct Gang {
  JobId leader{}, others{};
  std::uint32_t size = 1;

  [[nodiscard]] JobId member(std::uint32_t rank) const {
    return rank == 0 ? leader : static_cast<JobId>(index(others) + rank - 1);
  }
};

/// Answers about jobs; each has a default for what is not known.
class JobFacts {
 public:
  virtual ~JobFacts() = default;

  /// Jobs of higher priority go first (docs/schedulers.md); 0 where nothing was said. Never
  /// changes.
  [[nodiscard]] virtual std::int64_t priority(JobId) const { return 0; }
  [[nodiscard]] virtual JobKind kind(JobId) const { return JobKind::batch; }
  /// The gang of which this job, or process of one, is part; asked only where the request is for
  /// several places. The other answers are the same for all that are part of one.
  [[nodiscard]] virtual Gang gang(JobId job) const { return {job, job, 1}; }
  /// When it must have ended.
  [[nodiscard]] virtual std::optional<Instant> deadline(JobId) const { return std::nullopt; }
  /// Whether a replica may take over while it runs, and whether it may be stopped and started from
  /// the beginning.
  [[nodiscard]] virtual bool movable(JobId) const { return false; }
  [[nodiscard]] virtual bool restartable(JobId) const { return false; }
  /// Whether it keeps its work when it is stopped on command, and goes on from there.
  [[nodiscard]] virtual bool saves(JobId) const { return false; }
  /// Since when a job that was adopted runs where it is.
  [[nodiscard]] virtual std::optional<Instant> running_since(JobId) const { return std::nullopt; }
  /// The time its work takes from the beginning on an instance of this profile of the GPU model
  /// `kind` (by its place among the fleet's); nullopt when that is not known or it cannot run
  /// there.
  [[nodiscard]] virtual std::optional<Duration> time_on(JobId, std::size_t /*kind*/,
                                                        int /*profile*/) const {
    return std::nullopt;
  }
  /// How fast its work goes there, in a unit that is the same for all profiles of the job; asked
  /// where no time is known of it.
  [[nodiscard]] virtual std::optional<double> speed_on(JobId, std::size_t /*kind*/,
                                                       int /*profile*/) const {
    return std::nullopt;
  }
  /// It is stopped when it has run for so long; asked where no time is known of it, for what is in
  /// its way until then at the latest.
  [[nodiscard]] virtual std::optional<Duration> most_time(JobId) const { return std::nullopt; }
  /// Whether times are known of any job: what cannot do without them is refused where not.
  [[nodiscard]] virtual bool tells_times() const { return true; }
  /// Whether these times are predictions: then options that make true times wrong do nothing.
  [[nodiscard]] virtual bool predicts() const { return false; }
  /// The share of its work that is done, of a job that runs or was saved, by what it reported; the
  /// rest takes as much of time_on.
  [[nodiscard]] virtual std::optional<double> progress(JobId) const { return std::nullopt; }
  /// What it costs to save the job and to restore it on a GPU of the model `kind`, together: by its
  /// memory and the link, as far as these are known.
  [[nodiscard]] virtual std::optional<Duration> checkpoint_time(JobId, std::size_t /*kind*/) const {
    return std::nullopt;
  }
  /// When a running job is expected to end, by what it reports where it does.
  [[nodiscard]] virtual std::optional<Instant> expected_end(JobId) const { return std::nullopt; }
  /// Whether such expectations change while jobs run.
  [[nodiscard]] virtual bool expects_anew() const { return false; }
  /// What it asks of the link and the power that all jobs on a GPU share, with an instance of this
  /// profile of the GPU model `kind`; null: not known, or it cannot run there.
  [[nodiscard]] virtual const SharedLoad* load_on(JobId, std::size_t /*kind*/,
                                                  int /*profile*/) const {
    return nullptr;
  }
  /// What the instances of a GPU of this model share; null: nothing is known of it.
  [[nodiscard]] virtual const SharedGpu* shared_by(std::size_t /*kind*/) const { return nullptr; }
  /// What it is a batch of, and how large that is.
  [[nodiscard]] virtual const std::string* application(JobId) const { return nullptr; }
  [[nodiscard]] virtual std::optional<std::int64_t> batch(JobId) const { return std::nullopt; }
  /// Whose it is, and on which account; null where that is not said. Neither ever changes.
  [[nodiscard]] virtual const std::string* user(JobId) const { return nullptr; }
  [[nodiscard]] virtual const std::string* account(JobId) const { return nullptr; }
  /// What users held before the engine was made, of jobs that it is never told of.
  [[nodiscard]] virtual std::vector<PastUse> past_use() const { return {}; }
  /// What was measured of the applications beforehand.
  [[nodiscard]] virtual std::vector<BatchRow> batch_rows() const { return {}; }

  /// The jobs that are known to come, by arrival; `static:layout=best` asks.
  struct Expected {
    JobId job;
    RequestId request;
    Instant arrival;
  };
  [[nodiscard]] virtual std::vector<Expected> expected() const { return {}; }
};

/// The job's place in a queue: a higher priority first, then the order of submission.
struct JobRank {
  std::int64_t priority = 0;
  JobId job{};

  friend bool operator==(const JobRank&, const JobRank&) = default;
  friend std::strong_ordering operator<=>(const JobRank& a, const JobRank& b) {
    return a.priority != b.priority ? b.priority <=> a.priority : a.job <=> b.job;
  }
};

/// `facts` may be null.
inline JobRank rank_of(const JobFacts* facts, JobId job) {
  return {facts == nullptr ? 0 : facts->priority(job), job};
}

}  // namespace cleave
