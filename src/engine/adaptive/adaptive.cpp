#include "engine/adaptive/adaptive.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "base/overloads.hpp"
#include "engine/adaptive/arrival_rate.hpp"
#include "engine/adaptive/gpu_plan.hpp"
#include "engine/adaptive/job_ledger.hpp"
#include "engine/adaptive/room_left.hpp"
#include "engine/adaptive/waiting_pool.hpp"
#include "engine/queue/never_ours.hpp"
#include "engine/queue/served_queue.hpp"
#include "engine/seats.hpp"

namespace cleave {

namespace {

constexpr OptionRow own_rows[] = {
    {"patience", "COUNT", "100",
     "a job that has waited while this number of others started, for each GPU of the fleet, goes "
     "first: a place is kept for it"},
    {"disruptions", "COUNT", "6", "how often a job is stopped or moved within an hour, at most"},
};
constexpr auto rows = [] {
  auto all = with_queue_options(own_rows);
  for (OptionRow& row : all)
    if (row.name == "backfill") row.otherwise = "easy";
  return all;
}();

constexpr std::size_t candidates = 8, most_gpus = 16;
constexpr double least_gain = 0.06;  // of what a GPU gets done as it is
constexpr double change_s = 1;       // to destroy an instance and to make another
constexpr double look_ahead = 0.35;  // of the time that the jobs of a GPU take to end
constexpr double arrivals_ahead =
    2;  // and no further than this number of jobs take to come to each GPU
constexpr double long_stays = 100;   // checkpoints: from then on a job is long to those that wait
constexpr double per_priority = 16;  // a unit of work counts so much more at the next higher one

class Adaptive final : public Scheduler, private QueueHost {
 public:
  Adaptive(const SchedulerSetup& setup, QueueRules rules, std::uint64_t patience,
           std::size_t disruptions)
      : setup_(setup),
        seats_(setup.fleet),
        requests_(&setup.requests),
        facts_(setup.facts),
        never_ours_(setup.fleet),
        strict_(rules.by_user() || rules.by_deadline || (setup.kinds && !rules.by_kind)),
        overtakes_queue_(rules.backfill != Backfill::none),
        advance_(rules.advance),
        queue_(setup, std::move(rules)),
        ledger_(setup),
        blocked_(setup.fleet.size()),
        patience_(patience * std::max<std::size_t>(1, setup.fleet.size())),
        disruptions_(disruptions) {
    for (const auto& graph : setup.fleet.graphs()) {
      planners_.emplace_back(graph);
      rooms_.emplace_back(graph);
    }
    for (std::size_t i = 0; i < setup.fleet.size(); ++i) {
      const auto gpu = static_cast<GpuId>(i);
      by_load_.emplace(load(gpu), gpu);
      const GpuModel& model = geometry(gpu).model();
      fleet_slices_ += (model.compute.value + model.memory_slices.value) / 2.0;
    }
  }

  void on(const SchedulerEvent& event, Instant now, std::vector<Command>& /*commands*/) override {
    now_ = now;
    look_again_ = true;
    std::visit(Overloads{[&](const Submitted& job) {
                           arrivals_.arrived(now_);
                           wait({job.job, job.request});
                         },
                         [&](const Finished& job) { end(job.job); },
                         [&](const Requeued& job) {
                           requeue({job.job, job.request});
                         },
                         [&](const Cancelled& job) { cancel(job.job); },
                         [&](const SeatsEvent auto& what) { hear(what); }, [](const Woken&) {}},
               event);
  }

  bool adopt(const Adopted& adopted, Instant now, std::vector<Command>& /*commands*/) override {
    now_ = now;
    const bool whole = !adopted.placement && asks_for_whole((*requests_)[adopted.request].request);
    if (!(whole ? seats_.adopt_whole(adopted) : seats_.adopt(adopted))) return false;
    changed(adopted.gpu);
    const Waiting job{adopted.job, adopted.request};
    queue_.runs(job, {adopted.gpu, adopted.placement}, now);
    enter(job);
    ++running_;
    ledger_[job.job].waited = 0;
    if (adopted.placement) {
      const auto since = facts_ == nullptr ? std::nullopt : facts_->running_since(adopted.job);
      note_run(job.job, {adopted.gpu, adopted.placement}, since.value_or(now));
    }
    return true;
  }

  void settle(Instant now, std::vector<Command>& commands) override {
    now_ = now;
    if (!std::exchange(look_again_, false)) return;
    queue_those_due();
    if (!waiting_.empty() && !queue_priorities_.empty() &&
        waiting_.highest_priority() > *queue_priorities_.rbegin())
      serve_here(*queue_priorities_.rbegin(), commands);
    serve_queue(commands);
    // Without backfill none goes past those that wait in the queue.
    if (!overtakes_queue_ && !queue_priorities_.empty())
      serve_here(*queue_priorities_.rbegin(), commands);
    else if (!strict_ || queue_.empty())
      serve_here(std::nullopt, commands);
    if (running_ == 0 && (overtakes_queue_ || queue_priorities_.empty())) start_anything(commands);
    ended_ = false;
  }

