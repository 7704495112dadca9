#pragma once
// When a host will have room for what a job gets of it: what it has left now, what running jobs
// give back when they are expected to end, and what is kept of it for jobs that wait. For backfill,
// as expected ends and reservations of spots are (holders.hpp, served_queue.hpp).

#include <optional>
#include <utility>
#include <vector>

#include "engine/host_room.hpp"
#include "engine/queue/holders.hpp"
#include "engine/queue/reservation.hpp"

namespace cleave {

/// The hosts of a fleet whose hosts are limited.
class HostTimes {
 public:
  /// Both must outlive it.
  HostTimes(HostRoom& room, const Holders& holders) : room_(&room), holders_(&holders) {}

  [[nodiscard]] HostRoom& room() const { return *room_; }

  /// Of its spot's host its job's part is kept.
  void keep(const Reservation& reservation);
  void forget_kept() {
    kept_.clear();
    ++kept_version_;
  }

  /// The least that the host has left at any time from then on, for so long; with an unknown time,
  /// from then on. `from` may be `now`.
  [[nodiscard]] HostAmount least_left(std::uint32_t node, Instant from,
                                      std::optional<Duration> time, Instant now) const;
  /// Whether the job may start there now and run for so long. `own` runs, and leaves its place.
  [[nodiscard]] bool takes(RequestId request, Spot spot, std::optional<Duration> time, Instant now,
                           std::optional<JobId> own = {}) const;
  /// The earliest time, not before `from`, at which the host has so much left for so long; `never`
  /// where that is not known.
  [[nodiscard]] Instant earliest(std::uint32_t node, const HostAmount& amount, Instant from,
                                 std::optional<Duration> time, Instant now) const;

 private:
  /// What is kept of a host. `from` is the beginning of time where it is not known.
  struct Kept {
    std::uint32_t node;
    HostAmount amount;
    Instant from, end;
  };
  /// By time: what comes back, or is taken.
  struct Change {
    Instant at;
    HostAmount amount;
  };
  /// What is known of a node, as things are.
  struct Outlook {
    std::pair<std::uint64_t, std::uint64_t> version;
    Instant now{};
    HostAmount left;                                                             // now
    std::vector<Change> changes;                                                 // by time
    std::vector<std::pair<std::optional<Duration>, HostAmount>> least_from_now;  // for times
  };
  [[nodiscard]] Outlook& outlook(std::uint32_t node, Instant now) const;
  [[nodiscard]] static HostAmount least(const Outlook& known, Instant from,
                                        std::optional<Duration> time);

  HostRoom* room_;
  const Holders* holders_;
  std::vector<Kept> kept_;
  std::uint64_t kept_version_ = 1;
  mutable std::vector<Outlook> outlooks_;  // by node; worked out when they are asked for
};

}  // namespace cleave
