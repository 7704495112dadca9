#pragma once
// Speeds that nobody has measured. A job of which no speed on other profiles is known may fill the
// GPU, and then it suffers on every slice, or use a part of it and hardly notice. Advice is given
// for something in between, and for both ends to see whether it holds.
//
// By the law of slices (physics/slice_law.hpp) with 1 on the whole GPU: what is assumed is the
// GPU-bound part of a job's time there.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/fleet_file.hpp"
#include "model/job.hpp"

namespace cleave {

/// How a job of unknown speeds takes to slices.
enum class AssumedSpeed : std::uint8_t { between, fills_gpu, uses_a_part };
inline constexpr std::array assumed_speeds = {AssumedSpeed::between, AssumedSpeed::fills_gpu,
                                              AssumedSpeed::uses_a_part};

[[nodiscard]] SliceLaw law_of(AssumedSpeed assumed);
/// "fill the GPU (0.15 of its speed on 1g.5gb)", with the smallest plain profile of the model.
[[nodiscard]] std::string in_words(AssumedSpeed assumed, const Geometry& geometry);

/// What is assumed of the jobs of a workload; of applications that are not named, `of_others`.
struct SpeedAssumption {
  AssumedSpeed of_others = AssumedSpeed::between;
  std::map<std::string, AssumedSpeed> of_application = {};
};

/// Where a job ran whose duration is known from that run: in the past of a daemon.
struct RanOn {
  const GpuModel* model = nullptr;   // null: the duration is that on the whole GPU
  const Profile* profile = nullptr;  // null: the whole GPU with MIG off
};

/// Whether the workload says nothing of how fast a job with this is on slices.
[[nodiscard]] bool speed_is_unknown(const SpeedModel& speed);

/// Whose speeds are measured together: the job's application, or else its name without the number
/// at its end ("train-12" is one of "train").
[[nodiscard]] std::string application_of(const Workload& workload, const Job& job);

/// The workload with speeds for the jobs that have none. Durations of jobs that `ran_on` names, by
/// job, become those on the whole GPU. Services and leases are left as they are.
[[nodiscard]] Workload with_speeds(Workload workload, const std::vector<RanOn>& ran_on,
                                   const SpeedAssumption& assumption);

/// An application of which no speeds are known, and what its jobs use.
struct UnmeasuredApplication {
  std::string name;
  std::size_t jobs = 0;
  double gpu_hours = 0;  // of their time on the whole GPU
  double share = 0;      // of all batches' time on the whole GPU
};
/// Largest share first, then by name.
[[nodiscard]] std::vector<UnmeasuredApplication> unmeasured(const Workload& workload);

}  // namespace cleave
