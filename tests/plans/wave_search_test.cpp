// The search for the fewest waves, which the planner's waves are compared with: small cases with an
// obvious answer, a search without shortcuts on tiny fleets, and the pairs of maximal layouts.

#include "wave_search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "base/format.hpp"
#include "base/json.hpp"
#include "five_layouts.hpp"
#include "random_pair.hpp"
#include "rounds.hpp"

namespace cleave::plans {
namespace {

constexpr std::size_t limit = 3'000'000;

/// GPUs as lists of "work profile start", one text for each.
using Texts = std::vector<std::vector<std::string>>;

std::string fleet_of(const Texts& gpus, const std::vector<std::string>& more = {}) {
  Json document = {{"gpus", Json::array()}};
  for (const auto& gpu : gpus) {
    Json entry = {{"name", fmt::format("n0/{}", document["gpus"].size())},
                  {"model", "A100-40GB"},
                  {"instances", Json::array()}};
    for (const std::string& each : gpu) {
      const std::size_t one = each.find(' '), two = each.rfind(' ');
      Json instance = {{"profile", each.substr(one + 1, two - one - 1)},
                       {"start", std::stoi(each.substr(two))}};
      const std::string work = each.substr(0, one);
      if (work == "wall") instance["owned"] = false;
      if (work != "wall" && work != "idle") instance["workload"] = work;
      for (const std::string& extra : more)
        if (work != "wall" && work != "idle") instance.update(Json::parse(extra));
      entry["instances"].push_back(instance);
    }
    document["gpus"].push_back(entry);
  }
  return document.dump();
}

/// Works that only the goal has are new.
FewestWaves fewest(const Texts& now, const Texts& goal, const std::vector<std::string>& more = {},
                   std::size_t most = limit) {
  Json document = Json::parse(fleet_of(now, more));
  for (const auto& gpu : goal)
    for (const std::string& each : gpu) {
      const std::string work = each.substr(0, each.find(' '));
      if (document.dump().find(fmt::format("\"{}\"", work)) == std::string::npos && work != "wall")
        document["waiting"].push_back(
            {{"workload", work},
             {"profile", each.substr(work.size() + 1, each.rfind(' ') - work.size() - 1)}});
    }
  const Scene scene = *read_scene({document.dump(), Task::joint, {}, {}, true});
  const End end = read_end(scene, fleet_of(goal));
  const auto found = faults(scene, end.seats);
  EXPECT_TRUE(found.empty()) << found.front();
  return fewest_waves(scene, end.seats, most);
}

using Answer = std::pair<std::size_t, std::size_t>;  // waves, temporary moves
constexpr Answer impossible{99, 0}, unknown{99, 1};

/// With the same arguments, in short.
Answer answer(const Texts& now, const Texts& goal, const std::vector<std::string>& more = {},
              std::size_t most = limit) {
  const FewestWaves result = fewest(now, goal, more, most);
  if (result.outcome == Outcome::found) return {result.waves, result.temporary};
  return result.outcome == Outcome::impossible ? impossible : unknown;
}

TEST(FewestWavesOf, NothingToDoIsNone) {
  EXPECT_EQ(answer({{"a 3g.20gb 0"}}, {{"a 3g.20gb 0"}}), Answer(0, 0));
}

TEST(FewestWavesOf, EndsAndNewWork) {
  EXPECT_EQ(answer({{"a 3g.20gb 0"}}, {{}}), Answer(1, 0));
  EXPECT_EQ(answer({{}}, {{"a 3g.20gb 0", "b 3g.20gb 4"}}), Answer(1, 0));
  EXPECT_EQ(answer({{"a 3g.20gb 0"}}, {{"b 3g.20gb 4"}}), Answer(1, 0));
  // The place of work that ends is free in the next wave.
  EXPECT_EQ(answer({{"a 3g.20gb 0"}}, {{"b 3g.20gb 0"}}), Answer(2, 0));
  EXPECT_EQ(answer({{"a 7g.40gb 0"}}, {{"b 1g.5gb 6", "c 2g.10gb 0"}}), Answer(2, 0));
  // Idle instances are never in the way.
  EXPECT_EQ(answer({{"idle 3g.20gb 0"}}, {{"b 3g.20gb 0"}}), Answer(1, 0));
}

TEST(FewestWavesOf, Chains) {
  EXPECT_EQ(answer({{"a 2g.10gb 0"}}, {{"a 2g.10gb 2"}}), Answer(1, 0));
  EXPECT_EQ(answer({{"a 2g.10gb 0", "b 2g.10gb 2"}}, {{"a 2g.10gb 2", "b 2g.10gb 4"}}),
            Answer(2, 0));
  EXPECT_EQ(answer({{"x 1g.5gb 0", "y 1g.5gb 1", "z 1g.5gb 2", "wall 3g.20gb 4"}},
                   {{"x 1g.5gb 1", "y 1g.5gb 2", "z 1g.5gb 3", "wall 3g.20gb 4"}}),
            Answer(3, 0));
  // With room elsewhere the chain is cut: one work steps aside, and two waves suffice.
  EXPECT_EQ(answer({{"x 1g.5gb 0", "y 1g.5gb 1", "z 1g.5gb 2", "wall 3g.20gb 4"}, {}},
                   {{"x 1g.5gb 1", "y 1g.5gb 2", "z 1g.5gb 3", "wall 3g.20gb 4"}, {}}),
            Answer(2, 1));
}

TEST(FewestWavesOf, ASwap) {
  const std::vector<std::string> now{"a 3g.20gb 0", "b 3g.20gb 4"},
      then{"a 3g.20gb 4", "b 3g.20gb 0"};
  EXPECT_EQ(answer({now}, {then}), impossible);
  const std::vector<std::string> no_room{"wall 1g.5gb 0", "wall 1g.5gb 4"};
  EXPECT_EQ(answer({now, no_room}, {then, no_room}), impossible);
  // One temporary place: a goes there, b to its goal, a to its own; with two places two waves
  // suffice.
  EXPECT_EQ(answer({now, {"wall 1g.5gb 4"}}, {then, {"wall 1g.5gb 4"}}), Answer(3, 1));
  EXPECT_EQ(answer({now, {}}, {then, {}}), Answer(2, 2));
  // Two places on the GPU itself.
  EXPECT_EQ(answer({{"a 1g.5gb 0", "b 1g.5gb 1"}}, {{"a 1g.5gb 1", "b 1g.5gb 0"}}), Answer(2, 2));
  EXPECT_EQ(answer({{"a 1g.5gb 0", "b 1g.5gb 1", "wall 3g.20gb 4", "wall 1g.5gb 2"}},
                   {{"a 1g.5gb 1", "b 1g.5gb 0", "wall 3g.20gb 4", "wall 1g.5gb 2"}}),
            Answer(3, 1));
  // Over two GPUs, with a place on each.
  EXPECT_EQ(answer({{"a 3g.20gb 0"}, {"b 3g.20gb 0"}}, {{"b 3g.20gb 0"}, {"a 3g.20gb 0"}}),
            Answer(2, 2));
}

TEST(FewestWavesOf, ACycleOfThree) {
  EXPECT_EQ(answer({{"a 1g.5gb 0", "b 1g.5gb 1", "c 1g.5gb 2", "wall 3g.20gb 4"}},
                   {{"a 1g.5gb 1", "b 1g.5gb 2", "c 1g.5gb 0", "wall 3g.20gb 4"}}),
            Answer(4, 1));
  // All aside at once; if one stayed, the one that goes to its place would have to wait.
  EXPECT_EQ(answer({{"a 1g.5gb 0", "b 1g.5gb 1", "c 1g.5gb 2"}},
                   {{"a 1g.5gb 1", "b 1g.5gb 2", "c 1g.5gb 0"}}),
            Answer(2, 3));
}

TEST(FewestWavesOf, WhatStaysMayHaveToMakeRoom) {
  // a and b need the place that d is on; it steps aside, and comes back in the end.
  EXPECT_EQ(answer({{"a 2g.10gb 0", "b 2g.10gb 2", "d 1g.5gb 4", "wall 1g.5gb 6"},
                    {"wall 4g.20gb 0", "wall 2g.10gb 4"}},
                   {{"a 2g.10gb 2", "b 2g.10gb 0", "d 1g.5gb 4", "wall 1g.5gb 6"},
                    {"wall 4g.20gb 0", "wall 2g.10gb 4"}}),
            Answer(5, 2));
}

TEST(FewestWavesOf, LawsBeyondSlices) {
  // No second +me instance beside the first.
  EXPECT_EQ(answer({{"a 1g.5gb+me 0"}}, {{"a 1g.5gb+me 1"}}), impossible);
  EXPECT_EQ(answer({{"a 1g.5gb+me 0"}, {}}, {{"a 1g.5gb+me 1"}, {}}), Answer(2, 1));
}

TEST(FewestWavesOf, ConstraintsOnTheWay) {
  const Texts now{{"a 3g.20gb 0", "b 3g.20gb 4"}, {}}, then{{"a 3g.20gb 4", "b 3g.20gb 0"}, {}};
  EXPECT_EQ(answer(now, then, {R"({"pin": "n0/0"})"}), impossible);
  EXPECT_EQ(answer(now, then, {R"({"forbid": ["n0/1"]})"}), impossible);
  const Texts apart{{"a 3g.20gb 0"}, {"b 3g.20gb 0"}}, moved{{"a 3g.20gb 4"}, {"b 3g.20gb 4"}};
  EXPECT_EQ(answer(apart, moved), Answer(1, 0));
  EXPECT_EQ(answer(apart, moved, {R"({"group": "g", "max_moving": 1})"}), Answer(2, 0));
  EXPECT_EQ(answer(apart, moved, {R"({"group": "g", "max_moving": 2})"}), Answer(1, 0));
}

TEST(FewestWavesOf, GivesUpAtItsLimit) {
  const Texts now{{"a 3g.20gb 0", "b 3g.20gb 4"}, {}}, then{{"a 3g.20gb 4", "b 3g.20gb 0"}, {}};
  EXPECT_EQ(answer(now, then, {}, 5), unknown);
}

/// Waves by trying everything: every work anywhere or nowhere, useful or not.
class Thoughtless {
 public:
  Thoughtless(const Scene& scene, const Seats& goal) : scene_(scene), goal_(goal) {}

