#include "engine/adaptive/adaptive.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "base/overloads.hpp"
#include "engine/adaptive/books.hpp"
#include "engine/adaptive/forward_changes.hpp"
#include "engine/adaptive/forward_starts.hpp"
#include "engine/adaptive/forward_view.hpp"
#include "engine/adaptive/gpu_proposals.hpp"
#include "engine/adaptive/place_finder.hpp"
#include "engine/queue/never_ours.hpp"
#include "engine/queue/served_queue.hpp"

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

constexpr std::size_t candidates = 8;  // of those that wait are looked at together

class Adaptive final : public Scheduler, private QueueHost {
 public:
  Adaptive(const SchedulerSetup& setup, QueueRules rules, std::uint64_t patience,
           std::size_t disruptions)
      : books_(setup, rules, disruptions),
        finder_(books_),
        proposals_(books_, finder_),
        never_ours_(setup.fleet),
        overtakes_queue_(rules.backfill != Backfill::none),
        queue_(setup, std::move(rules)),
        patience_(patience * std::max<std::size_t>(1, setup.fleet.size())) {
    if (setup.host == nullptr) return;
    books_.host_takes = [this](JobId job, Spot spot) {
      const bool moves = books_.seats.seated(job);
      return queue_.host_takes({job, books_.ledger[job].request}, spot, books_.now, moves);
    };
  }

