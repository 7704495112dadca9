#include "engine/schedulers/scheme_b.hpp"

#include <optional>
#include <tuple>

#include "base/overloads.hpp"
#include "engine/offload_choice.hpp"
#include "engine/queue/never_ours.hpp"
#include "engine/queue/served_queue.hpp"
#include "engine/seats.hpp"

namespace cleave {

namespace {

/// What the scheme would do for a request on a GPU in one state; smaller is better, the GPU's
/// number aside.
struct Choice {
  int step = 0;  // 1 to 3; 0: nothing can be done
  int destroyed = 0;
  PlacementId placement = 0;
};

Choice better_of_step(int step, const StateGraph& graph, PlacementSet kept_of_all,
                      PlacementSet possible, const Fleet& fleet, const GpuState& gpu) {
  using Rank = std::tuple<int, int, int, int>;  // destroyed, reachability, compute, start
  Choice best;
  std::optional<Rank> best_rank;
  for (const PlacementId p : possible) {
    const PlacementSet destroys = step == 3 ? fleet.destroys(gpu, p) : PlacementSet{};
    const StateId after = graph.find((kept_of_all - destroys) | PlacementSet::of(p));
    const Placement& place = graph.geometry()[p];
    const Rank rank{destroys.size(), -graph.reachability(after), -place.profile->compute.value,
                    place.start};
    if (best_rank && !(rank < *best_rank)) continue;
    best_rank = rank;
    best = {step, destroys.size(), p};
  }
  return best;
}

Choice choose(const Fleet& fleet, const GpuState& gpu, PlacementSet candidates) {
  const StateGraph& graph = fleet.graph(gpu);
  if (gpu.absent || candidates.empty()) return {};
  for (const PlacementId idle : by_start(graph.geometry(), gpu.idle & candidates))
    return {1, 0, idle};
  const PlacementSet all = gpu.held | gpu.walls | gpu.idle;
  const PlacementSet unpartitioned = candidates & graph.free(graph.find(all));
  if (!unpartitioned.empty()) return better_of_step(2, graph, all, unpartitioned, fleet, gpu);
  return better_of_step(3, graph, all, candidates & graph.free(gpu.occupied), fleet, gpu);
}

constexpr OptionRow scheme_b_own_rows[] = {offload_option, offload_alpha_option};
constexpr auto scheme_b_rows = with_queue_options(scheme_b_own_rows);

class SchemeB final : public Scheduler, private QueueHost {
 public:
  SchemeB(const SchedulerSetup& setup, const OffloadRule& offload, QueueRules rules)
      : seats_(setup.fleet),
        requests_(&setup.requests),
        facts_(setup.facts),
        offload_(offload),
        never_ours_(setup.fleet),
        queue_(setup, std::move(rules)) {}

  void on(const SchedulerEvent& event, Instant now, std::vector<Command>& /*commands*/) override {
    std::visit(Overloads{[&](const Submitted& job) {
                           queue_.insert({job.job, job.request}, now);
                         },
                         [&](const Finished& job) {
                           touched_.push_back(seats_.leave(job.job).gpu);
                           queue_.left(job.job, now);
                         },
                         [&](const Requeued& job) {
                           touched_.push_back(seats_.leave(job.job).gpu);
                           queue_.insert({job.job, job.request}, now);
                         },
                         [&](const Cancelled& job) { queue_.erase(job.job); },
                         [&](const SeatsEvent auto& what) {
                           for (const Waiting job : seats_.hear(what)) queue_.insert(job, now);
                           never_ours_.hear(what);
                           queue_.room_changed(what.gpu);
                           touched_.push_back(what.gpu);
                         },
                         [](const Woken&) {}},
               event);
  }

  void resize(JobId lease, RequestId to, Instant now, std::vector<Command>& commands) override {
    const JobSeat seat = seats_[lease];
    const auto from = seat.whole ? std::nullopt : std::optional(seat.placement);
    const auto spot = queue_.resized(*this, {lease, to}, {seat.gpu, from}, now);
    if (!spot) return;
    queue_.moved(lease, *spot);
    seats_.migrate(seat.gpu, seat.placement, spot->gpu, *spot->placement, commands);
    touched_.push_back(seat.gpu);
  }

  Outlook outlook(JobId job) const override { return queue_.outlook(job); }
  void ends_soon(JobId job) const override { seats_.leaves_soon(job); }
  void frees_soon(GpuId gpu) const override { seats_.frees_soon(gpu); }

  bool adopt(const Adopted& adopted, Instant now, std::vector<Command>& /*commands*/) override {
    const bool whole = !adopted.placement && asks_for_whole((*requests_)[adopted.request].request);
    if (!(whole ? seats_.adopt_whole(adopted) : seats_.adopt(adopted))) return false;
    queue_.runs({adopted.job, adopted.request}, {adopted.gpu, adopted.placement}, now);
    return true;
  }

