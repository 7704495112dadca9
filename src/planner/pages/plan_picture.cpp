#include "planner/pages/plan_picture.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

class Painter {
 public:
  Painter(const PlanProblem& problem, const Plan& plan, const Moves& moves)
      : problem_(problem), moves_(moves), now_(goal_of_now(problem)) {
    now_.resize(plan.goal.size());
    end_ = moves.reached.goal.size() == plan.goal.size() ? moves.reached.goal : plan.goal;
    picture_.short_of_goal = end_ != plan.goal;
  }

  PlanPicture picture() {
    collect_trips();
    collect_gpus();
    return std::move(picture_);
  }

 private:
  void collect_trips() {
    std::vector<Trip> trips(end_.size());
    for (std::size_t wave = 0; wave < moves_.waves.size(); ++wave)
      for (const Step& step : moves_.waves[wave]) {
        if (step.workload >= trips.size()) continue;
        Trip& trip = trips[step.workload];
        if (step.op == Op::start) trip.hops.push_back({wave + 1, step.seat});
        if (step.op == Op::stop || step.op == Op::drain) trip.stop_wave = wave + 1;
      }
    for (WorkloadIndex i = 0; i < trips.size(); ++i) {
      Trip& trip = trips[i];
      trip.workload = i;
      trip.from = now_[i];
      if (!end_[i]) {
        trip.hops.clear();
      } else if (trip.hops.empty() ? end_[i] != now_[i] : trip.hops.back().seat != *end_[i]) {
        trip.hops.push_back({0, *end_[i]});
      }
      if (!trip.hops.empty() || (trip.from && !end_[i])) picture_.trips.push_back(std::move(trip));
    }
    const auto rank = [](const Trip& trip) {
      return trip.first_wave() - 1;
    };  // those without a wave last
    std::ranges::stable_sort(picture_.trips, {}, rank);
    std::size_t colour = 0;
    for (Trip& trip : picture_.trips)
      if (trip.moves()) trip.colour = colour++;
  }

  void collect_gpus() {
    trip_of_.assign(end_.size(), none);
    held_before_.resize(problem_.gpus.size());
    held_after_.resize(problem_.gpus.size());
    std::vector<std::vector<std::uint32_t>> visitors(problem_.gpus.size());
    for (std::uint32_t number = 0; number < picture_.trips.size(); ++number) {
      const Trip& trip = picture_.trips[number];
      trip_of_[trip.workload] = number;
      for (std::size_t hop = 0; hop + 1 < trip.hops.size(); ++hop)
        visitors[index(trip.hops[hop].seat.gpu)].push_back(number);
    }
    for (WorkloadIndex i = 0; i < end_.size(); ++i) {
      if (now_[i]) held_before_[index(now_[i]->gpu)].push_back({now_[i]->placement, i});
      if (end_[i]) held_after_[index(end_[i]->gpu)].push_back({end_[i]->placement, i});
    }
    for (std::size_t gpu = 0; gpu < problem_.gpus.size(); ++gpu) {
      PictureGpu shown{static_cast<GpuId>(gpu), {}, {}, std::move(visitors[gpu]), false, false};
      const PlacementSet idle = problem_.gpus[gpu].idle;
      shown.before = boxes(gpu, held_before_[gpu], idle);
      shown.after = boxes(gpu, held_after_[gpu], idle_after(gpu));
      shown.used_before = !held_before_[gpu].empty() || !problem_.gpus[gpu].walls.empty();
      shown.used_after = !held_after_[gpu].empty() || !problem_.gpus[gpu].walls.empty();
      picture_.used_before += shown.used_before ? 1 : 0;
      picture_.used_after += shown.used_after ? 1 : 0;
      if (changes(shown))
        picture_.gpus.push_back(std::move(shown));
      else
        ++picture_.unchanged;
    }
  }

  static bool changes(const PictureGpu& gpu) {
    const auto same = [](const PictureBox& a, const PictureBox& b) {
      return a.placement == b.placement && a.workload == b.workload && a.trip == none &&
             b.trip == none;
    };
    return !gpu.visitors.empty() || !std::ranges::equal(gpu.before, gpu.after, same);
  }

  struct Held {
    PlacementId placement;
    WorkloadIndex workload;
  };

  [[nodiscard]] PlacementSet idle_after(std::size_t gpu) const {
    const Geometry& geometry = problem_.geometry(static_cast<GpuId>(gpu));
    PlacementSet taken = problem_.gpus[gpu].walls;
    for (const Held& held : held_after_[gpu]) taken.insert(held.placement);
    const bool known = moves_.reached.idle.size() == problem_.gpus.size();
    return (known ? moves_.reached.idle[gpu] : problem_.gpus[gpu].idle) - geometry.blocked(taken);
  }

