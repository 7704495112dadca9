#include "engine/schedulers/scheme_a.hpp"

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/overloads.hpp"
#include "engine/host_room.hpp"
#include "engine/seats.hpp"

namespace cleave {

namespace {

constexpr OptionRow scheme_a_rows[] = {
    {"shares", "queue|equal", "queue",
     "one queue for all instances of a class, or an equal share for each"},
};

/// A class of jobs on one GPU model: what may be cut for them, ordered by memory size.
struct SizeClass {
  int memory_slices = 0;
  std::uint32_t allowed = 0;  // placements, as bits
  friend auto operator<=>(const SizeClass&, const SizeClass&) = default;
};

/// All plain placements of the size that the request needs; for a profile with an attribute only
/// those.
SizeClass class_of(const Geometry& geometry, PlacementSet candidates) {
  const Profile& tightest = *geometry[candidates.first()].profile;
  PlacementSet allowed = candidates;
  if (tightest.attribute == Attribute::none)
    for (const PlacementId p : geometry.all())
      if (geometry[p].profile->attribute == Attribute::none &&
          geometry[p].profile->memory == tightest.memory)
        allowed.insert(p);
  return {tightest.memory.value, allowed.bits()};
}

/// An instance by GPU, then start, then placement.
struct ClassSpot {
  GpuId gpu;
  int start;
  PlacementId placement;
  friend auto operator<=>(const ClassSpot&, const ClassSpot&) = default;
};

/// The jobs that wait for a class, those that the same instances hold together.
class ClassLine {
 public:
  [[nodiscard]] bool empty() const { return by_holds_.empty(); }
  [[nodiscard]] const std::map<std::uint32_t, std::set<JobRank>>& by_holds() const {
    return by_holds_;
  }
  /// How many there are of this priority or a higher one.
  [[nodiscard]] std::size_t count_from(std::int64_t priority) const {
    std::size_t count = 0;
    for (const auto& [of, jobs] : sizes_) {
      if (of < priority) break;
      count += jobs;
    }
    return count;
  }
  /// The highest priority below this one; nullopt where there is none.
  [[nodiscard]] std::optional<std::int64_t> next_below(std::optional<std::int64_t> priority) const {
    const auto next = priority ? sizes_.upper_bound(*priority) : sizes_.begin();
    return next == sizes_.end() ? std::nullopt : std::optional(next->first);
  }
  /// There must be one.
  [[nodiscard]] JobRank first() const {
    JobRank first = *by_holds_.begin()->second.begin();
    for (const auto& [holds, jobs] : by_holds_) first = std::min(first, *jobs.begin());
    return first;
  }
  void insert(const JobRank& job, PlacementSet holds) {
    if (!by_holds_[holds.bits()].insert(job).second) return;
    ++sizes_[job.priority];
  }
  void erase(const JobRank& job, PlacementSet holds) {
    const auto jobs = by_holds_.find(holds.bits());
    if (jobs == by_holds_.end() || jobs->second.erase(job) == 0) return;
    if (jobs->second.empty()) by_holds_.erase(jobs);
    if (--sizes_[job.priority] == 0) sizes_.erase(job.priority);
  }

 private:
  std::map<std::uint32_t, std::set<JobRank>> by_holds_;
  std::map<std::int64_t, std::size_t, std::greater<>> sizes_;  // by priority, from the highest
};

/// The idle instances that serve a class.
class FreeSpots {
 public:
  [[nodiscard]] bool contains(const ClassSpot& spot) const {
    const auto spots = by_placement_.find(spot.placement);
    return spots != by_placement_.end() && spots->second.contains(spot);
  }
  void insert(const ClassSpot& spot) { by_placement_[spot.placement].insert(spot); }
  void erase(const ClassSpot& spot) {
    if (const auto spots = by_placement_.find(spot.placement); spots != by_placement_.end())
      spots->second.erase(spot);
  }
  /// The first that is one of `holds`.
  [[nodiscard]] std::optional<ClassSpot> first(PlacementSet holds) const {
    return first_of(holds, [](const ClassSpot&) { return true; });
  }
  /// The first of them that will do.
  template <class WillDo>
  [[nodiscard]] std::optional<ClassSpot> first_of(PlacementSet holds, const WillDo& will_do) const {
    std::optional<ClassSpot> first;
    for (const auto& [placement, spots] : by_placement_) {
      if (!holds.contains(placement)) continue;
      const auto spot = std::ranges::find_if(spots, will_do);
      if (spot != spots.end() && (!first || *spot < *first)) first = *spot;
    }
    return first;
  }

