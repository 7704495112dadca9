#pragma once
// A store in memory, for tests that drive the control loop with a clock of their own. The disk is
// an object apart, so that it survives the program's death as a real one does: a test throws the
// store away and opens another on the same disk. Writes fail when the test says so, and the program
// can be stopped at each of them.
//
// It also holds its caller to what the face promises, and throws std::logic_error where that is
// broken: event numbers without a gap, attempts of known jobs only, a final job stays final and has
// ended, no number and no key is given twice, a command with a job's first record and only then, a
// spec that never changes, and nothing forgotten but what is final.

#include <algorithm>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "base/format.hpp"
#include "control/record_text.hpp"
#include "control/store.hpp"

namespace cleave {

/// A disk in memory.
class FakeDisk {
 public:
  FakeDisk();
  ~FakeDisk();
  FakeDisk(const FakeDisk&) = delete;
  FakeDisk& operator=(const FakeDisk&) = delete;

  /// Of the writes since the last synced batch, only the first `reached` came to the disk. The
  /// store that is open on it must not be used any more.
  void lose_power(std::size_t reached = 0);
  /// Writes that a loss of power could take.
  [[nodiscard]] std::size_t unsynced() const;

  /// The next `count` writes fail, as on a full disk, and change nothing.
  void fail_writes(std::size_t count) { failing_ = count; }
  /// Also loads and queries, as when a disk breaks.
  void fail_reads(std::size_t count) { failing_reads_ = count; }

  /// Called just before and just after each batch that is written, not for one that fails. Either
  /// may throw: the program has died there.
  std::function<void(const StoreBatch&)> before_write, after_write;

  /// Writes so far, those that failed left out.
  [[nodiscard]] std::uint64_t writes() const { return writes_; }

 private:
  friend class FakeStore;
  struct Memory;
  struct Change;
  void put(Change change, Durability durability);
  [[nodiscard]] Result<void> written_or_failed();
  [[nodiscard]] Result<void> read_or_failed();

  std::unique_ptr<Memory> now_, safe_;  // as the program sees it, and what is sure to survive
  std::vector<Change> pending_;         // what `now_` has had more than `safe_`
  std::size_t failing_ = 0, failing_reads_ = 0;
  std::uint64_t writes_ = 0;
};

/// The store over such a disk.
class FakeStore final : public Store {
 public:
  /// The disk must outlive it.
  explicit FakeStore(FakeDisk& disk) : disk_(&disk) {}

  Result<StoreContents> load() override;
  Result<void> write(const StoreBatch& batch, Durability durability) override;
  Result<std::optional<JobRecord>> job(JobNumber number) override;
  Result<std::optional<JobCommand>> command(JobNumber number) override;
  Result<std::optional<JobRecord>> job_with_key(std::uint32_t uid, const std::string& key) override;
  Result<std::vector<AttemptRecord>> attempts(JobNumber number) override;
  Result<std::optional<AttemptRecord>> attempt(const JobKey& key) override;
  Result<std::vector<JobRecord>> jobs(const JobQuery& query) override;
  Result<std::vector<StoredJob>> jobs_with_attempts(const JobQuery& query) override;
  Result<std::vector<EventRecord>> events(std::int64_t after, std::optional<std::uint32_t> uid,
                                          std::size_t most) override;
  Result<std::vector<JobRecord>> ended_before(Instant time, std::size_t most) override;
  Result<std::vector<StoredSize>> sizes(JobNumber after, std::int64_t most_bytes) override;
  Result<std::vector<LivePlan>> plans(std::int64_t before, std::size_t most) override;
  Result<std::vector<UsageRow>> usage(const UsageQuery& query) override;
  Result<void> forget_usage(std::int64_t before) override;
  Result<void> forget_events(std::size_t keep) override;

 private:
  FakeDisk* disk_;
};

/// What the disk holds.
struct FakeDisk::Memory {
  std::map<JobNumber, JobRecord> jobs;
  std::map<JobNumber, JobCommand> commands;
  std::map<JobKey, AttemptRecord> attempts;
  std::map<std::string, InstanceRecord> instances;  // those that are gone are not asked for again
  std::deque<EventRecord> events;
  std::map<std::string, std::string> settings;
  std::map<LearntKey, LearntProfile> learnt;
  std::map<std::int64_t, LivePlan> plans;
  std::map<UsageKey, UsageRow> usage;
  std::map<std::pair<std::uint32_t, std::string>, JobNumber> keyed;  // by user and key
  std::set<JobNumber> open;                                          // not final
  std::set<std::pair<Instant, JobNumber>> ended;                     // final
  JobNumber last_job = 0;
  std::int64_t last_event = 0;