  [[nodiscard]] std::vector<PictureBox> boxes(std::size_t gpu, const std::vector<Held>& held,
                                              PlacementSet idle) const {
    const Geometry& geometry = problem_.geometry(static_cast<GpuId>(gpu));
    std::vector<PictureBox> list;
    for (const PlacementId id : problem_.gpus[gpu].walls)
      list.push_back({id, BoxKind::locked, none, none, waste(geometry, id)});
    for (const PlacementId id : idle) list.push_back({id, BoxKind::idle, none, none, {}});
    for (const Held& one : held)
      list.push_back({one.placement, kind(one.workload), one.workload, trip_of_[one.workload],
                      waste(geometry, one.placement)});
    std::ranges::stable_sort(list, {},
                             [&](const PictureBox& box) { return geometry[box.placement].start; });
    return list;
  }

  [[nodiscard]] BoxKind kind(WorkloadIndex workload) const {
    if (trip_of_[workload] == none) {
      // In a deployment everything that runs stays, and a lock on all of it says nothing.
      const bool locked =
          problem_.workloads[workload].stays && problem_.kind != ProblemKind::deploy;
      return locked ? BoxKind::locked : BoxKind::stays;
    }
    const Trip& trip = picture_.trips[trip_of_[workload]];
    if (trip.is_stopped()) return BoxKind::stops;
    return trip.is_new() ? BoxKind::starts : BoxKind::moves;
  }

  const PlanProblem& problem_;
  const Moves& moves_;
  Goal now_, end_;
  std::vector<std::uint32_t> trip_of_;                       // of each workload
  std::vector<std::vector<Held>> held_before_, held_after_;  // on each GPU
  PlanPicture picture_;
};

std::string seat_text(const PlanProblem& problem, Seat seat) {
  return fmt::format("{} at {}", problem.gpus[index(seat.gpu)].name, problem.placement(seat).start);
}

std::string in_wave(std::size_t wave) {
  return wave == 0 ? std::string() : fmt::format(" in wave {}", wave);
}

}  // namespace

PlanPicture picture_of(const PlanProblem& problem, const Plan& plan, const Moves& moves) {
  return Painter(problem, plan, moves).picture();
}

std::string headline(const PlanProblem& problem, const Plan& plan, const Moves& moves,
                     const PlanPicture& picture) {
  std::size_t moved = 0, started = 0, stopped = 0;
  for (const Trip& trip : picture.trips) {
    moved += trip.moves() ? 1 : 0;
    started += trip.is_new() ? 1 : 0;
    stopped += trip.is_stopped() ? 1 : 0;
  }
  std::string text = fmt::format("{}: {} in use now, {} after; ", name(problem.kind),
                                 counted(static_cast<std::size_t>(picture.used_before), "GPU"),
                                 picture.used_after);
  if (picture.trips.empty()) text += "no workload moves";
  std::vector<std::string> parts;
  if (started > 0)
    parts.push_back(
        fmt::format("{} {}", counted(started, "new workload"), started == 1 ? "starts" : "start"));
  if (moved > 0)
    parts.push_back(
        fmt::format("{} {}", counted(moved, "workload"), moved == 1 ? "moves" : "move"));
  if (stopped > 0)
    parts.push_back(
        fmt::format("{} {}", counted(stopped, "workload"), stopped == 1 ? "stops" : "stop"));
  text += fmt::format("{}", fmt::join(parts, ", "));
  if (!moves.waves.empty()) text += fmt::format(" in {}", counted(moves.waves.size(), "wave"));
  if (!plan.pending.empty()) text += fmt::format("; {} without a place", plan.pending.size());
  if (plan.status == PlanStatus::optimal)
    text += picture.short_of_goal ? "; its goal is proven optimal" : "; proven optimal";
  if (plan.status == PlanStatus::feasible) text += "; not proven optimal";
  return text;
}

std::string told(const PlanProblem& problem, const Trip& trip) {
  const PlanWorkload& work = problem.workloads[trip.workload];
  const Seat seat = trip.hops.empty() ? *trip.from : trip.hops.back().seat;
  std::string text = fmt::format("{}: {}", work.name, problem.placement(seat).profile->name);
  if (trip.is_stopped())
    return fmt::format("{} on {}, stopped{}", text, seat_text(problem, seat),
                       in_wave(trip.stop_wave));
  if (trip.is_new()) text += ", new,";
  if (trip.from) text += fmt::format(", from {}", seat_text(problem, *trip.from));
  for (std::size_t i = 0; i < trip.hops.size(); ++i)
    text += fmt::format("{} {}{}",
                        i + 1 < trip.hops.size() ? ", stopping over on"
                        : i == 0                 ? " to"
                                                 : ", then to",
                        seat_text(problem, trip.hops[i].seat), in_wave(trip.hops[i].wave));
  return text;
}

}  // namespace cleave
