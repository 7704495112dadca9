#pragma once
// The results of one run of a scheduler on a workload; the keys are the contract in
// docs/formats.md. Unknown quantities are empty, never zero. To add a figure: a member of
// RunSummary and its row in run_summary.cpp, what measures it (simulate/), a test; the JSON, the
// text of `cleave simulate` and the comparison of `cleave compare` follow from the row.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json_fwd.hpp"
#include "base/time.hpp"
#include "model/job.hpp"

namespace cleave {

/// Mean and nearest-rank percentiles: p95 is the smallest value that at least 95 % of all values do
/// not exceed.
struct Distribution {
  std::size_t count = 0;
  Duration mean{}, p50{}, p95{}, p98{}, p99{}, max{};

  static Distribution of(const std::vector<Duration>& values);
};

/// The same of numbers without a unit.
struct Ratios {
  std::size_t count = 0;
  double mean = 0, p95 = 0, p99 = 0, max = 0;

  static Ratios of(const std::vector<double>& values);
};

/// Jobs shorter than this do not count as slowed because they waited a moment.
inline constexpr Duration slowdown_bound = std::chrono::seconds{10};

/// Bounded slowdown (Feitelson): turnaround over the job's shortest run time, where at least
/// `slowdown_bound` counts; never below 1.
///
/// The shortest run time is that on the profile of the fleet on which the job would be fastest if
/// it had the GPU to itself, the whole GPU with MIG off included, whatever profile it asks for. So
/// it is the same under every scheduler, and a ratio of slowdowns is one of turnarounds, job by
/// job. Against the time on the profile that was asked for, a scheduler that gives more would come
/// out below 1 and be cut off there, and jobs that name no profile would have none.
[[nodiscard]] double bounded_slowdown(Duration turnaround, Duration shortest);

/// How a service kept its target.
struct ServiceSummary {
  std::string id;
  std::uint32_t replicas = 0;
  Duration time{}, on_target{};  // from its arrival to its end, and of that on target
  Duration longest_off{};        // the longest time off target without a break
};

/// What the records of a trace used, by what became of them; the jobs' by what they ask for, which
/// is less than they had where shares are drawn.
struct GpuHours {
  double read = 0, left_out = 0;
  double finished = 0, failed = 0, rejected = 0, waiting = 0;
};

/// All figures of one run.
struct RunSummary {
  std::string scheduler;
  std::uint64_t seed = 0;
  std::map<std::string, std::string> workload;  // how the workload was read
  std::map<std::string, std::size_t> notes;     // the reader's counts worth reporting
  std::vector<std::string> profiles;            // the profiles in use, of all models together

  std::size_t read = 0;
  std::vector<ReasonCount> left_out;
  GpuHours gpu_hours;
  std::size_t jobs = 0, finished = 0, failed = 0, rejected = 0, waiting = 0;
  std::vector<ReasonCount> rejections;

  Duration makespan{};  // from the first arrival to the last end of a job that is no service
  /// Of finished batches. Execution is the time of all its processes, wait is the rest.
  Distribution wait, turnaround, execution;
  Ratios slowdown;                            // bounded_slowdown, of finished batches
  std::optional<double> several_wait_mean_s;  // of finished batches of several places
  /// The longest time from the arrival of a job to the first start of a process of it; of jobs that
  /// never had one, to the end of the run, unless they were rejected.
  Duration first_wait_max{};
  /// How often a job was taken from its place before its end, over those that had one: migrations,
  /// restarts, checkpoints, early restarts, and deaths by memory. Losses of GPUs are not in it.
  std::optional<double> disruptions_mean;
  std::size_t disruptions_max = 0;
  /// Execution over output tokens, the mean of finished jobs that say how many they make.
  std::optional<double> time_per_output_token_s;
  double system_throughput = 0;  // Dyna-P, equation 5: mean over time and GPUs
  double memory_allocated_utilization = 0, compute_utilization = 0;
  std::optional<double> memory_used_utilization;  // where every job's resident memory is known
  double fragmentation_mean = 0;                  // mean over time and GPUs
  /// In joules and watts; empty where the run left power out. The fleet's is that of jobs and of
  /// idle GPUs together, to the millijoule.
  std::optional<double> energy_j, job_energy_j, idle_energy_j, power_mean_w, power_peak_w;
  std::optional<double> sampled_energy_j;  // what a power meter that polls would have added up

