#pragma once
// The queue of a scheduler, and which of its jobs starts when: the order of jobs, limits of users,
// and backfill, in one place for every scheduler that looks at its jobs one after the other. The
// scheduler says where a job would go; the queue says whose turn it is.
//
// Each time, jobs are looked at in their order (queue_rules.hpp). The first starts if it finds
// room. If it does not, what follows depends on `backfill`:
//
//   none          nothing more is looked at.
//   easy          The first has a reservation: the spot that is expected to be free for it earliest
//                 (Lifka, *The ANL/IBM SP Scheduling System*, 1995; on spots instead of nodes).
//                 Those behind it start where they find room elsewhere, or in its way if they are
//                 expected to have ended by then.
//   conservative  The same, and each job that finds no room has a reservation, which those behind
//                 it respect, at the earliest time that those before it leave it.
//
// Reservations are worked out anew each time, from what is then known. Where an end is not known,
// no time is, and no job starts in the way of the spot, so that it is free one day: the one in
// whose way fewest slices are. Since none starts there, that number only falls. Among equals the
// smaller instance is taken, then the lower GPU and placement.
//
// With order=fair-share the next user is found anew after each start. A user who has as many jobs
// as the limit allows is passed over, with all that wait.
//
// A job of several places starts when all find room at once (gang_room.hpp says where); one that
// has whole GPUs with MIG off, even one, is served in the same way. What is kept for it are all its
// places, from the earliest time at which they are free together; where ends are not known, those
// in whose way fewest slices are in all. It counts once for its user, with the slices of all.
//
// Where there are services and leases (model/job_kind.hpp), which go before batches of their
// priority, a batch that may be stopped is stopped for one that finds no room: on the spot that is
// free then at once, of these where least work is lost, and no more batches than are in its way.
// It waits again at its old place, and is stopped so only as often as the rules allow. Where no
// such spot is, one is kept from the earliest time at which the others in its way have left it,
// whatever `backfill` says; a batch that would make room again may use it until then. None waits
// for services and leases that find no room, but for what is kept for them.
//
// Where hosts are limited (engine/host_room.hpp), a job starts only where the host takes it; what
// is kept for one that waits is a part of the host too, and that also says when.
//
// GPUs that are set aside beforehand (model/gpu_reservation.hpp) are reservations of another kind:
// those of the user or account that they name are not in their way. While one holds, these start
// there whichever other jobs wait before them.

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/queue/earliest_spots.hpp"
#include "engine/queue/evictions.hpp"
#include "engine/queue/expected_ends.hpp"
#include "engine/queue/fair_share.hpp"
#include "engine/queue/gang_spots.hpp"
#include "engine/queue/holders.hpp"
#include "engine/queue/host_times.hpp"
#include "engine/queue/job_queue.hpp"
#include "engine/queue/queue_host.hpp"
#include "engine/queue/reservation.hpp"
#include "engine/scheduler.hpp"

namespace cleave {

/// Jobs that wait, and the rules by which they start.
class ServedQueue {
 public:
  /// All that `setup` refers to must outlive the queue.
  ServedQueue(const SchedulerSetup& setup, QueueRules rules);

  [[nodiscard]] bool empty() const { return waiting_ == 0; }
  /// No job overtakes another here, and users do not count.
  [[nodiscard]] bool plain() const { return plain_; }
  /// Whether none would be looked at before this job, which does not wait here. Only where the
  /// queue is plain.
  [[nodiscard]] bool would_lead(JobId job) const { return groups_.front().jobs.would_lead(job); }

  /// The job waits. If it ran, it does no more; any process of a gang stands for all.
  void insert(Waiting job, Instant now);
  /// Nothing where it does not wait.
  void erase(JobId job);
  /// A job that `serve` started has ended, or a process of a gang, whose leader is the last.
  void left(JobId job, Instant now);
  /// A job runs that this queue did not start; and one was moved.
  void runs(Waiting job, Spot spot, Instant now);
  void moved(JobId job, Spot to);

  /// What the host says of the GPU's room is another thing now.
  void room_changed(GpuId gpu);

  /// Starts what may start now.
  void serve(QueueHost& host, Instant now, std::vector<Command>& commands);

  /// Those for jobs that wait, as of the last time that jobs were looked at, in their order.
  [[nodiscard]] std::span<const Reservation> reservations() const {
    return std::span(reservations_).subspan(advance_);
  }
  [[nodiscard]] bool reserved(GpuId gpu) const;
  /// Of a job that waits here.
  [[nodiscard]] Outlook outlook(JobId job) const;