  void apply(const Change& change);
  void put_job(const JobRecord& job);
  void forget_job(JobNumber number);
  [[nodiscard]] auto attempts_of(JobNumber number) const {
    return std::pair(attempts.lower_bound({number, INT64_MIN}),
                     attempts.upper_bound({number, INT64_MAX}));
  }
};

/// One write.
struct FakeDisk::Change {
  StoreBatch batch;
  std::optional<std::size_t> keep_events;
  std::optional<std::int64_t> usage_from = {};  // days before it go
};

inline void FakeDisk::Memory::put_job(const JobRecord& job) {
  JobRecord& there = jobs[job.number];
  if (is_final(there.state) && there.ended) ended.erase({*there.ended, job.number});
  there = job;
  if (job.key) keyed[{job.owner.uid, job.key->text}] = job.number;
  last_job = std::max(last_job, job.number);
  if (!is_final(job.state)) {
    open.insert(job.number);
    return;
  }
  open.erase(job.number);
  if (job.leader == 0) ended.emplace(*job.ended, job.number);
}

inline void FakeDisk::Memory::forget_job(JobNumber number) {
  const auto [first, last] = attempts_of(number);
  attempts.erase(first, last);
  commands.erase(number);
  open.erase(number);
  if (const auto found = jobs.find(number); found != jobs.end()) {
    if (found->second.ended) ended.erase({*found->second.ended, number});
    if (found->second.key) keyed.erase({found->second.owner.uid, found->second.key->text});
    jobs.erase(found);
  }
}

inline void FakeDisk::Memory::apply(const Change& change) {
  for (const JobRecord& job : change.batch.jobs) put_job(job);
  for (const auto& [number, command] : change.batch.commands) commands[number] = command;
  for (const AttemptRecord& attempt : change.batch.attempts) attempts[attempt.key] = attempt;
  for (const InstanceRecord& instance : change.batch.instances) {
    if (instance.gone)
      instances.erase(instance.device);
    else
      instances[instance.device] = instance;
  }
  for (const EventRecord& event : change.batch.events) {
    events.push_back(event);
    last_event = event.number;
  }
  for (const auto& [key, value] : change.batch.settings) {
    if (value.empty())
      settings.erase(key);
    else
      settings[key] = value;
  }
  for (const LivePlan& each : change.batch.plans) plans[each.number] = each;
  for (const UsageRow& each : change.batch.usage) add_row(usage, each);
  for (const auto& [number, more] : change.batch.energies)
    if (const auto found = jobs.find(number); found != jobs.end()) found->second.energy.add(more);
  if (change.usage_from)
    std::erase_if(usage, [&](const auto& each) { return each.first.day < *change.usage_from; });
  for (const LearntProfile& each : change.batch.learnt) learnt[each.key()] = each;
  for (const LearntKey& each : change.batch.unlearnt) learnt.erase(each);
  for (const JobKey& last : change.batch.outdated)
    for (auto each = attempts.lower_bound({last.job, INT64_MIN});
         each != attempts.end() && each->first <= last;)
      each = each->second.ended ? attempts.erase(each) : std::next(each);
  for (const JobNumber number : change.batch.bared)
    if (const auto found = commands.find(number); found != commands.end())
      found->second.environment.clear();
  for (const JobNumber number : change.batch.forgotten) forget_job(number);
  if (change.keep_events)
    while (events.size() > *change.keep_events) events.pop_front();
}

inline FakeDisk::FakeDisk() : now_(std::make_unique<Memory>()), safe_(std::make_unique<Memory>()) {}
inline FakeDisk::~FakeDisk() = default;

inline void FakeDisk::put(Change change, Durability durability) {
  now_->apply(change);
  pending_.push_back(std::move(change));
  if (durability == Durability::synced) {
    for (const Change& each : pending_) safe_->apply(each);
    pending_.clear();
  }
  ++writes_;
}

inline void FakeDisk::lose_power(std::size_t reached) {
  for (std::size_t i = 0; i < std::min(reached, pending_.size()); ++i) safe_->apply(pending_[i]);
  pending_.clear();
  *now_ = *safe_;
}

inline std::size_t FakeDisk::unsynced() const {
  return pending_.size();
}

inline Result<void> FakeDisk::written_or_failed() {
  if (failing_ == 0) return {};
  --failing_;
  return fail(ErrorKind::infeasible, "the fake disk", "it cannot be written: the disk is full",
              "make room");
}

inline Result<void> FakeDisk::read_or_failed() {
  if (failing_reads_ == 0) return {};
  --failing_reads_;
  return fail(ErrorKind::infeasible, "the fake disk", "it cannot be read: the disk failed",
              "look at the disk");
}

namespace fake_store {

inline void promise(bool kept, std::string_view what, JobNumber job) {
  if (!kept) throw std::logic_error(fmt::format("store: job {}: {}", job, what));
}

/// Holds the jobs of a batch against what is there; `known` gets the records as they will be.
class PromiseCheck {
 public:
  using Keyed = std::map<std::pair<std::uint32_t, std::string>, JobNumber>;
  PromiseCheck(const std::map<JobNumber, JobRecord>& there, const Keyed& keyed, JobNumber last_job)
      : there_(there), keyed_(keyed), last_job_(last_job) {}

