// Fixed layouts: which are chosen, and that the best is the best.

#include <gtest/gtest.h>

#include <ranges>

#include "base/format.hpp"
#include "base/random.hpp"
#include "engine/schedulers/static_layout.hpp"
#include "model/layout_text.hpp"

namespace cleave {
namespace {

FleetFile fleet_file(std::string_view fleet, std::string_view profiles) {
  return *parse_fleet_in_short(fleet, *ProfileChoice::parse(profiles));
}

/// The layout of each GPU, as people write it.
std::string chosen(const FleetFile& file, std::string_view text) {
  const Fleet fleet(file);
  const RequestTable requests(file.geometries);
  const auto layout = choose_layout(text, LayoutGoal::turnaround, {fleet, requests});
  if (!layout) return layout.error().text();
  std::string all;
  for (std::size_t i = 0; i < layout->size(); ++i) {
    const GpuState& gpu = fleet[static_cast<GpuId>(i)];
    const Geometry& geometry = fleet.geometry(gpu);
    all += (all.empty() ? "" : " | ") +
           layout_text(geometry, beside_others(geometry, gpu, (*layout)[i]));
  }
  return all;
}

TEST(StaticLayout, StaconIsHalfAndTwoQuarters) {
  EXPECT_EQ(chosen(fleet_file("1xA30-24GB", "plain"), "stacon"), "2g.12gb@0,1g.6gb@2,1g.6gb@3");
  EXPECT_EQ(chosen(fleet_file("1xA100-40GB", "plain"), "stacon"), "4g.20gb@0,2g.10gb@4,1g.10gb@6");
  EXPECT_EQ(chosen(fleet_file("1xA100-40GB", "five"), "stacon"), "4g.20gb@0,2g.10gb@4,1g.5gb@6");
  for (const GpuModel& model : gpu_models()) {
    const Geometry geometry(model, ProfileChoice().on(model));
    EXPECT_TRUE(geometry.legal(stacon_layout(geometry))) << model.key;
    EXPECT_FALSE(stacon_layout(geometry).empty()) << model.key;
  }
}

// The six configurations of Dyna-P's Figure 4; Mixed-2 puts a 2g where the A30 has no start for it.
TEST(StaticLayout, FigureFour) {
  const FleetFile file = fleet_file("1xA30-24GB", "plain");
  EXPECT_EQ(chosen(file, "1g.6gb@0+1g.6gb@1+1g.6gb@2+1g.6gb@3"),
            "1g.6gb@0,1g.6gb@1,1g.6gb@2,1g.6gb@3");
  EXPECT_EQ(chosen(file, "1g.6gb@0+1g.6gb@1+2g.12gb@2"), "1g.6gb@0,1g.6gb@1,2g.12gb@2");
  EXPECT_EQ(chosen(file, "2g.12gb@0+1g.6gb@2+1g.6gb@3"), "2g.12gb@0,1g.6gb@2,1g.6gb@3");
  EXPECT_EQ(chosen(file, "2g.12gb@0+2g.12gb@2"), "2g.12gb@0,2g.12gb@2");
  EXPECT_EQ(chosen(file, "4g.24gb@0"), "4g.24gb@0");
  EXPECT_EQ(chosen(file, "1g.6gb@0+2g.12gb@1+1g.6gb@3"),
            "layout: 2g.12gb@1 is not possible there on A30-24GB: start not allowed; 2g.12gb may "
            "start at 0 "
            "or 2, not at 1");
}

TEST(StaticLayout, OfMixedFleetsAndBesideOthers) {
  const FleetFile mixed = fleet_file("1xA30-24GB,1xA100-40GB", "all");
  EXPECT_EQ(chosen(mixed, "1g.6gb@0+A100-40GB:1g.5gb+me@6+4g.20gb@0"),
            "1g.6gb@0 | 4g.20gb@0,1g.5gb+me@6");
  EXPECT_EQ(chosen(mixed, "1g.6gb@0"), "1g.6gb@0 | ") << "nothing is said of the other";
  EXPECT_NE(chosen(mixed, "9g.9gb@0").find("no GPU of this fleet has a profile"),
            std::string::npos);
  const FleetFile walls = *parse_fleet(
      R"({"gpus": [{"name": "g", "model": "A100-40GB",
                    "instances": [{"profile": "1g.5gb", "start": 4, "owned": false},
                                  {"profile": "1g.5gb", "start": 6}]}]})",
      "f", ProfileChoice::plain());
  EXPECT_EQ(chosen(walls, "stacon"), "4g.20gb@0,1g.10gb@6");
  EXPECT_EQ(chosen(walls, "file"), "1g.5gb@6");
}