  /// Whether the host of the spot has room for the job now, beside what is kept of it; of one that
  /// moves, what it has is room too. Always where hosts are not limited.
  [[nodiscard]] bool host_takes(Waiting job, Spot spot, Instant now, bool moves = false);
  /// Nothing waits here, so nothing is kept of hosts.
  void forget_kept_of_hosts() {
    if (hosts_) hosts_->forget_kept();
  }

  /// Whether as many places as the request asks for can ever be had at a time.
  [[nodiscard]] bool could_seat(QueueHost& host, RequestId request);
  /// Whether they have more slices than a user may hold.
  [[nodiscard]] bool exceeds_limits(QueueHost& host, RequestId request);

  /// Where a lease that runs at `from` goes when it would do with the request of `lease`, to a
  /// smaller instance, or needs it; empty: it stays. Not to what is kept for others.
  [[nodiscard]] std::optional<Spot> resized(QueueHost& host, Waiting lease, Spot from, Instant now);

 private:
  /// The jobs of one user, or all.
  struct Group {
    explicit Group(JobQueue waiting) : jobs(std::move(waiting)) {}
    JobQueue jobs;
    FairShare::Member member = 0;
    std::size_t next = 0;                   // of those that are being looked at
    Waiting job{};                          // that one, once its turn has come
    std::size_t running = 0, reserved = 0;  // reserved: of those that are being looked at
    std::int64_t held = 0, kept = 0;        // the slices of both
    std::string account, user;              // where users count
  };
  /// A running job, as far as users count.
  struct Charge {
    std::size_t group = 0;
    std::int64_t slices = 0;  // when it started
    std::int64_t held = 0;    // now
  };

  [[nodiscard]] std::size_t group_of(JobId job);
  /// Null: no job of its user was ever here.
  [[nodiscard]] const Group* known_group_of(JobId job) const;
  [[nodiscard]] std::int64_t slices_of(Spot spot) const;
  /// Whether the user has no room for this job beside those that run and, with `kept_too`, those
  /// for which something is kept.
  [[nodiscard]] bool at_limit(const Group& group, Waiting job, bool kept_too) const;
  /// The fewest that all places for it have together, on GPUs as they may be one day. Kept; 0 where
  /// nobody has asked the host yet.
  std::int64_t least_slices(QueueHost& host, RequestId request);
  [[nodiscard]] std::int64_t known_least(RequestId request) const;
  [[nodiscard]] std::string limit_in_words(const Group& group, JobId job) const;
  /// The spots of the GPU that the job which is looked at may ever have and that its user has
  /// slices left for.
  [[nodiscard]] Room allowed(const Group& group, GpuId gpu, Room room) const;
  /// The spots of the room that have at most this number of compute slices.
  [[nodiscard]] Room of_at_most(std::int64_t slices, GpuId gpu, Room room) const;
  /// could_seat() where all places together have at most that many compute slices, each the same
  /// part of them.
  [[nodiscard]] bool could_seat(QueueHost& host, RequestId request,
                                std::optional<std::int64_t> most);
  [[nodiscard]] bool has_slices_for(const Group& group, Spot spot) const;
  [[nodiscard]] Room room_now(const Group& group, QueueHost& host, GpuId gpu) const;
  [[nodiscard]] std::optional<Spot> smaller_spot(const Group& group, QueueHost& host) const;
  [[nodiscard]] bool before(const Group& a, const Group& b, Instant now) const;
  /// The group whose next job is looked at next; null: none is left.
  Group* next_group(QueueHost& host, Instant now, bool owners_alone);
  void charge(JobId job, std::size_t group, std::span<const Spot> spots, Instant now);
  void discharge(JobId job, Instant now);
  /// The job that is looked at starts, if there is room for it; with `own_alone` on GPUs that are
  /// reserved for it.
  bool start_next(Group& group, QueueHost& host, Instant now, bool own_alone,
                  std::vector<Command>& commands);
  /// It does, on this spot.
  void start_on(Spot spot, Group& group, QueueHost& host, Instant now,
                std::vector<Command>& commands);
  /// It waits no more.
  void dequeue(Group& group);
  [[nodiscard]] std::optional<Spot> spot_for(const Group& group, QueueHost& host, Instant now,
                                             bool own_alone);
  [[nodiscard]] std::optional<Spot> spot_on(const Group& group, GpuId gpu, QueueHost& host,
                                            Instant now);
  [[nodiscard]] std::optional<Duration> time_of(JobId job, Spot spot);
  [[nodiscard]] Room free_room(GpuId gpu, Room room) const;
  /// Whether neither may begin while the other runs.
  [[nodiscard]] bool meets(const Group& group, Spot spot, const Reservation& reservation) const;
  [[nodiscard]] Room left_by_reservations(const Group& group, GpuId gpu, Room room, Instant now);
  [[nodiscard]] bool delays(const Group& group, Spot spot, const Reservation& reservation,
                            Instant now);
  [[nodiscard]] std::optional<Reservation> earliest(const Group& group, QueueHost& host,
                                                    Instant now);
  [[nodiscard]] Instant earliest_start(const Group& group, Spot spot, Instant from);
  [[nodiscard]] bool may_be_kept(Spot spot) const;
  bool reserve(Group& group, QueueHost& host, Instant now);
  void forget_reservations(QueueHost& host);
  /// Those that were made beforehand and are not over.
  void take_advance(QueueHost& host, Instant now, std::vector<Command>& commands);
  /// Whether the job that is looked at is one of those for which the GPU was reserved.
  [[nodiscard]] static bool owns(const Group& group, const Reservation& reservation);
  [[nodiscard]] bool owns_now(const Group& group, Instant now) const;
  void start_owners(QueueHost& host, Instant now, std::vector<Command>& commands);