  void resize(JobId lease, RequestId to, Instant now, std::vector<Command>& commands) override {
    now_ = now;
    const JobSeat seat = seats_[lease];
    const auto from = seat.whole ? std::nullopt : std::optional(seat.placement);
    const auto spot = queue_.resized(*this, {lease, to}, {seat.gpu, from});
    if (!spot) return;
    migrate(lease, *spot, commands);
    look_again_ = true;
  }

  Outlook outlook(JobId job) const override {
    if (!waiting_.contains(job)) return queue_.outlook(job);
    Outlook own;
    own.order = "what is left of the jobs, the least first";
    return own;
  }
  void ends_soon(JobId job) const override { seats_.leaves_soon(job); }
  void frees_soon(GpuId gpu) const override { seats_.frees_soon(gpu); }
  bool seats_all(RequestId request) override { return queue_.could_seat(*this, request); }

 private:
  [[nodiscard]] const Geometry& geometry(GpuId gpu) const {
    return seats_.fleet().geometry(seats_.fleet()[gpu]);
  }
  [[nodiscard]] std::size_t kind(GpuId gpu) const { return seats_.fleet()[gpu].kind; }
  [[nodiscard]] int load(GpuId gpu) const {
    const GpuState& state = seats_.fleet()[gpu];
    return state.held_compute + state.held_memory;
  }
  void changed(GpuId gpu) {
    const auto found = loads_.find(gpu);
    const int before = found == loads_.end() ? load_at_first(gpu) : found->second;
    by_load_.erase({before, gpu});
    by_load_.emplace(load(gpu), gpu);
    loads_[gpu] = load(gpu);
    queue_.room_changed(gpu);
  }
  [[nodiscard]] int load_at_first(GpuId gpu) const {
    const GpuState& state = setup_.fleet[gpu];
    return state.held_compute + state.held_memory;
  }

  /// Whether the job is a batch with one instance: those are sized here.
  [[nodiscard]] bool sized_here(Waiting job) const {
    const Request& asked = (*requests_)[job.request].request;
    return asked.places == 1 && !asks_for_whole(asked) &&
           (!setup_.kinds || facts_ == nullptr || facts_->kind(job.job) == JobKind::batch);
  }

  /// The job waits or runs.
  void enter(Waiting job) {
    ledger_.enter(job);
    LedgerJob& known = ledger_[job.job];
    if (!sized_here(job)) known.allowed = (*requests_)[job.request].candidates;
    const bool counts = (known.live || known.stops) && sized_here(job);
    if (counts != known.counted) flexible_ += counts ? 1 : -1;
    known.counted = counts;
  }

  void forget(JobId job) {
    if (!ledger_.knows(job)) return;
    if (ledger_[job].counted) --flexible_;
    ledger_.ended(job, now_);
  }

  // What is heard.

  void wait(Waiting job) {
    const bool fresh = !ledger_.knows(job.job) || !ledger_[job.job].here;
    enter(job);
    if (fresh) ledger_[job.job].waits_from = starts_;
    if (!strict_ && sized_here(job)) {
      wait_here(job.job);
    } else {
      queue(job);
    }
  }

  void wait_here(JobId job) {
    LedgerJob& known = ledger_[job];
    if (known.waited) known.waits_from = starts_ - *known.waited;
    known.waited.reset();
    pool(job);
  }

  void queue(Waiting job) {
    queue_.insert(job, now_);
    queue_priorities_.insert(ledger_[job.job].priority);
  }

  void unqueue(JobId job) {
    due_.erase(job);
    const auto found = queue_priorities_.find(ledger_[job].priority);
    if (found != queue_priorities_.end()) queue_priorities_.erase(found);
  }

  void pool(JobId job) {
    LedgerJob& known = ledger_[job];
    double best = 0;
    const RelativeSpeeds& speeds = ledger_.speeds(job);
    for (std::size_t i = 0; i < speeds.size(); ++i) {
      const GpuModel& model = setup_.fleet.graphs()[i]->geometry().model();
      for (std::size_t p = 0; p < speeds[i].size(); ++p)
        best = std::max(best, speeds[i][p] * model.compute.value /
                                  std::max(1, model.profiles[p].compute.value));
    }
    if (!recuts()) best = 1;
    const bool rest_known = known.work_s > 0 || known.saved;
    const double weight = rest_known ? ledger_.worth(job, now_).weight : 1;
    waiting_.insert(job, known.priority, best * weight, rest_known, known.waits_from);
  }

  void leave(JobId job) {
    const JobSeat left = seats_.leave(job);
    changed(left.gpu);
    --running_;
    touched_.insert(left.gpu);
    queue_.left(job, now_);
  }

  void end(JobId job) {
    leave(job);
    ended_ = true;
    forget(job);
  }

  void requeue(Waiting job) {
    leave(job.job);
    ledger_.stopped(job.job, false, now_);
    if (job.request != ledger_[job.job].request) ledger_.outgrew(job.job, job.request);
    wait(job);
  }

  void cancel(JobId job) {
    if (!waiting_.contains(job)) unqueue(job);
    waiting_.erase(job);
    queue_.erase(job);
    forget(job);
  }

