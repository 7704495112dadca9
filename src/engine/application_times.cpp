#include "engine/application_times.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "forecast/choice/profile_exports.hpp"
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

}  // namespace

SpeedTable ApplicationTimes::measured(const std::string& application, std::int64_t batch,
                                      const GpuModel& model) const {
  SpeedTable table;
  const auto add = [&](std::string_view profile) {
    const ProfileRecord* record =
        repository_.find({application, std::string(model.key), batch, std::string(profile), false});
    if (record != nullptr && record->time_s && *record->time_s > 0)
      table.emplace(profile, 1 / *record->time_s);
  };
  for (const Profile& profile : model.profiles) add(profile.name);
  add(no_mig);
  return table;
}

std::optional<MiB> ApplicationTimes::peak(const std::string& application, std::int64_t batch,
                                          const GpuModel& model) const {
  std::optional<MiB> most;
  for (const Profile& profile : model.profiles) {
    const ProfileRecord* record = repository_.find(
        {application, std::string(model.key), batch, std::string(profile.name), false});
    if (record != nullptr && record->peak_memory)
      most = std::max(most.value_or(MiB{}), *record->peak_memory);
  }
  return most;
}

std::optional<ApplicationTime> ApplicationTimes::time_on(const std::string& application,
                                                         std::int64_t batch, const GpuModel& model,
                                                         const Profile& profile) const {
  const SpeedTable table = measured(application, batch, model);
  if (const auto listed = listed_speed(table, model, profile.name))
    return ApplicationTime{1 / *listed, ApplicationTimeBasis::measured};
  if (const auto speed = completed_speed(table, model, profile))
    return ApplicationTime{1 / *speed, ApplicationTimeBasis::law};
  const ProfileKey key{application, std::string(model.key), batch, std::string(profile.name),
                       false};
  const auto seconds = by_model(key, model, profile);
  if (!seconds) return std::nullopt;
  return ApplicationTime{*seconds, ApplicationTimeBasis::model};
}

/// The record there, or else of the batch on the largest profile that was measured.
const ProfileRecord* ApplicationTimes::counters_of(const ProfileKey& key,
                                                   const GpuModel& model) const {
  if (const ProfileRecord* here = repository_.find(key)) return here;
  for (const Profile& profile : model.profiles)
    if (const ProfileRecord* other = repository_.find(
            {key.application, key.gpu_model, key.batch, std::string(profile.name), false}))
      return other;
  return repository_.find({key.application, key.gpu_model, key.batch, std::string(no_mig), false});
}

std::optional<double> ApplicationTimes::by_model(const ProfileKey& key, const GpuModel& model,
                                                 const Profile& profile) const {
  if (!model_) return std::nullopt;
  const ProfileRecord* record = counters_of(key, model);
  std::vector<double> row;
  for (const std::string& feature : model_->features())
    row.push_back(plain_feature(feature, key, profile).value_or(counter_of(feature, record)));
  const auto forecast = model_->forecast(row);
  if (!forecast || !(forecast->seconds > 0)) return std::nullopt;
  return forecast->seconds;
}

std::vector<BatchRow> ApplicationTimes::batch_rows(const GpuModel& model, std::size_t kind) const {
  std::vector<BatchRow> rows;
  for (const BatchQuestion::Row& row : batch_tables(repository_, model).rows) {
    const Profile* profile = model.find(row.partition);
    if (profile == nullptr) continue;
    rows.push_back({row.application, static_cast<std::int64_t>(row.measured.batch), kind,
                    static_cast<int>(profile - model.profiles.data()), row.measured.latency,
                    row.measured.throughput});
  }
  return rows;
}

}  // namespace cleave
