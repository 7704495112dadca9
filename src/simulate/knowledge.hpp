#pragma once
// How much the schedulers of a simulation are told of its jobs, and what they may do to jobs that
// run; the same for all of them, so that they are compared on equal terms. What is withheld
// here is missing from the facts (known_jobs.hpp) and from the requests that the engine gets: a
// scheduler has no other source. The world stays as it is.
//
// Schedulers that are there to know the truth (SchedulerRow::truth) are told it all the same.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "model/job.hpp"

namespace cleave {

/// What is told of a job's times.
enum class KnownTimes : std::uint8_t {
  truth,
  noise,    // times a factor of its own, the same for all its profiles
  unknown,  // no time of any job
};

/// What is told of how times on profiles differ.
enum class KnownSpeeds : std::uint8_t {
  truth,
  learn,    // what jobs of the same application and batch showed that have finished
  unknown,  // with times known, that on the profile that the job asks for
};

/// What is told of the memory of jobs, beside the size that a job asks for.
enum class KnownMemory : std::uint8_t {
  truth,     // on which profiles it runs, where the workload says so
  forecast,  // what a forecaster says of jobs that run
  unknown,
};

/// What is told of jobs.
struct Knowledge {
  KnownTimes times = KnownTimes::truth;
  KnownSpeeds speeds = KnownSpeeds::truth;
  KnownMemory memory = KnownMemory::truth;
  double noise = 0;  // the deviation of the logarithm of the factor, with KnownTimes::noise

  friend bool operator==(const Knowledge&, const Knowledge&) = default;
};

/// What may happen to jobs that run, before their end.
enum class MayInterrupt : std::uint8_t {
  all,
  checkpoint,  // they may be stopped, at the price of what they lose or of a checkpoint, but not
               // moved for nothing
  never,
};

/// "times=noise:0.5;memory=none", each optional, in any order.
[[nodiscard]] Result<Knowledge> parse_knowledge(std::string_view text);
/// The same as written, complete.
[[nodiscard]] std::string text(const Knowledge& knowledge);
/// What is said of times there.
[[nodiscard]] std::string text_of_times(const Knowledge& knowledge);
/// In words, of what is not the truth; empty if all is.
[[nodiscard]] std::string words(const Knowledge& knowledge);

[[nodiscard]] Result<MayInterrupt> parse_may(std::string_view text);
[[nodiscard]] std::string_view name(MayInterrupt may);
/// Whether a job that says this may be moved, or stopped, where the run allows no more than `may`.
[[nodiscard]] bool may_move(MayInterrupt may, const JobDetails* details);
[[nodiscard]] bool may_stop(MayInterrupt may, const JobDetails* details);

/// The factor of a job's times; depends on the seed and the job alone.
[[nodiscard]] double noise_factor(const Knowledge& knowledge, std::uint64_t seed, std::size_t job);

}  // namespace cleave