  void hear(const SeatsEvent auto& what) {
    for (const Waiting job : seats_.hear(what)) {
      --running_;
      queue_.left(job.job, now_);
      ledger_.stopped(job.job, false, now_);
      wait(job);
    }
    never_ours_.hear(what);
    changed(what.gpu);
    touched_.insert(what.gpu);
  }

  // As the host of the queue.

  std::optional<Spot> find(Waiting job) override {
    const auto found = best_place(job.job);
    return found ? std::optional(found->spot) : std::nullopt;
  }

  std::optional<Spot> find_on(Waiting job, GpuId gpu, const Room& among) override {
    if (among.whole) return Spot{gpu, std::nullopt};
    const GpuState& state = seats_.fleet()[gpu];
    const PlacementSet free = among.placements & seats_.fleet().graph(state).free(state.occupied);
    std::optional<Place> best;
    look_at(job.job, gpu, free, best);
    if (best) return best->spot;
    // None on which it is known to make progress.
    return free.empty() ? std::nullopt : std::optional(Spot{gpu, free.last()});
  }

  void start(Waiting job, Spot spot, std::vector<Command>& commands) override {
    if (!spot.placement) {
      seats_.start_whole(job, spot.gpu, commands);
    } else {
      seats_.start(job, spot.gpu, *spot.placement, commands);
    }
    if (!ledger_.knows(job.job) || !ledger_[job.job].here) enter(job);  // a process of several
    if (!waiting_.contains(job.job)) unqueue(job.job);
    waiting_.erase(job.job);
    note_start(job.job, spot);
  }

  Waiting vacate(JobId job) override {
    const RequestId request = seats_[job].request;
    const JobSeat left = seats_.leave(job);
    changed(left.gpu);
    --running_;
    touched_.insert(left.gpu);
    ledger_.stopped(job, facts_->saves(job), now_);
    queue_priorities_.insert(ledger_[job].priority);
    return {job, request};
  }

  Room room(GpuId gpu, RequestId request) override {
    const ResolvedRequest& asked = (*requests_)[request];
    return never_ours_.beside(gpu, asked.candidates[kind(gpu)], asks_for_whole(asked.request));
  }

  bool takes_work(GpuId gpu) const override { return never_ours_.takes_work(gpu); }

  void set_aside(GpuId gpu, bool aside) override { seats_.set_aside(gpu, aside); }

  // What starts and stops.

  void note_start(JobId job, Spot spot) {
    changed(spot.gpu);
    LedgerJob& known = ledger_[job];
    known.waited = starts_ - std::min(starts_, known.waits_from);
    ++running_;
    ++starts_;
    double delay_s = change_s;
    if (spot.placement && known.saved) delay_s += ledger_.checkpoint_s(job, kind(spot.gpu)) / 2;
    note_run(job, spot,
             now_ + std::chrono::duration_cast<Duration>(std::chrono::duration<double>(delay_s)));
  }

  void note_run(JobId job, Spot spot, Instant from) {
    if (!spot.placement) return;
    static_cast<void>(ledger_.speeds(job));
    ledger_.runs(job, kind(spot.gpu), geometry(spot.gpu)[*spot.placement].profile_index, from);
  }

  /// It waits no more in the pool.
  void start_pooled(JobId job, Spot spot, std::vector<Command>& commands) {
    const Waiting waiting{job, ledger_[job].request};
    start(waiting, spot, commands);
    queue_.runs(waiting, spot, now_);
  }

  void disrupt(JobId job) {
    auto& times = ledger_[job].disruptions;
    if (times.size() >= disruptions_ && !times.empty()) times.erase(times.begin());
    times.push_back(now_);
  }

  [[nodiscard]] bool may_be_disrupted(JobId job) const {
    const auto& times = ledger_[job].disruptions;
    return disruptions_ > 0 &&
           (times.size() < disruptions_ || times.front() + std::chrono::hours(1) <= now_);
  }

  /// It is saved, and runs no more.
  void save(JobId job, std::vector<Command>& commands) {
    commands.emplace_back(CheckpointJob{job});
    disrupt(job);
    ledger_.stopped(job, true, now_);
    leave(job);
  }

  void migrate(JobId job, Spot to, std::vector<Command>& commands) {
    const JobSeat from = seats_[job];
    disrupt(job);
    queue_.moved(job, to);
    seats_.migrate(from.gpu, from.placement, to.gpu, *to.placement, commands);
    const double done = ledger_.done(job, now_);
    note_run(job, to, now_);
    ledger_[job].done_s = done;
    changed(from.gpu);
    changed(to.gpu);
  }

  // The queue's jobs.

  /// Not where what it asks for is known to be too little: the queue knows places by request alone.
  [[nodiscard]] bool runs_where_it_asks(JobId job) {
    const RelativeSpeeds& speeds = ledger_.speeds(job);
    const auto& candidates_of = (*requests_)[ledger_[job].request].candidates;
    for (std::size_t i = 0; i < speeds.size(); ++i) {
      const Geometry& rules = setup_.fleet.graphs()[i]->geometry();
      for (const PlacementId place : candidates_of[i] & ledger_[job].allowed[i])
        if (speeds[i][static_cast<std::size_t>(rules[place].profile_index)] > 0) return true;
    }
    return false;
  }

