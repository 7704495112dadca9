#include "engine/schedulers/scheme_b.hpp"

#include <optional>
#include <tuple>

#include "base/overloads.hpp"
#include "engine/offload_choice.hpp"
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

class SchemeB final : public Scheduler {
 public:
  explicit SchemeB(const SchedulerSetup& setup)
      : seats_(setup.fleet), requests_(&setup.requests), facts_(setup.facts), queue_(setup.facts) {}

  void on(const SchedulerEvent& event, Instant /*now*/,
          std::vector<Command>& /*commands*/) override {
    std::visit(
        Overloads{[&](const Submitted& job) {
                    queue_.insert({job.job, job.request});
                  },
                  [&](const Finished& job) { touched_.push_back(seats_.leave(job.job).gpu); },
                  [&](const Requeued& job) {
                    touched_.push_back(seats_.leave(job.job).gpu);
                    queue_.insert({job.job, job.request});
                  },
                  [&](const Cancelled& job) { queue_.erase(job.job); },
                  [&](const SeatsEvent auto& what) {
                    for (const Waiting job : seats_.hear(what)) queue_.insert(job);
                    touched_.push_back(what.gpu);
                  },
                  [](const Woken&) {}},
        event);
  }

  void ends_soon(JobId job) const override { seats_.leaves_soon(job); }
  void frees_soon(GpuId gpu) const override { seats_.frees_soon(gpu); }

  bool adopt(const Adopted& adopted, Instant /*now*/, std::vector<Command>& /*commands*/) override {
    return seats_.adopt(adopted);
  }

  /// Jobs that end at one instant leave their instances idle before the next is looked at.
  void settle(Instant /*now*/, std::vector<Command>& commands) override {
    while (!queue_.empty() && start(queue_.front(), commands)) {
      queue_.pop_front();
      blocked_.reset();
    }
    if (!queue_.empty()) blocked_ = queue_.front().job;
    touched_.clear();
  }

 private:
  /// The GPU, and what to do there.
  struct Found {
    GpuId gpu;
    Choice choice;
  };

  bool start(Waiting job, std::vector<Command>& commands) {
    auto found = find(job.job, job.request);
    const ResolvedRequest& asked = (*requests_)[job.request];
    if (!found && asked.offloaded) {
      found = find(job.job, *asked.offloaded);
      const Fleet& fleet = seats_.fleet();
      if (found && !worth_offloading(facts_, fleet, asked, job.job, fleet[found->gpu].kind,
                                     found->choice.placement))
        return false;
    }
    if (!found) return false;
    seats_.start(job, found->gpu, found->choice.placement, commands);
    return true;
  }

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
  JobQueue queue_;
  std::optional<JobId> blocked_;                             // the head that found no room
  std::vector<GpuId> touched_;                               // changed since then
  std::vector<std::vector<std::optional<Choice>>> choices_;  // by request and state
};

}  // namespace

Result<std::unique_ptr<Scheduler>> make_scheme_b(const SchedulerSetup& setup, const OptionTexts&) {
  return std::make_unique<SchemeB>(setup);
}

}  // namespace cleave
