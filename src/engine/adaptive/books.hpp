#pragma once
// What `adaptive` decides from: which jobs run where, what is known of each, and those that wait.
// The scheduler writes into it what it hears and does; its parts that choose only read it.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "engine/adaptive/arrival_rate.hpp"
#include "engine/adaptive/job_ledger.hpp"
#include "engine/adaptive/neighbours.hpp"
#include "engine/adaptive/waiting_pool.hpp"
#include "engine/queue/queue_rules.hpp"
#include "engine/queue/spot.hpp"
#include "engine/scheduler.hpp"
#include "engine/seats.hpp"

namespace cleave {

/// By which those that wait are ordered, of one that has so much to do: the least goes first.
[[nodiscard]] double order_weight(double rest_s);

/// Written by the scheduler alone; speeds are worked out when they are first asked for.
struct Books {
  /// All that `at_first` refers to must outlive it. `most_disruptions`: of a job within an hour.
  Books(const SchedulerSetup& at_first, const QueueRules& rules, std::size_t most_disruptions);

  [[nodiscard]] const Geometry& geometry(GpuId gpu) const;
  [[nodiscard]] std::size_t kind(GpuId gpu) const;
  /// What is kept of the GPU for jobs of the queue.
  [[nodiscard]] PlacementSet blocked(GpuId gpu) const;
  /// Whether the GPU is set aside for others, now or later.
  [[nodiscard]] bool in_advance(GpuId gpu) const;
  /// Jobs have come to the GPU or left it.
  void load_changed(GpuId gpu);

  /// Whether the job is a batch with one instance: those are sized here.
  [[nodiscard]] bool sized_here(Waiting job) const;
  [[nodiscard]] bool may_be_disrupted(JobId job) const;
  /// Of these placements of the GPU those that a job that runs may have, or all for one that waits.
  [[nodiscard]] PlacementSet no_larger(JobId job, GpuId gpu, PlacementSet places) const;
  /// It is stopped or moved now.
  void disrupt(JobId job);
  /// Whether the plan for its GPU has no say about a job that runs.
  [[nodiscard]] bool pinned(JobId job) const;
  /// Those of the places where the host has room for the job too.
  [[nodiscard]] PlacementSet hosted(JobId job, GpuId gpu, PlacementSet places) const;
  /// The node of the host that jobs on the GPU have a share of; empty: hosts are not limited.
  [[nodiscard]] std::optional<std::uint32_t> host_of(GpuId gpu) const;
  /// Whether a job that starts on one of the GPUs leaves less of its host to the other.
  [[nodiscard]] bool share_host(GpuId one, GpuId other) const;
  /// In their order, those whose turn it is; at most this number.
  [[nodiscard]] std::vector<JobId> first_waiting(std::size_t most) const;

  SchedulerSetup setup;
  const RequestTable* requests;
  const JobFacts* facts;
  bool strict;     // the queue has a say in the order of all jobs
  bool by_slices;  // users have a limit of slices: no job that runs is given more of them
  std::vector<GpuReservation> advance;
  std::size_t disruptions;
  Seats seats;
  JobLedger ledger;
  Neighbours neighbours;
  WaitingPool waiting;
  ArrivalRate arrivals;
  std::vector<PlacementSet> kept;  // by GPU: for jobs of the queue
  /// Whether the host of the spot has room for the job, which moves if it runs; empty: always.
  std::function<bool(JobId, Spot)> host_takes;
  std::optional<std::int64_t> above;        // only jobs of higher priority, for the moment
  std::set<std::pair<int, GpuId>> by_load;  // slices that are held, and where
  std::vector<int> loads;                   // by GPU
  Instant now{};
};

}  // namespace cleave
