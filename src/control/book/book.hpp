#pragma once
// What is to be written, and what may happen once it is. Changes, events and effects gather while
// the node changes; commit() writes them in one batch, and only then are the effects carried out.
// Requests of users are written the same way before they enter the node. Nothing outside book/
// knows the store.
//
// A write that fails changes nothing: everything stays gathered, and is tried again after a second.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "control/book/stored_settings.hpp"
#include "control/clock.hpp"
#include "control/node/node_state.hpp"
#include "control/requests.hpp"
#include "control/store.hpp"

namespace cleave {

/// A user's request, from the call until the store has it.
struct UserRequest {
  std::uint64_t number = 0;
  StoreBatch batch;                     // events without their numbers
  std::function<void()> enter;          // into the node, once it is written
  std::vector<JobNumber> cancels = {};  // the jobs that it wants to end
  std::function<void()> refused = {};   // called where it is not written
};

/// Keeps changes until they are written, and effects until then.
class Book {
 public:
  using Effect = std::function<void()>;

  /// Both must outlive the book.
  Book(Store& store, const Clock& clock) : store_(&store), clock_(&clock) {}

  /// The latest jobs, of this state or of all, newest first, each with its latest attempt; with
  /// every process of jobs of several.
  [[nodiscard]] Result<std::vector<StoredJob>> latest_jobs(std::optional<JobState> state,
                                                           std::size_t most);
  /// From now on it is measured how long writes take.
  void set_stopwatch(Stopwatch stopwatch) { stopwatch_ = std::move(stopwatch); }
  /// What the store took for each batch that it has, and how many it did not take.
  [[nodiscard]] const TimeCounts& write_times() const { return write_times_; }
  [[nodiscard]] std::int64_t failed_writes() const { return failed_writes_; }
  /// Reads the store. Before anything else, once.
  [[nodiscard]] Result<StoreContents> load();
  [[nodiscard]] Result<std::optional<JobRecord>> job(JobNumber number) {
    return store_->job(number);
  }
  [[nodiscard]] Result<std::optional<JobCommand>> command(JobNumber number) {
    return store_->command(number);
  }

  [[nodiscard]] Result<std::vector<StoredSize>> sizes(JobNumber after, std::int64_t most_bytes) {
    return store_->sizes(after, most_bytes);
  }

  [[nodiscard]] Result<std::optional<JobRecord>> job_with_key(std::uint32_t uid,
                                                              const std::string& key) {
    return store_->job_with_key(uid, key);
  }
  [[nodiscard]] Result<std::optional<AttemptRecord>> attempt(const JobKey& key) {
    return store_->attempt(key);
  }
  /// Whether the store has how its process ended: then nothing runs that was started for it.
  [[nodiscard]] bool is_settled(const JobKey& key);

  // What has changed. A job is written as the node has it at the time of the write.

  void note(const LiveJob& job) { changed_jobs_.insert(job.record.number); }
  void note(const AttemptRecord& attempt) { changed_attempts_[attempt.key] = attempt; }
  /// Of this job, attempts up to this one that have ended are kept no longer.
  void outdate(const JobKey& attempt) { outdated_[attempt.job] = attempt.attempt; }
  void note(const LearntChange& change);
  void note(const InstanceRecord& instance) { changed_instances_[instance.device] = instance; }
  /// As it is now.
  void note(const LivePlan& plan) { changed_plans_[plan.number] = plan; }
  /// Adds to what was used; beyond most_usage_names of a user's on one day by another name.
  void add_usage(UsageRow row);
  /// Adds to a job that is in the store only.
  void add_energy(JobNumber job, const JobEnergy& energy) { changed_energies_[job].add(energy); }
  /// What was added and is not written.
  [[nodiscard]] const std::map<UsageKey, UsageRow>& unwritten_usage() const {
    return changed_usage_;
  }
  [[nodiscard]] JobEnergy unwritten_energy(JobNumber job) const {
    const auto known = changed_energies_.find(job);
    return known == changed_energies_.end() ? JobEnergy{} : known->second;
  }
  void note_setting(const std::string& key, const std::string& value) {
    changed_settings_[key] = value;
  }
  /// The next batch must survive a loss of power.
  void sync_next() { sync_ = true; }
  [[nodiscard]] bool has_changed(JobNumber job) const { return changed_jobs_.contains(job); }

  void event(EventRecord event) { events_.push_back(std::move(event)); }
  void event(std::string kind, std::string text, const LiveJob* job = nullptr,
             std::string gpu = {});
  /// One of now, not yet noted.
  [[nodiscard]] EventRecord event_record(std::string kind, std::string text, const JobRecord* job,
                                         std::string gpu = {}) const;