  bool seats_all(RequestId request) override { return queue_.could_seat(*this, request); }
  bool exceeds_limits(RequestId request) override { return queue_.exceeds_limits(*this, request); }

  /// Jobs that end at one instant leave their instances idle before the next is looked at.
  void settle(Instant now, std::vector<Command>& commands) override {
    queue_.serve(*this, now, commands);
    touched_.clear();
  }

 private:
  /// The GPU, and what to do there.
  struct Found {
    GpuId gpu;
    Choice choice;
  };

  // As the queue's host.

  std::optional<Spot> find(Waiting job) override {
    auto found = find(job.job, job.request);
    const ResolvedRequest& asked = (*requests_)[job.request];
    if (!found && asked.offloaded) {
      found = find(job.job, *asked.offloaded);
      const Fleet& fleet = seats_.fleet();
      if (found && !worth_offloading(offload_, facts_, fleet, asked, job.job,
                                     fleet[found->gpu].kind, found->choice.placement))
        found.reset();
    }
    if (!found) {
      if (queue_.plain()) blocked_ = job.job;  // the head
      return std::nullopt;
    }
    return Spot{found->gpu, found->choice.placement};
  }

  std::optional<Spot> find_on(Waiting job, GpuId gpu, const Room& among) override {
    if (among.whole) return Spot{gpu, std::nullopt};
    GpuState state = seats_.fleet()[gpu];
    state.absent = false;  // it is set aside
    const PlacementSet candidates = (*requests_)[job.request].candidates[state.kind];
    const Choice choice = choose(seats_.fleet(), state, candidates & among.placements);
    if (choice.step == 0) return std::nullopt;
    return Spot{gpu, choice.placement};
  }

  void start(Waiting job, Spot spot, std::vector<Command>& commands) override {
    if (spot.placement) {
      seats_.start(job, spot.gpu, *spot.placement, commands);
    } else {
      seats_.start_whole(job, spot.gpu, commands);
    }
    blocked_.reset();
  }

  Waiting vacate(JobId job) override {
    const JobSeat left = seats_.leave(job);
    touched_.push_back(left.gpu);
    return {job, left.request};
  }

  Room room(GpuId gpu, RequestId request) override {
    const GpuState& state = seats_.fleet()[gpu];
    return never_ours_.beside(gpu, (*requests_)[request].candidates[state.kind],
                              asks_for_whole((*requests_)[request].request));
  }

  bool takes_work(GpuId gpu) const override { return never_ours_.takes_work(gpu); }

  void set_aside(GpuId gpu, bool aside) override { seats_.set_aside(gpu, aside); }

  std::optional<Found> find(JobId job, RequestId request) {
    std::optional<GpuId> gpu;
    Choice best;
    const auto look_at = [&](GpuId id) {
      const Choice& here = choice(seats_.fleet().number(id), request);
      if (here.step == 0) return;
      const auto rank = [](const Choice& c, GpuId g) { return std::tuple(c.step, c.destroyed, g); };
      if (gpu && rank(here, id) >= rank(best, *gpu)) return;
      gpu = id;
      best = here;
    };
    if (blocked_ == job) {  // where nothing has changed there is still no room for it
      for (const GpuId id : touched_) look_at(id);
    } else {
      for (std::size_t i = 0; i < seats_.fleet().size() && best.step != 1; ++i)
        look_at(static_cast<GpuId>(i));
    }
    if (!gpu) return std::nullopt;
    return Found{*gpu, best};
  }

  /// Worked out once for each state and request.
  const Choice& choice(StateNumber state, RequestId request) {
    if (choices_.size() <= index(request)) choices_.resize(index(request) + 1);
    auto& of_request = choices_[index(request)];
    if (of_request.size() <= state) of_request.resize(state + 1);
    auto& known = of_request[state];
    if (!known) {
      const GpuState& gpu = seats_.fleet().states()[state];
      known = choose(seats_.fleet(), gpu, (*requests_)[request].candidates[gpu.kind]);
    }
    return *known;
  }

  Seats seats_;
  const RequestTable* requests_;
  const JobFacts* facts_;
  OffloadRule offload_;
  NeverOurs never_ours_;
  ServedQueue queue_;
  std::optional<JobId> blocked_;                             // the head that found no room
  std::vector<GpuId> touched_;                               // changed since then
  std::vector<std::vector<std::optional<Choice>>> choices_;  // by request and state
};

}  // namespace

std::span<const OptionRow> scheme_b_options() {
  return scheme_b_rows;
}

Result<std::unique_ptr<Scheduler>> make_scheme_b(const SchedulerSetup& setup,
                                                 const OptionTexts& options) {
  OptionReader in(options);
  const OffloadRule offload = read_offload_rule(in);
  if (in.error()) return std::unexpected(*in.error());
  auto rules = queue_rules(options, setup.reservations, setup.user_limits);
  if (!rules) return std::unexpected(rules.error());
  return std::make_unique<SchemeB>(setup, offload, std::move(*rules));
}

}  // namespace cleave
