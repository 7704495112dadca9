#pragma once
// The door to what is remembered: jobs, attempts, instances, events, settings. Behind it stands
// SQLite (daemon/store/sqlite_store.hpp) or, in tests, memory that can be made to fail
// (fake_store_test.hpp).
//
// A batch is written whole or not at all. What is `synced` survives the machine's power going; what
// is merely `written` survives this program's death. A failed write changes nothing, and may be
// tried again.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "control/job_record.hpp"
#include "control/learnt_profile.hpp"
#include "control/usage_record.hpp"
#include "model/live_plan.hpp"

namespace cleave {

/// What a write survives: the program's death, or the machine's too.
enum class Durability : std::uint8_t { written, synced };

/// What is written together.
struct StoreBatch {
  std::vector<JobRecord> jobs;  // each new, or in the place of the one with its number
  std::vector<std::pair<JobNumber, JobCommand>>
      commands;  // once for each job, with its first record; not for further processes of one
  std::vector<AttemptRecord> attempts;    // as jobs, by key
  std::vector<InstanceRecord> instances;  // as jobs, by device
  std::vector<EventRecord> events;        // in order, each the number after the last
  std::vector<std::pair<std::string, std::string>>
      settings;                       // key and value; an empty value: no more
  std::vector<LearntProfile> learnt;  // as jobs, by key
  std::vector<LearntKey> unlearnt;    // no more; none that is in `learnt`
  /// Of these jobs, attempts up to these that have ended are kept no longer.
  std::vector<JobKey> outdated = {};
  std::vector<JobNumber> bared = {};  // their commands lose the environment; they run no more
  std::vector<JobNumber> forgotten;   // with all that belongs to them; their events stay
  std::vector<LivePlan> plans = {};   // as jobs; of the oldest no more is known beyond most_plans
  /// Added to what is there under the same key.
  std::vector<UsageRow> usage = {};
  /// Added to jobs, of which none is in `jobs`; not there any more: to none.
  std::vector<std::pair<JobNumber, JobEnergy>> energies = {};

  [[nodiscard]] bool empty() const {
    return jobs.empty() && commands.empty() && attempts.empty() && instances.empty() &&
           events.empty() && settings.empty() && learnt.empty() && unlearnt.empty() &&
           outdated.empty() && bared.empty() && forgotten.empty() && plans.empty() &&
           usage.empty() && energies.empty();
  }
};

/// What a daemon that begins must know: none of it grows with the number of final jobs.
struct StoreContents {
  std::vector<JobRecord> jobs;            // all that are not final, by number
  std::vector<AttemptRecord> attempts;    // of those, and others that have not ended; by key
  std::vector<InstanceRecord> instances;  // not gone
  std::map<std::string, std::string> settings;
  std::vector<LearntProfile> learnt;  // by key
  JobNumber last_job = 0;             // the highest number ever given
  std::int64_t last_event = 0;        // likewise
  std::optional<LivePlan> plan = {};  // that has not ended
  std::int64_t last_plan = 0;         // the highest number ever given
};

/// Plans that are kept.
inline constexpr std::int64_t most_plans = 1000;

/// Which jobs a listing is to have.
struct JobQuery {
  bool final_too = false;
  std::optional<JobState> state;     // only those, final or not
  std::optional<std::uint32_t> uid;  // only this user's
  JobNumber before = INT64_MAX;      // only older ones
  JobNumber after = 0;               // only newer ones
  std::size_t most = 1000;
  bool processes = false;  // also further processes of jobs of several
};

/// Which rows of usage a listing is to have.
struct UsageQuery {
  UsageKey after;                    // only those after it; first a key with the first day
  std::int64_t until = INT64_MAX;    // the last day
  std::optional<std::uint32_t> uid;  // only what jobs of this user had
  std::size_t most = 1000;
};

/// A job with its latest attempt, if there was one.
struct StoredJob {
  JobRecord job;
  std::optional<AttemptRecord> latest;
};

/// What a job keeps in the store, for its user's account; each further process or replica too.
struct StoredSize {
  JobNumber number = 0, job = 0;  // of the record, and by which people know it
  std::uint32_t uid = 0;
  std::int64_t bytes = 0;  // of the texts that users decide the length of
  std::int64_t attempts = 0;
  std::optional<Instant> ended;  // for good
  friend bool operator==(const StoredSize&, const StoredSize&) = default;
};

/// The door itself. Errors are those of the disk, or say that a text is damaged.
class Store {
 public:
  virtual ~Store() = default;

  [[nodiscard]] virtual Result<StoreContents> load() = 0;
  [[nodiscard]] virtual Result<void> write(const StoreBatch& batch, Durability durability) = 0;

  /// Nothing where there is none.
  [[nodiscard]] virtual Result<std::optional<JobRecord>> job(JobNumber number) = 0;
  [[nodiscard]] virtual Result<std::optional<JobCommand>> command(JobNumber number) = 0;
  /// Of this user and submitted with this key. No two jobs of a user have the same.
  [[nodiscard]] virtual Result<std::optional<JobRecord>> job_with_key(std::uint32_t uid,
                                                                      const std::string& key) = 0;
  /// By key.
  [[nodiscard]] virtual Result<std::vector<AttemptRecord>> attempts(JobNumber number) = 0;
  /// Nothing where there is none.
  [[nodiscard]] virtual Result<std::optional<AttemptRecord>> attempt(const JobKey& key) = 0;
  /// Newest first.
  [[nodiscard]] virtual Result<std::vector<JobRecord>> jobs(const JobQuery& query) = 0;
  /// The same, with the latest attempt of each.
  [[nodiscard]] virtual Result<std::vector<StoredJob>> jobs_with_attempts(
      const JobQuery& query) = 0;
  /// After that number, oldest first; where `uid` is given, only events without a job and those of
  /// that user's jobs.
  [[nodiscard]] virtual Result<std::vector<EventRecord>> events(std::int64_t after,
                                                                std::optional<std::uint32_t> uid,
                                                                std::size_t most) = 0;
  /// Final jobs that ended before this time, oldest first; what retention forgets. Without the
  /// further processes of jobs of several.
  [[nodiscard]] virtual Result<std::vector<JobRecord>> ended_before(Instant time,
                                                                    std::size_t most) = 0;
  /// Records after this number, by number, until they have `most_bytes` or there are 1000: a piece
  /// that does not take long. Empty: there are no more.
  [[nodiscard]] virtual Result<std::vector<StoredSize>> sizes(JobNumber after,
                                                              std::int64_t most_bytes) = 0;
  /// Before that number, newest first.
  [[nodiscard]] virtual Result<std::vector<LivePlan>> plans(std::int64_t before,
                                                            std::size_t most) = 0;
  /// By key.
  [[nodiscard]] virtual Result<std::vector<UsageRow>> usage(const UsageQuery& query) = 0;
  /// Forgets what was used before this day.
  [[nodiscard]] virtual Result<void> forget_usage(std::int64_t before) = 0;
  /// Forgets the oldest events; at least the newest `keep` stay.
  [[nodiscard]] virtual Result<void> forget_events(std::size_t keep) = 0;
  /// Brings what was written into its last place, so that little depends on the newest files. Call
  /// it every few seconds. What fails is tried again by the next call.
  virtual void settle() {}
};

}  // namespace cleave