  /// Those that have waited for long wait in the queue, while none of higher priority waits here.
  void queue_those_due() {
    const auto outranked = [&](JobId job) {
      return !waiting_.empty() && ledger_[job].priority < waiting_.highest_priority();
    };
    for (const JobId job : std::vector(due_.begin(), due_.end())) {
      if (!outranked(job)) continue;
      queue_.erase(job);
      unqueue(job);
      pool(job);
    }
    if (starts_ < patience_) return;
    for (const JobId job : waiting_.since(starts_ - patience_)) {
      if (outranked(job) || !runs_where_it_asks(job)) continue;
      waiting_.erase(job);
      ledger_[job].due = true;
      due_.insert(job);
      queue({job, ledger_[job].request});
    }
  }

  void serve_queue(std::vector<Command>& commands) {
    for (const GpuId gpu : kept_on_) blocked_[index(gpu)] = {};
    kept_on_.clear();
    if (queue_.empty()) return;
    queue_.serve(*this, now_, commands);
    for (const Reservation& each : queue_.reservations()) {
      const Geometry& rules = geometry(each.spot.gpu);
      PlacementSet& blocked = blocked_[index(each.spot.gpu)];
      blocked = blocked | (each.spot.placement ? rules[*each.spot.placement].conflicts |
                                                     PlacementSet::of(*each.spot.placement)
                                               : rules.all());
      kept_on_.insert(each.spot.gpu);
    }
  }

  /// Those that wait here, above this priority; what is kept for jobs below it is not in their way.
  void serve_here(std::optional<std::int64_t> above, std::vector<Command>& commands) {
    above_ = above;
    if (recuts()) {
      recut(commands);
    } else {
      place_for_good(commands);
    }
    above_.reset();
  }

  /// Whether jobs are stopped and moved. Not where that costs about as much as they take and their
  /// times are told: then the right size and order from the beginning are worth more.
  [[nodiscard]] bool recuts() const {
    constexpr double dear = 1.0 / 3;  // of the mean job
    if (flexible_ == 0) return false;
    const double mean = ledger_.mean_told();
    return mean == 0 || ledger_.mean_checkpoint_s() < dear * mean;
  }

  [[nodiscard]] PlacementSet blocked(GpuId gpu) const {
    return above_ ? PlacementSet() : blocked_[index(gpu)];
  }

  /// Whether the GPU is set aside for others, now or later.
  [[nodiscard]] bool in_advance(GpuId gpu) const {
    return std::ranges::any_of(
        advance_, [&](const GpuReservation& each) { return each.gpu == gpu && each.until > now_; });
  }

  /// In their order, those whose turn it is.
  [[nodiscard]] std::vector<JobId> first_waiting(std::size_t most) const {
    auto jobs = waiting_.first(most, std::pow(ledger_.seen().rest(0), -0.8));
    if (above_) std::erase_if(jobs, [&](JobId job) { return ledger_[job].priority <= *above_; });
    return jobs;
  }

  // Where no job may be interrupted.

  struct Place {
    double cost = 0, lost = 0;
    bool fresh = false;  // an instance has to be made
    Spot spot;
  };

  [[nodiscard]] bool better(const Place& a, const Place& b) const {
    if (a.cost < b.cost * (1 - 1e-9)) return true;
    if (b.cost < a.cost * (1 - 1e-9)) return false;
    if (a.lost < b.lost - 1e-9) return true;
    if (b.lost < a.lost - 1e-9) return false;
    return std::tie(a.fresh, a.spot.gpu, *a.spot.placement) <
           std::tie(b.fresh, b.spot.gpu, *b.spot.placement);
  }

  void look_at(JobId job, GpuId gpu, PlacementSet places, std::optional<Place>& best) {
    const GpuState& state = seats_.fleet()[gpu];
    const Geometry& rules = geometry(gpu);
    const auto& speed = ledger_[job].speed[state.kind];
    for (const PlacementId place : places& ledger_[job].allowed[state.kind]) {
      const double pace = speed[static_cast<std::size_t>(rules[place].profile_index)];
      if (!(pace > 0)) continue;
      Place here{cost_of(rules, place, pace), 0, !state.idle.contains(place), {gpu, place}};
      if (best && best->cost < here.cost * (1 - 1e-9)) continue;
      here.lost = rooms_[state.kind].lost(state.occupied, place);
      if (!best || better(here, *best)) best = here;
    }
  }

  [[nodiscard]] double cost_of(const Geometry& rules, PlacementId place, double pace) const {
    const Profile& profile = *rules[place].profile;
    return (1 + price_ * (profile.compute.value + profile.memory.value) / 2.0) / pace;
  }

  /// Of all that is free.
  std::optional<Place> best_place(JobId job) {
    static_cast<void>(ledger_.speeds(job));
    std::optional<Place> best;
    std::set<StateNumber> seen;
    for (std::size_t i = 0; i < seats_.fleet().size(); ++i) {
      const auto gpu = static_cast<GpuId>(i);
      const GpuState& state = seats_.fleet()[gpu];
      if (state.absent) continue;
      const PlacementSet free = seats_.fleet().graph(state).free(state.occupied);
      if (free.empty()) continue;
      const bool plain = blocked(gpu).empty();
      if (plain && !seen.insert(seats_.fleet().number(gpu)).second) continue;
      look_at(job, gpu, free - blocked(gpu), best);
    }
    return best;
  }

