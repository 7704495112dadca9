#include "control/book/book.hpp"

#include <algorithm>

#include "base/format.hpp"

namespace cleave {

namespace {

constexpr Duration retry_after = std::chrono::seconds(1);
constexpr std::size_t events_in_memory = 4096;
constexpr std::size_t most_needs = 10'000;
constexpr const char* recovered = "the store can be written again";

/// Of a service, other replicas may still be started by the command of the first.
bool runs_no_more(const JobRecord& job) {
  return job.leader == 0 && !job.is_replica() && is_final(job.state);
}

}  // namespace

Result<StoreContents> Book::load() {
  auto contents = store_->load();
  if (contents) last_event_ = contents->last_event;
  return contents;
}

bool Book::is_settled(const JobKey& key) {
  const auto stored = store_->attempt(key);
  return stored && *stored && (*stored)->ended && (*stored)->exit_code &&
         (*stored)->end != AttemptEnd::lost;
}

Result<std::vector<StoredJob>> Book::latest_jobs(std::optional<JobState> state, std::size_t most) {
  JobQuery query;
  query.final_too = true;
  query.state = state;
  query.most = most;
  query.processes = true;
  return store_->jobs_with_attempts(query);
}

void Book::note(const LearntChange& change) {
  for (const LearntProfile& each : change.now) changed_learnt_[each.key()] = each.record;
  for (const LearntKey& each : change.gone) changed_learnt_[each] = std::nullopt;
}

/// After a restart they count anew: so many more, for each time that an operator restarts.
void Book::add_usage(UsageRow row) {
  if (row.key.kind == UseKind::jobs) {
    if (row.key.day > std::exchange(usage_day_, std::max(usage_day_, row.key.day)))
      usage_names_.clear();
    UseParty& party = row.key.party;
    auto& names = usage_names_[party.uid];
    if (names.size() < most_usage_names)
      names.emplace(party.gid, party.application);
    else if (!names.contains({party.gid, party.application}))
      party.application = other_applications;
  }
  add_row(changed_usage_, std::move(row));
}

EventRecord Book::event_record(std::string kind, std::string text, const JobRecord* job,
                               std::string gpu) const {
  EventRecord event;
  event.at = clock_->wall();
  event.kind = std::move(kind);
  event.text = std::move(text);
  event.gpu = std::move(gpu);
  if (job != nullptr) {
    event.job = job->job();
    event.uid = job->owner.uid;
  }
  return event;
}

void Book::event(std::string kind, std::string text, const LiveJob* job, std::string gpu) {
  event(event_record(std::move(kind), std::move(text), job != nullptr ? &job->record : nullptr,
                     std::move(gpu)));
}

StoreBatch Book::gathered(const NodeState& node) const {
  StoreBatch batch;
  for (const JobNumber number : changed_jobs_)
    if (const LiveJob* job = node.find(number)) batch.jobs.push_back(job->record);
  for (const JobRecord& job : batch.jobs)
    if (runs_no_more(job)) batch.bared.push_back(job.number);
  for (const auto& [key, attempt] : changed_attempts_) batch.attempts.push_back(attempt);
  for (const auto& [job, attempt] : outdated_) batch.outdated.push_back({job, attempt});
  for (const auto& [device, instance] : changed_instances_) batch.instances.push_back(instance);
  for (const auto& [key, value] : changed_settings_) batch.settings.emplace_back(key, value);
  for (const auto& [number, plan] : changed_plans_) batch.plans.push_back(plan);
  for (const auto& [key, record] : changed_learnt_) {
    if (record)
      batch.learnt.push_back({key.uid, *record});
    else
      batch.unlearnt.push_back(key);
  }
  for (const auto& [key, row] : changed_usage_) batch.usage.push_back(row);
  for (const auto& each : changed_energies_) batch.energies.push_back(each);
  batch.events = events_;
  std::int64_t number = last_event_;
  for (EventRecord& event : batch.events) event.number = ++number;
  return batch;
}

Result<void> Book::write(const StoreBatch& batch, Durability durability) {
  const Duration begun = stopwatch_ ? stopwatch_() : Duration{};
  auto written = store_->write(batch, durability);
  if (!written)
    ++failed_writes_;
  else if (stopwatch_)
    write_times_.add(stopwatch_() - begun);
  return written;
}

void Book::wrote(const StoreBatch& batch) {
  changed_jobs_.clear();
  changed_attempts_.clear();
  outdated_.clear();
  changed_instances_.clear();
  changed_settings_.clear();
  changed_plans_.clear();
  changed_learnt_.clear();
  changed_usage_.clear();
  changed_energies_.clear();
  events_.clear();
  sync_ = false;
  for (const EventRecord& event : batch.events) recent_.push_back(event);
  if (!batch.events.empty()) last_event_ = batch.events.back().number;
  while (recent_.size() > events_in_memory) recent_.pop_front();
  if (trouble_.empty()) return;
  trouble_.clear();
  event("store-recovered", recovered);
}

void Book::store_refused(const Error& why) {
  trouble_ =
      fmt::format("nothing new is started, because the store cannot be written: {}", why.text());
  try_again_ = clock_->steady() + retry_after;
}

void Book::commit(const NodeState& node) {
  const bool troubled = !writes();
  if (troubled && clock_->steady() < try_again_) return;
  StoreBatch batch = gathered(node);
  if (!batch.empty() || troubled) {
    if (batch.empty()) {  // whether the trouble is over is known when something has been written
      batch.events.push_back(event_record("store-recovered", recovered, nullptr));
      batch.events.back().number = last_event_ + 1;
      trouble_.clear();
    }
    const auto written = write(batch, sync_ ? Durability::synced : Durability::written);
    if (!written) return store_refused(written.error());
    wrote(batch);
  }
  const std::vector<Effect> effects = std::exchange(effects_, {});
  for (const Effect& effect : effects) effect();
}

std::optional<MiB> Book::need_of(const UserApplication& application) const {
  const auto known = needs_.find(application);
  return known == needs_.end() ? std::nullopt : std::optional(known->second.held);
}

void Book::recall_needs(const ApplicationNeeds& needs) {
  needs_.clear();
  for (const auto& [application, held] : needs) needs_[application] = {held, 0};
}

/// False where no other user has many more than this one, which has none.
bool Book::make_room_for_need(std::uint32_t uid) {
  std::map<std::uint32_t, std::size_t> counts;
  for (const auto& [application, need] : needs_) ++counts[application.uid];
  const auto most =
      std::ranges::max_element(counts, {}, [](const auto& each) { return each.second; });
  const std::size_t own = counts[uid];
  const std::uint32_t whose = most->second > own + 1 ? most->first : uid;
  const auto oldest = std::ranges::min_element(needs_, {}, [&](const auto& each) {
    return std::pair(each.first.uid != whose, each.second.heard);
  });
  if (oldest->first.uid != whose) return false;
  note_setting(need_key(oldest->first), "");
  needs_.erase(oldest);
  return true;
}

void Book::remember_need(const UserApplication& application, MiB held) {
  if (needs_.size() >= most_needs && !needs_.contains(application) &&
      !make_room_for_need(application.uid))
    return;
  needs_[application] = {held, ++needs_heard_};
  note_setting(need_key(application), fmt::format("{}", held.value));
}

UserRequest& Book::request(StoreBatch batch, std::function<void()> enter) {
  requests_.push_back({++last_request_, std::move(batch), std::move(enter), {}});
  return requests_.back();
}

void Book::add_requests(StoreBatch& batch, const std::vector<UserRequest>& requests) const {
  const auto append = [](auto& to, const auto& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  std::int64_t number = last_event_ + static_cast<std::int64_t>(batch.events.size());
  for (const UserRequest& each : requests) {
    append(batch.jobs, each.batch.jobs);
    append(batch.commands, each.batch.commands);
    append(batch.settings, each.batch.settings);
    append(batch.plans, each.batch.plans);
    for (EventRecord event : each.batch.events) {
      event.number = ++number;
      batch.events.push_back(std::move(event));
    }
  }
}

Result<void> Book::write_together(const NodeState& node, const std::vector<UserRequest>& requests) {
  StoreBatch batch = gathered(node);
  add_requests(batch, requests);
  const auto written = write(batch, Durability::synced);
  if (!written) {
    store_refused(written.error());
    return written;
  }
  wrote(batch);
  for (const UserRequest& each : requests) each.enter();
  for (const UserRequest& each : requests) answers_.push_back({each.number, {}});
  return {};
}

void Book::refuse(const UserRequest& request, const Error& why) {
  if (request.refused) request.refused();
  answers_.push_back({request.number, std::unexpected(why)});
}

void Book::write_requests(const NodeState& node,
                          const std::function<bool(const UserRequest&)>& unwritten) {
  if (requests_.empty()) return;
  std::vector<UserRequest> requests = std::exchange(requests_, {});
  const auto written = write_together(node, requests);
  if (written) return;
  const auto small = [](const UserRequest& each) { return each.batch.commands.empty(); };
  const auto large = std::stable_partition(requests.begin(), requests.end(), small);
  for (auto each = large; each != requests.end(); ++each) refuse(*each, written.error());
  const bool fewer = large != requests.end() && large != requests.begin();
  requests.erase(large, requests.end());
  if (fewer && write_together(node, requests)) requests.clear();
  for (const UserRequest& each : requests) {
    if (unwritten(each))
      answers_.push_back({each.number, {}});
    else
      refuse(each, written.error());
  }
  std::ranges::sort(answers_, {}, &RequestAnswer::number);
}

Duration Book::next_write() const {
  if (!requests_.empty()) return clock_->steady();
  if (!writes()) return try_again_;
  const bool gathered =
      !effects_.empty() || !changed_jobs_.empty() || !events_.empty() || !changed_learnt_.empty();
  return gathered ? clock_->steady() : Duration::max();
}

std::vector<EventRecord> Book::events_since(std::int64_t number) const {
  std::vector<EventRecord> events;
  for (const EventRecord& event : recent_)
    if (event.number > number) events.push_back(event);
  return events;
}

}  // namespace cleave
