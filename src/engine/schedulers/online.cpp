#include "engine/schedulers/online.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/offload_choice.hpp"
#include "engine/queue/never_ours.hpp"
#include "engine/queue/served_queue.hpp"
#include "engine/schedulers/online_decisions.hpp"
#include "engine/schedulers/planned_compaction.hpp"
#include "engine/seats.hpp"

namespace cleave {

namespace {

constexpr OptionRow online_own_rows[] = {
    {"policy", "NAME", default_policy, "which GPU and which start; `cleave policies` lists them"},
    {"threshold", "NUMBER, auto or tasks", "0.4",
     "a GPU is lazy while its load is below this, for policy fragmentation and for migration; "
     "auto: the fleet's average load at that moment; tasks: its average load if all jobs to come "
     "ran at once"},
    {"load", "compute|memory|joint", "compute",
     "what load is measured in, for policy fragmentation and for migration"},
    {"across", "result|rise|first|best", "",
     "how policies fragmentation (result, rise) and reachability (first, best) compare GPUs; by "
     "default as `cleave policies` says"},
    {"tie", "lowest|waste", "lowest",
     "for policy fragmentation, among equals: the lowest GPU and start, or first the one that "
     "makes "
     "fewest slices useless"},
    {"dynamic", "on|off", "on", "off: no instance is created or destroyed"},
    {"migration", "on|off|intra|inter", "on",
     "after a job has left a GPU, others move: within it while it is busy (intra), to it when it "
     "is lazy (inter)"},
    {"eligibility", "both-after|lowers-imbalance", "both-after",
     "a lazy GPU pulls a job if its load after the move is below the source's load after the move "
     "(both-after) or before it (lowers-imbalance)"},
    {"guard", "on|off", "off", "on: no job is pulled to a GPU whose fragmentation it would raise"},
    {"compact", "TIME or off", "off",
     "while jobs run, the planner is asked this often for moves that empty GPUs; simulations only"},
    {"moves", "COUNT", "8", "of one compaction, at most"},
    offload_option,
    offload_alpha_option,
};
constexpr auto online_rows = with_queue_options(online_own_rows);

/// Planned compaction: how often, and how many moves each time at most.
struct Compacting {
  std::optional<Duration> every;
  std::size_t moves = 0;
};

class Online final : public Scheduler, private QueueHost {
 public:
  Online(const SchedulerSetup& setup, const OnlineOptions& options, const Compacting& compacting,
         const OffloadRule& offload, QueueRules rules)
      : seats_(setup.fleet),
        requests_(&setup.requests),
        facts_(setup.facts),
        fixed_(held_on(setup.fleet)),
        never_ours_(setup.fleet),
        decisions_(seats_.fleet(), *requests_, options,
                   {[this](GpuId gpu) { return fixed_[index(gpu)]; },
                    [this](GpuId gpu, PlacementId placement) {
                      return index(seats_.at(gpu, placement));
                    }}),
        queue_(setup, std::move(rules)),
        compacting_(compacting),
        offload_(offload) {
    look_again_ = !queue_.plain();  // what is reserved is known from the beginning
    if (!options.policy.options.existing_only) return;
    standing_.resize(setup.fleet.graphs().size());
    for (const GpuState& gpu : setup.fleet.gpus()) {
      layout_.push_back(gpu.held | gpu.idle);
      standing_[gpu.kind] = standing_[gpu.kind] | gpu.idle;
    }
  }

  void on(const SchedulerEvent& event, Instant now, std::vector<Command>& commands) override {
    now_ = now;
    std::visit([&](const auto& what) { hear(what, commands); }, event);
    if (compacting_.every) compact_if_due(now, commands);
  }

  /// Several GPUs may come back at one instant, and a decision sees them all.
  void settle(Instant now, std::vector<Command>& commands) override {
    now_ = now;
    if (std::exchange(look_again_, false)) queue_.serve(*this, now, commands);
  }

  void resize(JobId lease, RequestId to, Instant now, std::vector<Command>& commands) override {
    now_ = now;
    const JobSeat seat = seats_[lease];
    const auto from = seat.whole ? std::nullopt : std::optional(seat.placement);
    const auto spot = queue_.resized(*this, {lease, to}, {seat.gpu, from}, now);
    if (!spot) return;
    if (fixed_[index(seat.gpu)].contains(seat.placement)) {
      fixed_[index(seat.gpu)].erase(seat.placement);
      fixed_[index(spot->gpu)].insert(*spot->placement);
    }
    relocate({seat.gpu, seat.placement}, *spot, commands);
    look_again_ = true;
  }

