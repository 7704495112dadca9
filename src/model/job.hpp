#pragma once
// A job as a workload describes it, and a workload: jobs in the order of their arrival. What many
// jobs share (a request, a table of speeds) is stored once and referred to by number, so that a
// million jobs fit in memory.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "model/job_kind.hpp"
#include "model/keeps.hpp"
#include "model/memory_growth.hpp"
#include "model/request.hpp"
#include "model/service_terms.hpp"
#include "model/start_terms.hpp"

namespace cleave {

/// Speed by profile name; "none" is the whole GPU with MIG off. Profiles that are absent do not fit
/// the job.
using SpeedTable = std::map<std::string, double, std::less<>>;
inline constexpr std::string_view mig_off = "none";

/// Time spent in each phase on the whole GPU.
struct Phases {
  Duration cpu{}, transfer{}, compute{}, bandwidth{};
  friend auto operator<=>(const Phases&, const Phases&) = default;
};

/// How well the two parts of a job's time overlap: 1 adds them up, large values keep the longer
/// one.
inline constexpr double job_overlap = 2.5;

/// A job's time on the whole GPU in two parts, in one unit: what no slice shortens (launches,
/// host), and its GPU-bound part. physics/speed_law.hpp says where the law comes from.
struct SliceLaw {
  double fixed = 0, bound = 0;
  double overlap = job_overlap;
  friend auto operator<=>(const SliceLaw&, const SliceLaw&) = default;
};
/// (fixed^p + (bound h)^p)^(1/p), where GPU-bound work takes `gpu_bound` times as long as on the
/// whole GPU; 0 if both parts are.
double time_on(const SliceLaw& law, double gpu_bound);

/// What a job does on an instance that is too small for it: as much of its memory as does not fit
/// stays on the host, and crosses the link whenever the job needs it.
struct Offload {
  MiB memory;  // what the job needs in all
  MiB most;    // of that it can keep on the host
  /// How often all that is on the host crosses the link, for each second of the job's time on the
  /// whole GPU.
  double touches_per_s = 0;
  friend auto operator<=>(const Offload&, const Offload&) = default;
};

/// How fast a job is on each profile; physics/speed.hpp reads it. One of the three, or none.
struct SpeedModel {
  std::optional<SpeedTable> table;
  /// Profiles that the table lacks get speeds by the law of slices (model/speed_table.hpp).
  bool complete = false;
  std::optional<Phases> phases;
  std::optional<SliceLaw> law;
  /// The model whose largest profile has speed 1; null: the fleet's first.
  const GpuModel* reference = nullptr;
  bool flat = false;  // as fast on every profile it may have (traces that record one time)
  /// The share of its time on the whole GPU in which it only transfers over the host link. Phases
  /// say that themselves.
  double transfer_share = 0;
  double kappa = 1;  // what it draws, relative to usual work (physics/power.hpp)
  std::optional<Offload> offload = {};
  friend auto operator<=>(const SpeedModel&, const SpeedModel&) = default;
};

/// What only few jobs state about themselves.
struct JobDetails {
  std::optional<Duration> deadline;  // after arrival
  std::optional<MemoryGrowth> growth;
  std::optional<std::int64_t> batch;
  std::optional<MiB> offload, host_memory;
  std::optional<double> offload_touches;  // in all its work; without it, nothing is offloaded
  std::optional<double> cpus;
  std::int64_t priority = 0;
  std::optional<bool> restartable, movable;  // empty: the job does not say
  Keeps keeps = Keeps::unsaid;
  std::optional<Duration> checkpoint_every;  // of its time on the whole GPU; it writes them itself
  /// Jobs of one application have one profile of performance.
  std::optional<std::string> application;
  std::optional<std::string> user;            // who pays for it
  std::optional<std::string> account;         // on which, of several users
  std::optional<Duration> latency;            // of one batch, where `duration` is counted
  std::optional<double> fails_after;          // the share of its work after which its process fails
  std::optional<std::int64_t> output_tokens;  // that a language model makes in all its work
  std::optional<std::uint32_t> service;       // a replica of it: index into Workload::services
  std::optional<LeaseTerms> lease;
  StartTerms start = {};
  friend bool operator==(const JobDetails&, const JobDetails&) = default;
};

/// `details` may be null.
[[nodiscard]] inline JobKind kind_of(const JobDetails* details) {
  if (details == nullptr) return JobKind::batch;
  if (details->service) return JobKind::service;
  return details->lease ? JobKind::lease : JobKind::batch;
}

/// One job of a workload.
struct Job {
  std::string id;
  Instant arrival{};
  Duration duration{};  // on the whole GPU under MIG: the largest profile of the speed's reference
  std::uint32_t request = 0;     // index into Workload::requests
  std::uint32_t speed = 0;       // index into Workload::speeds
  std::uint32_t details = none;  // index into Workload::details

  static constexpr std::uint32_t none = UINT32_MAX;
};

/// How many jobs or records share a reason, and what they would have used.
struct ReasonCount {
  std::string reason;
  std::size_t count = 0;
  double gpu_hours = 0;  // of records of traces
};

/// What a job uses that asks for this and runs for that long: a share of a GPU counts as that
/// share, a GPU as one, and so does an instance, as clusters count their devices.
[[nodiscard]] double gpu_hours(const Request& request, Duration duration);

/// The jobs of a run, with what they share.
struct Workload {
 public:
  std::vector<Job> jobs;  // by arrival; equal arrivals in the order of the file
  std::vector<Request> requests;
  std::vector<SpeedModel> speeds;
  std::vector<JobDetails> details;
  std::vector<ServiceTerms> services;  // whose replicas are jobs, one after the other

  // What became of the records that were read: read = jobs + left out, of their GPU-hours too.
  std::size_t read = 0;
  double gpu_hours_read = 0;  // of a trace
  std::vector<ReasonCount> left_out;
  std::map<std::string, std::string> options;  // how it was read: rule, compress, limit, as text
  std::map<std::string, std::size_t> notes;    // counts worth reporting: censored, no_gpu

  std::uint32_t intern(const Request& request);
  std::uint32_t intern(const SpeedModel& speed);
  /// Puts the jobs in order of arrival.
  void sort();
  [[nodiscard]] const JobDetails* details_of(const Job& job) const {
    return job.details == Job::none ? nullptr : &details[job.details];
  }
  [[nodiscard]] JobKind kind_of(const Job& job) const { return cleave::kind_of(details_of(job)); }
  /// Whether there is anything but batches.
  [[nodiscard]] bool has_kinds() const;
  [[nodiscard]] double gpu_hours_of(const Job& job) const {
    return gpu_hours(requests[job.request], job.duration);
  }

 private:
  // The index of each request and speed, to find equal ones; only looked up, never iterated.
  std::map<Request, std::uint32_t> request_numbers_;
  std::map<SpeedModel, std::uint32_t> speed_numbers_;
};

}  // namespace cleave
