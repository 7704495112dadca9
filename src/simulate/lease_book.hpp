#pragma once
// Keeps the books of leases while a run goes: what they were promised, when they could be used, and
// what they gave back while they were idle.

#include <unordered_map>
#include <vector>

#include "model/ids.hpp"
#include "model/job.hpp"
#include "model/run_summary.hpp"

namespace cleave {

/// The leases of one workload, which must outlive this. Nothing may be called for other jobs but
/// has().
class LeaseBook {
 public:
  explicit LeaseBook(const Workload& workload);

  [[nodiscard]] bool has(JobId job) const { return !leases_.empty() && knows(job); }
  [[nodiscard]] bool counts() const { return !leases_.empty(); }
  /// The share of its time after which it ends by itself: 1, or less where it is given back.
  [[nodiscard]] double ends_at(JobId lease) const { return of(lease).ends_at; }
  /// The next change after this share of its time, of a lease that shrinks; null: none.
  [[nodiscard]] const LeaseChange* next_change(JobId lease, double done) const;

  /// Whether one that shrinks has no work then.
  [[nodiscard]] bool idle_at(JobId lease, double done) const;

  /// While it waits: its place is expected to be free then.
  void promised(JobId lease, Instant from);
  [[nodiscard]] bool has_place(JobId lease) const { return of(lease).place.has_value(); }
  /// It has a place now, and can be used from `usable` on.
  void starts(JobId lease, Instant now, Instant usable);
  /// It holds so many compute slices now; 0: its process has ended.
  void holds(JobId lease, int slices, Instant now);
  /// It has ended by itself.
  void ends(JobId lease);

  /// `now`: the end of the run.
  void write(RunSummary& summary, Instant now) const;
  void write(JobId lease, JobOutcome& outcome) const;

 private:
  struct Lease {
    const Job* job = nullptr;
    const LeaseTerms* terms = nullptr;
    std::vector<LeaseChange> changes = {};  // of one that shrinks
    double ends_at = 1;
    std::optional<Instant> promise = {}, place = {}, usable = {};
    int slices = 0, most_slices = 0;
    Instant since{};        // it holds these
    double given_back = 0;  // slice-seconds
  };
  /// How many have come after this share of its time.
  [[nodiscard]] static std::size_t changes_until(const Lease& lease, double done);
  [[nodiscard, gnu::noinline]] bool knows(JobId job) const;
  [[nodiscard]] const Lease& of(JobId lease) const { return leases_.at(lease); }

  std::unordered_map<JobId, Lease> leases_;  // only looked up, but by order_
  std::vector<JobId> order_;
};

}  // namespace cleave
