#include "device/layout_change.hpp"

#include <algorithm>
#include <tuple>

#include "base/format.hpp"
#include "base/text.hpp"
#include "model/layout_text.hpp"

namespace cleave {

namespace {

std::string called(const Geometry& geometry, PlacementId id) {
  return fmt::format("{}@{}", geometry[id].profile->name, geometry[id].start);
}

/// "3g.20gb@4 (MIG-...), 1g.5gb@0 (GPU instance 3)"
std::string listed(const Geometry& geometry, const std::vector<StandingInstance>& standing,
                   PlacementSet which) {
  std::vector<std::string> names;
  for (const PlacementId id : by_start(geometry, which)) {
    const auto each = std::ranges::find(standing, id, &StandingInstance::placement);
    names.push_back(fmt::format("{} ({})", called(geometry, id), each->name));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string wanted_text(const std::vector<WantedInstance>& goal) {
  std::vector<std::string> parts;
  for (const WantedInstance& each : goal)
    parts.push_back(each.start ? fmt::format("{}@{}", each.profile->name, *each.start)
                               : std::string(each.profile->name));
  return fmt::format("{}", fmt::join(parts, ","));
}

/// The existing instances, as sets.
struct Ground {
  PlacementSet all, walls, busy;  // walls: not ours; busy: ours with a process
  PlacementSet broken;            // ours, without a compute instance: always destroyed
  [[nodiscard]] PlacementSet keepable() const { return all - broken; }
};

Ground ground_of(const std::vector<StandingInstance>& standing) {
  Ground ground;
  for (const StandingInstance& each : standing) {
    ground.all.insert(each.placement);
    if (!each.ours) ground.walls.insert(each.placement);
    if (each.ours && each.busy) ground.busy.insert(each.placement);
    if (each.ours && !each.usable) ground.broken.insert(each.placement);
  }
  return ground;
}

/// The goal, sorted: which instances have a placement, and how many of each profile need one.
struct Goal {
  PlacementSet placed;
  struct Loose {
    PlacementSet choices;  // every placement of the profile
    int count;
  };
  std::vector<Loose> loose;
};

int rank_of(const Geometry& geometry, PlacementId id) {
  return geometry[id].profile->starts.rank(geometry[id].start);
}

/// Searches all legal ways to complete the goal, with the foreign instances, and keeps the best.
/// Each set of placements occurs once: those of one profile are taken in ascending order.
class BestCompletion {
 public:
  BestCompletion(const Geometry& geometry, const Ground& ground, const Goal& goal)
      : geometry_(geometry), ground_(ground), goal_(goal) {
    const PlacementSet fixed = goal.placed | ground.walls;
    if (geometry.legal(fixed)) place(0, 0, -1, fixed);
  }

  [[nodiscard]] const std::optional<PlacementSet>& best() const { return best_; }

 private:
  /// The number of busy instances and of all instances to destroy, how unfavourable the new
  /// placements are, and to break ties the lower numbers.
  using Cost = std::tuple<int, int, int, std::uint32_t>;

  [[nodiscard]] Cost cost_of(PlacementSet result) const {
    int badness = 0;
    const PlacementSet keepable = ground_.keepable();
    for (const PlacementId id : result - keepable) badness += rank_of(geometry_, id);
    return {(ground_.busy - result).size(), (keepable - result).size(), badness, result.bits()};
  }

  void place(std::size_t profile, int placed, int last, PlacementSet so_far) {
    if (profile == goal_.loose.size()) {
      const Cost cost = cost_of(so_far);
      if (!best_ || cost < cost_) {
        cost_ = cost;
        best_ = so_far;
      }
      return;
    }
    const Goal::Loose& loose = goal_.loose[profile];
    if (placed == loose.count) {
      place(profile + 1, 0, -1, so_far);
      return;
    }
    for (const PlacementId id : loose.choices& geometry_.free(so_far)) {
      if (id <= last) continue;
      PlacementSet next = so_far;
      next.insert(id);
      place(profile, placed + 1, id, next);
    }
  }

  const Geometry& geometry_;
  const Ground& ground_;
  const Goal& goal_;
  std::optional<PlacementSet> best_;
  Cost cost_;
};

std::unexpected<Error> illegal(const Geometry& geometry, const std::vector<WantedInstance>& goal,
                               const Verdict& verdict, const Geometry::Written& culprit) {
  const std::string why =
      verdict.illegal == Illegality::start
          ? wrong_start(*culprit.profile, culprit.start)
          : fmt::format("{}@{}: {}", culprit.profile->name, culprit.start, name(*verdict.illegal));
  return fail(
      ErrorKind::bad_input, "layout",
      fmt::format("{} is not legal on this {}: {}", wanted_text(goal), geometry.model().key, why));
}

Result<Goal> sorted_out(const Geometry& geometry, const std::vector<WantedInstance>& goal) {
  Goal sorted;
  std::vector<Geometry::Written> written;
  for (const WantedInstance& each : goal)
    if (each.start) written.push_back({each.profile, *each.start});
  const Verdict verdict = geometry.judge(written);
  if (verdict.illegal) return illegal(geometry, goal, verdict, written[verdict.culprit]);
  for (const auto& [profile, start] : written)
    sorted.placed.insert(*geometry.find(*profile, start));
  for (const WantedInstance& each : goal) {
    if (each.start) continue;
    const auto index = static_cast<int>(each.profile - geometry.model().profiles.data());
    const PlacementSet choices = geometry.of_profile(index);
    const auto same = std::ranges::find(sorted.loose, choices, &Goal::Loose::choices);
    if (same == sorted.loose.end()) {
      sorted.loose.push_back({choices, 1});
    } else {
      ++same->count;
    }
  }
  // Large ones first: they have the fewest placements.
  std::ranges::stable_sort(sorted.loose, [](const auto& a, const auto& b) {
    return a.choices.size() < b.choices.size();
  });
  return sorted;
}

/// Names the instances that are not ours, and what to do about them.
struct NotOurs {
  std::string text, remedy;
};

NotOurs not_ours(const Geometry& geometry, const std::vector<StandingInstance>& standing,
                 PlacementSet which) {
  PlacementSet half_made;
  std::string commands;
  for (const StandingInstance& each : standing) {
    if (!which.contains(each.placement)) continue;
    if (each.half_made) half_made.insert(each.placement);
    if (!each.take_over.empty())
      commands += fmt::format("{}`{}`", commands.empty() ? "" : ", ", each.take_over);
  }
  const PlacementSet foreign = which - half_made;
  std::vector<std::string> parts;
  if (!foreign.empty())
    parts.push_back(fmt::format("{} that Cleave did not make: {}",
                                foreign.size() == 1 ? "an instance" : "instances",
                                listed(geometry, standing, foreign)));
  if (!half_made.empty())
    parts.push_back(
        fmt::format("{} that {} half-made: {}", half_made.size() == 1 ? "an instance" : "instances",
                    half_made.size() == 1 ? "is" : "are", listed(geometry, standing, half_made)));
  const std::string these = commands.empty() ? std::string() : fmt::format(": {}", commands);
  return {fmt::format("{}", fmt::join(parts, ", and ")),
          fmt::format("{}{}; --adopt here takes over every instance that is not ours",
                      foreign.empty() ? "destroy it if nobody else made it"
                      : half_made.empty()
                          ? "leave room for what is not ours, or destroy it if it may go"
                          : "destroy them if they may go",
                      these)};
}

/// All placements of the profiles that are wanted without a start.
PlacementSet of_loose_profiles(const Goal& sorted) {
  PlacementSet all;
  for (const Goal::Loose& loose : sorted.loose) all = all | loose.choices;
  return all;
}

/// Why the goal does not fit beside the foreign instances, although it fits an empty GPU.
std::unexpected<Error> walled(const Geometry& geometry,
                              const std::vector<StandingInstance>& standing, const Ground& ground,
                              const Goal& sorted, const std::vector<WantedInstance>& goal) {
  PlacementSet in_the_way;
  for (const PlacementId wall : ground.walls)
    if (geometry.blocked(sorted.placed - ground.walls).contains(wall)) in_the_way.insert(wall);
  if (in_the_way.empty()) in_the_way = ground.walls;
  const NotOurs blame = not_ours(geometry, standing, in_the_way);
  const std::string rule = rule_against(geometry, ground.walls, goal);
  const PlacementSet same = of_loose_profiles(sorted) & in_the_way;
  return fail(
      ErrorKind::infeasible, "layout",
      fmt::format("{} does not fit beside {}{}{}", wanted_text(goal), blame.text,
                  rule.empty() ? "" : fmt::format(" ({})", rule),
                  same.empty() ? ""
                               : fmt::format("; a profile without a start is a new one: to mean an "
                                             "existing one, write {}",
                                             layout_text(geometry, same))),
      blame.remedy);
}

/// An instance of the goal that exists, is not ours, and cannot be used.
std::unexpected<Error> unusable(const Geometry& geometry,
                                const std::vector<StandingInstance>& standing, PlacementSet which) {
  const NotOurs blame = not_ours(geometry, standing, which);
  return fail(ErrorKind::infeasible, "layout",
              fmt::format("the layout names {}, without a compute instance: no program can use it",
                          blame.text),
              blame.remedy);
}

/// The order of the steps. The next new instance is always one for which the fewest must be
/// destroyed; instances in the way of none are destroyed last.
std::vector<LayoutStep> ordered(const Geometry& geometry, PlacementSet now, PlacementSet kept,
                                PlacementSet result) {
  std::vector<LayoutStep> steps;
  PlacementSet state = now, to_destroy = now - kept, to_create = result - kept;
  const auto destroy = [&](PlacementId id) {
    state.erase(id);
    to_destroy.erase(id);
    steps.push_back({LayoutStep::Kind::destroy, id});
  };
  const auto create = [&](PlacementId id) {
    state.insert(id);
    to_create.erase(id);
    steps.push_back({LayoutStep::Kind::create, id});
  };
  while (!to_create.empty()) {
    PlacementId next = to_create.first();
    const auto blockers = [&](PlacementId id) {
      return to_destroy & (geometry[id].conflicts | PlacementSet::of(id));
    };
    for (const PlacementId id : to_create)
      if (blockers(id).size() < blockers(next).size()) next = id;
    for (const PlacementId id : by_start(geometry, blockers(next))) destroy(id);
    // Rules about more than two instances may require that others of these are destroyed first.
    while (!geometry.free(state).contains(next) && !to_destroy.empty()) destroy(to_destroy.last());
    create(next);
  }
  for (const PlacementId id : by_start(geometry, to_destroy)) destroy(id);
  return steps;
}

/// Gives each of `loose` from `next` on a start so that no memory slice is used twice, and returns
/// the verdict of the rules; `overlap` if there is no such way.
Verdict side_by_side(const Geometry& geometry, std::vector<Geometry::Written>& written,
                     const std::vector<const Profile*>& loose, std::size_t next) {
  const Verdict so_far = geometry.judge(written);
  const bool apart = so_far.illegal != Illegality::overlap && so_far.illegal != Illegality::start;
  if (!apart || next == loose.size()) return so_far;
  const Profile& profile = *loose[next];
  // Equal ones in ascending order: each set of placements occurs once.
  const bool again = next > 0 && loose[next - 1] == loose[next];
  for (int start = again ? written.back().start + 1 : 0; start < Starts::most; ++start) {
    if (!profile.starts.contains(start)) continue;
    written.push_back({&profile, start});
    const Verdict verdict = side_by_side(geometry, written, loose, next + 1);
    written.pop_back();
    if (verdict.illegal != Illegality::overlap) return verdict;
  }
  return {Illegality::overlap, 0};
}

}  // namespace

Result<std::vector<WantedInstance>> parse_wanted_layout(std::string_view text,
                                                        const Geometry& geometry) {
  std::vector<WantedInstance> goal;
  if (trimmed(text).empty()) return goal;
  for (const std::string_view part : split(text, ',')) {
    const bool placed = part.find('@') != std::string_view::npos;
    const auto written =
        parse_layout(placed ? std::string(part) : fmt::format("{}@0", trimmed(part)), geometry);
    if (!written) return std::unexpected(written.error());
    if (written->empty() || trimmed(part).empty())
      return fail(ErrorKind::bad_input, "layout",
                  fmt::format("'{}' has an empty part", shown(text)),
                  "write profiles, with @start or without, joined by commas");
    goal.push_back({written->front().profile,
                    placed ? std::optional<int>(written->front().start) : std::optional<int>()});
  }
  return goal;
}

std::string rule_against(const Geometry& geometry, PlacementSet standing,
                         const std::vector<WantedInstance>& goal) {
  std::vector<Geometry::Written> written;
  for (const PlacementId id : standing)
    written.push_back({geometry[id].profile, geometry[id].start});
  std::vector<const Profile*> loose;
  for (const WantedInstance& each : goal) {
    if (each.start) {
      const auto there = geometry.find(*each.profile, *each.start);
      if (!there || !standing.contains(*there)) written.push_back({each.profile, *each.start});
    } else {
      loose.push_back(each.profile);
    }
  }
  // Large ones first, equal ones together.
  std::ranges::sort(loose, [](const Profile* a, const Profile* b) {
    return std::pair(b->memory.value, a) < std::pair(a->memory.value, b);
  });
  const Verdict verdict = side_by_side(geometry, written, loose, 0);
  if (!verdict.illegal || *verdict.illegal == Illegality::overlap ||
      *verdict.illegal == Illegality::start)
    return {};
  return std::string(name(*verdict.illegal));
}

Result<LayoutChange> plan_layout_change(const Geometry& geometry,
                                        const std::vector<StandingInstance>& standing,
                                        const std::vector<WantedInstance>& goal) {
  const auto sorted = sorted_out(geometry, goal);
  if (!sorted) return std::unexpected(sorted.error());
  const Ground ground = ground_of(standing);
  PlacementSet useless;
  for (const StandingInstance& each : standing)
    if (!each.ours && !each.usable && sorted->placed.contains(each.placement))
      useless.insert(each.placement);
  if (!useless.empty()) return unusable(geometry, standing, useless);
  const BestCompletion search(geometry, ground, *sorted);
  if (!search.best()) {
    if (!BestCompletion(geometry, {}, *sorted).best()) {
      const std::string rule = rule_against(geometry, {}, goal);
      return fail(
          ErrorKind::bad_input, "layout",
          fmt::format(
              "{} does not fit together on this {}: {}", wanted_text(goal), geometry.model().key,
              rule.empty() ? "there are not enough memory slices at the starts it may have" : rule),
          fmt::format(
              "`cleave gpu {}` shows where each profile may start and how often it may stand",
              geometry.model().key));
    }
    return walled(geometry, standing, ground, *sorted, goal);
  }
  const PlacementSet result = *search.best();
  if (const PlacementSet busy = ground.busy - (result - ground.broken); !busy.empty())
    return fail(ErrorKind::infeasible, "layout",
                fmt::format("processes run in {} that would have to be destroyed: {}",
                            busy.size() == 1 ? "an instance" : "instances",
                            listed(geometry, standing, busy)),
                "wait until they are done, or end them; `cleave instances` shows them");
  LayoutChange change;
  change.now = ground.all;
  change.result = result;
  change.kept = ground.keepable() & result;
  change.steps = ordered(geometry, ground.all, change.kept, result);
  return change;
}

}  // namespace cleave
