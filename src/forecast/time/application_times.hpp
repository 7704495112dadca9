#pragma once
// How long jobs of an application take, from what was measured beforehand: the records of a profile
// repository, and a model of completion times that was trained on such records. A fact for every
// scheduler, in simulations and in the daemon.
//
// For an application, a batch, a GPU model and a profile, the first of these that answers:
//
// 1. the time that was measured there;
// 2. the law of slices, where the batch was measured on two profiles of different size of this GPU
// model (physics/profile_times.hpp), above the smallest of them;
// 3. the trained model, with the counters that were measured there, or else on the largest profile.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/read_text.hpp"
#include "base/result.hpp"
#include "forecast/choice/profile_repository.hpp"
#include "forecast/time/completion_time.hpp"
#include "model/gpu_model.hpp"
#include "model/speed_table.hpp"

namespace cleave {

/// How the time of an application is known.
enum class ApplicationTimeBasis : std::uint8_t { measured, law, model };

/// A predicted time.
struct ApplicationTime {
  double seconds = 0;
  ApplicationTimeBasis basis = ApplicationTimeBasis::measured;
};

/// What was measured of the application's batch on this model, as a table of 1 / seconds.
[[nodiscard]] SpeedTable measured_speeds(const ProfileRepository& repository,
                                         const std::string& application, std::int64_t batch,
                                         const GpuModel& model);
/// The most memory that any run of the batch held on this model; of the application's other batches
/// nothing follows.
[[nodiscard]] std::optional<MiB> measured_peak(const ProfileRepository& repository,
                                               const std::string& application, std::int64_t batch,
                                               const GpuModel& model);

/// Answers about applications. Never changes, so that several threads may ask.
class ApplicationTimes {
 public:
  ApplicationTimes(ProfileRepository repository, std::optional<CompletionTime> model)
      : repository_(std::move(repository)), model_(std::move(model)) {}

  /// Of a job that runs alone, from its beginning; empty where nothing is known.
  [[nodiscard]] std::optional<ApplicationTime> time_on(const std::string& application,
                                                       std::int64_t batch, const GpuModel& model,
                                                       const Profile& profile) const;
  /// By the trained model alone, with counters of this repository, or else of `others`, which may
  /// be null.
  [[nodiscard]] std::optional<double> modelled_seconds(const std::string& application,
                                                       std::int64_t batch, const GpuModel& model,
                                                       const Profile& profile,
                                                       const ProfileRepository* others) const;

  [[nodiscard]] const ProfileRepository& repository() const { return repository_; }
  [[nodiscard]] const CompletionTime* model() const { return model_ ? &*model_ : nullptr; }

 private:
  ProfileRepository repository_;
  std::optional<CompletionTime> model_;
};

/// From a profile repository, and a model that `cleave forecast time --train` saved; null where
/// neither is given. Errors are those of the two readers.
[[nodiscard]] Result<std::shared_ptr<const ApplicationTimes>> parse_application_times(
    const std::optional<NamedText>& repository, const std::optional<NamedText>& model);

}  // namespace cleave
