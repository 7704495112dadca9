#pragma once
// What follows from how much jobs keep on the disk and how much room is left (node/disk_use.hpp).
// Pure functions; it is done by loop/disk_keeper.hpp.

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "control/node/disk_use.hpp"
#include "control/settings.hpp"

namespace cleave {

/// Whether the limits on users do not bind this one; empty: they bind all.
using ExemptUsers = std::function<bool(std::uint32_t uid)>;

/// Marks are shares of a file system, of which no more counts than this.
inline constexpr std::int64_t most_bytes_counted = std::int64_t{50} << 30,
                              most_inodes_counted = 2'000'000;

[[nodiscard]] DiskLevel level_of(const DiskRoom& room, const DiskMarks& marks);
/// That of the one with the least room; roomy where there is none.
[[nodiscard]] DiskLevel level_of(const std::vector<DiskRoom>& rooms, const DiskMarks& marks);
/// What is missing up to the mark below which jobs are forgotten.
struct MissingRoom {
  std::int64_t bytes = 0, inodes = 0;
  friend bool operator==(const MissingRoom&, const MissingRoom&) = default;
};
[[nodiscard]] MissingRoom missing_room(const std::vector<DiskRoom>& rooms, const DiskMarks& marks);
/// "/var/lib/cleave has 812 of 20480 MiB free"; or inodes, where it has less of these.
[[nodiscard]] std::string in_words(const DiskRoom& room);
/// What is wrong, one line for each file system.
[[nodiscard]] std::vector<std::string> disk_troubles(const std::vector<DiskRoom>& rooms,
                                                     const DiskMarks& marks);

/// Whether a user may have a job that keeps this number of bytes more. `most`: 0 is no limit.
[[nodiscard]] Result<void> may_keep(const DiskAccounts& accounts, std::uint32_t uid,
                                    std::int64_t more, std::int64_t most);
/// Whether there is room for new jobs at all.
[[nodiscard]] Result<void> may_accept(const std::vector<DiskRoom>& rooms, const DiskMarks& marks);

/// The oldest ended job of a user whose jobs keep more than seven eighths of `most`, if there is
/// one that is not to be skipped. So new jobs find room before the limit refuses them.
[[nodiscard]] std::optional<JobNumber> past_its_share(const DiskAccounts& accounts,
                                                      std::int64_t most, const ExemptUsers& exempt,
                                                      const std::set<JobNumber>& skipped);
/// The oldest ended job of the user whose ended jobs keep most.
[[nodiscard]] std::optional<JobNumber> first_to_go(const DiskAccounts& accounts,
                                                   const std::set<JobNumber>& skipped);

/// The most that the folder of a running attempt may take.
[[nodiscard]] std::int64_t most_of_attempt(const ControlSettings& settings,
                                           const std::vector<DiskRoom>& rooms);

}  // namespace cleave