  Outlook outlook(JobId job) const override { return queue_.outlook(job); }
  void ends_soon(JobId job) const override { seats_.leaves_soon(job); }
  void frees_soon(GpuId gpu) const override {
    seats_.frees_soon(gpu);
    __builtin_prefetch(&fixed_[index(gpu)], 1);
  }

  bool adopt(const Adopted& adopted, Instant now, std::vector<Command>& /*commands*/) override {
    const bool whole = !adopted.placement && asks_for_whole((*requests_)[adopted.request].request);
    if (!(whole ? seats_.adopt_whole(adopted) : seats_.adopt(adopted))) return false;
    queue_.runs({adopted.job, adopted.request}, {adopted.gpu, adopted.placement}, now);
    ++running_;
    if (!whole && (facts_ == nullptr || !facts_->movable(adopted.job)))
      fixed_[index(adopted.gpu)].insert(*adopted.placement);
    decisions_.changed(adopted.gpu);
    return true;
  }

  /// Always, where instances are made: the engine has sorted out the rest.
  bool serves(RequestId request) override {
    const std::vector<PlacementSet>& candidates = (*requests_)[request].candidates;
    bool can = standing_.empty();
    if (asks_for_whole((*requests_)[request].request)) return can;
    for (std::size_t kind = 0; kind < standing_.size(); ++kind)
      can = can || candidates[kind].meets(standing_[kind]);
    return can;
  }
  bool seats_all(RequestId request) override { return queue_.could_seat(*this, request); }
  bool exceeds_limits(RequestId request) override { return queue_.exceeds_limits(*this, request); }
  std::string_view why_not(RequestId request) override {
    if (asks_for_whole((*requests_)[request].request))
      return "instances stay as they are, so no GPU is whole";
    return "no existing instance is what it asks for, and none may be created";
  }

 private:
  static std::vector<PlacementSet> held_on(const Fleet& fleet) {
    std::vector<PlacementSet> held;
    for (const GpuState& gpu : fleet.gpus()) held.push_back(gpu.held);
    return held;
  }

  // What is heard. One that frees room or brings a job is followed by a look at the queue.

  void hear(const Submitted& submitted, std::vector<Command>& commands) {
    const Waiting job{submitted.job, submitted.request};
    const bool leads = queue_.plain() && queue_.would_lead(job.job);
    const auto spot = leads ? find(job) : std::nullopt;
    if (spot) {
      start(job, *spot, commands);
    } else {
      queue_.insert(job, now_);
      look_again_ = look_again_ || !queue_.plain();
    }
  }

  void hear(const Finished& finished, std::vector<Command>& commands) {
    depart(finished.job, commands);
    queue_.left(finished.job, now_);
    serve(commands);
  }

  void hear(const Requeued& requeued, std::vector<Command>& commands) {
    depart(requeued.job, commands);
    queue_.insert({requeued.job, requeued.request}, now_);
    serve(commands);
  }

  void hear(const Cancelled& cancelled, std::vector<Command>& commands) {
    queue_.erase(cancelled.job);
    serve(commands);
  }

  void hear(const GpuLost& lost, std::vector<Command>& commands) {
    for (const Waiting job : seats_.hear(lost)) {
      queue_.insert(job, now_);
      --running_;
    }
    fixed_[index(lost.gpu)] = {};
    never_ours_.hear(lost);
    queue_.room_changed(lost.gpu);
    decisions_.changed(lost.gpu);
    serve(commands);
  }

  void hear(const GpuReturned& returned, std::vector<Command>& commands) {
    seats_.hear(returned);
    never_ours_.hear(returned);
    queue_.room_changed(returned.gpu);
    if (!layout_.empty()) {
      auto& standing = standing_[seats_.fleet()[returned.gpu].kind];
      const PlacementSet layout = layout_[index(returned.gpu)];
      // The fleet's own work, if there was any, has not come back.
      standing = standing | layout;
      for (const PlacementId placement : layout) seats_.create(returned.gpu, placement, commands);
    }
    decisions_.changed(returned.gpu);
    serve(commands);
  }

