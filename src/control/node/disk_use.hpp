#pragma once
// What jobs keep on the disk, by user: their commands and records in the store, their folders with
// all that is in them. In blocks and inodes, as far as it has been looked at, and else by estimate.
// And how much room the file systems have that this lies on. Plain values: verdicts/ judges by
// them.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "control/job_record.hpp"

namespace cleave {

/// A file system that the daemon writes to.
struct DiskRoom {
  std::string place;  // a folder on it, for people
  std::int64_t bytes = 0, free_bytes = 0;
  std::int64_t inodes = 0, free_inodes = 0;  // 0 and 0: it makes them as they are needed
  friend bool operator==(const DiskRoom&, const DiskRoom&) = default;
};

/// How a file system stands to the marks of the settings.
enum class DiskLevel : std::uint8_t {
  roomy,
  low,     // ended jobs are forgotten before their time
  scarce,  // and no job is accepted
};

/// A row of the store, with its columns and its places in the indexes; rather more than less.
inline constexpr std::int64_t record_bytes = 2048;
/// What an attempt's folder takes at least: five files and folders.
inline constexpr std::int64_t least_folder_bytes = 20 << 10;

/// What every job keeps, with sums by user.
class DiskAccounts {
 public:
  /// Of a job and its processes or replicas.
  struct Kept {
    std::uint32_t uid = 0;
    std::int64_t store = 0;
    std::int64_t passing = 0;  // in the store until it has ended: its environment
    std::int64_t folders = 0;
    std::optional<Instant> ended;  // for good
    [[nodiscard]] std::int64_t bytes() const { return store + passing + folders; }
  };
  /// Of all jobs of a user.
  struct User {
    std::int64_t bytes = 0, ended_bytes = 0;
    std::set<std::pair<Instant, JobNumber>> ended;  // the oldest first
  };

  /// A job that is not known; nothing of one that is.
  void add(JobNumber job, const Kept& kept);
  /// A further process or replica of a job.
  void enlarge(JobNumber job, std::int64_t store, std::int64_t folders);
  /// What its folders take. Nothing is noted of a job that is not known.
  void weigh(JobNumber job, std::int64_t folders);
  void end(JobNumber job, Instant ended);
  void forget(JobNumber job);

  [[nodiscard]] const Kept* find(JobNumber job) const;
  [[nodiscard]] std::int64_t bytes_of(std::uint32_t uid) const;
  [[nodiscard]] const std::map<std::uint32_t, User>& users() const { return users_; }

 private:
  void count(JobNumber job, const Kept& kept);
  void uncount(JobNumber job, const Kept& kept);

  std::map<JobNumber, Kept> jobs_;
  std::map<std::uint32_t, User> users_;  // those that keep something
};

/// What a new job keeps, with its processes or replicas, before anything of it runs.
[[nodiscard]] DiskAccounts::Kept kept_by(const JobRecord& job, const JobCommand& command);

/// The disk as the loop believes it to be.
struct DiskUse {
  DiskAccounts accounts;
  std::vector<DiskRoom> rooms;      // as of the last look, the last of them that of jobs' folders
  std::deque<JobNumber> unweighed;  // jobs that have ended and whose folders were not weighed
  std::map<JobKey, std::int64_t> runs;  // what folders of running attempts took when last weighed
};

}  // namespace cleave
