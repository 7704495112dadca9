// Admission against exhaustive search: on random small fleets of every family of GPUs, and on every
// batch that fits on up to three empty GPUs.

#include "placement/admission.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/format.hpp"
#include "base/random.hpp"
#include "model/layout_text.hpp"

namespace cleave {
namespace {

std::shared_ptr<const StateGraph> graph_of(std::string_view model, std::string_view profiles) {
  const GpuModel& found = **find_gpu_model(model);
  return StateGraph::of(found, ProfileChoice::parse(profiles)->on(found));
}

/// Everything that fits into a state, as counts by profile.
std::set<Demand> what_fits(const StateGraph& graph, StateId state) {
  const auto profiles = graph.geometry().profile_list();
  std::set<Demand> all;
  std::vector<std::pair<StateId, Demand>> open = {{state, Demand(profiles.size(), 0)}};
  std::set<std::pair<StateId, Demand>> seen;
  while (!open.empty()) {
    const auto [at, counts] = open.back();
    open.pop_back();
    all.insert(counts);
    for (const PlacementId id : graph.free(at)) {
      Demand more = counts;
      ++more[static_cast<std::size_t>(std::ranges::find(profiles, graph.geometry()[id].profile) -
                                      profiles.begin())];
      std::pair<StateId, Demand> next{graph.add(at, id), more};
      if (seen.insert(next).second) open.push_back(std::move(next));
    }
  }
  return all;
}

/// Whether the demand can be shared out over GPUs that hold one of each set, by trying everything.
bool fits(const std::vector<const std::set<Demand>*>& gpus, std::size_t next, const Demand& left,
          std::map<std::pair<std::size_t, Demand>, bool>& known) {
  if (std::ranges::all_of(left, [](std::int64_t n) { return n == 0; })) return true;
  if (next == gpus.size()) return false;
  const auto [entry, fresh] = known.try_emplace({next, left}, false);
  if (!fresh) return entry->second;
  bool found = false;
  for (const Demand& part : *gpus[next]) {
    Demand rest = left;
    bool possible = true;
    for (std::size_t p = 0; p < rest.size(); ++p) possible = (rest[p] -= part[p]) >= 0 && possible;
    if (possible && fits(gpus, next + 1, rest, known)) {
      found = true;
      break;
    }
  }
  return known[{next, left}] = found;
}

std::int64_t by_trying(const std::vector<const std::set<Demand>*>& gpus,
                       const std::set<Demand>& empty, const Demand& demand) {
  std::vector<const std::set<Demand>*> all = gpus;
  for (std::int64_t missing = 0;; ++missing, all.push_back(&empty)) {
    std::map<std::pair<std::size_t, Demand>, bool> known;
    if (fits(all, 0, demand, known)) return missing;
  }
}

struct Kind {
  const char *model, *profiles;
};

class EveryGeometry : public testing::TestWithParam<Kind> {};

TEST_P(EveryGeometry, AgreesWithTryingEverything) {
  const auto graph = graph_of(GetParam().model, GetParam().profiles);
  const AdmissionTable table = *AdmissionTable::make(graph);
  std::map<StateId, std::set<Demand>> known;
  const auto fitting = [&](StateId state) -> const std::set<Demand>& {
    auto [entry, fresh] = known.try_emplace(state);
    if (fresh) entry->second = what_fits(*graph, state);
    return entry->second;
  };
  Random random(3);
  int missing_some = 0;
  for (int round = 0; round < 500; ++round) {
    AdmissionSums sums(table);
    std::vector<const std::set<Demand>*> gpus;
    for (std::size_t i = random.below(4); i > 0; --i) {
      // Half of the GPUs little used, so that much is possible on them.
      const auto state = static_cast<StateId>(random.below(static_cast<std::uint64_t>(
          random.below(2) == 0 ? std::min(graph->size(), 30) : graph->size())));
      sums.add(state);
      gpus.push_back(&fitting(state));
    }
    Demand demand(table.profiles(), 0);
    for (std::size_t wanted = random.below(7); wanted > 0; --wanted)
      ++demand[random.below(demand.size())];
    const std::int64_t expected = by_trying(gpus, fitting(0), demand);
    missing_some += expected > 0 ? 1 : 0;
    ASSERT_EQ(sums.missing(demand), expected)
        << "round " << round << ": " << fmt::format("{}", fmt::join(demand, " "));
  }
  EXPECT_GT(missing_some, 40);
}

/// What fits on n empty GPUs is what the formula admits there, no more and no less: the step that
/// the exactness for any number rests on, tried for n = 1 and 2.
TEST_P(EveryGeometry, SumsOfWhatFitsAreAllThatIsAdmitted) {
  const auto graph = graph_of(GetParam().model, GetParam().profiles);
  const AdmissionTable table = *AdmissionTable::make(graph);
  const std::set<Demand> one = what_fits(*graph, 0);
  const AdmissionSums none(table);
  std::set<Demand> two;
  for (const Demand& a : one)
    for (const Demand& b : one) {
      Demand sum = a;
      for (std::size_t p = 0; p < sum.size(); ++p) sum[p] += b[p];
      two.insert(sum);
    }
  for (const Demand& demand : two) {
    ASSERT_LE(none.missing(demand), 2);
    // One more of any profile is admitted on two GPUs exactly when it is a sum too.
    for (std::size_t p = 0; p < demand.size(); ++p) {
      Demand more = demand;
      ++more[p];
      ASSERT_EQ(none.missing(more) <= 2, two.contains(more));
      ASSERT_EQ(none.missing(more) <= 1, one.contains(more));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Admission, EveryGeometry,
    testing::Values(Kind{"A30-24GB", "plain"}, Kind{"A30-24GB", "all"}, Kind{"A100-40GB", "four"},
                    Kind{"A100-40GB", "five"}, Kind{"A100-40GB", "plain"}, Kind{"A100-80GB", "all"},
                    Kind{"H20-96GB", "all"}, Kind{"RTX-PRO-6000-BW-96GB", "plain"},
                    Kind{"RTX-PRO-6000-BW-96GB", "all"}),
    [](const auto& kind) {
      std::string name = std::string(kind.param.model) + "_" + kind.param.profiles;
      std::ranges::replace(name, '-', '_');
      return name;
    });

TEST(Admission, EveryModelHasAClosedForm) {
  for (const GpuModel& model : gpu_models())
    for (const char* profiles : {"all", "plain", "five"})
      EXPECT_TRUE(AdmissionTable::make(graph_of(model.key, profiles))) << model.key;
}

Fleet fleet_of(const char* text) {
  return Fleet(*parse_fleet_in_short(text, {}));
}

TEST(Admission, CountsMissingGpus) {
  const Fleet two = fleet_of("2xA100-40GB");
  EXPECT_EQ(*admit(two, {{"1g.5gb", 14}}, 0)->missing_gpus, 0);
  EXPECT_TRUE(admit(two, {{"1g.5gb", 14}}, 0)->fits);
  EXPECT_EQ(*admit(two, {{"1g.5gb", 15}}, 0)->missing_gpus, 1);
  EXPECT_EQ(*admit(two, {{"4g.20gb", 3}, {"3g.20gb", 3}}, 0)->missing_gpus, 1);
  EXPECT_EQ(*admit(two, {{"7g.40gb", 1'000'000}}, 0)->missing_gpus, 999'998);
  EXPECT_EQ(admit(two, {{"9g.90gb", 1}}, 0).error().message,
            "no GPU of this fleet has a profile '9g.90gb'");
}

TEST(Admission, SharesProfilesOutAmongModels) {
  const Fleet mixed =
      fleet_of("1xA100-40GB,1xA100-80GB");  // 1g.10gb: four on the first, seven on the second
  const auto answer = admit(mixed, {{"1g.10gb", 11}}, 0);
  EXPECT_TRUE(answer->fits);
  EXPECT_EQ(answer->exact_by, "search");
  EXPECT_EQ(*admit(mixed, {{"1g.10gb", 12}}, 0)->missing_gpus, 1);
  EXPECT_EQ(*admit(mixed, {{"1g.10gb", 11}, {"7g.80gb", 1}}, 0)->missing_gpus, 2)
      << "7 of them need two more A100-40GB";
  EXPECT_FALSE(admit(mixed, {{"7g.80gb", 2}}, 0)->missing_gpus) << "no number of A100-40GB helps";
  EXPECT_EQ(*admit(mixed, {{"7g.80gb", 2}}, 1)->missing_gpus, 1);
  EXPECT_EQ(*admit(mixed, {{"A100-40GB:1g.10gb", 5}}, 0)->missing_gpus, 1);
  // However a batch is written, and however large.
  EXPECT_EQ(*admit(mixed, std::vector<BatchRequest>(60000, {"1g.10gb", 0}), 1)->missing_gpus, 0);
  EXPECT_EQ(*admit(mixed, std::vector<BatchRequest>(60, {"1g.10gb", 1}), 1)->missing_gpus, 7);
  for (const std::size_t added : {0U, 1U})
    EXPECT_EQ(*admit(mixed, {{"1g.10gb", 28'000'011}}, added)->missing_gpus,
              added == 0 ? 7'000'000 : 4'000'000);
  // Cut alike and named alike: one kind, and no search.
  EXPECT_EQ(admit(fleet_of("1xA100-80GB,1xH100-80GB-SXM5"), {{"3g.40gb", 4}}, 0)->exact_by,
            "closed form");
}

// Two models that share the name 1g.10gb, against every way to share a batch out.
TEST(Admission, SharingOutAgreesWithTryingEverything) {
  Random random(8);
  const auto large = graph_of("A100-80GB", "1g.10gb,3g.40gb");
  const char* names[] = {"1g.5gb", "2g.10gb", "3g.20gb", "1g.10gb", "3g.40gb"};
  const auto both = graph_of("A100-40GB", "1g.5gb,2g.10gb,3g.20gb,1g.10gb");
  // What fits on an empty GPU of each, over all five names.
  const auto over_names = [&](const StateGraph& graph) {
    std::set<Demand> all;
    const auto profiles = graph.geometry().profile_list();
    for (const Demand& fits : what_fits(graph, 0)) {
      Demand wide(std::size(names), 0);
      for (std::size_t p = 0; p < profiles.size(); ++p)
        wide[static_cast<std::size_t>(std::ranges::find(names, profiles[p]->name) - names)] =
            fits[p];
      all.insert(wide);
    }
    return all;
  };
  const std::set<Demand> on_small = over_names(*both), on_large = over_names(*large);
  const FleetFile file = *parse_fleet_in_short(
      "1xA100-40GB,1xA100-80GB", *ProfileChoice::parse("1g.5gb,2g.10gb,3g.20gb,1g.10gb,3g.40gb"));
  for (int round = 0; round < 300; ++round) {
    Demand demand(std::size(names), 0);
    std::vector<BatchRequest> batch;
    for (std::size_t i = 0; i < std::size(names); ++i) {
      demand[i] = static_cast<std::int64_t>(random.below(i == 3 ? 9 : i == 4 ? 2 : 4));
      batch.push_back({names[i], demand[i]});
    }
    ASSERT_EQ(*admit(Fleet(file), batch, 0)->missing_gpus,
              by_trying({&on_small, &on_large}, on_small, demand))
        << fmt::format("{}", fmt::join(demand, " "));
  }
}

TEST(Admission, KeptSumsFollowAChangingFleet) {
  Fleet fleet = fleet_of("20xA100-40GB");
  const AdmissionTable table = *AdmissionTable::make(fleet.graphs().front());
  AdmissionSums kept(table);
  for (const GpuState& gpu : fleet.gpus()) kept.add(gpu.occupied);
  Random random(1);
  std::vector<std::pair<GpuId, PlacementId>> running;
  for (int step = 0; step < 2000; ++step) {
    const bool leave = !running.empty() && random.below(2) == 0;
    const std::size_t which = leave ? random.below(running.size()) : 0;
    const GpuId gpu = leave ? running[which].first : static_cast<GpuId>(random.below(fleet.size()));
    const StateId before = fleet[gpu].occupied;
    if (leave) {
      fleet.release(gpu, running[which].second);
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(which));
    } else {
      const PlacementSet free = fleet.graphs().front()->free(before);
      if (free.empty()) continue;
      fleet.hold(gpu, free.first());
      running.emplace_back(gpu, free.first());
    }
    kept.remove(before);
    kept.add(fleet[gpu].occupied);
  }
  AdmissionSums fresh(table);
  for (const GpuState& gpu : fleet.gpus()) fresh.add(gpu.occupied);
  for (std::int64_t count = 0; count < 40; ++count) {
    const Demand demand = {count / 7, count / 5, count / 3, count, count / 2, count, 1};
    EXPECT_EQ(kept.missing(demand), fresh.missing(demand));
  }
}

}  // namespace
}  // namespace cleave