 private:
  std::map<PlacementId, std::set<ClassSpot>> by_placement_;
};

class SchemeA final : public Scheduler {
 public:
  SchemeA(const SchedulerSetup& setup, bool equal_shares)
      : seats_(setup.fleet),
        requests_(&setup.requests),
        facts_(setup.facts),
        host_(setup.host),
        equal_shares_(equal_shares),
        kinds_(setup.fleet.graphs().size()),
        class_of_gpu_(setup.fleet.size()),
        dealt_on_(setup.fleet.size()) {
    for (std::size_t i = 0; i < setup.fleet.size(); ++i) drained_.insert(static_cast<GpuId>(i));
  }

  void on(const SchedulerEvent& event, Instant /*now*/,
          std::vector<Command>& /*commands*/) override {
    std::visit(Overloads{[&](const Submitted& job) {
                           wait({job.job, job.request});
                         },
                         [&](const Finished& job) { leave(job.job); },
                         [&](const Requeued& job) {
                           leave(job.job);
                           wait({job.job, job.request});
                         },
                         [&](const Cancelled& job) { cancel(job.job); },
                         [&](const SeatsEvent auto& what) {
                           forget_layout(what.gpu);
                           for (const Waiting job : seats_.hear(what)) wait(job);
                           put_to_use(what.gpu);
                         },
                         [](const Woken&) {}},
               event);
  }

  void ends_soon(JobId job) const override { seats_.leaves_soon(job); }
  void frees_soon(GpuId gpu) const override { seats_.frees_soon(gpu); }

  bool adopt(const Adopted& adopted, Instant /*now*/, std::vector<Command>& /*commands*/) override {
    if (!seats_.adopt(adopted)) return false;
    know_request({adopted.job, adopted.request});
    forget_layout(adopted.gpu);
    drained_.erase(adopted.gpu);
    unclassed_.insert(adopted.gpu);
    return true;
  }

  void settle(Instant /*now*/, std::vector<Command>& commands) override {
    for (const GpuId gpu : std::exchange(unclassed_, {})) take_up_class(gpu);
    serve(commands);
    recut_drained(commands);
  }

 private:
  struct Kind {
    std::map<SizeClass, ClassLine> waiting;  // a job stands under each kind that it fits
    std::map<SizeClass, FreeSpots> free;     // idle instances of the classes being served
    std::map<std::tuple<StateId, std::uint32_t, std::uint32_t>, PlacementSet>
        fills;                          // worked out once
    std::map<SizeClass, JobId> closed;  // the newest job when the class was last cut
  };

  const Geometry& geometry(std::size_t kind) const {
    return seats_.fleet().graphs()[kind]->geometry();
  }
  const ResolvedRequest& request(JobId job) const { return (*requests_)[request_of_[index(job)]]; }
  std::size_t kind_of(GpuId gpu) const { return seats_.fleet()[gpu].kind; }
  JobRank rank(JobId job) const { return rank_of(facts_, job); }

  void know_request(Waiting job) {
    if (request_of_.size() <= index(job.job)) request_of_.resize(index(job.job) + 1);
    request_of_[index(job.job)] = job.request;
  }

  void wait(Waiting job) {
    know_request(job);
    newest_ = std::max(newest_, job.job);
    for (std::size_t kind = 0; kind < kinds_.size(); ++kind)
      if (const PlacementSet candidates = request(job.job).candidates[kind]; !candidates.empty())
        kinds_[kind].waiting[class_of(geometry(kind), candidates)].insert(
            rank(job.job), request(job.job).holds[kind]);
  }

  /// The job waits no more in any class.
  void take(JobId job) {
    for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
      const PlacementSet candidates = request(job).candidates[kind];
      if (candidates.empty()) continue;
      const auto found = kinds_[kind].waiting.find(class_of(geometry(kind), candidates));
      if (found == kinds_[kind].waiting.end()) continue;
      found->second.erase(rank(job), request(job).holds[kind]);
      if (found->second.empty()) kinds_[kind].waiting.erase(found);
    }
  }

