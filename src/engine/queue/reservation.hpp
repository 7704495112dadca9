#pragma once
// What is kept free in a queue, for whom and from when.

#include "engine/queue/holders.hpp"
#include "engine/queue/job_queue.hpp"
#include "model/gpu_reservation.hpp"

namespace cleave {

/// A spot that is kept for a job that waits, or a GPU for the user or account that reserved it.
struct Reservation {
  Waiting job;
  Spot spot;
  Instant from;  // `never`: not known
  Instant end;
  const GpuReservation* advance = nullptr;  // there for the second kind, which has no job
};

/// `from` may be `never`.
inline Instant later(Instant from, std::optional<Duration> time) {
  return from == never || !time ? never : from + *time;
}

/// How long a job is taken to run that must have ended when the reservation begins.
inline std::optional<Duration> time_before(const Reservation& reservation,
                                           std::optional<Duration> time) {
  if (time || reservation.advance == nullptr) return time;
  return unknown_before_reservation;
}

/// Whether a job that starts then has ended when the reservation begins, as far as is known.
inline bool ends_before(const Reservation& reservation, Instant start,
                        std::optional<Duration> time) {
  if (reservation.from == never) return false;
  // However short it is said to be.
  if (reservation.advance != nullptr && start >= reservation.from) return false;
  return later(start, time_before(reservation, time)) <= reservation.from;
}

}  // namespace cleave
