#pragma once
// What the store forgets: final jobs after some time, and the oldest of the users who keep most
// where outputs take too much room; old events. At most once a minute, since it asks the store.
// Weighing looks at every file, and so it goes by single attempts, one in a call: users decide how
// many files there are, and the loop has other things to do.

#include <optional>
#include <span>
#include <vector>

#include "control/book/book.hpp"
#include "control/book/clock_doubt.hpp"
#include "control/node/disk_use.hpp"
#include "control/settings.hpp"
#include "runner/runner.hpp"

namespace cleave {

/// A final job with what its outputs take on the disk.
struct KeptJob {
  JobNumber number = 0;
  std::uint32_t uid = 0;
  std::int64_t bytes = 0;
};
/// Which of them go, so that the rest takes at most `keep_bytes`: each time the oldest of the user
/// whose jobs take most, so that one user's outputs do not push out those of others. `jobs` are
/// ordered from the oldest to the newest.
[[nodiscard]] std::vector<JobNumber> jobs_to_forget(const std::vector<KeptJob>& jobs,
                                                    std::int64_t keep_bytes);

/// Forgets old jobs, with their folders, and old events.
class Retention {
 public:
  /// All must outlive it. `accounts` follow what is weighed and forgotten.
  Retention(Store& store, Runner& runner, Book& book, const Clock& clock,
            const ControlSettings& settings, DiskAccounts& accounts)
      : store_(&store),
        runner_(&runner),
        book_(&book),
        clock_(&clock),
        settings_(&settings),
        accounts_(&accounts) {}

  /// Forgets what is due.
  void step();
  /// Forgets these jobs now, but for those that have not ended, those by whose number an array is
  /// called that has not, and those of which a folder cannot be removed. Returned are those that
  /// went.
  [[nodiscard]] Result<std::vector<JobRecord>> forget(std::span<const JobNumber> jobs);
  /// Attempts that may have folders, with those of its further processes and replicas; nothing
  /// while one of these has not ended. Each replica has attempts of its own.
  [[nodiscard]] std::optional<std::vector<JobKey>> attempts_of(const JobRecord& job);
  /// Nothing is forgotten before: after the clock was set far forward, someone may set it right.
  void keep_all_until(Duration steady) { keep_all_until_ = steady; }
  /// Whether the clock is believed (clock_doubt.hpp).
  void doubt_clock(const std::optional<ClockDoubt>& doubt) { doubt_ = doubt; }
  /// When step() has something to do next.
  [[nodiscard]] Duration next() const { return next_; }

 private:
  /// False where one of its folders cannot be removed now, or an array is called by its number.
  [[nodiscard]] bool forget(const JobRecord& job, StoreBatch& batch);
  /// The job is the first of an array, of which another has not ended.
  [[nodiscard]] bool stands_for_array(const JobRecord& job) const;
  Result<void> write(const StoreBatch& batch);
  void forget_usage(Instant now);
  void begin_weighing();
  void weigh_next();
  void forget_large_outputs();

  /// What has been weighed so far.
  struct Weighing {
    std::vector<JobRecord> jobs;   // from the oldest to the newest
    std::vector<KeptJob> kept;     // of them the first
    std::vector<JobKey> attempts;  // of the last of these that are still to be weighed
  };

  Store* store_;
  Runner* runner_;
  Book* book_;
  const Clock* clock_;
  const ControlSettings* settings_;
  DiskAccounts* accounts_;
  std::optional<Weighing> weighing_;
  Duration next_{}, next_weighing_{};
  Duration keep_all_until_{};
  std::optional<ClockDoubt> doubt_;
};

}  // namespace cleave