  // Jobs of several places, or of whole GPUs (served_gangs.cpp).

  /// How long a gang takes, which is as long as its slowest process; empty: not known.
  using GangTime = std::optional<Duration>;
  /// Where a gang may start now: on spots where it takes no longer than this.
  struct Seating {
    std::vector<GangRoom::Share> shares;
    GangTime longest;
    bool own_alone = false;
  };
  /// Spots that are expected to be free together.
  struct GangPlan {
    Instant from;
    std::vector<Spot> spots;
  };
  [[nodiscard]] bool together(Waiting job) const;
  [[nodiscard]] Gang gang_of(Waiting job) const;
  /// Those that differ, the longest first.
  [[nodiscard]] std::vector<GangTime> times_of(Waiting job, QueueHost& host);
  [[nodiscard]] Room within(JobId job, GpuId gpu, Room room, GangTime longest);
  [[nodiscard]] Room left_to_gang(const Group& group, QueueHost& host, GpuId gpu, Instant now,
                                  const Seating& seating);
  [[nodiscard]] GangRoom room_for_gang(const Group& group, QueueHost& host, Instant now,
                                       const Seating& seating, bool slowest);
  [[nodiscard]] std::optional<Seating> seating_for(const Group& group, QueueHost& host, Instant now,
                                                   bool own_alone);
  bool start_gang(Group& group, QueueHost& host, Instant now, bool own_alone,
                  std::vector<Command>& commands);
  [[nodiscard]] Room free_at(const Group& group, QueueHost& host, GpuId gpu, GangTime longest,
                             Instant at, Instant now);
  void append_changes(GpuId gpu, GangTime time, Instant now, std::vector<Instant>& changes) const;
  void append_spots(GpuId gpu, Room free, PlacementSet held, std::uint32_t places,
                    std::vector<Spot>& spots);
  [[nodiscard]] std::optional<GangPlan> earliest_together(const Group& group, QueueHost& host,
                                                          GangTime longest, bool slowest,
                                                          Instant now);
  [[nodiscard]] std::optional<GangPlan> fewest_in_the_way(const Group& group, QueueHost& host);
  bool reserve_gang(Group& group, QueueHost& host, Instant now);
  void adopt_process(Waiting job, Spot spot, Instant since);

  void keep(const Reservation& reservation, QueueHost& host);

  // Services and leases (served_kinds.cpp).