  void job(const JobRecord& next) {
    promise(next.number >= 1, "jobs count from 1", next.number);
    promise(!is_final(next.state) || next.ended, "it is final and has no end", next.number);
    if (const JobRecord* before = find(next.number)) {
      promise(!is_final(before->state) || is_final(next.state), "it was final and is not any more",
              next.number);
      promise(before->spec == next.spec, "its spec changed", next.number);
      promise(before->leader == next.leader, "it is of another job", next.number);
      promise(before->owner == next.owner, "its owner changed", next.number);
      promise(before->key == next.key, "its key changed", next.number);
      promise(before->submitted == next.submitted, "its submission changed", next.number);
    } else {
      promise(next.number > last_job_, "its number was given before", next.number);
      if (next.leader == 0) first_.insert(next.number);
    }
    coming_[next.number] = &next;
  }
  /// Those of a batch are few, and of the others the disk has an index.
  void keys() {
    std::set<std::pair<std::uint32_t, std::string>> seen;
    for (const auto& [number, job] : coming_) {
      if (!job->key) continue;
      const std::pair key(job->owner.uid, job->key->text);
      const auto found = keyed_.find(key);
      promise(seen.insert(key).second && (found == keyed_.end() || found->second == number),
              "another job was submitted with its key", number);
    }
  }
  void command(JobNumber number) {
    promise(first_.erase(number) == 1, "its command does not come once, with its first record",
            number);
  }
  void commands_done() {
    promise(first_.empty(), "its first record comes without a command",
            first_.empty() ? 0 : *first_.begin());
  }
  void attempt(const JobKey& key) {
    promise(key.attempt >= 1, "attempts count from 1", key.job);
    promise(find(key.job) != nullptr, "an attempt of a job that is not known", key.job);
  }
  void bared(JobNumber number) {
    const JobRecord* job = find(number);
    promise(job != nullptr && is_final(job->state), "its environment goes before it is final",
            number);
  }
  void forgotten(JobNumber number) {
    const JobRecord* job = find(number);
    promise(job != nullptr, "forgotten without being known", number);
    promise(is_final(job->state), "forgotten before it is final", number);
  }

 private:
  [[nodiscard]] const JobRecord* find(JobNumber number) const {
    if (const auto found = coming_.find(number); found != coming_.end()) return found->second;
    const auto found = there_.find(number);
    return found == there_.end() ? nullptr : &found->second;
  }