  /// It waits in a class, or was dealt to an instance; or it does not wait.
  void cancel(JobId job) {
    if (index(job) >= request_of_.size() || seats_.seated(job)) return;
    take(job);
    for (auto& [spot, jobs] : dealt_) dealt_on_[index(spot.gpu)] -= std::erase(jobs, job);
  }

  void leave(JobId job) {
    const JobSeat seat = seats_.leave(job);
    const std::size_t kind = kind_of(seat.gpu);
    if (const auto& serves = class_of_gpu_[index(seat.gpu)]) {
      const ClassSpot spot{seat.gpu, geometry(kind)[seat.placement].start, seat.placement};
      kinds_[kind].free[*serves].insert(spot);
      freed_.push_back(spot);
    }
    if (seats_.on(seat.gpu).empty() && !seats_.fleet()[seat.gpu].absent) drained_.insert(seat.gpu);
  }

  // GPUs that serve no class though jobs run there.

  void put_to_use(GpuId gpu) {
    if (seats_.fleet()[gpu].absent) {
      drained_.erase(gpu);
      unclassed_.erase(gpu);
    } else if (seats_.on(gpu).empty()) {
      drained_.insert(gpu);
    } else {
      unclassed_.insert(gpu);
    }
  }

  /// The GPU serves the class of its jobs, when they are all of one and so is every instance of it.
  void take_up_class(GpuId gpu) {
    const GpuState& state = seats_.fleet()[gpu];
    const std::vector<JobId> jobs = seats_.on(gpu);
    if (state.absent || class_of_gpu_[index(gpu)] || jobs.empty()) return;
    PlacementSet instances = state.idle;
    std::set<SizeClass> classes;
    for (const JobId job : jobs) {
      instances.insert(seats_[job].placement);
      const PlacementSet candidates = request(job).candidates[state.kind];
      if (candidates.empty()) return;
      classes.insert(class_of(geometry(state.kind), candidates));
    }
    if (classes.size() > 1 || !(instances - PlacementSet(classes.begin()->allowed)).empty()) return;
    serve_class(gpu, *classes.begin());
    for (const PlacementId p : state.idle) {
      const ClassSpot spot{gpu, geometry(state.kind)[p].start, p};
      kinds_[state.kind].free[*classes.begin()].insert(spot);
      freed_.push_back(spot);
    }
  }

  /// The GPU serves no class; jobs that were dealt to its instances wait in common again.
  void forget_layout(GpuId gpu) {
    auto& serves = class_of_gpu_[index(gpu)];
    if (!serves) return;
    const std::size_t kind = kind_of(gpu);
    for (const PlacementId p : geometry(kind).all()) {
      const ClassSpot spot{gpu, geometry(kind)[p].start, p};
      kinds_[kind].free[*serves].erase(spot);
      const auto dealt = dealt_.find(spot);
      if (dealt == dealt_.end()) continue;
      for (const JobId job : dealt->second) wait({job, request_of_[index(job)]});
      dealt_.erase(dealt);
    }
    dealt_on_[index(gpu)] = 0;
    serves.reset();
  }

  // Serving the classes for which there are instances.

  void serve(std::vector<Command>& commands) {
    if (host_ != nullptr) see_who_waits_for_hosts();
    serve_shares(commands);
    for (std::size_t kind = 0; kind < kinds_.size(); ++kind)
      for (auto& [size, free] : kinds_[kind].free) serve_queue(kind, size, free, commands);
  }

  /// The first job for which an instance is free, as long as there is one.
  void serve_queue(std::size_t kind, const SizeClass& size, FreeSpots& free,
                   std::vector<Command>& commands) {
    while (true) {
      const auto line = kinds_[kind].waiting.find(size);
      if (line == kinds_[kind].waiting.end()) return;
      std::optional<std::pair<JobRank, ClassSpot>> next;
      for (const auto& [holds, jobs] : line->second.by_holds()) {
        if (next && next->first < *jobs.begin()) continue;
        if (const auto spot = first_for(*jobs.begin(), free, PlacementSet(holds)))
          next = {*jobs.begin(), *spot};
      }
      if (!next || must_wait(kind, size, next->first)) return;
      free.erase(next->second);
      take(next->first.job);
      start(next->first.job, next->second, commands);
    }
  }

