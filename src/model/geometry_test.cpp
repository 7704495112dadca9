// Rules of coexistence: which instances a GPU can have together.

#include "model/geometry.hpp"

#include <gtest/gtest.h>

#include "model/layout_text.hpp"

namespace cleave {
namespace {

Geometry geometry(std::string_view model, std::string_view profiles = "all") {
  const GpuModel& found = **find_gpu_model(model);
  return {found, ProfileChoice::parse(profiles)->on(found)};
}

/// What is wrong with a layout, by name; "legal" if nothing is.
std::string verdict(std::string_view model, std::string_view layout) {
  const Geometry rules = geometry(model);
  const Verdict verdict = rules.judge(*parse_layout(layout, rules));
  return verdict.illegal ? std::string(name(*verdict.illegal)) : "legal";
}

std::string drawn(std::string_view model, std::string_view layout) {
  const Geometry rules = geometry(model);
  PlacementSet state;
  const auto written = parse_layout(layout, rules);
  for (const auto& [profile, start] : *written) state.insert(*rules.find(*profile, start));
  return draw(rules, state);
}

TEST(Judge, A100) {
  EXPECT_EQ(verdict("A100-40GB", ""), "legal");
  EXPECT_EQ(verdict("A100-40GB", "4g.20gb@0,2g.10gb@4,1g.5gb@6"), "legal");
  EXPECT_EQ(verdict("A100-40GB", "3g.20gb@0,3g.20gb@4"), "legal");
  EXPECT_EQ(verdict("A100-40GB", "2g.10gb@3"), "start not allowed");
  EXPECT_EQ(verdict("A100-40GB", "1g.5gb@7"), "start not allowed");
  EXPECT_EQ(verdict("A100-40GB", "4g.20gb@0,1g.5gb@3"), "overlap");
  EXPECT_EQ(verdict("A100-40GB", "1g.5gb+me@0,1g.5gb+me@1"),
            "more than one media-extension instance");
  EXPECT_EQ(verdict("A100-40GB", "1g.5gb@0,1g.5gb@0,2g.10gb@1"), "overlap")
      << "the list is read in order";
}

TEST(Judge, OtherModels) {
  EXPECT_EQ(verdict("A30-24GB", "2g.12gb@0,1g.6gb@2,1g.6gb@3"), "legal");
  EXPECT_EQ(verdict("A30-24GB", "2g.12gb+me@0,1g.6gb+me@2"),
            "more than one media-extension instance");
  EXPECT_EQ(verdict("RTX-PRO-6000-BW-96GB", "1g.24gb@0,1g.24gb@3,2g.48gb@6"), "legal");
  EXPECT_EQ(verdict("RTX-PRO-6000-BW-96GB", "1g.24gb@1"), "start not allowed");
  EXPECT_EQ(verdict("RTX-PRO-6000-BW-96GB", "1g.24gb+me.all@0,1g.24gb-me@3"), "legal");
  EXPECT_EQ(verdict("RTX-PRO-6000-BW-96GB", "1g.24gb+me.all@0,1g.24gb@3"), "all-media rule");
  EXPECT_EQ(verdict("RTX-PRO-6000-BW-96GB", "1g.24gb+me.all@0,1g.24gb+me.all@3"),
            "too many of a profile");
  EXPECT_EQ(verdict("RTX-PRO-6000-BW-96GB", "1g.24gb+me@0,2g.48gb+gfx@6"), "legal");
}

TEST(Draw, OneCharacterAMemorySlice) {
  EXPECT_EQ(drawn("A100-40GB", "4g.20gb@0,2g.10gb@4"), "AAAABB..");
  EXPECT_EQ(drawn("A30-24GB", "2g.12gb@2"), "..AA");
  EXPECT_EQ(drawn("RTX-PRO-6000-BW-96GB", "1g.24gb@3,2g.48gb@6"), "...AAABBBBBB");
  const Geometry rules = geometry("A100-40GB");
  const auto at = [&](std::string_view profile, int start) {
    return PlacementSet::of(*rules.find(profile, start));
  };
  EXPECT_EQ(draw(rules, at("2g.10gb", 4), at("1g.5gb", 0), at("1g.5gb", 6)), "a...BB#.");
  EXPECT_EQ(legend(rules, at("2g.10gb", 4), at("1g.5gb", 0), at("1g.5gb", 6)),
            "a 1g.5gb (idle), B 2g.10gb, # 1g.5gb (not ours)");
}

TEST(ParseLayout, NamesWhatIsWrong) {
  const Geometry rules = geometry("A100-40GB", "five");
  EXPECT_EQ(parse_layout("4g.20gb", rules).error().text(),
            "layout: '4g.20gb' is not an instance; write profile@start, joined by commas, like "
            "4g.20gb@0,2g.10gb@4");
  EXPECT_EQ(parse_layout("4g.21gb@0", rules).error().text(),
            "layout: the A100-40GB has no profile '4g.21gb'; did you mean '4g.20gb'?");
  EXPECT_EQ(parse_layout("1g.10gb@0", rules).error().message,
            "1g.10gb is not among the chosen profiles");
  EXPECT_FALSE(parse_layout("4g.20gb@0,", rules));
  EXPECT_FALSE(parse_layout("4g.20gb@-1", rules));
}

TEST(ProfileChoice, MeansTheSameWordsOnEveryModel) {
  EXPECT_EQ(geometry("A100-40GB", "four").profile_names(),
            (std::vector<std::string>{"4g.20gb", "3g.20gb", "2g.10gb", "1g.5gb"}));
  EXPECT_EQ(geometry("A30-24GB", "five").profile_names(),
            (std::vector<std::string>{"4g.24gb", "2g.12gb", "1g.6gb"}));
  EXPECT_EQ(geometry("RTX-PRO-6000-BW-96GB", "plain").profile_names(),
            (std::vector<std::string>{"4g.96gb", "2g.48gb", "1g.24gb"}));
  EXPECT_EQ(geometry("A100-80GB", "A100-80GB:7g.80gb,1g.10gb").profile_names(),
            (std::vector<std::string>{"7g.80gb", "1g.10gb"}));
  const GpuModel* a30 = *find_gpu_model("A30-24GB");
  EXPECT_EQ(ProfileChoice::parse("2g.12g")->check(std::span(&a30, 1)).error().text(),
            "--profiles: no GPU here has a profile '2g.12g'; did you mean '2g.12gb'?");
  EXPECT_FALSE(ProfileChoice::parse("four,"));
}

// Rules between two placements are in a table. The other rules never apply with the published
// placements, so that a state is legal if and only if no two of its placements conflict. A model
// for which this fails still works, but more slowly.
TEST(Geometry, LimitsOfMoreThanTwoInstancesNeverBindOnPublishedTables) {
  for (const GpuModel& model : gpu_models()) {
    const Geometry rules(model, ProfileChoice().on(model));
    std::vector<PlacementSet> open = {PlacementSet()};
    for (PlacementId id = 0; id < rules.size(); ++id) {
      const std::size_t before = open.size();
      for (std::size_t i = 0; i < before; ++i) {
        if (rules[id].conflicts.meets(open[i])) continue;
        open.push_back(open[i] | PlacementSet::of(id));
        EXPECT_TRUE(rules.within_limits(open.back()))
            << model.key << " " << layout_text(rules, open.back());
      }
    }
  }
}

// Where such a limit does apply, it is kept: a table that a driver might report.
TEST(Geometry, HoldsALimitThatBinds) {
  GpuModel odd = **find_gpu_model("A100-40GB");
  odd.compute = {3};
  const Geometry rules(odd, ProfileChoice::parse("1g.5gb,2g.10gb")->on(odd));
  const auto at = [&](std::string_view profile, int start) {
    return PlacementSet::of(*rules.find(profile, start));
  };
  EXPECT_TRUE(rules.legal(at("1g.5gb", 0) | at("2g.10gb", 2)));
  EXPECT_FALSE(rules.legal(at("2g.10gb", 0) | at("2g.10gb", 2)));
  EXPECT_FALSE(rules.free(at("2g.10gb", 0)).meets(at("2g.10gb", 2)));
  EXPECT_EQ(rules.judge({{odd.find("2g.10gb"), 0}, {odd.find("2g.10gb"), 2}}).illegal,
            Illegality::compute_budget);
}

}  // namespace
}  // namespace cleave
