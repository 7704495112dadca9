// What is to be written: it gathers while the world changes, and nothing is done before it is in
// the store.

#include <algorithm>
#include <deque>
#include <map>

#include "base/format.hpp"
#include "control/inside.hpp"

namespace cleave {

namespace {

constexpr Duration first_retry = std::chrono::seconds(1);
constexpr std::size_t events_in_memory = 4096;
constexpr const char* recovered = "what happens is written down again";

}  // namespace

EventRecord Control::Inside::event_record(std::string kind, std::string text, const JobRecord* job,
                                          std::string gpu) const {
  EventRecord event;
  event.at = wall();
  event.kind = std::move(kind);
  event.text = std::move(text);
  event.gpu = std::move(gpu);
  if (job != nullptr) {
    event.job = job->number;
    event.uid = job->owner.uid;
  }
  return event;
}

void Control::Inside::event(std::string kind, std::string text, const LiveJob* job,
                            std::string gpu) {
  events_.push_back(event_record(std::move(kind), std::move(text),
                                 job != nullptr ? &job->record : nullptr, std::move(gpu)));
}

void Control::Inside::event_of_gpu(GpuId gpu, std::string kind, std::string text) {
  event(std::move(kind), std::move(text), nullptr, managed(gpu).identity->uuid);
}

StoreBatch Control::Inside::gathered() {
  StoreBatch batch;
  for (const JobNumber number : changed_jobs_)
    if (const LiveJob* job = find(number)) batch.jobs.push_back(job->record);
  for (const auto& [key, attempt] : changed_attempts_) batch.attempts.push_back(attempt);
  for (const auto& [device, instance] : changed_instances_) batch.instances.push_back(instance);
  for (const auto& [key, value] : changed_settings_) batch.settings.emplace_back(key, value);
  batch.events = events_;
  std::int64_t number = last_event_;
  for (EventRecord& event : batch.events) event.number = ++number;
  return batch;
}

void Control::Inside::wrote(const StoreBatch& batch) {
  changed_jobs_.clear();
  changed_attempts_.clear();
  changed_instances_.clear();
  changed_settings_.clear();
  events_.clear();
  sync_ = false;
  for (const EventRecord& event : batch.events) recent_.push_back(event);
  if (!batch.events.empty()) last_event_ = batch.events.back().number;
  while (recent_.size() > events_in_memory) recent_.pop_front();
  if (!store_trouble_.empty()) {
    store_trouble_.clear();
    event("store-recovered", recovered);
  }
}

void Control::Inside::store_refused(const Error& why) {
  store_trouble_ =
      fmt::format("nothing new is started, since it cannot be written down: {}", why.text());
  store_again_ = steady() + first_retry;
}

void Control::Inside::commit() {
  const bool troubled = !store_trouble_.empty();
  if (troubled && steady() < store_again_) return;
  StoreBatch batch = gathered();
  if (!batch.empty() || troubled) {
    if (batch.empty()) {  // whether the trouble is over is known when something has been written
      batch.events.push_back(event_record("store-recovered", recovered, nullptr, {}));
      batch.events.back().number = last_event_ + 1;
      store_trouble_.clear();
    }
    const auto written = store_->write(batch, sync_ ? Durability::synced : Durability::written);
    if (!written) return store_refused(written.error());
    wrote(batch);
  }
  const std::vector<Effect> effects = std::exchange(effects_, {});
  for (const Effect& effect : effects) effect();
}

/// Its folders first: whoever finds a job knows where they were.
bool Control::Inside::forget_job(const JobRecord& job, StoreBatch& batch) {
  for (std::int64_t attempt = 1; attempt <= job.attempts; ++attempt)
    if (!runner_->forget({job.number, attempt})) return false;
  batch.forgotten.push_back(job.number);
  return true;
}

void Control::Inside::forget_old_jobs() {
  if (steady() < next_tidy_ || !store_trouble_.empty()) return;
  if (steady() < keep_all_until_) {
    next_tidy_ = keep_all_until_;
    return;
  }
  next_tidy_ = steady() + std::chrono::minutes(1);
  constexpr std::size_t at_once = 1000;
  auto old = store_->ended_before(wall() - settings_.keep_jobs, at_once);
  if (!old) return;
  if (old->size() == at_once) next_tidy_ = steady() + std::chrono::seconds(1);
  StoreBatch batch;
  for (const JobRecord& job : *old) static_cast<void>(forget_job(job, batch));
  if (!batch.forgotten.empty())
    if (const auto written = store_->write(batch, Durability::written); !written)
      store_refused(written.error());
  if (const auto fewer = store_->forget_events(settings_.keep_events); !fewer)
    store_refused(fewer.error());
  forget_large_outputs();
}

/// Where outputs of jobs that are over take more room than they may, the oldest go of whoever's
/// take the most, so that nobody's outputs push out those of others who keep less. Weighing looks
/// at every folder, and so is done seldom.
void Control::Inside::forget_large_outputs() {
  if (steady() < next_weighing_) return;
  next_weighing_ = steady() + std::chrono::minutes(10);
  constexpr std::size_t most = 10'000;
  const auto all = store_->ended_before(Instant::max(), most);
  if (!all) return;
  struct Kept {
    std::int64_t sum = 0;
    std::deque<std::pair<const JobRecord*, std::int64_t>>
        jobs;  // with their sizes, the oldest first
  };
  std::map<std::uint32_t, Kept> by_user;
  std::int64_t sum = 0;
  for (const JobRecord& job : *all) {
    std::int64_t size = 0;
    for (std::int64_t attempt = 1; attempt <= job.attempts; ++attempt)
      size += runner_->kept_bytes({job.number, attempt});
    if (size == 0) continue;
    Kept& kept = by_user[job.owner.uid];
    kept.jobs.emplace_back(&job, size);
    kept.sum += size;
    sum += size;
  }
  StoreBatch batch;
  while (sum > settings_.keep_bytes) {
    Kept& largest = std::ranges::max_element(by_user, {}, [](const auto& each) {
                      return each.second.sum;
                    })->second;
    if (largest.jobs.empty()) break;
    const auto [job, size] = largest.jobs.front();
    largest.jobs.pop_front();
    largest.sum -= size;
    sum -= size;  // also where it cannot be forgotten now: no other goes in its place
    static_cast<void>(forget_job(*job, batch));
  }
  if (batch.forgotten.empty()) return;
  event("jobs-forgotten",
        fmt::format("{} old jobs were forgotten, since outputs took more than {} MiB",
                    batch.forgotten.size(), settings_.keep_bytes >> 20));
  if (const auto written = store_->write(batch, Durability::written); !written)
    store_refused(written.error());
}

std::vector<EventRecord> Control::Inside::events_since(std::int64_t number) const {
  std::vector<EventRecord> events;
  for (const EventRecord& event : recent_)
    if (event.number > number) events.push_back(event);
  return events;
}

std::int64_t Control::Inside::last_event() const {
  return last_event_;
}

}  // namespace cleave
