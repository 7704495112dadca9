#pragma once
// The best place for one job of all that is free, for good: where a second of its work costs least,
// which is the time that it takes there, times one and a price for each slice. The price rises with
// the jobs that wait and with those that are expected to.

#include <optional>
#include <vector>

#include "engine/adaptive/books.hpp"
#include "engine/adaptive/room_left.hpp"
#include "engine/queue/queue_host.hpp"

namespace cleave {

/// A free place, and what it costs.
struct PricedPlace {
  double cost = 0;     // of a second of the job's work
  double lost = 0;     // of the room for others
  bool fresh = false;  // an instance has to be made
  Spot spot;
};

/// Of the time until a job ends, what it costs to wait for that.
inline constexpr double wait_for_end = 0.3;

/// Finds places, at the price of the moment.
class PlaceFinder {
 public:
  /// The books must outlive it.
  explicit PlaceFinder(Books& books);

  /// How much a slice is wanted: by those that wait, and by those that will.
  void set_price();
  /// How many jobs are expected to wait, by how fast they come, when the price was set.
  [[nodiscard]] double will_wait() const { return will_wait_; }
  /// The mean of compute and memory slices, of all GPUs.
  [[nodiscard]] double fleet_slices() const { return fleet_slices_; }
  /// Of all that is free.
  [[nodiscard]] std::optional<PricedPlace> best_place(JobId job);
  /// The better of these and of what was found before.
  void look_at(JobId job, GpuId gpu, PlacementSet places, std::optional<PricedPlace>& best);
  /// What it would cost on an empty fleet; below 0: it runs nowhere.
  [[nodiscard]] double least_cost(JobId job) const;
  /// Those of the places on which a job starts that is not worth stopping again: without those that
  /// make it slower than another one and take more than twice the slice-seconds, if it would do
  /// better to wait for that until a job ends. At the price of the moment.
  [[nodiscard]] PlacementSet without_traps(JobId job, GpuId gpu, PlacementSet places) const;
  /// Seconds until a job is expected to end, of the first few hundred that run.
  [[nodiscard]] double next_end_s() const;

 private:
  [[nodiscard]] static bool better(const PricedPlace& a, const PricedPlace& b);
  /// Below 0: none runs. `of_sized`: of batches with one instance alone.
  [[nodiscard]] double soonest_end_s(bool of_sized) const;
  [[nodiscard]] bool is_trap(const LedgerJob& job, double slices, double pace) const;
  [[nodiscard]] double cost_of(const Geometry& rules, PlacementId place, double pace) const;

  Books& books_;
  std::vector<RoomLeft> rooms_;  // by GPU model
  double fleet_slices_ = 0, price_ = 0, will_wait_ = 0;
};

}  // namespace cleave