  void on(const SchedulerEvent& event, Instant now, std::vector<Command>& /*commands*/) override {
    books_.now = now;
    look_again_ = true;
    std::visit(Overloads{[&](const Submitted& job) {
                           books_.arrivals.arrived(books_.now);
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
    books_.now = now;
    const bool whole =
        !adopted.placement && asks_for_whole((*books_.requests)[adopted.request].request);
    if (!(whole ? books_.seats.adopt_whole(adopted) : books_.seats.adopt(adopted))) return false;
    changed(adopted.gpu);
    const Waiting job{adopted.job, adopted.request};
    queue_.runs(job, {adopted.gpu, adopted.placement}, now);
    enter(job);
    ++running_;
    books_.ledger[job.job].waited = 0;
    if (adopted.placement) {
      const auto since =
          books_.facts == nullptr ? std::nullopt : books_.facts->running_since(adopted.job);
      note_run(job.job, {adopted.gpu, adopted.placement}, since.value_or(now));
    }
    return true;
  }

  void settle(Instant now, std::vector<Command>& commands) override {
    books_.now = now;
    if (!std::exchange(look_again_, false)) return;
    wait_for_better_.clear();
    queue_those_due();
    if (!books_.waiting.empty() && !queue_priorities_.empty() &&
        books_.waiting.highest_priority() > *queue_priorities_.rbegin())
      serve_here(*queue_priorities_.rbegin(), commands);
    serve_queue(commands);
    // Without backfill none goes past those that wait in the queue.
    if (!overtakes_queue_ && !queue_priorities_.empty())
      serve_here(*queue_priorities_.rbegin(), commands);
    else if (!books_.strict || queue_.empty())
      serve_here(std::nullopt, commands);
    if (running_ == 0 && (overtakes_queue_ || queue_priorities_.empty())) start_anything(commands);
    ended_ = false;
  }

  void resize(JobId lease, RequestId to, Instant now, std::vector<Command>& commands) override {
    books_.now = now;
    const JobSeat seat = books_.seats[lease];
    const auto from = seat.whole ? std::nullopt : std::optional(seat.placement);
    const auto spot = queue_.resized(*this, {lease, to}, {seat.gpu, from}, now);
    if (!spot) return;
    migrate(lease, *spot, commands);
    look_again_ = true;
  }

  Outlook outlook(JobId job) const override {
    Outlook own = books_.waiting.contains(job) ? Outlook{} : queue_.outlook(job);
    if (books_.waiting.contains(job)) own.order = "what is left of the jobs, the least first";
    own.waits_for_better = wait_for_better_.contains(job);
    own.size = why_size(job);
    return own;
  }
  void ends_soon(JobId job) const override { books_.seats.leaves_soon(job); }
  void frees_soon(GpuId gpu) const override { books_.seats.frees_soon(gpu); }
  bool seats_all(RequestId request) override { return queue_.could_seat(*this, request); }
  bool exceeds_limits(RequestId request) override { return queue_.exceeds_limits(*this, request); }

 private:
  [[nodiscard]] std::string_view why_size(JobId job) const {
    if (!books_.ledger.knows(job) || !books_.ledger[job].here || !books_.ledger[job].sized)
      return {};
    const LedgerJob& known = books_.ledger[job];
    if (known.cut) return "others of its application ran out of memory on less";
    if (known.stops || known.live)
      return "the best use of the GPU by all jobs that run and wait; it may change";
    if (known.guessed) return "what it asks for, since nothing is known of its speeds";
    return "where a unit of its work cost least when it started, at the price of a slice then";
  }

  /// The job waits or runs.
  void enter(Waiting job) {
    const bool sized = books_.sized_here(job);
    books_.ledger.enter(job, sized);
    books_.neighbours.met(job.job);
    LedgerJob& known = books_.ledger[job.job];
    const bool counts = (known.live || known.stops) && sized;
    if (counts != known.counted) flexible_ += counts ? 1 : -1;
    known.counted = counts;
  }

  void forget(JobId job) {
    if (!books_.ledger.knows(job)) return;
    if (books_.ledger[job].counted) --flexible_;
    books_.ledger.ended(job, books_.now);
  }

  // What is heard.

  void wait(Waiting job) {
    const bool fresh = !books_.ledger.knows(job.job) || !books_.ledger[job.job].here;
    enter(job);
    if (fresh) books_.ledger[job.job].waits_from = starts_;
    if (!books_.strict && books_.sized_here(job)) {
      wait_here(job.job);
    } else {
      queue(job);
    }
  }

  void wait_here(JobId job) {
    LedgerJob& known = books_.ledger[job];
    if (known.waited) known.waits_from = starts_ - *known.waited;
    known.waited.reset();
    pool(job);
  }

  void queue(Waiting job) {
    queue_.insert(job, books_.now);
    queue_priorities_.insert(books_.ledger[job.job].priority);
  }

  void unqueue(JobId job) {
    due_.erase(job);
    const auto found = queue_priorities_.find(books_.ledger[job].priority);
    if (found != queue_priorities_.end()) queue_priorities_.erase(found);
  }

  void pool(JobId job) {
    LedgerJob& known = books_.ledger[job];
    double best = 0;
    const RelativeSpeeds& speeds = books_.ledger.speeds(job);
    for (std::size_t i = 0; i < speeds.size(); ++i) {
      const GpuModel& model = books_.setup.fleet.graphs()[i]->geometry().model();
      for (std::size_t p = 0; p < speeds[i].size(); ++p)
        best = std::max(best, speeds[i][p] * model.compute.value /
                                  std::max(1, model.profiles[p].compute.value));
    }
    if (!recuts()) best = 1;
    const bool rest_known = known.work_s > 0 || known.saved;
    const double weight = rest_known ? order_weight(books_.ledger.rest(job, books_.now)) : 1;
    books_.waiting.insert(job, known.priority, best * weight, rest_known, known.waits_from);
  }

  void leave(JobId job) {
    const JobSeat left = books_.seats.leave(job);
    changed(left.gpu);
    --running_;
    touched_.insert(left.gpu);
    queue_.left(job, books_.now);
  }

  void end(JobId job) {
    leave(job);
    ended_ = true;
    forget(job);
  }

  void requeue(Waiting job) {
    leave(job.job);
    books_.ledger.stopped(job.job, false, books_.now);
    if (job.request != books_.ledger[job.job].request) books_.ledger.outgrew(job.job, job.request);
    wait(job);
  }

  /// Nothing where it does not wait.
  void cancel(JobId job) {
    if (!books_.ledger.knows(job) || !books_.ledger[job].here || books_.seats.seated(job)) return;
    if (!books_.waiting.contains(job)) unqueue(job);
    books_.waiting.erase(job);
    wait_for_better_.erase(job);
    queue_.erase(job);
    forget(job);
  }

  void hear(const SeatsEvent auto& what) {
    for (const Waiting job : books_.seats.hear(what)) {
      --running_;
      queue_.left(job.job, books_.now);
      books_.ledger.stopped(job.job, false, books_.now);
      wait(job);
    }
    never_ours_.hear(what);
    changed(what.gpu);
    touched_.insert(what.gpu);
  }

  // As the host of the queue.

  std::optional<Spot> find(Waiting job) override {
    const auto found = finder_.best_place(job.job);
    return found ? std::optional(found->spot) : std::nullopt;
  }

  std::optional<Spot> find_on(Waiting job, GpuId gpu, const Room& among) override {
    if (among.whole) return Spot{gpu, std::nullopt};
    const GpuState& state = books_.seats.fleet()[gpu];
    const PlacementSet free =
        among.placements & books_.seats.fleet().graph(state).free(state.occupied);
    std::optional<PricedPlace> best;
    finder_.look_at(job.job, gpu, free, best);
    if (best) return best->spot;
    // None on which it is known to make progress.
    return free.empty() ? std::nullopt : std::optional(Spot{gpu, free.last()});
  }

  void start(Waiting job, Spot spot, std::vector<Command>& commands) override {
    if (!spot.placement) {
      books_.seats.start_whole(job, spot.gpu, commands);
    } else {
      books_.seats.start(job, spot.gpu, *spot.placement, commands);
    }
    if (!books_.ledger.knows(job.job) || !books_.ledger[job.job].here)
      enter(job);  // a process of several
    if (!books_.waiting.contains(job.job)) unqueue(job.job);
    books_.waiting.erase(job.job);
    note_start(job.job, spot);
  }

  Waiting vacate(JobId job) override {
    const RequestId request = books_.seats[job].request;
    const JobSeat left = books_.seats.leave(job);
    changed(left.gpu);
    --running_;
    touched_.insert(left.gpu);
    books_.ledger.stopped(job, books_.facts->saves(job), books_.now);
    queue_priorities_.insert(books_.ledger[job].priority);
    return {job, request};
  }

  Room room(GpuId gpu, RequestId request) override {
    const ResolvedRequest& asked = (*books_.requests)[request];
    return never_ours_.beside(gpu, asked.candidates[books_.kind(gpu)],
                              asks_for_whole(asked.request));
  }

  bool takes_work(GpuId gpu) const override { return never_ours_.takes_work(gpu); }

  void set_aside(GpuId gpu, bool aside) override { books_.seats.set_aside(gpu, aside); }

  // What starts and stops.

  void note_start(JobId job, Spot spot) {
    changed(spot.gpu);
    LedgerJob& known = books_.ledger[job];
    known.waited = starts_ - std::min(starts_, known.waits_from);
    ++running_;
    ++starts_;
    wait_for_better_.erase(job);
    double delay_s = change_s;
    if (spot.placement && known.saved)
      delay_s += books_.ledger.checkpoint_s(job, books_.kind(spot.gpu)) / 2;
    note_run(
        job, spot,
        books_.now + std::chrono::duration_cast<Duration>(std::chrono::duration<double>(delay_s)));
  }

  void note_run(JobId job, Spot spot, Instant from) {
    if (!spot.placement) return;
    static_cast<void>(books_.ledger.speeds(job));
    books_.ledger.runs(job, books_.kind(spot.gpu),
                       books_.geometry(spot.gpu)[*spot.placement].profile_index, from);
  }

  /// It waits no more in the pool.
  void start_pooled(JobId job, Spot spot, std::vector<Command>& commands) {
    const Waiting waiting{job, books_.ledger[job].request};
    start(waiting, spot, commands);
    queue_.runs(waiting, spot, books_.now);
  }

  /// It is saved, and runs no more.
  void save(JobId job, std::vector<Command>& commands) {
    commands.emplace_back(CheckpointJob{job});
    books_.disrupt(job);
    books_.ledger.stopped(job, true, books_.now);
    leave(job);
  }

  void migrate(JobId job, Spot to, std::vector<Command>& commands) {
    const JobSeat from = books_.seats[job];
    books_.disrupt(job);
    queue_.moved(job, to);
    books_.seats.migrate(from.gpu, from.placement, to.gpu, *to.placement, commands);
    const double done = books_.ledger.done(job, books_.now);
    note_run(job, to, books_.now);
    books_.ledger[job].done_s = done;
    changed(from.gpu);
    changed(to.gpu);
  }

  // The queue's jobs.

  /// Not where what it asks for is known to be too little: the queue knows places by request alone.
  [[nodiscard]] bool runs_where_it_asks(JobId job) {
    const RelativeSpeeds& speeds = books_.ledger.speeds(job);
    const auto& candidates_of = (*books_.requests)[books_.ledger[job].request].candidates;
    for (std::size_t i = 0; i < speeds.size(); ++i) {
      const Geometry& rules = books_.setup.fleet.graphs()[i]->geometry();
      for (const PlacementId place : candidates_of[i] & books_.ledger[job].allowed[i])
        if (speeds[i][static_cast<std::size_t>(rules[place].profile_index)] > 0) return true;
    }
    return false;
  }

  /// Those that have waited for long wait in the queue, while none of higher priority waits here.
  void queue_those_due() {
    const auto outranked = [&](JobId job) {
      return !books_.waiting.empty() &&
             books_.ledger[job].priority < books_.waiting.highest_priority();
    };
    for (const JobId job : std::vector(due_.begin(), due_.end())) {
      if (!outranked(job)) continue;
      queue_.erase(job);
      unqueue(job);
      pool(job);
    }
    if (starts_ < patience_) return;
    for (const JobId job : books_.waiting.since(starts_ - patience_)) {
      if (outranked(job)) continue;
      books_.ledger.waited_long(job);
      if (!runs_where_it_asks(job)) continue;
      books_.waiting.erase(job);
      due_.insert(job);
      queue({job, books_.ledger[job].request});
    }
  }

  void serve_queue(std::vector<Command>& commands) {
    for (const GpuId gpu : kept_on_) books_.kept[index(gpu)] = {};
    kept_on_.clear();
    if (queue_.empty()) return queue_.forget_kept_of_hosts();
    queue_.serve(*this, books_.now, commands);
    for (const Reservation& each : queue_.reservations()) {
      const Geometry& rules = books_.geometry(each.spot.gpu);
      PlacementSet& blocked = books_.kept[index(each.spot.gpu)];
      blocked = blocked | (each.spot.placement ? rules[*each.spot.placement].conflicts |
                                                     PlacementSet::of(*each.spot.placement)
                                               : rules.all());
      kept_on_.insert(each.spot.gpu);
    }
  }

  /// Those that wait here, above this priority; what is kept for jobs below it is not in their way.
  void serve_here(std::optional<std::int64_t> above, std::vector<Command>& commands) {
    books_.above = above;
    if (recuts() && plans_stops()) {
      recut_by_plan(commands);
    } else if (recuts()) {
      recut(commands);
    } else {
      place_for_good(commands);
    }
    books_.above.reset();
  }

  /// Whether jobs are stopped and moved. Not where that costs about as much as they take and their
  /// times are told: then the right size and order from the beginning are worth more.
  [[nodiscard]] bool recuts() const {
    constexpr double dear = 1.0 / 3;  // of the mean job
    if (flexible_ == 0) return false;
    const double mean = books_.ledger.mean_told();
    return mean == 0 || books_.ledger.mean_checkpoint_s() < dear * mean;
  }

  /// Not where a job has waited for long: others may not begin because it does better later.
  [[nodiscard]] bool may_plan() const {
    const auto eldest = books_.waiting.eldest();
    return eldest && queue_priorities_.empty() &&
           (starts_ < patience_ || eldest->first > starts_ - patience_);
  }

  /// Whether what is stopped and started is planned forward.
  [[nodiscard]] bool plans_stops() const { return may_plan() && can_plan_stops(books_); }

  // Where no job may be interrupted.

  void place_for_good(std::vector<Command>& commands) {
    if (books_.waiting.empty()) return;
    finder_.set_price();
    if (may_plan() && can_plan_forward(books_)) return place_by_plan(commands);
    const double next_end = finder_.next_end_s();
    // None of lower priority takes what a job leaves that waits for something better.
    const bool may_pass = running_ > 0 && queue_priorities_.empty() &&
                          books_.waiting.highest_priority() == books_.waiting.lowest_priority();
    double passed = 1;
    std::set<RequestId> in_vain;
    for (const JobId job : books_.first_waiting(1000)) {
      if (in_vain.contains(books_.ledger[job].request)) continue;
      const auto place = finder_.best_place(job);
      if (!place) {
        if (!books_.ledger[job].cut && !books_.host_takes)
          in_vain.insert(books_.ledger[job].request);
        passed += 1;
        continue;
      }
      const double rest = books_.ledger.rest(job, books_.now);
      if (may_pass &&
          rest * place->cost > rest * finder_.least_cost(job) + wait_for_end * next_end * passed) {
        passed += 1;
        wait_for_better_.insert(job);
        continue;
      }
      start_pooled(job, place->spot, commands);
      finder_.set_price();
    }
  }

  void place_by_plan(std::vector<Command>& commands) {
    const ForwardStarts starts = starts_by_plan(books_, finder_);
    for (const auto& [job, spot] : starts.now) start_pooled(job, spot, commands);
    for (const JobId job : starts.later)
      if (finder_.best_place(job)) wait_for_better_.insert(job);
  }

  /// Nothing runs, so nothing will end: what may start does.
  void start_anything(std::vector<Command>& commands) {
    for (const JobId job : books_.waiting.first(books_.waiting.size(), 1)) {
      const auto place = finder_.best_place(job);
      if (!place) continue;
      start_pooled(job, place->spot, commands);
      return;
    }
  }

  // Where jobs may be saved or moved.

  void carry_out(const GpuProposal& it, std::vector<Command>& commands) {
    const GpuState before = books_.seats.fleet()[it.gpu];
    const Geometry& rules = books_.geometry(it.gpu);
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
      if (books_.seats.seated(job) && books_.seats[job].gpu != it.gpu) {
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
    const GpuState& there = books_.seats.fleet()[to.gpu];
    const bool free =
        books_.seats.fleet().graph(there).free(there.occupied).contains(*to.placement);
    if (books_.ledger[job].live && free) return migrate(job, to, commands);
    save(job, commands);
    start_pooled(job, to, commands);
  }

  [[nodiscard]] std::vector<JobId> newcomers() const {
    std::vector<JobId> all = books_.first_waiting(candidates);
    if (all.empty()) return all;
    const std::int64_t highest = books_.ledger[all.front()].priority;
    std::erase_if(all, [&](JobId job) { return books_.ledger[job].priority != highest; });
    const JobId eldest = books_.waiting.eldest()->second;
    if (std::ranges::find(all, eldest) == all.end() && books_.ledger[eldest].priority == highest)
      all.push_back(eldest);
    return all;
  }

  /// The first of those behind them that fit where room is left, each at the best place there.
  void fill_up(std::vector<Command>& commands) {
    constexpr std::size_t most = 200;
    if (books_.waiting.empty()) return;
    finder_.set_price();
    std::set<RequestId> in_vain;
    for (const JobId job : books_.first_waiting(most)) {
      if (in_vain.contains(books_.ledger[job].request)) continue;
      if (const auto place = finder_.best_place(job)) {
        const auto [gpu, id] = place->spot;
        if (proposals_.may_start_on(job, gpu, PlacementSet::of(*id)).empty()) continue;
        start_pooled(job, place->spot, commands);
      } else if (!books_.ledger[job].cut && !books_.host_takes) {
        in_vain.insert(books_.ledger[job].request);
      }
    }
  }

  /// Those on which something changed and, where jobs wait, those with least work.
  [[nodiscard]] std::vector<GpuId> to_look_at(bool none_waits) const {
    std::set<GpuId> gpus;
    for (const auto& [load, gpu] : books_.by_load) {
      if (none_waits || gpus.size() == most_gpus_looked_at) break;
      if (!books_.seats.fleet()[gpu].absent && !books_.in_advance(gpu)) gpus.insert(gpu);
    }
    for (const GpuId gpu : touched_)
      if (!books_.seats.fleet()[gpu].absent && !books_.in_advance(gpu)) gpus.insert(gpu);
    return {gpus.begin(), gpus.end()};
  }

  void recut(std::vector<Command>& commands) {
    books_.ledger.look_around(books_.now);
    finder_.set_price();
    auto wanted = newcomers();
    const std::vector<GpuId> gpus = to_look_at(wanted.empty());
    touched_.clear();
    std::vector<GpuProposal> proposals = proposals_.propose_all(gpus, wanted);
    for (std::size_t rounds = 0; rounds < 8 * gpus.size() + 16; ++rounds) {
      const GpuProposal* best = nullptr;
      for (const GpuProposal& each : proposals)
        if (GpuProposals::worth_it(each) &&
            (best == nullptr || each.gain / each.horizon > best->gain / best->horizon))
          best = &each;
      if (best == nullptr) {
        // Others have moved up to those that are looked at.
        const auto now_wanted = newcomers();
        if (now_wanted == wanted) break;
        wanted = now_wanted;
        proposals = proposals_.propose_all(gpus, wanted);
        continue;
      }
      const GpuId gpu = best->gpu;
      carry_out(*best, commands);
      wanted = newcomers();
      for (GpuProposal& each : proposals)
        if (each.gpu == gpu || uses_what_is_gone(each) || books_.share_host(each.gpu, gpu))
          each = proposals_.propose(each.gpu, wanted);
    }
    fill_up(commands);
    if (books_.waiting.empty() && queue_.empty() && ended_) spread(commands);
  }

  /// What to change is judged by what becomes of all; then what waits starts by the same plan.
  void recut_by_plan(std::vector<Command>& commands) {
    constexpr int most_changes = 8;
    books_.ledger.look_around(books_.now);
    touched_.clear();
    std::vector<GpuId> gpus;
    for (std::size_t i = 0; i < books_.seats.fleet().size(); ++i) {
      const auto gpu = static_cast<GpuId>(i);
      if (!books_.seats.fleet()[gpu].absent && !books_.in_advance(gpu)) gpus.push_back(gpu);
    }
    for (int changes = 0; changes < most_changes && may_plan(); ++changes) {
      finder_.set_price();
      const auto best = best_change(books_, finder_, proposals_.propose_all(gpus, newcomers()));
      if (!best) break;
      carry_out(*best, commands);
    }
    if (books_.waiting.empty()) return;
    finder_.set_price();
    place_by_plan(commands);
  }

  /// Whether a job that it would start here waits no more.
  [[nodiscard]] bool uses_what_is_gone(const GpuProposal& it) const {
    for (std::size_t i = 0; i < it.jobs.size(); ++i)
      if (!it.as[i].at && it.plan.places[i] && !books_.waiting.contains(it.jobs[i])) return true;
    return false;
  }

  /// Jobs that gain most by it go to the GPUs with least work.
  void spread(std::vector<Command>& commands) {
    for (int moves = 0; moves < 3; ++moves)
      if (!move_one(commands)) return;
  }

  bool move_one(std::vector<Command>& commands) {
    auto best = proposals_.best_move();
    if (!best) return false;
    std::vector<GpuId> left;
    for (const JobId job : best->jobs)
      if (books_.seats.seated(job) && books_.seats[job].gpu != best->gpu)
        left.push_back(books_.seats[job].gpu);
    carry_out(*best, commands);
    for (const GpuId gpu : left) {
      const GpuProposal rest = proposals_.propose(gpu, {});
      if (GpuProposals::worth_it(rest)) carry_out(rest, commands);
    }
    return true;
  }

  void changed(GpuId gpu) {
    books_.load_changed(gpu);
    queue_.room_changed(gpu);
  }

  Books books_;
  PlaceFinder finder_;
  GpuProposals proposals_;
  NeverOurs never_ours_;
  bool overtakes_queue_;
  ServedQueue queue_;
  std::set<JobId> due_;                           // those that wait there for having waited
  std::multiset<std::int64_t> queue_priorities_;  // of those that wait there
  std::set<JobId> wait_for_better_;               // than what is free
  std::set<GpuId> kept_on_, touched_;
  std::uint64_t patience_, starts_ = 0;
  std::size_t running_ = 0;
  std::int64_t flexible_ = 0;
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
  auto rules = queue_rules(options, setup.reservations, setup.user_limits);
  if (!rules) return std::unexpected(rules.error());
  return std::make_unique<Adaptive>(setup, std::move(*rules), static_cast<std::uint64_t>(patience),
                                    static_cast<std::size_t>(disruptions));
}

}  // namespace cleave