  std::vector<ServiceSummary> services;
  std::size_t leases = 0, leases_promised = 0;
  std::optional<double> leases_in_time;  // of those that say when they should start, which did
  Distribution lease_wait;  // from arrival until it can be used, or to the end of the run
  /// Longest from the promised start of a lease to its place.
  std::optional<double> lease_late_max_s;
  std::optional<double> lease_given_back_slice_h;  // compute, while they were idle

  /// Time of jobs, added up, in which they made no progress, or progress that was lost later.
  double creation_s = 0;                   // their instance was being made
  double process_start_s = 0;              // their process had started and not yet begun to work
  double checkpoint_s = 0, restore_s = 0;  // a checkpoint was written, and read
  double lost_work_s = 0;
  double waiting_s = 0;  // finished jobs had no place

  /// Jobs of which a time was predicted and that ran from beginning to end on one instance, and
  /// |predicted / seen - 1| of these.
  std::size_t predictions = 0;
  std::optional<double> prediction_error_median, prediction_error_p90;

  std::size_t creates = 0, destroys = 0, migrations = 0, oom_restarts = 0, early_restarts = 0,
              deadline_misses = 0;
  std::size_t reconfigurations = 0;  // changes of a GPU's instances: destroys and creates together
  std::size_t stopping_reconfigurations = 0;  // those for which jobs on the GPU had to stop
  std::size_t restarts = 0;                   // jobs stopped by the scheduler, to start again
  std::size_t checkpoints = 0;                // jobs stopped by the scheduler, to continue later
  /// Plans of the policy that makes room, the moves in them, and those after which the job for
  /// which room was made had a place.
  std::size_t compactions = 0, compaction_moves = 0, compactions_served = 0;
  std::size_t gpu_losses = 0, evictions = 0;
  std::size_t shared_starts = 0;  // starts of jobs on instances that others may share
  std::size_t offloads = 0;       // starts of jobs with part of their memory on the host
  std::size_t events = 0;         // arrivals and ends of jobs
  /// Jobs whose speed came from compute slices because SM counts are unknown.
  std::size_t speeds_inferred = 0;
};

/// How `cleave compare` takes a figure.
enum class Compared {
  no,
  yes,
  with_same_jobs,  // only for seeds where all schedulers finished the same jobs
};

/// One figure of a run. `value` is the member that holds it, or what computes it.
struct RunFigure {
  std::string_view name;  // key in JSON
  std::string_view unit;  // s, jobs/s, %, 1 (without a unit), ratio (the same, in few digits), J,
                          // or the noun of what is counted
  std::string_view help;
  std::variant<std::size_t RunSummary::*, double RunSummary::*, std::optional<double> RunSummary::*,
               Duration RunSummary::*, Distribution RunSummary::*, Ratios RunSummary::*,
               std::vector<ReasonCount> RunSummary::*, std::optional<double> (*)(const RunSummary&)>
      value;
  Compared compared = Compared::no;
  int place = 0;  // among the figures of `compare`, and within its line of `simulate`

  // In the text of `simulate`: the line, and the words on it, with {n} for the value and {counted}
  // for the value and its unit ("3 restarts"). What is optional is left out where it is zero or
  // unknown. Lines stand in the order in which the rows first name them.
  std::string_view line = {}, words = {};
  bool optional = false;
};

/// Every figure, in the order of the JSON.
[[nodiscard]] std::span<const RunFigure> run_figures();

/// A time as it was predicted, and as it came out.
struct PredictedTime {
  Duration predicted{}, seen{};
};

/// Slice-seconds: of each slice the time for which it was held.
struct HeldSlices {
  double compute_s = 0, memory_s = 0;
};

/// What became of one job.
struct JobOutcome {
  enum class End : std::uint8_t { waiting, finished, failed, rejected } end = End::waiting;
  Duration wait{}, turnaround{}, execution{};  // of a finished one
  std::optional<double> energy_j = {};         // of its processes; empty where power was left out
  std::optional<PredictedTime> predicted = {};
  std::optional<double> slowdown = {};  // bounded_slowdown, of a finished one
  std::uint32_t disruptions = 0;        // see RunSummary
  std::uint32_t places = 1;             // that it asked for
  /// What it held, counted where some job of the workload names a user or an account. Jobs that
  /// share an instance hold equal parts of it.
  std::optional<HeldSlices> held = {};
  /// Of leases, after arrival: when it could be used, and when that was promised while it waited.
  std::optional<Duration> usable_after = {}, promised_after = {};
};

Json to_json(const RunSummary& summary);
Json to_json(const std::vector<ReasonCount>& counts);

}  // namespace cleave