  /// The fewest waves; empty if it cannot be done.
  std::optional<std::size_t> waves() {
    std::vector<Seats> layer{seats_of_now(scene_)};
    std::set<std::string> known{key(layer.front())};
    for (std::size_t count = 0; !layer.empty(); ++count) {
      if (std::ranges::find(layer, goal_) != layer.end()) return count;
      std::vector<Seats> all;
      for (const Seats& state : layer) {
        Seats then = state;
        expand(state, then, 0, all);
      }
      layer.clear();
      for (Seats& each : all)
        if (known.insert(key(each)).second) layer.push_back(std::move(each));
    }
    return std::nullopt;
  }

 private:
  static std::string key(const Seats& seats) {
    std::string text;
    for (const auto& seat : seats)
      text += seat ? fmt::format("{} {} {};", seat->gpu, seat->instance.profile->name,
                                 seat->instance.start)
                   : "-;";
    return text;
  }

  void expand(const Seats& state, Seats& then, std::size_t work, std::vector<Seats>& all) {
    if (work == state.size()) {
      if (lawful(state, then)) all.push_back(then);
      return;
    }
    const Work& each = scene_.works[work];
    expand(state, then, work + 1, all);
    if (each.stays) return;
    if (state[work] && !goal_[work]) {
      then[work] = std::nullopt;
      expand(state, then, work + 1, all);
    }
    for (std::size_t gpu = 0; gpu < scene_.gpus.size(); ++gpu)
      for (const Profile* profile : each.wanted[gpu])
        for (const int start : profile->starts.ascending())
          if (each.allowed[gpu]) {
            then[work] = Position{gpu, {profile, start}};
            if (then[work] != state[work]) expand(state, then, work + 1, all);
          }
    then[work] = state[work];
  }

