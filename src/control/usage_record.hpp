#pragma once
// What was used of GPUs on a day, by whom, for what and where: how long which slices were held, how
// much energy that took, and what was counted. Plain values that are added up; the store keeps a
// row for each key.

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/time.hpp"

namespace cleave {

/// Whose use it was. In the order of their words, which is that of the store.
enum class UseKind : std::uint8_t {
  foreign,  // instances and processes that are not Cleave's
  idle,     // nobody's: what a GPU uses for itself, and slices that no job had
  jobs,
};
inline constexpr std::array<std::string_view, 3> use_kind_names = {"foreign", "idle", "jobs"};

/// On whose behalf and for what jobs use GPUs. Others have none of these.
struct UseParty {
  std::uint32_t uid = 0, gid = 0;  // gid: the group that the job runs with
  std::string application;         // empty: the job names none
  friend auto operator<=>(const UseParty&, const UseParty&) = default;
};

/// What rows are told apart by.
struct UsageKey {
  std::int64_t day = 0;  // since 1970, by UTC
  UseKind kind = UseKind::foreign;
  UseParty party;
  std::string gpu;  // UUID
  friend auto operator<=>(const UsageKey&, const UsageKey&) = default;
};

/// The sums.
struct UsageSums {
  Duration slice_time{};         // compute slices times how long they were held
  Duration unmetered{};          // of that, while no counter of the GPU's energy was read
  std::int64_t millijoules = 0;  // of the rest
  std::int64_t jobs = 0;         // that ended, and had run
  std::int64_t attempts = 0;     // that ended
  std::int64_t lost = 0;         // of these: with their GPU, their instance or their supervisor
  std::int64_t moves = 0;        // of these: to go on elsewhere
  UsageSums& operator+=(const UsageSums& more) {
    slice_time += more.slice_time;
    unmetered += more.unmetered;
    millijoules += more.millijoules;
    jobs += more.jobs;
    attempts += more.attempts;
    lost += more.lost;
    moves += more.moves;
    return *this;
  }
  friend bool operator==(const UsageSums&, const UsageSums&) = default;
};

/// A row.
struct UsageRow {
  UsageKey key;
  std::string user;             // the name, for people; may be empty
  std::int64_t gpu_slices = 0;  // compute slices of the whole GPU
  UsageSums sums;
  friend bool operator==(const UsageRow&, const UsageRow&) = default;
};

/// Adds to what is there under its key.
inline void add_row(std::map<UsageKey, UsageRow>& rows, UsageRow row) {
  UsageRow& sum = rows[row.key];
  row.sums += sum.sums;
  sum = std::move(row);
}

/// The day, by UTC.
[[nodiscard]] inline std::int64_t day_of(Instant at) {
  return std::chrono::floor<std::chrono::days>(at).time_since_epoch().count();
}

/// Applications of one user, in one group, that have a row of their own on a day; what else the
/// user ran counts together.
inline constexpr std::size_t most_usage_names = 1000;
inline constexpr const char* other_applications = "(others)";

}  // namespace cleave
