// The law of counts against its words: everything that Slurm could take, in every order, put at
// every place, by exhaustive search.

#include "slurm/count_law.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/random.hpp"
#include "model/gpu_model.hpp"
#include "model/profile_set.hpp"

namespace cleave {
namespace {

/// Whether whatever is taken of `left` in whatever order has a place, wherever the others went.
class Adversary {
 public:
  explicit Adversary(const CountLaw& law) : law_(law) {}

  bool always_fits(std::vector<StateId> gpus, const Demand& left) {
    std::ranges::sort(gpus);
    const auto known = known_.find({gpus, left});
    if (known != known_.end()) return known->second;
    bool fits = true;
    for (std::size_t t = 0; t < left.size() && fits; ++t)
      if (left[t] > 0) fits = next_fits(gpus, left, t);
    return known_[{gpus, left}] = fits;
  }

 private:
  bool next_fits(const std::vector<StateId>& gpus, Demand left, std::size_t t) {
    --left[t];
    bool somewhere = false;
    for (std::size_t g = 0; g < gpus.size(); ++g)
      for (const PlacementId id : law_.graph().free(gpus[g])) {
        if (law_.graph().geometry()[id].profile != law_.profiles()[t]) continue;
        somewhere = true;
        std::vector<StateId> after = gpus;
        after[g] = law_.graph().add(gpus[g], id);
        if (!always_fits(after, left)) return false;
      }
    return somewhere;
  }

  const CountLaw& law_;
  std::map<std::pair<std::vector<StateId>, Demand>, bool> known_;
};

CountLaw law_of(std::string_view model, std::string_view profiles = "plain") {
  const GpuModel& gpu = **find_gpu_model(model);
  return CountLaw(StateGraph::of(gpu, ProfileChoice::parse(profiles)->on(gpu)));
}

StateId random_state(const StateGraph& graph, Random& random) {
  StateId state = 0;
  for (std::uint64_t left = random.below(5); left > 0 && !graph.maximal(state); --left) {
    const PlacementSet free = graph.free(state);
    auto which = random.below(static_cast<std::uint64_t>(free.size()));
    for (const PlacementId id : free)
      if (which-- == 0) state = graph.add(state, id);
  }
  return state;
}

Demand promised(const CountLaw& law, const std::map<std::string, int>& counts) {
  Demand demand = law.nothing();
  for (const auto& [profile, count] : counts) demand[*law.find(profile)] = count;
  return demand;
}

TEST(CountLaw, OneEmptyGpu) {
  const CountLaw law = law_of("A100-40GB");
  const std::vector<StateId> one = {0};
  EXPECT_TRUE(law.lawful(one, promised(law, {{"7g.40gb", 1}})));
  EXPECT_TRUE(law.lawful(one, promised(law, {{"1g.5gb", 7}})));
  EXPECT_FALSE(law.lawful(one, promised(law, {{"1g.5gb", 8}})));
  EXPECT_TRUE(law.lawful(one, promised(law, {{"3g.20gb", 2}})));
  // Each is possible alone, and the two are not.
  EXPECT_FALSE(law.lawful(one, promised(law, {{"4g.20gb", 1}, {"1g.5gb", 7}})));
  // They fit together, unless the small one goes where the large one must.
  const Demand both = promised(law, {{"4g.20gb", 1}, {"3g.20gb", 1}});
  EXPECT_TRUE(law.fits(one, both));
  EXPECT_FALSE(law.lawful(one, both));
  EXPECT_TRUE(law.lawful(std::vector<StateId>{0, 0}, both));
}

TEST(CountLaw, WhatIsLawfulAlwaysFits) {
  for (const std::string_view model : {"A100-40GB", "A30-24GB", "H100-80GB-SXM5"}) {
    const CountLaw law = law_of(model);
    Random random(7);
    int lawful = 0, refused = 0, needlessly = 0;
    for (int round = 0; round < 1500; ++round) {
      std::vector<StateId> gpus;
      for (std::uint64_t n = 1 + random.below(2); n > 0; --n)
        gpus.push_back(random_state(law.graph(), random));
      Demand demand = law.nothing();
      for (std::uint64_t n = 1 + random.below(4); n > 0; --n) ++demand[random.below(demand.size())];
      const bool truly = Adversary(law).always_fits(gpus, demand);
      if (law.lawful(gpus, demand)) {
        ++lawful;
        ASSERT_TRUE(truly) << model << ", round " << round;
        ASSERT_TRUE(law.fits(gpus, demand)) << model << ", round " << round;
      } else {
        ++refused;
        needlessly += truly ? 1 : 0;
      }
    }
    EXPECT_GT(lawful, 200) << model;
    EXPECT_GT(refused, 200) << model;
    // The arithmetic is careful, but not more than a little.
    EXPECT_LT(needlessly, (lawful + needlessly) / 10)
        << model << ": " << needlessly << " of " << lawful + needlessly;
  }
}

TEST(CountLaw, FewerIsLawfulToo) {
  const CountLaw law = law_of("A100-40GB", "all");
  Random random(11);
  for (int round = 0; round < 3000; ++round) {
    const std::vector<StateId> gpus = {random_state(law.graph(), random),
                                       random_state(law.graph(), random), 0};
    Demand demand = law.nothing();
    for (int n = 0; n < 4; ++n) ++demand[random.below(demand.size())];
    if (!law.lawful(gpus, demand)) continue;
    for (std::int64_t& count : demand)
      if (count > 0) {
        --count;
        EXPECT_TRUE(law.lawful(gpus, demand)) << round;
        ++count;
      }
  }
}

TEST(CountLaw, GpusOfAnUnknownKindGetOneProfileAtATime) {
  GpuModel odd = **find_gpu_model("A100-40GB");
  odd.memory_slices = MemorySlices{9};  // no lists of weights are known for nine
  const CountLaw law(
      std::make_shared<StateGraph>(Geometry(odd, ProfileChoice::parse("plain")->on(odd))));
  const std::vector<StateId> one = {0};
  EXPECT_TRUE(law.lawful(one, promised(law, {{"3g.20gb", 2}})));
  EXPECT_FALSE(law.lawful(one, promised(law, {{"3g.20gb", 3}})));
  EXPECT_FALSE(law.lawful(one, promised(law, {{"3g.20gb", 1}, {"1g.5gb", 1}})));
}

}  // namespace
}  // namespace cleave
