#pragma once
// Shared parts of the generators: reading options, drawing, and putting jobs together.

#include <functional>
#include <optional>
#include <vector>

#include "base/options.hpp"
#include "base/random.hpp"
#include "model/job.hpp"

namespace cleave {

/// Longest mean time until the last arrival; far below the limit of workload files.
inline constexpr double longest_arrivals_s = 5e7;
/// Most jobs that a generator makes.
inline constexpr std::int64_t most_jobs = 1'000'000;

/// Standard normal (Box and Muller, one of the pair).
double draw_normal(Random& random);
/// Log-normal with this median and this standard deviation of the logarithm.
double draw_log_normal(Random& random, double median, double sigma);
/// Uniform over the logarithm, from `least` to `most`.
double draw_log_uniform(Random& random, double least, double most);
/// 1 plus or minus at most `spread`.
double draw_around_one(Random& random, double spread);

/// Whole milliseconds, at least one.
Duration whole_ms(double seconds);
/// Four digits after the point, for speeds that people read.
double rounded_speed(double speed);

/// Profiles of a model without attribute whose memory is at least `needed`.
std::vector<const Profile*> profiles_with(const GpuModel& model, MiB needed);
/// Speeds from the time that a job takes on each profile with enough memory, relative to the
/// largest.
SpeedTable speeds_from_times(const GpuModel& model, MiB needed,
                             const std::function<double(const Profile&)>& time);

/// Builds a workload, job by job in the order of arrival.
class WorkloadMaker {
 public:
  /// Adds a job; `wanted` and the table's profiles become its request. On the whole GPU it uses the
  /// host link for `transfer_share` of its time.
  void add(Job job, const decltype(Request::wanted)& wanted, SpeedTable speeds,
           const std::optional<JobDetails>& details = {}, double transfer_share = 0,
           const std::optional<Offload>& offload = {});
  /// The same for a speed that has a table and more.
  void add(Job job, const decltype(Request::wanted)& wanted, const SpeedModel& speed,
           const std::optional<JobDetails>& details);
  Workload done();

 private:
  Workload workload_;
};

}  // namespace cleave