  /// What it would cost on an empty fleet.
  [[nodiscard]] double least_cost(JobId job) const {
    double least = -1;
    const LedgerJob& known = ledger_[job];
    for (std::size_t i = 0; i < known.speed.size(); ++i) {
      const Geometry& rules = setup_.fleet.graphs()[i]->geometry();
      for (std::size_t p = 0; p < known.speed[i].size(); ++p) {
        const PlacementSet places = rules.of_profile(static_cast<int>(p)) & known.allowed[i];
        if (places.empty() || !(known.speed[i][p] > 0)) continue;
        const double cost = cost_of(rules, places.first(), known.speed[i][p]);
        if (least < 0 || cost < least) least = cost;
      }
    }
    return least;
  }

  /// How much a slice is wanted: by those that wait, and by those that will.
  void set_price() {
    const auto gpus = static_cast<double>(seats_.fleet().size());
    const auto known_rate = arrivals_.a_second(now_);
    const double rate = known_rate.value_or(0);
    const double load = std::min(0.98, ledger_.seen().mean() * rate / gpus);
    const double will_wait = std::pow(load, std::sqrt(2 * (gpus + 1))) / (1 - load);
    const double others = waiting_.empty() ? 0 : static_cast<double>(waiting_.size() - 1);
    // The first is followed by others, as far as anything is to be expected.
    price_ = 0.5 * (known_rate ? others + will_wait : 1) / fleet_slices_;
  }

  [[nodiscard]] double next_end_s() const {
    double next = -1;
    std::size_t left = 256;
    for (std::size_t i = 0; i < seats_.fleet().size(); ++i) {
      const auto gpu = static_cast<GpuId>(i);
      if (seats_.fleet()[gpu].held.empty()) continue;
      for (const JobId job : seats_.on(gpu)) {
        if (left-- == 0) return 0;
        if (!(ledger_[job].pace > 0)) continue;
        const double rest = ledger_.rest(job, now_) / ledger_[job].pace;
        if (next < 0 || rest < next) next = rest;
      }
    }
    return std::max(0.0, next);
  }

  void place_for_good(std::vector<Command>& commands) {
    if (waiting_.empty()) return;
    set_price();
    const double next_end = next_end_s();
    // None of lower priority takes what a job leaves that waits for something better.
    const bool may_pass = running_ > 0 && queue_priorities_.empty() &&
                          waiting_.highest_priority() == waiting_.lowest_priority();
    double passed = 1;
    std::set<RequestId> in_vain;
    for (const JobId job : first_waiting(1000)) {
      if (in_vain.contains(ledger_[job].request)) continue;
      const auto place = best_place(job);
      if (!place) {
        if (!ledger_[job].cut) in_vain.insert(ledger_[job].request);
        passed += 1;
        continue;
      }
      const double rest = ledger_.rest(job, now_);
      if (may_pass && rest * place->cost > rest * least_cost(job) + 0.3 * next_end * passed) {
        passed += 1;
        continue;
      }
      start_pooled(job, place->spot, commands);
      set_price();
    }
  }

  /// Nothing runs, so nothing will end: what may start does.
  void start_anything(std::vector<Command>& commands) {
    for (const JobId job : waiting_.first(waiting_.size(), 1)) {
      const auto place = best_place(job);
      if (!place) continue;
      start_pooled(job, place->spot, commands);
      return;
    }
  }

  // Where jobs may be saved or moved.

  /// A GPU as it could be.
  struct Proposal {
    GpuId gpu{};
    std::vector<JobId> jobs;
    std::vector<PlanJob> as;
    GpuPlan plan;
    double gain = 0, present = 0, horizon = 1;
  };

  [[nodiscard]] double share_of_rate(std::optional<double> rate) const {
    return rate.value_or(0) / static_cast<double>(seats_.fleet().size());
  }

  PlanJob as_running(JobId job, GpuId gpu, std::int64_t base) {
    const LedgerJob& known = ledger_[job];
    const bool may = may_be_disrupted(job);
    PlanJob as;
    as.worth = weighed(job, base);
    as.speed = ledger_.speeds(job)[kind(gpu)];
    as.at = seats_[job].placement;
    as.allowed = (known.allowed[kind(gpu)] - blocked(gpu)) | PlacementSet::of(*as.at);
    as.may_stop = known.stops && may;
    as.moves_live = known.live && may;
    as.may_wait = !known.due && !strict_;
    as.checkpoint_s = ledger_.checkpoint_s(job, kind(gpu));
    return as;
  }

  PlanJob as_newcomer(JobId job, GpuId gpu, std::int64_t base) {
    const LedgerJob& known = ledger_[job];
    PlanJob as;
    as.worth = weighed(job, base);
    as.speed = ledger_.speeds(job)[kind(gpu)];
    as.allowed = known.allowed[kind(gpu)] - blocked(gpu);
    as.checkpoint_s = ledger_.mean_checkpoint_s();
    as.restore_s =
        known.saved ? ledger_.checkpoint_s(job, kind(gpu)) / (known.pace > 0 ? 1 : 2) : 0;
    return as;
  }