  /// Done after the next successful commit().
  void later(Effect effect) { effects_.push_back(std::move(effect)); }
  [[nodiscard]] bool has_effects() const { return !effects_.empty(); }

  /// Writes what has gathered, then carries the effects out.
  void commit(const NodeState& node);
  /// Notes that a write outside of commit() failed.
  void store_refused(const Error& why);

  // What runs of applications have held.

  void recall_needs(const ApplicationNeeds& needs);
  [[nodiscard]] std::optional<MiB> need_of(const UserApplication& application) const;
  /// Kept for later runs; at most 10,000 applications are. Where there are as many, the one that
  /// ended longest ago of the user who has most makes room, so that no user takes the place of all.
  void remember_need(const UserApplication& application, MiB held);

  // Requests of users.

  /// Returns the request, for what else is to be said of it before the next call.
  UserRequest& request(StoreBatch batch, std::function<void()> enter);
  [[nodiscard]] std::size_t open_requests() const { return requests_.size(); }
  [[nodiscard]] std::uint64_t last_request() const { return last_request_; }
  /// Writes all of them, and whatever else has gathered, in one synced batch; then they enter the
  /// node and are answered. Where the write fails, those that bring commands are refused, and the
  /// others are written without them: what is to end may free the disk that is full. Where that
  /// fails too, `unwritten` may do something about each all the same and says whether it did; the
  /// others are refused.
  void write_requests(const NodeState& node,
                      const std::function<bool(const UserRequest&)>& unwritten);
  /// Answers since the last call, in order.
  [[nodiscard]] std::vector<RequestAnswer> take_answers() { return std::exchange(answers_, {}); }

  // What there is to see.

  /// Why nothing can be written at the moment; empty: it can.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  [[nodiscard]] bool writes() const { return trouble_.empty(); }
  /// When a write has to be tried next: now where something has gathered, after a failed write when
  /// it is to be tried again, and else Duration::max().
  [[nodiscard]] Duration next_write() const;
  /// Events after this number that are still in memory.
  [[nodiscard]] std::vector<EventRecord> events_since(std::int64_t number) const;
  /// The number of the last one that was written.
  [[nodiscard]] std::int64_t last_event() const { return last_event_; }

 private:
  [[nodiscard]] StoreBatch gathered(const NodeState& node) const;
  [[nodiscard]] Result<void> write(const StoreBatch& batch, Durability durability);
  void add_requests(StoreBatch& batch, const std::vector<UserRequest>& requests) const;
  [[nodiscard]] Result<void> write_together(const NodeState& node,
                                            const std::vector<UserRequest>& requests);
  void refuse(const UserRequest& request, const Error& why);
  void wrote(const StoreBatch& batch);
  [[nodiscard]] bool make_room_for_need(std::uint32_t uid);

  /// Of an application, and when it was last heard of: a higher number is later, and 0 is what an
  /// earlier daemon knew.
  struct Need {
    MiB held;
    std::uint64_t heard = 0;
  };

  Store* store_;
  const Clock* clock_;
  std::set<JobNumber> changed_jobs_;
  std::map<JobKey, AttemptRecord> changed_attempts_;
  std::map<JobNumber, std::int64_t> outdated_;
  std::map<std::string, InstanceRecord> changed_instances_;
  std::map<std::string, std::string> changed_settings_;
  std::map<std::int64_t, LivePlan> changed_plans_;
  std::map<LearntKey, std::optional<ProfileRecord>> changed_learnt_;  // empty: no more
  std::map<UsageKey, UsageRow> changed_usage_;
  std::map<JobNumber, JobEnergy> changed_energies_;
  std::int64_t usage_day_ = 0;  // of the names:
  std::map<std::uint32_t, std::set<std::pair<std::uint32_t, std::string>>> usage_names_;
  std::vector<EventRecord> events_;
  std::vector<Effect> effects_;
  bool sync_ = false;
  std::string trouble_;
  Duration try_again_{};
  std::vector<UserRequest> requests_;
  std::uint64_t last_request_ = 0;
  std::vector<RequestAnswer> answers_;
  std::int64_t last_event_ = 0;  // written
  std::deque<EventRecord> recent_;
  std::map<UserApplication, Need> needs_;
  std::uint64_t needs_heard_ = 0;
  Stopwatch stopwatch_;
  TimeCounts write_times_{computing_bounds_s};
  std::int64_t failed_writes_ = 0;
};

}  // namespace cleave