  void hear(const InstanceGone& gone, std::vector<Command>& commands) {
    for (const Waiting job : seats_.hear(gone)) {
      queue_.insert(job, now_);
      --running_;
      if (gone.placement) fixed_[index(gone.gpu)].erase(*gone.placement);
    }
    if (!seats_.fleet()[gone.gpu].absent) make_standing(gone.gpu, commands);
    decisions_.changed(gone.gpu);
    serve(commands);
  }

  void hear(const GpuWithdrawn& withdrawn, std::vector<Command>& /*commands*/) {
    seats_.hear(withdrawn);
    never_ours_.hear(withdrawn);
    queue_.room_changed(withdrawn.gpu);
    decisions_.changed(withdrawn.gpu);
  }

  void hear(const GpuRestored& restored, std::vector<Command>& commands) {
    seats_.hear(restored);
    never_ours_.hear(restored);
    queue_.room_changed(restored.gpu);
    make_standing(restored.gpu, commands);
    look_again_ = true;
    decisions_.changed(restored.gpu);
  }

  void hear(const Woken& /*woken*/, std::vector<Command>& commands) { serve(commands); }

  // What follows.

  std::optional<Spot> find(Waiting job) override {
    auto decision = decisions_.place(job.request);
    if (!decision) decision = place_with_offload(job);
    if (!decision) return std::nullopt;
    return Spot{decision->gpu, decision->placement};
  }

  /// By the policy, on this GPU alone.
  std::optional<Spot> find_on(Waiting job, GpuId gpu, const Room& among) override {
    if (among.whole) return Spot{gpu, std::nullopt};
    GpuState state = seats_.fleet()[gpu];
    state.absent = false;  // it is set aside
    const PlacementSet candidates = (*requests_)[job.request].candidates[state.kind];
    const auto best = best_on({seats_.fleet().graph(state), state}, candidates & among.placements,
                              decisions_.policy());
    if (!best) return std::nullopt;
    return Spot{gpu, best->placement};
  }

  void start(Waiting job, Spot spot, std::vector<Command>& commands) override {
    ++running_;
    if (!spot.placement) {
      seats_.start_whole(job, spot.gpu, commands);
    } else {
      seats_.start(job, spot.gpu, *spot.placement, commands);
      if (facts_ == nullptr || !facts_->movable(job.job))
        fixed_[index(spot.gpu)].insert(*spot.placement);
    }
    decisions_.changed(spot.gpu);
  }

  Room room(GpuId gpu, RequestId request) override {
    PlacementSet candidates = (*requests_)[request].candidates[seats_.fleet()[gpu].kind];
    if (!layout_.empty()) candidates = candidates & layout_[index(gpu)];
    return never_ours_.beside(gpu, candidates, asks_for_whole((*requests_)[request].request));
  }

  bool takes_work(GpuId gpu) const override { return never_ours_.takes_work(gpu); }

  void set_aside(GpuId gpu, bool aside) override {
    seats_.set_aside(gpu, aside);
    decisions_.changed(gpu);
  }

  /// Where none of the size it asks for is free: a smaller instance, if the job makes good use of
  /// it.
  std::optional<Decision> place_with_offload(Waiting job) {
    const ResolvedRequest& asked = (*requests_)[job.request];
    if (!asked.offloaded) return std::nullopt;
    const auto decision = decisions_.place(*asked.offloaded);
    if (!decision) return std::nullopt;
    const Fleet& fleet = seats_.fleet();
    const bool worth = worth_offloading(offload_, facts_, fleet, asked, job.job,
                                        fleet[decision->gpu].kind, decision->placement);
    return worth ? decision : std::nullopt;
  }

  JobSeat leave(JobId job) {
    const JobSeat left = seats_.leave(job);
    --running_;
    if (!left.whole) fixed_[index(left.gpu)].erase(left.placement);
    decisions_.changed(left.gpu);
    return left;
  }

  Waiting vacate(JobId job) override { return {job, leave(job).request}; }

  void depart(JobId job, std::vector<Command>& commands) {
    const JobSeat left = leave(job);
    // What is kept for a job that waits is not filled by moves.
    if (!decisions_.moves() || queue_.reserved(left.gpu)) return;
    const RebalanceKind kind = decisions_.kind(left.gpu);
    while (const auto move = decisions_.next_move(left.gpu, kind)) {
      const Spot from{move->from, move->from_placement}, to{move->to, move->to_placement};
      if (!may_move(from, to)) return;
      relocate(from, to, commands);
    }
  }

