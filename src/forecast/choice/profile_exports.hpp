#pragma once
// What can be read out of a profile repository: a table to train completion times on, measured
// instances for the reward (`cleave recommend`), and measured rows for the partition predictor
// (`cleave choose`).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "forecast/choice/choice_file.hpp"
#include "forecast/choice/profile_repository.hpp"
#include "model/gpu_model.hpp"

namespace cleave {

/// Which records are wanted; an empty field matches all.
struct ProfileFilter {
  std::string application;
  std::string gpu_model;
  std::optional<std::int64_t> batch;
};

/// The records that pass, in the order of their keys.
[[nodiscard]] std::vector<const ProfileRecord*> filtered(const ProfileRepository& repository,
                                                         const ProfileFilter& filter);

/// A record that was left out, and what it lacks.
struct LeftOutProfile {
  ProfileKey key;
  std::string lacks;
};

/// Records as a table to train completion times on.
struct TrainingTable {
  /// CSV: application, gpu_model, profile, batch, compute_slices, memory_slices, sms, offload (0 or
  /// 1), peak_memory_mib, the counters of all records by name, time_s. A measure that a record
  /// lacks is an empty cell.
  std::string csv;
  std::size_t rows = 0;
  std::vector<LeftOutProfile> left_out;  // records without a time
};
[[nodiscard]] TrainingTable training_table(const ProfileRepository& repository,
                                           const ProfileFilter& filter);

/// Records as a question about the best instance.
struct MeasuredQuestion {
  RewardQuestion question;
  std::int64_t batch = 1;
  const GpuModel* model = nullptr;
  /// The measure used: "tokens_per_s", "throughput_per_s" or "1/time_s".
  std::string_view performance;
  std::vector<LeftOutProfile> left_out;
};

/// The measured instances of one application with one batch on one GPU model, memory in MiB.
/// Performance is the first of tokens a second, throughput and 1 / time that the run on the whole
/// GPU has. That run is the one without MIG, else the one on the largest profile, without offload.
/// Fails if there is no such run, or if the filter leaves several applications, batches or models.
[[nodiscard]] Result<MeasuredQuestion> reward_question(const ProfileRepository& repository,
                                                       const ProfileFilter& filter);

/// The plain profiles of a GPU model as partitions (slices are compute slices, memory is usable
/// MiB), and a row for each record of the model on one of them that has no offload, a latency (p98,
/// else the time) and a throughput (tokens, else items, a second). `left_out` may be null. The
/// weighing and the jobs are empty.
[[nodiscard]] BatchQuestion batch_tables(const ProfileRepository& repository, const GpuModel& model,
                                         std::vector<LeftOutProfile>* left_out = nullptr);

/// Adds partitions and rows of the repository to a question that has only jobs. A job that does not
/// give its memory gets the peak that was measured with its batch on each partition. On partitions
/// without such a peak, every measured run counts as fitting, and there is no edge without a
/// measurement.
void fill_from(BatchQuestion& question, const ProfileRepository& repository, const GpuModel& model);

}  // namespace cleave
