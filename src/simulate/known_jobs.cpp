#include "simulate/known_jobs.hpp"

#include <cmath>
#include <set>
#include <tuple>

#include "engine/batch_rows.hpp"

namespace cleave {

std::int64_t KnownJobs::priority(JobId id) const {
  const JobDetails* details = workload_->details_of(job(id));
  return details == nullptr ? 0 : details->priority;
}

std::optional<Instant> KnownJobs::deadline(JobId id) const {
  const JobDetails* details = workload_->details_of(job(id));
  if (details == nullptr || !details->deadline) return std::nullopt;
  return job(id).arrival + *details->deadline;
}

bool KnownJobs::movable(JobId id) const {
  const JobDetails* details = workload_->details_of(job(id));
  return details == nullptr || details->movable.value_or(details->keeps != Keeps::nothing);
}

bool KnownJobs::restartable(JobId id) const {
  const JobDetails* details = workload_->details_of(job(id));
  return details == nullptr || details->restartable.value_or(true);
}

std::optional<Duration> KnownJobs::time_on(JobId id, std::size_t kind, int profile) const {
  if (applications_ != nullptr) return predicted(id, kind, profile);
  const double speed = speeds_->on(job(id), kind, static_cast<std::size_t>(profile)).relative;
  if (!(speed > 0)) return std::nullopt;
  const double ns = static_cast<double>(job(id).duration.count()) / speed;
  constexpr auto longest = static_cast<double>(longest_duration.count());
  return Duration{std::llround(std::min(ns, 2 * longest))};
}

std::optional<Duration> KnownJobs::predicted(JobId id, std::size_t kind, int profile) const {
  const std::string* of = application(id);
  if (applications_ == nullptr || of == nullptr) return std::nullopt;
  const std::int64_t size = batch(id).value_or(1);
  auto [known, fresh] = predictions_.try_emplace({*of, size});
  if (fresh)
    for (const auto& graph : fleet_->graphs()) {
      const GpuModel& model = graph->geometry().model();
      std::vector<Duration>& times = known->second.emplace_back();
      for (const Profile& each : model.profiles) {
        const auto time = applications_->time_on(*of, size, model, each);
        const auto whole =
            time ? duration_from_seconds(time->seconds) : Result<Duration>{Duration{-1}};
        times.push_back(whole.value_or(Duration{-1}));
      }
    }
  const Duration time = known->second[kind][static_cast<std::size_t>(profile)];
  return time < Duration::zero() ? std::nullopt : std::optional(time);
}

const std::string* KnownJobs::user(JobId id) const {
  const JobDetails* details = workload_->details_of(job(id));
  return details == nullptr || !details->user ? nullptr : &*details->user;
}

const std::string* KnownJobs::account(JobId id) const {
  const JobDetails* details = workload_->details_of(job(id));
  return details == nullptr || !details->account ? nullptr : &*details->account;
}

const std::string* KnownJobs::application(JobId id) const {
  const JobDetails* details = workload_->details_of(job(id));
  return details != nullptr && details->application ? &*details->application : nullptr;
}

std::optional<std::int64_t> KnownJobs::batch(JobId id) const {
  const JobDetails* details = workload_->details_of(job(id));
  return details != nullptr ? details->batch : std::nullopt;
}

std::vector<BatchRow> KnownJobs::batch_rows() const {
  std::vector<BatchRow> rows;
  if (applications_ != nullptr) {
    for (std::size_t kind = 0; kind < fleet_->graphs().size(); ++kind)
      for (BatchRow& row : batch_rows_of(applications_->repository(),
                                         fleet_->graphs()[kind]->geometry().model(), kind))
        rows.push_back(std::move(row));
    return rows;
  }
  std::set<std::tuple<std::string, std::int64_t>> seen;
  for (const Job& each : workload_->jobs) {
    const JobDetails* details = workload_->details_of(each);
    if (details == nullptr || !details->application || !details->batch || !details->latency)
      continue;
    if (!seen.emplace(*details->application, *details->batch).second) continue;
    for (std::size_t kind = 0; kind < fleet_->graphs().size(); ++kind) {
      const Geometry& geometry = fleet_->graphs()[kind]->geometry();
      for (const Profile* profile : geometry.profile_list()) {
        const auto column = static_cast<std::size_t>(profile - geometry.model().profiles.data());
        const double speed = speeds_->on(each, kind, column).relative;
        if (!(speed > 0)) continue;
        const double latency = in_seconds(*details->latency) / speed;
        if (!(latency > 0)) continue;
        rows.push_back({*details->application, *details->batch, kind, static_cast<int>(column),
                        latency, static_cast<double>(*details->batch) / latency});
      }
    }
  }
  return rows;
}

std::vector<JobFacts::Expected> KnownJobs::expected() const {
  std::vector<Expected> all;
  all.reserve(workload_->jobs.size());
  for (std::size_t i = 0; i < workload_->jobs.size(); ++i)
    all.push_back({static_cast<JobId>(i), (*request_ids_)[workload_->jobs[i].request],
                   workload_->jobs[i].arrival});
  return all;
}

}  // namespace cleave
