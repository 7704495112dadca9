#pragma once
// What is known of applications beside what jobs say of themselves: what the user's earlier jobs
// taught, the operator's profile repository, and a trained model of completion times. Jobs hold
// what is known of theirs (MeasuredTimes), which follows when more is learnt.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "control/node/learnt_profiles.hpp"
#include "forecast/time/application_times.hpp"
#include "model/job_spec.hpp"

namespace cleave {

/// What was measured of one user's application with one batch; tables have 1 / seconds of a whole
/// job by MODEL:PROFILE, `none` for the whole GPU without MIG.
struct MeasuredTimes {
  SpeedTable learnt;    // from the user's earlier jobs
  SpeedTable given;     // from the operator's repository
  SpeedTable modelled;  // by the trained model, on the profiles of the node's GPUs
};

/// The batch of a job that says none is 1.
[[nodiscard]] inline std::int64_t batch_of(const JobSpec& spec) {
  return spec.batch.value_or(1);
}

/// Answers of applications, by user.
class MeasuredApplications {
 public:
  /// Of the node's GPUs: for these the trained model is asked.
  void set_models(std::vector<const GpuModel*> models);
  /// What the operator gave; null: nothing.
  void set_given(std::shared_ptr<const ApplicationTimes> given);
  /// What earlier jobs taught, as it was kept.
  void recall(const std::vector<LearntProfile>& kept) { learnt_.recall(kept); }
  /// A job of the user taught this; at most `most` records are kept.
  [[nodiscard]] LearntChange learn(std::uint32_t uid, const ProfileRecord& record,
                                   std::size_t most);
  [[nodiscard]] LearntChange keep(std::size_t most);

  /// Null for a job without an application. What it points to follows what is learnt.
  [[nodiscard]] std::shared_ptr<const MeasuredTimes> times_of(std::uint32_t uid,
                                                              const JobSpec& spec);

  [[nodiscard]] const LearntProfiles& learnt() const { return learnt_; }
  /// Null where the operator gave nothing.
  [[nodiscard]] const ApplicationTimes* given() const { return given_.get(); }

 private:
  using Key = std::tuple<std::uint32_t, std::string, std::int64_t>;  // user, application, batch
  void fill(const Key& key, MeasuredTimes& times) const;
  void fill_all();
  void follow(const LearntChange& change);

  std::vector<const GpuModel*> models_;
  std::shared_ptr<const ApplicationTimes> given_;
  LearntProfiles learnt_;
  std::map<Key, std::weak_ptr<MeasuredTimes>> asked_;
  std::size_t prune_at_ = 64;
};

}  // namespace cleave
