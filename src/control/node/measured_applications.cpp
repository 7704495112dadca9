#include "control/node/measured_applications.hpp"

#include <algorithm>

#include "base/format.hpp"

namespace cleave {

namespace {

/// All times of the application's batch in the repository, which may be null.
SpeedTable times_in(const ProfileRepository* repository, const std::string& application,
                    std::int64_t batch) {
  SpeedTable table;
  if (repository == nullptr) return table;
  const auto& records = repository->records();
  for (auto each = records.lower_bound({application, "", 0, "", false});
       each != records.end() && each->first.application == application; ++each) {
    const auto& [key, record] = *each;
    if (key.batch != batch || key.offload || !record.time_s || !(*record.time_s > 0)) continue;
    table.emplace(fmt::format("{}:{}", key.gpu_model, key.profile), 1 / *record.time_s);
  }
  return table;
}

}  // namespace

void MeasuredApplications::fill(const Key& key, MeasuredTimes& times) const {
  const auto& [uid, application, batch] = key;
  const ProfileRepository* learnt = learnt_.of(uid);
  times.learnt = times_in(learnt, application, batch);
  times.given = times_in(given_ ? &given_->repository() : nullptr, application, batch);
  times.modelled.clear();
  if (!given_) return;
  for (const GpuModel* model : models_)
    for (const Profile& profile : model->profiles)
      if (const auto seconds =
              given_->modelled_seconds(application, batch, *model, profile, learnt))
        times.modelled.emplace(fmt::format("{}:{}", model->key, profile.name), 1 / *seconds);
}

void MeasuredApplications::fill_all() {
  for (const auto& [key, asked] : asked_)
    if (const auto times = asked.lock()) fill(key, *times);
}

void MeasuredApplications::follow(const LearntChange& change) {
  const auto changed = [&](std::uint32_t uid, const ProfileKey& profile) {
    const Key key{uid, profile.application, profile.batch};
    if (const auto found = asked_.find(key); found != asked_.end())
      if (const auto times = found->second.lock()) fill(key, *times);
  };
  for (const LearntProfile& each : change.now) changed(each.uid, each.record.key);
  for (const LearntKey& each : change.gone) changed(each.uid, each.profile);
}

void MeasuredApplications::set_models(std::vector<const GpuModel*> models) {
  models_ = std::move(models);
  fill_all();
}

void MeasuredApplications::set_given(std::shared_ptr<const ApplicationTimes> given) {
  given_ = std::move(given);
  fill_all();
}

LearntChange MeasuredApplications::learn(std::uint32_t uid, const ProfileRecord& record,
                                         std::size_t most) {
  LearntChange change = learnt_.learn(uid, record, most);
  follow(change);
  return change;
}

LearntChange MeasuredApplications::keep(std::size_t most) {
  LearntChange change = learnt_.keep(most);
  follow(change);
  return change;
}

std::shared_ptr<const MeasuredTimes> MeasuredApplications::times_of(std::uint32_t uid,
                                                                    const JobSpec& spec) {
  if (!spec.application) return nullptr;
  if (asked_.size() >= prune_at_) {
    std::erase_if(asked_, [](const auto& each) { return each.second.expired(); });
    prune_at_ = std::max<std::size_t>(64, 2 * asked_.size());
  }
  Key key{uid, *spec.application, batch_of(spec)};
  const auto [at, fresh] = asked_.try_emplace(std::move(key));
  if (auto known = at->second.lock()) return known;
  auto times = std::make_shared<MeasuredTimes>();
  fill(at->first, *times);
  at->second = times;
  return times;
}

}  // namespace cleave