/// Random jobs for all sizes but the largest few, slower on smaller ones.
class RandomJobs final : public JobFacts {
 public:
  RandomJobs(Random& random, RequestTable& requests, const Fleet& fleet, std::size_t jobs,
             std::size_t without) {
    Instant now{};
    std::vector<RequestId> wanted;
    for (const auto& graph : fleet.graphs())
      for (const std::string& name : graph->geometry().profile_names() | std::views::drop(without))
        wanted.push_back(requests.intern({ByProfile{name}, {}}));
    for (std::size_t i = 0; i < jobs; ++i) {
      now += std::chrono::seconds{random.below(30)};
      all_.push_back({static_cast<JobId>(i), wanted[random.below(wanted.size())], now});
      seconds_.push_back(static_cast<std::int64_t>(1 + random.below(100)));
    }
  }
  [[nodiscard]] std::optional<Duration> time_on(JobId job, std::size_t,
                                                int profile) const override {
    return std::chrono::seconds{seconds_[index(job)] * (profile + 1)};
  }
  [[nodiscard]] std::vector<Expected> expected() const override { return all_; }

 private:
  std::vector<Expected> all_;
  std::vector<std::int64_t> seconds_;
};

/// Every layout of every GPU, one GPU after the other, scored from the beginning.
LayoutScore best_of_all(const Fleet& fleet, const ExpectedWork& work, LayoutGoal goal,
                        std::vector<std::size_t> instances, std::size_t gpu = 0) {
  if (gpu == fleet.size()) return schedule_first_come(work, instances, goal);
  const Geometry& geometry = fleet.geometry(fleet[static_cast<GpuId>(gpu)]);
  std::optional<LayoutScore> best;
  for (const PlacementSet layout : full_layouts(geometry, {}, geometry.all())) {
    auto more = instances;
    for (std::size_t group = 0; group < work.groups.size(); ++group)
      if (work.groups[group].kind == fleet[static_cast<GpuId>(gpu)].kind)
        more[group] += static_cast<std::size_t>((work.groups[group].placements & layout).size());
    const LayoutScore score = best_of_all(fleet, work, goal, std::move(more), gpu + 1);
    if (!best || better(score, *best, goal)) best = score;
  }
  return *best;
}

TEST(BestLayout, EqualsTryingAll) {
  std::size_t searched = 0, as_good = 0;
  double worst = 1;
  for (const char* text :
       {"1xA30-24GB", "3xA30-24GB", "1xA100-40GB", "2xA100-40GB", "1xA30-24GB,1xA100-40GB"})
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      const FleetFile file = fleet_file(text, "five");
      const Fleet fleet(file);
      RequestTable requests(file.geometries);
      Random random(seed);
      const RandomJobs jobs(random, requests, fleet, 40, seed % 3);
      const ExpectedWork work = *expected_work({fleet, requests, true, &jobs});
      for (const LayoutGoal goal : {LayoutGoal::turnaround, LayoutGoal::makespan}) {
        const LayoutScore least =
            best_of_all(fleet, work, goal, std::vector<std::size_t>(work.groups.size(), 0));
        const FoundLayout found = search_layout(fleet, work, {goal, 2'000, 200'000'000});
        EXPECT_TRUE(found.exhaustive);
        EXPECT_FALSE(better(least, found.score, goal)) << text << " seed " << seed;
        EXPECT_FALSE(better(found.score, least, goal)) << text << " seed " << seed;
        const FoundLayout quick = search_layout(fleet, work, {goal, 0, 200'000'000});
        EXPECT_FALSE(better(quick.score, least, goal));
        ++searched;
        as_good += better(least, quick.score, goal) ? 0 : 1;
        if (quick.score.unserved == least.unserved)
          worst = std::max(worst, quick.score.turnaround_s / least.turnaround_s);
      }
    }
  fmt::print("improvement alone finds the best in {} of {}, at worst {:.2f} times its turnaround\n",
             as_good, searched, worst);
  EXPECT_GE(2 * as_good, searched);
}

TEST(BestLayout, NeedsToKnowTheJobs) {
  EXPECT_EQ(chosen(fleet_file("1xA30-24GB", "plain"), "best"),
            "layout: layout=best needs to know all jobs beforehand; give a layout, or simulate "
            "a workload");
}

}  // namespace
}  // namespace cleave