  [[nodiscard]] WorkWorth weighed(JobId job, std::int64_t base) const {
    WorkWorth worth = ledger_.worth(job, now_);
    constexpr std::uint64_t most = 4;
    const std::int64_t priority = ledger_[job].priority;
    if (priority > base) {
      const auto above = static_cast<std::uint64_t>(priority) - static_cast<std::uint64_t>(base);
      worth.weight *= std::pow(per_priority, static_cast<double>(std::min(above, most)));
    }
    return worth;
  }

  /// Whether the plan for its GPU has a say about a job that runs.
  [[nodiscard]] bool pinned(JobId job) const {
    const LedgerJob& known = ledger_[job];
    return !(known.stops || known.live) || !may_be_disrupted(job) ||
           !sized_here({job, known.request});
  }

  /// With these newcomers, and without the job `but`.
  Proposal propose(GpuId gpu, std::span<const JobId> newcomers,
                   std::optional<JobId> but = std::nullopt) {
    Proposal it;
    it.gpu = gpu;
    const GpuState state = seats_.fleet()[gpu];
    const auto here = seats_.on(gpu);
    std::int64_t base = INT64_MAX;
    for (const JobId job : here) base = std::min(base, ledger_[job].priority);
    for (const JobId job : newcomers) base = std::min(base, ledger_[job].priority);
    PlanQuestion question;
    question.fixed = state.held | state.walls;
    question.held = state.held | state.walls;
    double paces = 0, longest = 0;
    std::size_t count = 0;
    for (const JobId job : here) {
      if (job == but) {
        question.fixed.erase(seats_[job].placement);
        question.held.erase(seats_[job].placement);
        continue;
      }
      if (ledger_[job].pace > 0) {
        paces += ledger_[job].pace / ledger_.rest(job, now_);
        ++count;
      }
      if (pinned(job)) continue;
      longest = std::max(longest, ledger_.rest(job, now_));
      question.fixed.erase(seats_[job].placement);
      it.jobs.push_back(job);
      it.as.push_back(as_running(job, gpu, base));
    }
    std::size_t looked = 0;
    for (const JobId job : newcomers) {
      const PlanJob as = as_newcomer(job, gpu, base);
      if (as.allowed.empty()) continue;
      if (looked++ < 3) {
        paces += 1 / as.worth.rest_s;
        ++count;
      }
      it.jobs.push_back(job);
      it.as.push_back(as);
    }
    if (it.jobs.empty()) return it;
    const auto rate = arrivals_.a_second(now_);
    const double here_rate = share_of_rate(rate);
    it.horizon = count == 0 ? 1 : look_ahead * static_cast<double>(count) / paces;
    if (here_rate > 0) it.horizon = std::min(it.horizon, arrivals_ahead / here_rate);
    it.horizon = std::max(it.horizon, 0.01);
    // Short jobs look no further than to their own ends, before which a long one cannot have made
    // room: they would wait for all of it.
    const double checkpoint = ledger_.mean_checkpoint_s();
    if (looked > 0 && longest > long_stays * checkpoint)
      it.horizon = std::max(it.horizon, checkpoint);
    rent_.assign(static_cast<std::size_t>(geometry(gpu).size()), 0);
    const double mean = ledger_.seen().mean();
    // Before a second job has come, others are to be expected: the first leaves room for them
    // where that costs little.
    const double own = it.as.back().worth.rest_s;
    const double per_gpu = rate ? 0 : 2 * checkpoint / (checkpoint + own) / mean * it.horizon;
    for (const PlacementId place : geometry(gpu).all())
      rent_[place] = per_gpu * area_of(geometry(gpu), place);
    question.horizon_s = it.horizon;
    question.rent = rent_;
    GpuPlanner& planner = planners_[state.kind];
    it.present = planner.present(question, it.as);
    it.plan = planner.best(question, it.as);
    it.gain = it.plan.worth - it.present;
    return it;
  }

  /// What disturbs nothing need not gain much.
  [[nodiscard]] static bool worth_it(const Proposal& it) {
    bool disturbs = false;
    for (std::size_t i = 0; i < it.jobs.size(); ++i)
      disturbs = disturbs || (it.as[i].at && it.plan.places[i] != it.as[i].at);
    return it.gain > (disturbs ? least_gain * std::max(0.0, it.present) : 0) && it.gain > 1e-12;
  }

  void carry_out(const Proposal& it, std::vector<Command>& commands) {
    const GpuState before = seats_.fleet()[it.gpu];
    const Geometry& rules = geometry(it.gpu);
    const PlacementSet held = before.held | before.walls;
    std::vector<std::pair<JobId, PlacementId>> moves, starts;
    std::vector<JobId> waits;
    for (std::size_t i = 0; i < it.jobs.size(); ++i) {
      const JobId job = it.jobs[i];
      const auto place = it.plan.places[i];
      if (place == it.as[i].at) continue;
      if (!it.as[i].at) {
        starts.emplace_back(job, *place);
        continue;
      }
      const bool free = place && !held.contains(*place) && !rules[*place].conflicts.meets(held);
      if (place && it.as[i].moves_live && free) {
        moves.emplace_back(job, *place);
        continue;
      }
      save(job, commands);
      if (place) {
        starts.emplace_back(job, *place);
      } else {
        waits.push_back(job);
      }
    }
    for (const auto& [job, place] : moves) migrate(job, {it.gpu, place}, commands);
    for (const auto& [job, place] : starts) {
      if (seats_.seated(job) && seats_[job].gpu != it.gpu) {
        bring(job, {it.gpu, place}, commands);
      } else {
        start_pooled(job, {it.gpu, place}, commands);
      }
    }
    for (const JobId job : waits) {
      wait_here(job);
    }
  }