  // Hosts. On the node on which the first job that waits for its host would have an instance, no
  // job after it starts: so the host has room for it one day.

  bool host_takes(JobId job, const ClassSpot& spot) {
    return host_ == nullptr || host_->takes(request_of_[index(job)], {spot.gpu, spot.placement});
  }

  void see_who_waits_for_hosts() {
    wait_for_host_.clear();
    for (Kind& kind : kinds_)
      for (const auto& [size, free] : kind.free)
        if (const auto line = kind.waiting.find(size); line != kind.waiting.end())
          for (const auto& [holds, jobs] : line->second.by_holds())
            see_whether_it_waits(*jobs.begin(), free, PlacementSet(holds));
  }

  void see_whether_it_waits(const JobRank& job, const FreeSpots& free, PlacementSet holds) {
    const auto could = free.first_of(holds, [&](const ClassSpot& spot) {
      return host_->could_hold(request_of_[index(job.job)], spot.gpu);
    });
    if (!could ||
        free.first_of(holds, [&](const ClassSpot& spot) { return host_takes(job.job, spot); }))
      return;
    const auto [known, fresh] = wait_for_host_.try_emplace(host_->node(could->gpu), job);
    if (job < known->second) known->second = job;
  }

  std::optional<ClassSpot> first_for(const JobRank& job, const FreeSpots& free,
                                     PlacementSet holds) {
    if (host_ == nullptr) return free.first(holds);
    return free.first_of(holds, [&](const ClassSpot& spot) {
      const auto waits = wait_for_host_.find(host_->node(spot.gpu));
      return (waits == wait_for_host_.end() || !(waits->second < job)) && host_takes(job.job, spot);
    });
  }

  /// A class closes when it is cut. Jobs that arrive later join it only while no other class has
  /// jobs that waited before them: else small jobs that keep arriving would hold their GPUs for
  /// ever.
  bool must_wait(std::size_t kind, const SizeClass& size, const JobRank& job) const {
    const auto closed = kinds_[kind].closed.find(size);
    if (closed != kinds_[kind].closed.end() && job.job <= closed->second) return false;
    return std::ranges::any_of(kinds_[kind].waiting, [&](const auto& line) {
      return line.first != size && line.second.first() < job;
    });
  }

  /// Instances that have become free go on with what was dealt to them.
  void serve_shares(std::vector<Command>& commands) {
    std::vector<ClassSpot> without_host;
    for (const ClassSpot& spot : freed_) {
      const auto dealt = dealt_.find(spot);
      if (dealt == dealt_.end() || dealt->second.empty()) continue;
      FreeSpots& free = kinds_[kind_of(spot.gpu)].free[*class_of_gpu_[index(spot.gpu)]];
      if (!free.contains(spot)) continue;
      const JobId job = dealt->second.front();
      const auto first = first_of_class(spot);
      const bool goes_before = first && first->priority > rank(job).priority;
      if (!host_takes(goes_before ? first->job : job, spot)) {
        without_host.push_back(spot);
        continue;
      }
      free.erase(spot);
      if (goes_before) {
        take(first->job);
        start(first->job, spot, commands);
        continue;
      }
      dealt->second.pop_front();
      --dealt_on_[index(spot.gpu)];
      start(job, spot, commands);
    }
    freed_ = std::move(without_host);
  }

  /// The first job that waits in common for the class of this instance and that it holds.
  std::optional<JobRank> first_of_class(const ClassSpot& spot) const {
    const auto& waiting = kinds_[kind_of(spot.gpu)].waiting;
    const auto line = waiting.find(*class_of_gpu_[index(spot.gpu)]);
    std::optional<JobRank> first;
    if (line == waiting.end()) return first;
    for (const auto& [holds, jobs] : line->second.by_holds())
      if (PlacementSet(holds).contains(spot.placement) && (!first || *jobs.begin() < *first))
        first = *jobs.begin();
    return first;
  }

