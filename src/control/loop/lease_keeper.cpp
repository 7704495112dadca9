#include "control/loop/lease_keeper.hpp"

#include <utility>

#include "base/format.hpp"
#include "base/human_time.hpp"
#include "control/verdicts/lease_verdicts.hpp"

namespace cleave {

void LeaseKeeper::take_promises() {
  if (!brain_.active()) return;
  for (const JobNumber number : std::exchange(node_.new_leases, {})) {
    LiveJob* lease = node_.find(number);
    if (lease == nullptr || lease->place) continue;
    const auto in = brain_.outlook(*lease).in;
    if (!in) continue;
    lease->record.promised = clock_.wall() + *in;
    book_.note(*lease);
    book_.event(
        "lease-promised",
        fmt::format("job {} waits; its place is expected to be free in {}", number, human(*in)),
        lease);
  }
}

void LeaseKeeper::heed_work() {
  for (const JobNumber number : std::exchange(node_.counted_leases, {}))
    if (LiveJob* lease = node_.find(number); lease != nullptr && lease->record.spec.lease)
      heed_work(*lease);
}

/// The engine is asked at each count, since it moves a lease only where there is room just then.
void LeaseKeeper::heed_work(LiveJob& lease) {
  switch (judge_lease(node_, lease, clock_.steady())) {
    case LeaseVerdict::stays:
      return;
    case LeaseVerdict::is_given_back:
      return give_back(lease);
    case LeaseVerdict::shrinks:
      if (brain_.active() && lease.id)
        brain_.tell(brain_.idleness_of(lease, held_when_idle(lease.record.spec)));
      return;
    case LeaseVerdict::grows:
      if (brain_.active() && lease.id) brain_.tell(LeaseBusy{*lease.id});
      return;
  }
}

void LeaseKeeper::give_back(LiveJob& lease) {
  const std::int64_t attempt = *lease.main;
  const Duration idle = clock_.steady() - *lease.attempts.at(attempt).idle.since();
  const std::string why = fmt::format("it did no GPU work for {} and is given back", human(idle));
  book_.event("lease-idle", fmt::format("job {}: {}", lease.record.number, why), &lease,
              lease.attempts.at(attempt).record.gpu);
  lifecycle_.stop_attempt(lease, attempt, AttemptEnd::idle, why);
}

}  // namespace cleave