  /// Whether the host there has room for it too.
  bool may_move(Spot from, Spot to) {
    const JobId job = seats_.at(from.gpu, *from.placement);
    return queue_.host_takes({job, seats_[job].request}, to, now_, true);
  }

  void relocate(Spot from, Spot to, std::vector<Command>& commands) {
    queue_.moved(seats_.at(from.gpu, *from.placement), to);
    seats_.migrate(from.gpu, *from.placement, to.gpu, *to.placement, commands);
    decisions_.changed(to.gpu);
    if (from.gpu != to.gpu) decisions_.changed(from.gpu);
  }

  /// Asks for a wake-up only while jobs run, so that a run ends.
  void compact_if_due(Instant now, std::vector<Command>& commands) {
    if (due_ && *due_ <= now) {
      due_.reset();
      for (const CompactionMove& move :
           plan_compaction(seats_.fleet(), fixed_, compacting_.moves)) {
        const Spot from{move.from, move.from_placement}, to{move.to, move.to_placement};
        if (!may_move(from, to)) break;  // those after it may need its place
        relocate(from, to, commands);
      }
      serve(commands);
    }
    if (due_ || running_ == 0) return;
    due_ = now + *compacting_.every;
    commands.emplace_back(WakeAt{*due_});
  }

  /// With rules for the queue, when all that happens at one instant is known.
  void serve(std::vector<Command>& commands) {
    if (queue_.plain())
      queue_.serve(*this, now_, commands);
    else
      look_again_ = true;
  }

  /// Where no instance is made but those that stood at the beginning: what is missing of them.
  void make_standing(GpuId gpu, std::vector<Command>& commands) {
    if (layout_.empty()) return;
    const Geometry& geometry = seats_.fleet().geometry(seats_.fleet()[gpu]);
    for (const PlacementId placement : layout_[index(gpu)]) {
      const GpuState& state = seats_.fleet()[gpu];
      if (geometry.free(state.held | state.idle | state.walls).contains(placement))
        seats_.create(gpu, placement, commands);
    }
  }