  /// From another GPU.
  void bring(JobId job, Spot to, std::vector<Command>& commands) {
    const GpuState& there = seats_.fleet()[to.gpu];
    const bool free = seats_.fleet().graph(there).free(there.occupied).contains(*to.placement);
    if (ledger_[job].live && free) return migrate(job, to, commands);
    save(job, commands);
    start_pooled(job, to, commands);
  }

  [[nodiscard]] std::vector<JobId> newcomers() const {
    std::vector<JobId> all = first_waiting(candidates);
    if (all.empty()) return all;
    const std::int64_t highest = ledger_[all.front()].priority;
    std::erase_if(all, [&](JobId job) { return ledger_[job].priority != highest; });
    const JobId eldest = waiting_.eldest()->second;
    if (std::ranges::find(all, eldest) == all.end() && ledger_[eldest].priority == highest)
      all.push_back(eldest);
    return all;
  }

  /// The first of those behind them that fit where room is left, each at the best place there.
  void fill_up(std::vector<Command>& commands) {
    constexpr std::size_t most = 200;
    if (waiting_.empty()) return;
    set_price();
    std::set<RequestId> in_vain;
    for (const JobId job : first_waiting(most)) {
      if (in_vain.contains(ledger_[job].request)) continue;
      if (const auto place = best_place(job)) {
        start_pooled(job, place->spot, commands);
      } else if (!ledger_[job].cut) {
        in_vain.insert(ledger_[job].request);
      }
    }
  }

  /// Those on which something changed and, where jobs wait, those with least work.
  [[nodiscard]] std::vector<GpuId> to_look_at(bool none_waits) const {
    std::set<GpuId> gpus;
    for (const auto& [load, gpu] : by_load_) {
      if (none_waits || gpus.size() == most_gpus) break;
      if (!seats_.fleet()[gpu].absent && !in_advance(gpu)) gpus.insert(gpu);
    }
    for (const GpuId gpu : touched_)
      if (!seats_.fleet()[gpu].absent && !in_advance(gpu)) gpus.insert(gpu);
    return {gpus.begin(), gpus.end()};
  }

  void recut(std::vector<Command>& commands) {
    auto wanted = newcomers();
    const std::vector<GpuId> gpus = to_look_at(wanted.empty());
    touched_.clear();
    std::vector<Proposal> proposals = propose_all(gpus, wanted);
    for (std::size_t rounds = 0; rounds < 8 * gpus.size() + 16; ++rounds) {
      const Proposal* best = nullptr;
      for (const Proposal& each : proposals)
        if (worth_it(each) &&
            (best == nullptr || each.gain / each.horizon > best->gain / best->horizon))
          best = &each;
      if (best == nullptr) {
        // Others have moved up to those that are looked at.
        const auto now_wanted = newcomers();
        if (now_wanted == wanted) break;
        wanted = now_wanted;
        proposals = propose_all(gpus, wanted);
        continue;
      }
      const GpuId gpu = best->gpu;
      carry_out(*best, commands);
      wanted = newcomers();
      for (Proposal& each : proposals)
        if (each.gpu == gpu || uses_what_is_gone(each)) each = propose(each.gpu, wanted);
    }
    fill_up(commands);
    if (waiting_.empty() && queue_.empty() && ended_) spread(commands);
  }

  /// Whether a job that it would start here waits no more.
  [[nodiscard]] bool uses_what_is_gone(const Proposal& it) const {
    for (std::size_t i = 0; i < it.jobs.size(); ++i)
      if (!it.as[i].at && it.plan.places[i] && !waiting_.contains(it.jobs[i])) return true;
    return false;
  }

  /// Of GPUs on which nothing runs, those that are in the same state are asked once.
  std::vector<Proposal> propose_all(std::span<const GpuId> gpus, std::span<const JobId> wanted) {
    std::vector<Proposal> all;
    std::map<StateNumber, std::size_t> of_empty;
    for (const GpuId gpu : gpus) {
      const StateNumber state = seats_.fleet().number(gpu);
      const bool empty = seats_.fleet()[gpu].held.empty() && blocked(gpu).empty();
      const auto known = empty ? of_empty.find(state) : of_empty.end();
      if (known != of_empty.end()) {
        all.push_back(all[known->second]);
        all.back().gpu = gpu;
        continue;
      }
      if (empty) of_empty.emplace(state, all.size());
      all.push_back(propose(gpu, wanted));
    }
    return all;
  }

  /// Jobs that gain most by it go to the GPUs with least work.
  void spread(std::vector<Command>& commands) {
    for (int moves = 0; moves < 3; ++moves)
      if (!move_one(commands)) return;
  }