  /// How room is made for a job on a spot, the best first: when it is free of those that are not
  /// stopped for it and, where that is not known or may be at any moment, their slices; what
  /// stopping the others loses, in slice-seconds, and how many they are; the spot's own slices.
  struct Way {
    Instant from;
    int staying = 0;
    double lost = 0;
    std::size_t stopped = 0;
    int slices = 0;
    Spot spot;
    friend auto operator<=>(const Way&, const Way&) = default;
  };
  [[nodiscard]] std::optional<Way> way_to(const Group& group, Spot spot, Instant now);
  [[nodiscard]] std::optional<Way> best_way(const Group& group, QueueHost& host, Instant now);
  /// For a service or lease that has found no room: it starts where others make room, or a spot is
  /// kept for it. False where the job is a batch.
  bool make_room(Group& group, QueueHost& host, Instant now, std::vector<Command>& commands);
  void stop_those_in_the_way(const Group& group, Spot spot, QueueHost& host, Instant now,
                             std::vector<Command>& commands);
  // What hosts have (served_hosts.cpp).

  [[nodiscard]] bool could_host(RequestId request, const std::function<Room(GpuId)>& room) const;
  [[nodiscard]] Room offered(QueueHost& host, GpuId gpu, RequestId request) const;
  [[nodiscard]] Room hosted(Waiting job, GpuId gpu, Room room, Instant now);
  [[nodiscard]] std::optional<Spot> spot_by_hosts(const Group& group, QueueHost& host, Instant now);
  [[nodiscard]] Instant hosted_start(const Group& group, Spot spot, Instant from, Instant now);
  [[nodiscard]] std::optional<Reservation> earliest_hosted(const Group& group, QueueHost& host,
                                                           Instant now);
  void keep_to_host(const Group& group, Way& way, Instant now);
  [[nodiscard]] HostAmount most_of_host(RequestId request, GpuId gpu, int places);
  [[nodiscard]] GangRoom within_hosts(GangRoom room, RequestId request, GangTime time,
                                      std::optional<Instant> now);
  [[nodiscard]] bool hosts_hold(const std::vector<Spot>& spots, RequestId request) const;
  [[nodiscard]] GangPlan when_hosted(const Group& group, GangPlan plan, GangTime longest,
                                     Instant now);
  [[nodiscard]] std::optional<GangPlan> spots_within_hosts(const Group& group, QueueHost& host);

  /// Those that were stopped wait again.
  void serve_again(QueueHost& host, Instant now, std::vector<Command>& commands);

  QueueRules rules_;
  bool plain_, holds_;
  const JobFacts* facts_;
  const RequestTable* requests_;
  Holders holders_;
  std::optional<HostTimes> hosts_;      // empty: hosts are not limited
  std::optional<EarliestSpots> index_;  // empty: every GPU is looked at
  std::optional<GangSpots> gangs_;      // empty: none comes
  std::optional<ExpectedEnds> ends_;    // for gangs; empty: every GPU is asked
  std::set<JobId> waiting_gangs_;       // their leaders
  std::map<JobId, GangTime> adopted_gangs_;
  std::vector<bool> could_seat_;        // by request; as far as it could
  std::vector<bool> within_limits_;     // likewise, by what a user may hold
  std::vector<std::int64_t> least_;     // likewise: slices of the smallest place
  std::optional<Evictions> evictions_;  // empty: there are only batches
  std::vector<Waiting> evicted_;        // in this look at the queue
  FairShare shares_;
  std::vector<Group> groups_;
  std::map<std::pair<std::string, std::string>, std::size_t> group_numbers_;
  std::map<JobId, Charge> charged_;  // where users count
  std::size_t waiting_ = 0;

  std::vector<Reservation> reservations_;  // those made beforehand, and then those for jobs
  std::size_t advance_ = 0;                // how many of the first
  bool asked_to_wake_ = false;             // when those begin and end
  /// By GPU, which is set aside, and then by when they begin.
  std::map<GpuId, std::vector<std::size_t>> reserved_on_;
  /// By GPU model and placement: times of the job that was asked for last.
  std::vector<std::optional<std::optional<Duration>>> known_times_;
  std::optional<JobId> known_job_;
  /// What is known of a request while jobs are looked at: starts only take room.
  struct Tried {
    std::uint64_t look = 0;  // which look at the queue it is of
    bool in_vain = false;    // GPUs that are not set aside have no room
    /// Nor had those set aside, reservations aside, when there was this number of these.
    std::size_t full_with = SIZE_MAX;
  };
  Tried& tried_with(RequestId request);
  std::vector<Tried> tried_;  // by request
  std::uint64_t looks_ = 0;
  std::size_t kept_ = 0;          // reservations, in this look
  std::size_t without_room_ = 0;  // services and leases for which none was made, in this look
};

}  // namespace cleave