  Seats seats_;
  const RequestTable* requests_;
  const JobFacts* facts_;
  std::vector<PlacementSet> fixed_;  // by GPU: held by what may not move
  NeverOurs never_ours_;
  OnlineDecisions decisions_;
  ServedQueue queue_;
  Instant now_{};
  Compacting compacting_;
  OffloadRule offload_;
  std::optional<Instant> due_;  // the next compaction
  std::size_t running_ = 0;     // jobs
  bool look_again_ = false;     // at the queue, when all is known of this instant
  // Where no instance is made: what stands on each GPU, and what stands anywhere, by GPU model.
  std::vector<PlacementSet> layout_, standing_;
};

bool is_default(std::string_view name, const std::string& value) {
  return std::ranges::find(online_rows, name, &OptionRow::name)->otherwise == value;
}

/// A threshold that is found later is not read.
std::string number_of(const std::string& value) {
  return value == "auto" || value == "tasks" ? "0" : value;
}

/// The policy with those of the options that it has; what is left empty is the policy's own
/// default.
Result<ChosenPolicy> policy_of(const OptionTexts& options, bool moves) {
  const auto row =
      std::ranges::find(policies(), std::string_view(options.at("policy")), &Policy::name);
  OptionTexts given;
  for (const std::string_view name : {"threshold", "load", "across", "tie"}) {
    const std::string& value = options.find(name)->second;
    const bool about_moves = moves && (name == "threshold" || name == "load");
    const bool known =
        row == policies().end() ||
        std::ranges::find(row->options, name, &OptionRow::name) != row->options.end();
    // What the policy lacks is for migration alone; where nothing moves it is a mistake to set it.
    if (value.empty() || (!known && (about_moves || is_default(name, value)))) continue;
    given.emplace(name, known ? number_of(value) : value);
  }
  return choose_policy(options.at("policy"), given);
}

/// Threshold and load, read as the policy that the paper has reads them.
Result<PolicyOptions> paper_options(const OptionTexts& options) {
  OptionTexts given;
  for (const char* name : {"threshold", "load"})
    if (const std::string& value = options.at(name); !value.empty())
      given.emplace(name, number_of(value));
  const auto chosen = choose_policy(default_policy, given);
  if (!chosen) return std::unexpected(chosen.error());
  return chosen->options;
}

/// The average load of the fleet with all jobs to come on it at once, each on the smallest instance
/// that holds it, of the first model that has one; at most 1 (*Online*, V-B).
Result<Ratio> load_of_all_jobs(const SchedulerSetup& setup, LoadMetric metric) {
  const auto jobs =
      setup.facts == nullptr ? std::vector<JobFacts::Expected>() : setup.facts->expected();
  if (jobs.empty())
    return fail(ErrorKind::bad_usage, "threshold",
                "threshold=tasks needs to know all jobs beforehand",
                "give a number, or auto, or simulate a workload");
  std::int64_t all = 0, held = 0;
  for (const GpuState& gpu : setup.fleet.gpus())
    all += total_slices(setup.fleet.geometry(gpu).model(), metric);
  for (const JobFacts::Expected& job : jobs) {
    const std::vector<PlacementSet>& candidates = setup.requests[job.request].candidates;
    const auto first = std::ranges::find_if(
        candidates, [](PlacementSet placements) { return !placements.empty(); });
    if (first == candidates.end()) continue;  // it will be rejected
    const auto kind = static_cast<std::size_t>(first - candidates.begin());
    const Geometry& geometry = setup.fleet.graphs()[kind]->geometry();
    held += setup.requests[job.request].request.places *
            slices_of(*geometry[first->first()].profile, metric);
  }
  return all == 0 ? Ratio() : Ratio(std::min(held, all), all);
}

Result<Compacting> compacting_of(const SchedulerSetup& setup, const OptionTexts& options) {
  OptionReader in(options);
  Compacting compacting;
  if (!in.is("compact", "off")) compacting.every = in.seconds("compact", 1, 1e8);
  compacting.moves = static_cast<std::size_t>(in.count("moves", 1, 1'000'000));
  if (in.error()) return std::unexpected(*in.error());
  if (!compacting.every) return compacting;
  if (setup.live)
    return fail(ErrorKind::bad_usage, "compact", "planned compaction is for simulations only",
                "leave compact out");
  if (options.at("dynamic") == "off")
    return fail(ErrorKind::bad_usage, "compact",
                "compaction makes instances, which dynamic=off forbids",
                "leave out one of the two");
  return compacting;
}

}  // namespace

std::span<const OptionRow> online_options() {
  return online_rows;
}

Result<std::unique_ptr<Scheduler>> make_online(const SchedulerSetup& setup,
                                               const OptionTexts& options) {
  const std::string& migration = options.at("migration");
  const auto policy = policy_of(options, migration != "off");
  if (!policy) return std::unexpected(policy.error());
  const auto paper = paper_options(options);
  if (!paper) return std::unexpected(paper.error());
  OnlineOptions chosen{*policy, {}, options.at("threshold") == "auto", setup.use_index};
  Ratio threshold = paper->threshold;
  if (options.at("threshold") == "tasks") {
    const auto load = load_of_all_jobs(setup, paper->load);
    if (!load) return std::unexpected(load.error());
    threshold = chosen.policy.options.threshold = *load;
  }
  chosen.policy.options.existing_only = options.at("dynamic") == "off";
  chosen.moves = {threshold,
                  paper->load,
                  options.at("eligibility") == "both-after" ? Eligibility::both_after
                                                            : Eligibility::lowers_imbalance,
                  migration == "on" || migration == "intra",
                  migration == "on" || migration == "inter",
                  options.at("guard") == "on",
                  options.at("dynamic") == "off"};
  const auto compacting = compacting_of(setup, options);
  if (!compacting) return std::unexpected(compacting.error());
  OptionReader in(options);
  const OffloadRule offload = read_offload_rule(in);
  if (in.error()) return std::unexpected(*in.error());
  auto rules = queue_rules(options, setup.reservations, setup.user_limits);
  if (!rules) return std::unexpected(rules.error());
  if (compacting->every && (rules->backfill != Backfill::none || !rules->advance.empty()))
    return fail(ErrorKind::bad_usage, "compact",
                "planned compaction does not know what is kept for jobs that wait or reserved",
                "leave out one of the two");
  return std::make_unique<Online>(setup, chosen, *compacting, offload, std::move(*rules));
}

}  // namespace cleave