  void start(JobId job, const ClassSpot& spot, std::vector<Command>& commands) {
    drained_.erase(spot.gpu);
    seats_.start({job, request_of_[index(job)]}, spot.gpu, spot.placement, commands);
  }

  // Cutting drained GPUs again.

  void recut_drained(std::vector<Command>& commands) {
    if (std::ranges::all_of(kinds_, [](const Kind& kind) { return kind.waiting.empty(); })) return;
    std::vector<std::map<SizeClass, int>> room(
        kinds_.size());  // instances made now for jobs that wait
    std::map<std::pair<std::size_t, SizeClass>, std::vector<ClassSpot>> fresh;
    for (const GpuId gpu : std::set(drained_)) {
      const std::size_t kind = kind_of(gpu);
      const auto next = next_class(gpu, room[kind]);
      if (!next) continue;
      const PlacementSet layout = layout_for(gpu, *next);
      if (layout.empty()) continue;
      room[kind][*next] += layout.size();
      cut(gpu, *next, layout, commands);
      for (const PlacementId p : by_start(geometry(kind), layout))
        fresh[{kind, *next}].push_back({gpu, geometry(kind)[p].start, p});
    }
    if (fresh.empty()) return;
    if (equal_shares_)
      for (const auto& [what, spots] : fresh) deal(what.first, what.second, spots);
    serve(commands);
  }

  /// The next class for this GPU; classes of which jobs of higher priority wait come first.
  std::optional<SizeClass> next_class(GpuId gpu, const std::map<SizeClass, int>& room) {
    if (dealt_on_[index(gpu)] > 0) return std::nullopt;
    std::optional<std::int64_t> priority = highest_below(kind_of(gpu), std::nullopt);
    for (; priority; priority = highest_below(kind_of(gpu), priority))
      if (const auto next = next_class_from(gpu, room, *priority)) return next;
    return std::nullopt;
  }

  /// The highest priority below this one of all that wait on a GPU model.
  std::optional<std::int64_t> highest_below(std::size_t kind,
                                            std::optional<std::int64_t> priority) const {
    std::optional<std::int64_t> highest;
    for (const auto& [size, line] : kinds_[kind].waiting)
      highest = std::max(highest, line.next_below(priority));
    return highest;
  }

  /// The next larger class with more jobs of this priority and higher waiting than instances made
  /// for them; the smallest after the largest.
  std::optional<SizeClass> next_class_from(GpuId gpu, const std::map<SizeClass, int>& room,
                                           std::int64_t priority) {
    const auto& waiting = kinds_[kind_of(gpu)].waiting;
    const auto wanted = [&](const auto& entry) {
      const auto made = room.find(entry.first);
      const auto enough = made == room.end() ? 0 : made->second;
      const std::size_t jobs = entry.second.count_from(priority);
      return static_cast<int>(std::min<std::size_t>(jobs, INT32_MAX)) > enough &&
             !layout_for(gpu, entry.first).empty();
    };
    const auto& serves = class_of_gpu_[index(gpu)];
    const auto after = serves ? waiting.upper_bound(*serves) : waiting.begin();
    for (auto entry = after; entry != waiting.end(); ++entry)
      if (wanted(*entry)) return entry->first;
    for (auto entry = waiting.begin(); entry != after; ++entry)
      if (wanted(*entry)) return entry->first;
    return std::nullopt;
  }

  /// The instances for the class on this GPU; none when they would hold no waiting job.
  PlacementSet layout_for(GpuId gpu, const SizeClass& size) {
    const GpuState& state = seats_.fleet()[gpu];
    const auto waiting = kinds_[state.kind].waiting.find(size);
    if (waiting == kinds_[state.kind].waiting.end()) return {};
    const PlacementSet first = request(waiting->second.first().job).candidates[state.kind];
    const auto [entry, fresh] =
        kinds_[state.kind].fills.try_emplace({state.occupied, size.allowed, first.bits()});
    if (fresh)
      entry->second = fill_with_one_size(seats_.fleet().graph(state), state.occupied,
                                         PlacementSet(size.allowed), first);
    const PlacementSet layout = entry->second;
    const bool serves_any = std::ranges::any_of(waiting->second.by_holds(), [&](const auto& of) {
      return layout.meets(PlacementSet(of.first));
    });
    return serves_any ? layout : PlacementSet{};
  }