  bool lawful(const Seats& state, const Seats& then) const {
    std::map<std::size_t, std::int64_t> moving;
    for (std::size_t i = 0; i < state.size(); ++i)
      if (const Work& work = scene_.works[i];
          work.group && work.now && then[i] && state[i] != then[i])
        ++moving[*work.group];
    for (const auto& [group, count] : moving)
      if (const auto most = scene_.groups[group].max_moving; most && count > *most) return false;
    for (std::size_t gpu = 0; gpu < scene_.gpus.size(); ++gpu) {
      std::vector<Instance> together = scene_.gpus[gpu].walls;
      for (std::size_t i = 0; i < state.size(); ++i) {
        if (state[i] && state[i]->gpu == gpu) together.push_back(state[i]->instance);
        if (then[i] && then[i] != state[i] && then[i]->gpu == gpu)
          together.push_back(then[i]->instance);
      }
      if (!unlawful(*scene_.gpus[gpu].model, together).empty()) return false;
    }
    return true;
  }

  const Scene& scene_;
  const Seats& goal_;
};

TEST(FewestWavesOf, TinyPairsAreThoseOfTryingEverything) {
  std::map<std::string, int> counts;
  for (std::uint64_t seed = 0; seed < 4000 && counts["compared"] < rounds(300); ++seed) {
    const Pair pair = random_pair(seed, {.gpus = 2});
    const Scene scene = *read_scene(pair.now);
    const End end = read_end(scene, pair.goal);
    double states = 1;
    for (const Work& work : scene.works) {
      std::size_t places = 2;
      for (std::size_t gpu = 0; gpu < scene.gpus.size() && !work.stays; ++gpu)
        for (const Profile* profile : work.wanted[gpu])
          places += static_cast<std::size_t>(profile->starts.size());
      states *= static_cast<double>(places);
    }
    if (states > 300 || scene.works.empty() || end.seats == seats_of_now(scene)) continue;
    SCOPED_TRACE(fmt::format("seed {}: {}\n{}", seed, pair.now.fleet, pair.goal));
    const auto right = Thoughtless(scene, end.seats).waves();
    const FewestWaves result = fewest_waves(scene, end.seats, limit);
    ASSERT_NE(result.outcome, Outcome::beyond_limit);
    ASSERT_EQ(result.outcome == Outcome::found, right.has_value());
    ASSERT_EQ(result.waves, right.value_or(0));
    ++counts["compared"];
    ++counts[right ? fmt::format("{} waves", *right) : "impossible"];
  }
  for (const auto& [what, count] : counts) std::printf("%s: %d\n", what.c_str(), count);
  EXPECT_EQ(counts["compared"], rounds(300));
}

TEST(FewestWavesOf, PairsOfMaximalLayouts) {
  const auto layouts = five_layouts();
  ASSERT_EQ(layouts.size(), 19U);
  int known = 0;
  for (const std::size_t spare : {0U, 1U}) {
    std::map<std::string, int> counts;
    std::size_t temporary = 0, looked_at = 0;
    for (const FiveLayout& from : layouts)
      for (const FiveLayout& to : layouts) {
        const FivePair pair = five_pair(from, to, spare);
        const Scene scene = *read_scene(pair.now);
        ASSERT_TRUE(faults(scene, pair.end.seats).empty());
        const FewestWaves result = fewest_waves(scene, pair.end.seats, limit);
        ++counts[result.outcome == Outcome::found ? fmt::format("{} waves", result.waves)
                                                  : std::string(name(result.outcome))];
        known += result.outcome == Outcome::beyond_limit ? 0 : 1;
        temporary += result.temporary;
        looked_at = std::max(looked_at, result.looked_at);
        // All can step aside to a free GPU, and go from there to their places.
        if (spare > 0 && result.outcome == Outcome::found) {
          EXPECT_LE(result.waves, 2U) << text_of(from) << " to " << text_of(to);
        }
      }
    std::printf("%zu free GPUs:", spare);
    for (const auto& [what, count] : counts) std::printf(" %s: %d", what.c_str(), count);
    std::printf("; %zu temporary moves, %zu steps at most\n", temporary, looked_at);
  }
  EXPECT_GE(known, 300);
}

}  // namespace
}  // namespace cleave::plans
