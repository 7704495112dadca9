#pragma once
// What a site asks of a queue, whichever scheduler keeps it: in which order jobs of one priority
// are looked at, which may start before a job that waits for room, and how much a user may have.
// The rows are options of every scheduler that keeps such a queue (served_queue.hpp).

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/options.hpp"
#include "model/gpu_reservation.hpp"
#include "model/user_limits.hpp"

namespace cleave {

/// Which jobs may start before one that finds no room.
enum class Backfill : std::uint8_t {
  none,          // none
  easy,          // those that do not delay the first one that waits
  conservative,  // those that delay none before them
};

/// The rules of one queue. The defaults are those of a queue in which no job overtakes another.
struct QueueRules {
  bool by_share = false, by_deadline = false;
  Backfill backfill = Backfill::none;
  std::size_t depth = 0;  // jobs that are looked at each time, with backfill
  Duration half_life{};   // of what was used, for by_share
  /// By ACCOUNT, USER, or ACCOUNT/USER; 1 for those that are not named.
  std::map<std::string, double, std::less<>> shares;
  UserLimits user;                      // a user's of one account, at a time
  std::vector<GpuReservation> advance;  // by when they begin; not by an option
  bool by_kind = true;  // where there are services and leases, these go before batches
  /// How often a batch is stopped for them at most; 0: never.
  std::uint32_t evictions = 0;

  /// Whether the jobs of different users are told apart.
  [[nodiscard]] bool by_user() const {
    return by_share || user.jobs || user.slices || !advance.empty();
  }
  /// First come first served, by priority, and nothing else.
  [[nodiscard]] bool plain() const {
    return !by_user() && !by_deadline && backfill == Backfill::none;
  }
};

/// Options of every scheduler that keeps such a queue.
inline constexpr std::array queue_options = {
    OptionRow{
        "order", "KEYS", "submission",
        "jobs of one priority by: fair-share (least used by the account for its share, then by "
        "the user), deadline, submission; several in this order, joined by '+'"},
    OptionRow{
        "backfill", "none|easy|conservative", "none",
        "which jobs may start before one that finds no room: none, those that do not delay the "
        "first one that waits, or those that delay none before them"},
    OptionRow{"depth", "COUNT", "100",
              "with backfill: how many waiting jobs are looked at each time"},
    OptionRow{"half-life", "TIME", "7d",
              "with order=fair-share: after this time what was used counts half"},
    OptionRow{"shares", "NAME=NUMBER+...", "",
              "with order=fair-share: the shares of accounts, of users, or of ACCOUNT/USER; 1 for "
              "others"},
    OptionRow{"user-jobs", "COUNT or all", "all",
              "how many jobs of a user, on one account, may run at a time"},
    OptionRow{"user-slices", "COUNT or all", "all",
              "how many compute slices the running jobs of a user, on one account, may hold"},
    OptionRow{"kinds", "on|off", "on",
              "on: of one priority, services go first, then leases, then batches"},
    OptionRow{"evict", "COUNT or off", "3",
              "how often a batch that may be stopped is stopped, at most, for services and leases "
              "that find no room"},
};

/// A scheduler's own options, and these after them.
template <std::size_t count>
constexpr auto with_queue_options(const OptionRow (&own)[count]) {
  std::array<OptionRow, count + queue_options.size()> all;
  std::ranges::copy(own, all.begin());
  std::ranges::copy(queue_options, all.begin() + count);
  return all;
}

/// Reads them. `advance`: GPUs that are set aside beforehand; `most`: limits of users beside those
/// of the options, of which the lower hold.
[[nodiscard]] Result<QueueRules> queue_rules(const OptionTexts& options,
                                             std::span<const GpuReservation> advance = {},
                                             const UserLimits& most = {});

}  // namespace cleave
