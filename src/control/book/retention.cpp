#include "control/book/retention.hpp"

#include <algorithm>
#include <deque>
#include <map>

#include "base/format.hpp"

namespace cleave {

namespace {

constexpr std::size_t at_once = 1000;         // jobs by age
constexpr std::size_t most_weighed = 10'000;  // jobs by size
constexpr Duration once_a_while = std::chrono::minutes(1);
constexpr Duration between_weighings = std::chrono::minutes(10);
/// Between two attempts that are weighed: the loop has most of the time for other things.
constexpr Duration weighing_rests = std::chrono::milliseconds(10);

/// Behind its last process or replica.
JobNumber end_of(const JobRecord& job) {
  return job.number + job.places() * job.replicas();
}

}  // namespace

std::vector<JobNumber> jobs_to_forget(const std::vector<KeptJob>& jobs, std::int64_t keep_bytes) {
  struct OfUser {
    std::int64_t sum = 0;
    std::deque<const KeptJob*> jobs;  // the oldest first
  };
  std::map<std::uint32_t, OfUser> by_user;
  std::int64_t sum = 0;
  for (const KeptJob& job : jobs) {
    if (job.bytes == 0) continue;
    OfUser& user = by_user[job.uid];
    user.jobs.push_back(&job);
    user.sum += job.bytes;
    sum += job.bytes;
  }
  std::vector<JobNumber> forgotten;
  while (sum > keep_bytes) {
    OfUser& largest = std::ranges::max_element(by_user, {}, [](const auto& each) {
                        return each.second.sum;
                      })->second;
    if (largest.jobs.empty()) break;
    const KeptJob& oldest = *largest.jobs.front();
    largest.jobs.pop_front();
    largest.sum -= oldest.bytes;
    sum -= oldest.bytes;
    forgotten.push_back(oldest.number);
  }
  return forgotten;
}

std::optional<std::vector<JobKey>> Retention::attempts_of(const JobRecord& job) {
  std::vector<JobKey> keys;
  for (JobNumber number = job.number; number < end_of(job); ++number) {
    std::int64_t attempts = job.attempts;
    if (job.is_replica() && number != job.number) {
      const auto replica = store_->job(number);
      if (!replica || !*replica || !is_final((*replica)->state)) return std::nullopt;
      attempts = (*replica)->attempts;
    }
    for (std::int64_t attempt = 1; attempt <= attempts; ++attempt)
      keys.push_back({number, attempt});
  }
  return keys;
}

/// Those that end last are most often the last.
bool Retention::stands_for_array(const JobRecord& job) const {
  if (!job.spec.task || job.spec.task->job != job.number) return false;
  for (JobNumber number = job.spec.task->last; number > job.number; --number) {
    const auto task = store_->job(number);
    if (task && *task && !is_final((*task)->state)) return true;
  }
  return false;
}

/// Folders go before the record: as long as a job can be found, so can they. A job goes with all
/// its processes or replicas.
bool Retention::forget(const JobRecord& job, StoreBatch& batch) {
  if (stands_for_array(job)) return false;
  const auto attempts = attempts_of(job);
  if (!attempts) return false;
  for (const JobKey& key : *attempts)
    if (!runner_->forget(key)) return false;
  for (JobNumber number = job.number; number < end_of(job); ++number)
    batch.forgotten.push_back(number);
  return true;
}

Result<void> Retention::write(const StoreBatch& batch) {
  if (batch.forgotten.empty()) return {};
  const auto written = store_->write(batch, Durability::written);
  if (!written) {
    book_->store_refused(written.error());
    return written;
  }
  for (const JobNumber number : batch.forgotten) accounts_->forget(number);
  return {};
}

Result<std::vector<JobRecord>> Retention::forget(std::span<const JobNumber> jobs) {
  std::vector<JobRecord> forgotten;
  StoreBatch batch;
  for (const JobNumber number : jobs) {
    auto job = store_->job(number);
    if (!job) return std::unexpected(job.error());
    if (*job && (*job)->leader == 0 && is_final((*job)->state) && forget(**job, batch))
      forgotten.push_back(std::move(**job));
  }
  if (const auto written = write(batch); !written) return std::unexpected(written.error());
  return forgotten;
}

void Retention::step() {
  const Duration now = clock_->steady();
  if (now < next_ || !book_->writes()) return;
  if (now < keep_all_until_) {
    next_ = keep_all_until_;
    return;
  }
  if (weighing_) return weigh_next();
  next_ = now + once_a_while;
  const Instant time = time_for_ages(doubt_, clock_->wall());
  const auto old = store_->ended_before(time - settings_->keep_jobs, at_once);
  if (!old) return;
  if (old->size() == at_once) next_ = now + std::chrono::seconds(1);
  StoreBatch batch;
  for (const JobRecord& job : *old) (void)forget(job, batch);
  (void)write(batch);
  if (const auto fewer = store_->forget_events(settings_->keep_events); !fewer)
    book_->store_refused(fewer.error());
  forget_usage(time);
  if (now >= next_weighing_) begin_weighing();
}

/// Days count as whole.
void Retention::forget_usage(Instant now) {
  if (settings_->keep_usage_days == 0) return;
  const auto fewer = store_->forget_usage(day_of(now) - settings_->keep_usage_days);
  if (!fewer) book_->store_refused(fewer.error());
}

void Retention::begin_weighing() {
  next_weighing_ = clock_->steady() + between_weighings;
  auto all = store_->ended_before(Instant::max(), most_weighed);
  if (!all || all->empty()) return;
  weighing_.emplace().jobs = std::move(*all);
  next_ = clock_->steady();
}

/// One attempt; after the last of all jobs the heaviest go.
void Retention::weigh_next() {
  next_ = clock_->steady() + weighing_rests;
  Weighing& weighing = *weighing_;
  if (weighing.attempts.empty()) {
    if (weighing.kept.size() == weighing.jobs.size()) return forget_large_outputs();
    const JobRecord& job = weighing.jobs[weighing.kept.size()];
    weighing.kept.push_back({job.number, job.owner.uid, 0});
    weighing.attempts = attempts_of(job).value_or(std::vector<JobKey>{});
  }
  if (weighing.attempts.empty()) return;
  KeptJob& kept = weighing.kept.back();
  kept.bytes += runner_->kept_bytes(weighing.attempts.back());
  weighing.attempts.pop_back();
  if (weighing.attempts.empty()) accounts_->weigh(kept.number, kept.bytes);
}

void Retention::forget_large_outputs() {
  const Weighing weighed = std::move(*weighing_);
  weighing_.reset();
  next_ = clock_->steady() + once_a_while;
  std::map<JobNumber, const JobRecord*> jobs;
  for (const JobRecord& job : weighed.jobs) jobs[job.number] = &job;
  StoreBatch batch;
  // Where one cannot be forgotten now, no other goes in its place.
  std::size_t forgotten = 0;
  for (const JobNumber number : jobs_to_forget(weighed.kept, settings_->keep_bytes))
    forgotten += forget(*jobs.at(number), batch) ? 1 : 0;
  if (forgotten == 0) return;
  book_->event("jobs-forgotten",
               fmt::format("{} old jobs were forgotten, since outputs took more than {} MiB",
                           forgotten, settings_->keep_bytes >> 20));
  (void)write(batch);
}

}  // namespace cleave
