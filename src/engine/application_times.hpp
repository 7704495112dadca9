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
#include <optional>
#include <string>
#include <vector>

#include "engine/job_facts.hpp"
#include "forecast/choice/profile_repository.hpp"
#include "forecast/time/completion_time.hpp"
#include "model/geometry.hpp"
#include "model/speed_table.hpp"

namespace cleave {

/// How the time of an application is known.
enum class ApplicationTimeBasis : std::uint8_t { measured, law, model };

/// A predicted time.
struct ApplicationTime {
  double seconds = 0;
  ApplicationTimeBasis basis = ApplicationTimeBasis::measured;
};

/// Answers about applications. Never changes, so that several threads may ask.
class ApplicationTimes {
 public:
  ApplicationTimes(ProfileRepository repository, std::optional<CompletionTime> model)
      : repository_(std::move(repository)), model_(std::move(model)) {}

  /// Of a job that runs alone, from its beginning; empty where nothing is known.
  [[nodiscard]] std::optional<ApplicationTime> time_on(const std::string& application,
                                                       std::int64_t batch, const GpuModel& model,
                                                       const Profile& profile) const;
  /// What was measured of the application's batch on this model, as a table of 1 / seconds.
  [[nodiscard]] SpeedTable measured(const std::string& application, std::int64_t batch,
                                    const GpuModel& model) const;
  /// The most memory that any run of the batch held on this model; of the application's other
  /// batches nothing follows.
  [[nodiscard]] std::optional<MiB> peak(const std::string& application, std::int64_t batch,
                                        const GpuModel& model) const;
  /// Latencies and throughputs for the choice of a partition; `kind` is the model's place among the
  /// fleet's.
  [[nodiscard]] std::vector<BatchRow> batch_rows(const GpuModel& model, std::size_t kind) const;

  [[nodiscard]] const ProfileRepository& repository() const { return repository_; }
  [[nodiscard]] const CompletionTime* model() const { return model_ ? &*model_ : nullptr; }

 private:
  [[nodiscard]] std::optional<double> by_model(const ProfileKey& key, const GpuModel& model,
                                               const Profile& profile) const;
  [[nodiscard]] const ProfileRecord* counters_of(const ProfileKey& key,
                                                 const GpuModel& model) const;

  ProfileRepository repository_;
  std::optional<CompletionTime> model_;
};

}  // namespace cleave
