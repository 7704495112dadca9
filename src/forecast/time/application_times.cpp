#include "forecast/time/application_times.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "physics/speed_law.hpp"

namespace cleave {

namespace {

constexpr double missing = std::numeric_limits<double>::quiet_NaN();

/// What a model may have learnt from besides counters, by the names that `profiles export` gives;
/// NaN where it is not known, nothing where the name is another one.
std::optional<double> plain_feature(std::string_view name, const ProfileKey& key,
                                    const Profile& profile) {
  if (name == "batch") return static_cast<double>(key.batch);
  if (name == "compute_slices") return profile.compute.value;
  if (name == "memory_slices") return profile.memory.value;
  if (name == "sms") return profile.sms ? profile.sms->value : missing;
  if (name == "offload") return 0;
  return std::nullopt;
}

double counter_of(std::string_view name, const ProfileRecord* record) {
  if (record == nullptr) return missing;
  if (name == "peak_memory_mib")
    return record->peak_memory ? static_cast<double>(record->peak_memory->value) : missing;
  const auto found = record->counters.find(name);
  return found == record->counters.end() ? missing : found->second;
}

ProfileKey key_of(const std::string& application, std::int64_t batch, const GpuModel& model,
                  std::string_view profile) {
  return {application, std::string(model.key), batch, std::string(profile), false};
}

/// Calls `look` with every record of the batch on this model, from large profiles to small ones,
/// the run without MIG last.
template <class Look>
void each_record(const ProfileRepository& repository, const std::string& application,
                 std::int64_t batch, const GpuModel& model, const Look& look) {
  for (const Profile& profile : model.profiles)
    if (const auto* record = repository.find(key_of(application, batch, model, profile.name)))
      look(*record);
  if (const auto* record = repository.find(key_of(application, batch, model, no_mig)))
    look(*record);
}

/// The record there, or else of the batch on the largest profile that was measured.
const ProfileRecord* counters_for(const ProfileRepository& repository, const ProfileKey& key,
                                  const GpuModel& model) {
  if (const ProfileRecord* here = repository.find(key)) return here;
  const ProfileRecord* first = nullptr;
  each_record(repository, key.application, key.batch, model, [&](const ProfileRecord& record) {
    if (first == nullptr) first = &record;
  });
  return first;
}

}  // namespace

SpeedTable measured_speeds(const ProfileRepository& repository, const std::string& application,
                           std::int64_t batch, const GpuModel& model) {
  SpeedTable table;
  each_record(repository, application, batch, model, [&](const ProfileRecord& record) {
    if (record.time_s && *record.time_s > 0) table.emplace(record.key.profile, 1 / *record.time_s);
  });
  return table;
}

std::optional<MiB> measured_peak(const ProfileRepository& repository,
                                 const std::string& application, std::int64_t batch,
                                 const GpuModel& model) {
  std::optional<MiB> most;
  each_record(repository, application, batch, model, [&](const ProfileRecord& record) {
    if (record.peak_memory) most = std::max(most.value_or(MiB{}), *record.peak_memory);
  });
  return most;
}

std::optional<ApplicationTime> ApplicationTimes::time_on(const std::string& application,
                                                         std::int64_t batch, const GpuModel& model,
                                                         const Profile& profile) const {
  const SpeedTable table = measured_speeds(repository_, application, batch, model);
  if (const auto listed = listed_speed(table, model, profile.name))
    return ApplicationTime{1 / *listed, ApplicationTimeBasis::measured};
  if (const auto speed = completed_speed(table, model, profile))
    return ApplicationTime{1 / *speed, ApplicationTimeBasis::law};
  const auto seconds = modelled_seconds(application, batch, model, profile, nullptr);
  if (!seconds) return std::nullopt;
  return ApplicationTime{*seconds, ApplicationTimeBasis::model};
}

std::optional<double> ApplicationTimes::modelled_seconds(const std::string& application,
                                                         std::int64_t batch, const GpuModel& model,
                                                         const Profile& profile,
                                                         const ProfileRepository* others) const {
  if (!model_) return std::nullopt;
  const ProfileKey key = key_of(application, batch, model, profile.name);
  const ProfileRecord* record = counters_for(repository_, key, model);
  if (record == nullptr && others != nullptr) record = counters_for(*others, key, model);
  std::vector<double> row;
  for (const std::string& feature : model_->features())
    row.push_back(plain_feature(feature, key, profile).value_or(counter_of(feature, record)));
  const auto forecast = model_->forecast(row);
  if (!forecast || !(forecast->seconds > 0)) return std::nullopt;
  return forecast->seconds;
}

Result<std::shared_ptr<const ApplicationTimes>> parse_application_times(
    const std::optional<NamedText>& repository, const std::optional<NamedText>& model) {
  if (!repository && !model) return nullptr;
  ProfileRepository profiles;
  if (repository) {
    const auto lines = add_profiles(profiles, repository->text, repository->place, MergeRule::mean);
    if (!lines) return std::unexpected(lines.error());
  }
  std::optional<CompletionTime> trained;
  if (model) {
    auto loaded = CompletionTime::load(model->text, model->place);
    if (!loaded) return std::unexpected(loaded.error());
    trained = std::move(*loaded);
  }
  return std::make_shared<const ApplicationTimes>(std::move(profiles), std::move(trained));
}

}  // namespace cleave