  void cut(GpuId gpu, const SizeClass& size, PlacementSet layout, std::vector<Command>& commands) {
    forget_layout(gpu);
    const PlacementSet idle = seats_.fleet()[gpu].idle;
    const bool kept = idle == layout;
    const std::size_t kind = kind_of(gpu);
    if (!kept)
      for (const PlacementId p : idle) seats_.destroy(gpu, p, commands);
    for (const PlacementId p : by_start(geometry(kind), layout)) {
      if (!kept) seats_.create(gpu, p, commands);
      const ClassSpot spot{gpu, geometry(kind)[p].start, p};
      kinds_[kind].free[size].insert(spot);
      freed_.push_back(spot);
    }
    serve_class(gpu, size);
  }

  void serve_class(GpuId gpu, const SizeClass& size) {
    class_of_gpu_[index(gpu)] = size;
    kinds_[kind_of(gpu)].closed[size] = newest_;
  }

  /// Gives the jobs that wait for the class to its new instances: always the next to the one that
  /// has fewest.
  void deal(std::size_t kind, const SizeClass& size, const std::vector<ClassSpot>& spots) {
    const auto waiting = kinds_[kind].waiting.find(size);
    if (waiting == kinds_[kind].waiting.end()) return;
    std::set<JobRank> jobs;
    for (const auto& [holds, of] : waiting->second.by_holds()) jobs.insert(of.begin(), of.end());
    for (const auto& [priority, job] : jobs) {
      const PlacementSet holds = request(job).holds[kind];
      const ClassSpot* least = nullptr;
      for (const ClassSpot& spot : spots)
        if (holds.contains(spot.placement) &&
            (least == nullptr || dealt_[spot].size() < dealt_[*least].size()))
          least = &spot;
      if (least == nullptr) continue;
      take(job);
      dealt_[*least].push_back(job);
      ++dealt_on_[index(least->gpu)];
    }
  }

  Seats seats_;
  const RequestTable* requests_;
  const JobFacts* facts_;
  HostRoom* host_;
  bool equal_shares_;
  std::vector<Kind> kinds_;
  std::vector<std::optional<SizeClass>> class_of_gpu_;
  std::set<GpuId> drained_;    // present, and no job runs there
  std::set<GpuId> unclassed_;  // with jobs and without a class, not looked at since
  std::map<ClassSpot, std::deque<JobId>> dealt_;    // equal shares: what runs where next
  std::map<std::uint32_t, JobRank> wait_for_host_;  // by node: the first job
  std::vector<ClassSpot> freed_;                    // since they were last served
  std::vector<std::size_t> dealt_on_;  // by GPU, jobs that were dealt and have not begun
  std::vector<RequestId> request_of_;  // by job
  JobId newest_{};                     // of all that have waited
};

}  // namespace

PlacementSet fill_with_one_size(const StateGraph& graph, StateId occupied, PlacementSet allowed,
                                PlacementSet first) {
  using Rank = std::tuple<int, int, int, int>;  // further places, reachability, compute, start
  PlacementSet filled;
  StateId state = occupied;
  PlacementSet possible = first & graph.free(state);
  if (possible.empty()) possible = allowed & graph.free(state);
  while (!possible.empty()) {
    std::optional<std::pair<Rank, PlacementId>> best;
    for (const PlacementId p : possible) {
      const StateId after = graph.add(state, p);
      const Placement& place = graph.geometry()[p];
      const Rank rank{-(graph.free(after) & allowed).size(), -graph.reachability(after),
                      -place.profile->compute.value, place.start};
      if (!best || rank < best->first) best = {rank, p};
    }
    filled.insert(best->second);
    state = graph.add(state, best->second);
    possible = allowed & graph.free(state);
  }
  return filled;
}

std::span<const OptionRow> scheme_a_options() {
  return scheme_a_rows;
}

Result<std::unique_ptr<Scheduler>> make_scheme_a(const SchedulerSetup& setup,
                                                 const OptionTexts& options) {
  return std::make_unique<SchemeA>(setup, options.at("shares") == "equal");
}

}  // namespace cleave