  bool move_one(std::vector<Command>& commands) {
    std::vector<GpuId> emptiest;
    for (const auto& [load, gpu] : by_load_) {
      if (seats_.fleet()[gpu].absent || in_advance(gpu)) continue;
      emptiest.push_back(gpu);
      if (emptiest.size() == 2) break;
    }
    struct Mover {
      double gain;
      JobId job;
      GpuId gpu;
    };
    std::vector<Mover> movers;
    std::size_t looked = 0;
    for (auto it = by_load_.rbegin(); it != by_load_.rend() && looked < most_gpus; ++it, ++looked) {
      if (seats_.fleet()[it->second].absent || in_advance(it->second)) continue;
      for (const JobId job : seats_.on(it->second)) {
        if (pinned(job) || !(ledger_[job].pace > 0)) continue;
        double top = 0;
        for (const GpuId to : emptiest)
          for (const double speed : ledger_[job].speed[kind(to)]) top = std::max(top, speed);
        const WorkWorth worth = ledger_.worth(job, now_);
        movers.push_back({worth.weight * (top - ledger_[job].pace), job, it->second});
      }
    }
    std::ranges::sort(movers, [](const Mover& a, const Mover& b) {
      return a.gain != b.gain ? a.gain > b.gain : a.job < b.job;
    });
    if (movers.size() > 5) movers.resize(5);
    std::optional<Proposal> best;
    double best_rate = 0;
    for (const GpuId to : emptiest)
      for (const Mover& mover : movers) {
        if (mover.gpu == to) continue;
        Proposal without = propose(mover.gpu, {}, mover.job);
        const JobId one[] = {mover.job};
        const bool live = ledger_[mover.job].live;
        const bool saved = std::exchange(ledger_[mover.job].saved, !live);
        Proposal with = propose(to, one);
        ledger_[mover.job].saved = saved;
        const auto moved = std::ranges::find(with.jobs, mover.job);
        if (moved == with.jobs.end() ||
            !with.plan.places[static_cast<std::size_t>(moved - with.jobs.begin())])
          continue;
        const double stays = stay_worth(mover.job, with.horizon);
        const double present = with.present + stays;
        // What the others on its GPU may do with its room is looked at when it has left.
        const double gain = with.plan.worth - present +
                            std::max(0.0, without.gain) * with.horizon / without.horizon;
        if (!(gain > least_gain * present) || !(gain / with.horizon > best_rate)) continue;
        best_rate = gain / with.horizon;
        best = std::move(with);
      }
    if (!best) return false;
    std::vector<GpuId> left;
    for (const JobId job : best->jobs)
      if (seats_.seated(job) && seats_[job].gpu != best->gpu) left.push_back(seats_[job].gpu);
    carry_out(*best, commands);
    for (const GpuId gpu : left) {
      const Proposal rest = propose(gpu, {});
      if (worth_it(rest)) carry_out(rest, commands);
    }
    return true;
  }

  [[nodiscard]] double stay_worth(JobId job, double horizon) const {
    return ledger_.worth(job, now_).of(ledger_[job].pace, horizon);
  }

  SchedulerSetup setup_;
  Seats seats_;
  const RequestTable* requests_;
  const JobFacts* facts_;
  NeverOurs never_ours_;
  bool strict_;  // the queue has a say in the order of all jobs
  bool overtakes_queue_;
  std::vector<GpuReservation> advance_;
  ServedQueue queue_;
  std::set<JobId> due_;                           // those that wait there for having waited
  std::multiset<std::int64_t> queue_priorities_;  // of those that wait there
  JobLedger ledger_;
  WaitingPool waiting_;
  ArrivalRate arrivals_;
  std::vector<GpuPlanner> planners_;  // by GPU model
  std::vector<RoomLeft> rooms_;
  std::vector<PlacementSet> blocked_;  // by GPU: kept for others
  std::set<GpuId> kept_on_;
  std::set<std::pair<int, GpuId>> by_load_;
  std::map<GpuId, int> loads_;
  std::set<GpuId> touched_;
  std::vector<double> rent_;
  double fleet_slices_ = 0, price_ = 0;
  std::uint64_t patience_, starts_ = 0;
  std::size_t disruptions_, running_ = 0;
  std::int64_t flexible_ = 0;
  std::optional<std::int64_t> above_;  // only jobs of higher priority, for the moment
  Instant now_{};
  bool look_again_ = false, ended_ = false;
};

}  // namespace

std::span<const OptionRow> adaptive_options() {
  return rows;
}

Result<std::unique_ptr<Scheduler>> make_adaptive(const SchedulerSetup& setup,
                                                 const OptionTexts& options) {
  OptionReader in(options);
  const auto patience = in.count("patience", 1, 1'000'000);
  const auto disruptions = in.count("disruptions", 0, 1000);
  if (in.error()) return std::unexpected(*in.error());
  auto rules = queue_rules(options, setup.reservations);
  if (!rules) return std::unexpected(rules.error());
  return std::make_unique<Adaptive>(setup, std::move(*rules), static_cast<std::uint64_t>(patience),
                                    static_cast<std::size_t>(disruptions));
}

}  // namespace cleave