  const std::map<JobNumber, JobRecord>& there_;
  const Keyed& keyed_;
  JobNumber last_job_;
  std::map<JobNumber, const JobRecord*> coming_;
  std::set<JobNumber> first_;
};

inline void check_promises(const StoreBatch& batch, const std::map<JobNumber, JobRecord>& jobs,
                           const PromiseCheck::Keyed& keyed, JobNumber last_job,
                           std::int64_t last_event) {
  PromiseCheck check(jobs, keyed, last_job);
  for (const JobRecord& job : batch.jobs) check.job(job);
  check.keys();
  for (const auto& [number, command] : batch.commands) check.command(number);
  check.commands_done();
  for (const AttemptRecord& attempt : batch.attempts) check.attempt(attempt.key);
  for (const EventRecord& event : batch.events)
    if (event.number != ++last_event)
      throw std::logic_error(
          fmt::format("store: event {} where {} is next", event.number, last_event));
  for (const JobNumber number : batch.bared) check.bared(number);
  for (const JobNumber number : batch.forgotten) check.forgotten(number);
}

}  // namespace fake_store

inline Result<StoreContents> FakeStore::load() {
  if (const auto read = disk_->read_or_failed(); !read) return std::unexpected(read.error());
  const FakeDisk::Memory& memory = *disk_->now_;
  StoreContents contents;
  for (const JobNumber number : memory.open) contents.jobs.push_back(memory.jobs.at(number));
  for (const auto& [key, attempt] : memory.attempts) {
    const bool open = memory.open.contains(key.job);
    if (open || !attempt.ended) contents.attempts.push_back(attempt);
  }
  for (const auto& [device, instance] : memory.instances) contents.instances.push_back(instance);
  contents.settings = memory.settings;
  for (const auto& [key, each] : memory.learnt) contents.learnt.push_back(each);
  for (const auto& [number, each] : memory.plans) {
    if (!each.ended) contents.plan = each;
    contents.last_plan = number;
  }
  contents.last_job = memory.last_job;
  contents.last_event = memory.last_event;
  return contents;
}

inline Result<void> FakeStore::write(const StoreBatch& batch, Durability durability) {
  const FakeDisk::Memory& memory = *disk_->now_;
  fake_store::check_promises(batch, memory.jobs, memory.keyed, memory.last_job, memory.last_event);
  if (batch.empty()) return {};
  if (const auto written = disk_->written_or_failed(); !written) return written;
  if (disk_->before_write) disk_->before_write(batch);
  disk_->put({batch, {}}, durability);
  if (disk_->after_write) disk_->after_write(batch);
  return {};
}

inline Result<std::optional<JobRecord>> FakeStore::job(JobNumber number) {
  if (const auto read = disk_->read_or_failed(); !read) return std::unexpected(read.error());
  const auto found = disk_->now_->jobs.find(number);
  if (found == disk_->now_->jobs.end()) return std::nullopt;
  return found->second;
}

inline Result<std::optional<JobRecord>> FakeStore::job_with_key(std::uint32_t uid,
                                                                const std::string& key) {
  if (const auto read = disk_->read_or_failed(); !read) return std::unexpected(read.error());
  const auto found = disk_->now_->keyed.find({uid, key});
  if (found == disk_->now_->keyed.end()) return std::nullopt;
  return disk_->now_->jobs.at(found->second);
}

inline Result<std::optional<JobCommand>> FakeStore::command(JobNumber number) {
  if (const auto read = disk_->read_or_failed(); !read) return std::unexpected(read.error());
  const auto found = disk_->now_->commands.find(number);
  if (found == disk_->now_->commands.end()) return std::nullopt;
  return found->second;
}

inline Result<std::vector<AttemptRecord>> FakeStore::attempts(JobNumber number) {
  if (const auto read = disk_->read_or_failed(); !read) return std::unexpected(read.error());
  std::vector<AttemptRecord> all;
  const auto [first, last] = disk_->now_->attempts_of(number);
  for (auto each = first; each != last; ++each) all.push_back(each->second);
  return all;
}

inline Result<std::optional<AttemptRecord>> FakeStore::attempt(const JobKey& key) {
  if (const auto read = disk_->read_or_failed(); !read) return std::unexpected(read.error());
  const auto found = disk_->now_->attempts.find(key);
  return found == disk_->now_->attempts.end() ? std::nullopt : std::optional(found->second);
}

inline Result<std::vector<JobRecord>> FakeStore::jobs(const JobQuery& query) {
  if (const auto read = disk_->read_or_failed(); !read) return std::unexpected(read.error());
  std::vector<JobRecord> all;
  const auto& jobs = disk_->now_->jobs;
  for (auto each = jobs.lower_bound(query.before);
       each != jobs.begin() && all.size() < query.most;) {
    const JobRecord& job = (--each)->second;
    if (job.number <= query.after) break;
    const bool state_fits =
        query.state ? job.state == *query.state : query.final_too || !is_final(job.state);
    const bool asked_for = query.processes || job.leader == 0;
    if (state_fits && asked_for && (!query.uid || job.owner.uid == *query.uid)) all.push_back(job);
  }
  return all;
}

inline Result<std::vector<StoredJob>> FakeStore::jobs_with_attempts(const JobQuery& query) {
  const auto found = jobs(query);
  if (!found) return std::unexpected(found.error());
  std::vector<StoredJob> all;
  for (const JobRecord& job : *found) {
    const auto [first, last] = disk_->now_->attempts_of(job.number);
    all.push_back({job, first == last ? std::nullopt : std::optional(std::prev(last)->second)});
  }
  return all;
}

inline Result<std::vector<EventRecord>> FakeStore::events(std::int64_t after,
                                                          std::optional<std::uint32_t> uid,
                                                          std::size_t most) {
  if (const auto read = disk_->read_or_failed(); !read) return std::unexpected(read.error());
  std::vector<EventRecord> found;
  const auto& events = disk_->now_->events;
  for (auto each = std::ranges::upper_bound(events, after, {}, &EventRecord::number);
       each != events.end() && found.size() < most; ++each)
    if (!uid || !each->job || each->uid == *uid) found.push_back(*each);
  return found;
}

inline Result<std::vector<JobRecord>> FakeStore::ended_before(Instant time, std::size_t most) {
  if (const auto read = disk_->read_or_failed(); !read) return std::unexpected(read.error());
  std::vector<JobRecord> all;
  for (const auto& [ended, number] : disk_->now_->ended) {
    if (ended >= time || all.size() >= most) break;
    all.push_back(disk_->now_->jobs.at(number));
  }
  return all;
}

inline Result<std::vector<StoredSize>> FakeStore::sizes(JobNumber after, std::int64_t most_bytes) {
  if (const auto read = disk_->read_or_failed(); !read) return std::unexpected(read.error());
  const FakeDisk::Memory& memory = *disk_->now_;
  std::vector<StoredSize> all;
  std::int64_t bytes = 0;
  for (auto each = memory.jobs.upper_bound(after);
       each != memory.jobs.end() && all.size() < 1000 && bytes < most_bytes; ++each) {
    const auto& [number, job] = *each;
    StoredSize& size = all.emplace_back();
    size.number = number;
    size.job = job.job();
    size.uid = job.owner.uid;
    size.attempts = job.attempts;
    if (is_final(job.state)) size.ended = job.ended;
    if (const auto command = memory.commands.find(number); command != memory.commands.end())
      size.bytes = std::ssize(command_text(command->second));
    bytes += size.bytes;
  }
  return all;
}

inline Result<std::vector<LivePlan>> FakeStore::plans(std::int64_t before, std::size_t most) {
  if (const auto read = disk_->read_or_failed(); !read) return std::unexpected(read.error());
  std::vector<LivePlan> found;
  const auto& all = disk_->now_->plans;
  for (auto each = std::make_reverse_iterator(all.lower_bound(before));
       each != all.rend() && found.size() < most; ++each)
    found.push_back(each->second);
  return found;
}

inline Result<std::vector<UsageRow>> FakeStore::usage(const UsageQuery& query) {
  if (const auto read = disk_->read_or_failed(); !read) return std::unexpected(read.error());
  std::vector<UsageRow> found;
  const auto& all = disk_->now_->usage;
  for (auto each = all.upper_bound(query.after);
       each != all.end() && found.size() < query.most && each->first.day <= query.until; ++each)
    if (!query.uid || (each->first.kind == UseKind::jobs && each->first.party.uid == *query.uid))
      found.push_back(each->second);
  return found;
}

inline Result<void> FakeStore::forget_usage(std::int64_t before) {
  if (disk_->now_->usage.empty() || disk_->now_->usage.begin()->first.day >= before) return {};
  if (const auto written = disk_->written_or_failed(); !written) return written;
  disk_->put({{}, {}, before}, Durability::written);
  return {};
}

inline Result<void> FakeStore::forget_events(std::size_t keep) {
  if (disk_->now_->events.size() <= keep) return {};
  if (const auto written = disk_->written_or_failed(); !written) return written;
  disk_->put({{}, keep}, Durability::written);
  return {};
}

}  // namespace cleave
