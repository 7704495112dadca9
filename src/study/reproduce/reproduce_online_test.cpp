// A small form of `cleave reproduce online`: what is judged of it, and its parts.

#include "study/reproduce/reproduce_online.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/places_test.hpp"
#include "base/read_text.hpp"
#include "simulate/generate/generate.hpp"
#include "simulate/simulator.hpp"
#include "study/reproduce/judged_claims_test.hpp"

namespace cleave {
namespace {

OnlineReproduction small() {
  OnlineReproductionOptions options;
  options.seeds = 10;
  options.jobs = 120;
  options.surface = false;
  const auto reproduction = reproduce_online(options);
  EXPECT_TRUE(reproduction) << reproduction.error().text();
  return *reproduction;
}

TEST(OnlineReproduction, MigrationShortensExecutionAtBothLoads) {
  const OnlineReproduction reproduction = small();
  for (std::size_t w = 0; w < online_workloads.size(); ++w) {
    const OnlineOutcome& one = reproduction.points[0].workloads[w];
    EXPECT_LT(one.execution.high, 0) << online_workloads[w].name;
    EXPECT_GT(one.execution.mean, -30) << online_workloads[w].name;
    EXPECT_LT(one.wait.high, -30) << online_workloads[w].name;
    EXPECT_LT(one.makespan[everything].mean, one.makespan[no_migration].mean);
    EXPECT_LT(one.makespan[no_migration].mean, one.makespan[balancing].mean);
  }
  // The stated load.
  EXPECT_NEAR(reproduction.points[0].workloads[1].held, 0.5, 0.1);
}

// Migration acts by the link: without it, no task is faster anywhere else.
TEST(OnlineReproduction, WithoutALinkMigrationChangesNothing) {
  OnlineInputs with, without;
  without.link = LinkSharing::off;
  const auto crowded = concurrent_tokens(with, 5), apart = concurrent_tokens(without, 5);
  ASSERT_TRUE(crowded && apart);
  const std::size_t last = crowded->tasks.size() - 1;
  for (std::size_t model = 0; model < apart->models.size(); ++model)
    for (std::size_t m = 1; m < apart->methods.size(); ++m)
      EXPECT_EQ(apart->token_s[last][m][model], apart->token_s[last][0][model]);
  double slow = 0, quick = 0;
  for (std::size_t model = 0; model < apart->models.size(); ++model) {
    slow += crowded->token_s[last][0][model];
    quick += apart->token_s[last][0][model];
  }
  EXPECT_GT(slow, 1.05 * quick);
}

TEST(OnlineReproduction, PairedChangesHaveTheirIntervals) {
  const PairedChange same = paired_change({1, 2, 3, 4}, {2, 4, 6, 8});
  EXPECT_DOUBLE_EQ(same.mean, -50);
  EXPECT_NEAR(same.low, -50, 1e-9);
  EXPECT_NEAR(same.high, -50, 1e-9);
  EXPECT_EQ(same.lower, 4U);
  const PairedChange mixed = paired_change({9, 11, 10, 12, 8}, {10, 10, 10, 10, 10});
  EXPECT_NEAR(mixed.mean, 0, 1e-9);
  // The mean of five with a standard deviation of 15.81 %: t = 2.776 times 7.07 %.
  EXPECT_NEAR(mixed.high, 2.776 * 7.0711, 0.4);
  EXPECT_NEAR(mixed.low, -mixed.high, 1e-9);
  EXPECT_EQ(paired_change({1}, {0}).mean, 0) << "nothing to compare with";
}

TEST(OnlineReproduction, ThePageIsTheSameEachTimeAndNamesEveryClaim) {
  const OnlineReproduction reproduction = small();
  const std::string text = online_page(reproduction);
  OnlineReproductionOptions alone;
  alone.seeds = 10;
  alone.jobs = 120;
  alone.surface = false;
  alone.threads = 1;
  const auto again = reproduce_online(alone);
  ASSERT_TRUE(again);
  EXPECT_EQ(text, online_page(*again)) << "threads change nothing";
  const auto claims = online_claims(reproduction);
  EXPECT_EQ(claims.size(), 24U);
  for (const OnlineClaim& claim : claims)
    EXPECT_NE(text.find(claim.claim), std::string::npos) << claim.claim;
  for (const auto& [file, svg] : online_figures(reproduction)) {
    EXPECT_NE(text.find(file), std::string::npos);
    EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n")) << file;
    EXPECT_EQ(svg.find("nan"), std::string::npos) << file;
  }
}

/// Follows a run by itself: which instances there are, and in which of them a job runs, when all of
/// an instant has been told.
class Occupancy final : public RunObserver {
 public:
  using Counts = std::map<std::string, int>;  // by profile

  explicit Occupancy(const FleetFile& fleet) : geometry_(&fleet.geometries[0]) {}

  void on(const RunEvent& event) override {
    const double at = in_seconds(event.at - Instant{});
    switch (event.kind) {
      case RunEvent::Kind::created:
        EXPECT_TRUE(there_.emplace(*event.gpu, *event.placement).second);
        break;
      case RunEvent::Kind::destroyed:
        EXPECT_EQ(there_.erase({*event.gpu, *event.placement}), 1U);
        break;
      case RunEvent::Kind::started:
      case RunEvent::Kind::migrated:
        seat_[*event.job] = {*event.gpu, *event.placement};
        break;
      case RunEvent::Kind::finished:
        seat_.erase(*event.job);
        break;
      default:
        break;
    }
    Counts used;
    for (const auto& [job, seat] : seat_) ++used[profile_of(seat.second)];
    used_[at] = used;
    Counts there;
    for (const auto& [gpu, placement] : there_) ++there[profile_of(placement)];
    existing_[at] = there;
  }

  /// At the last change at or before this time.
  [[nodiscard]] int used(double at, const std::string& profile) const {
    return count(used_, at, profile);
  }
  [[nodiscard]] int existing(double at, const std::string& profile) const {
    return count(existing_, at, profile);
  }

 private:
  [[nodiscard]] std::string profile_of(PlacementId placement) const {
    return std::string((*geometry_)[placement].profile->name);
  }
  static int count(const std::map<double, Counts>& all, double at, const std::string& profile) {
    const auto after = all.upper_bound(at);
    if (after == all.begin()) return 0;
    const auto found = std::prev(after)->second.find(profile);
    return found == std::prev(after)->second.end() ? 0 : found->second;
  }

  const Geometry* geometry_;
  std::set<std::pair<GpuId, PlacementId>> there_;
  std::map<JobId, std::pair<GpuId, PlacementId>> seat_;
  std::map<double, Counts> used_, existing_;
};

TEST(OnlineReproduction, InstancesThatExistAreThoseOfTheRunAndHoldItsJobs) {
  OnlinePoint point;
  point.unit_s = 1.7;
  constexpr std::size_t jobs = 120;
  const auto series = online_series(point, jobs);
  ASSERT_TRUE(series) << series.error().text();
  const auto fleet = parse_fleet_in_short("4xA100-40GB", ProfileChoice());
  const auto workload =
      generate_workload(online_generator("normal-25", point.inputs, jobs, 25 * point.unit_s), 1);
  const auto scheduler = parse_scheduler("online");
  ASSERT_TRUE(fleet && workload && scheduler);
  Occupancy occupancy(*fleet);
  SimulationOptions options;
  options.world.link = point.inputs.link;
  options.observer = &occupancy;
  ASSERT_TRUE(simulate(*fleet, *workload, *scheduler, options));

  ASSERT_EQ(series->profiles.size(), 4U);
  EXPECT_GT(series->migrations.size(), 0U);
  EXPECT_GT(series->kept_idle, 0);
  std::size_t idle = 0, busy = 0;
  std::map<double, int> slices;
  for (std::size_t p = 0; p < 4; ++p) {
    const std::string& profile = series->profiles[p];
    ASSERT_EQ(series->actual[p].size(), series->desired[p].size());
    EXPECT_EQ(series->desired[p].back().second, 0) << "all have finished";
    for (const auto& [at, count] : series->actual[p]) {
      const int used = occupancy.used(at, profile);
      ASSERT_EQ(count, occupancy.existing(at, profile)) << profile << " at " << at;
      ASSERT_GE(count, used) << profile << " at " << at;
      idle += count > used ? 1 : 0;
      busy += used > 0 ? 1 : 0;
      slices[at] += static_cast<int>(count) * (profile[0] - '0');
    }
    for (const auto& [at, wanted] : series->desired[p])
      ASSERT_GE(wanted, occupancy.used(at, profile)) << profile << " at " << at;
  }
  EXPECT_GT(idle, 0U);
  EXPECT_GT(busy, 0U);
  for (const auto& [at, held] : slices) EXPECT_LE(held, 28) << "seven slices on each of four GPUs";
  for (const auto& [at, cost] : series->fragmentation) {
    EXPECT_GE(cost, 0);
    EXPECT_LE(cost, 1);
  }
}

/// The verdict that printed figures of a change give.
std::string verdict_of_change(const std::vector<double>& change, double least, double most) {
  if (change[2] >= 0) return change[0] < 0 ? "open" : "not so";
  return change[0] > most ? "less" : change[0] < least ? "more" : "agrees";
}

void expect_online_judged(const std::string& page) {
  std::size_t judged = 0;
  for (const std::string& line : testing_claims::lines_of(page)) {
    const auto cells = testing_claims::cells_of(line);
    if (cells.size() != 6 || (cells[0] != "7" && cells[0] != "9" && cells[0] != "10")) continue;
    const auto paper = testing_claims::numbers_in(cells[2]),
               here = testing_claims::numbers_in(cells[3]);
    ++judged;
    if (cells[0] == "9" && cells[2].starts_with("yes")) {
      ASSERT_EQ(here.size(), 2U) << line;
      if (here[0] != here[1]) {
        EXPECT_EQ(cells[4], here[0] < here[1] ? "agrees" : "not so") << line;
      }
      continue;
    }
    ASSERT_EQ(here.size(), 3U) << line;
    if (cells[2].starts_with("yes")) {
      const bool falling = here[0] < 0 && here[1] < here[0] && here[2] < here[1];
      EXPECT_TRUE(falling ? cells[4] == "agrees" || cells[4] == "open" : cells[4] == "not so")
          << line;
      continue;
    }
    const double least = paper.size() == 2 ? paper[1] : -100;
    // The mean may be printed as the bound itself.
    if (std::abs(here[0] - paper[0]) < 0.051 || std::abs(here[2]) < 0.051) continue;
    EXPECT_EQ(cells[4], verdict_of_change(here, least, paper[0])) << line;
  }
  EXPECT_EQ(judged, 18U);
}

TEST(OnlineReproduction, ClaimsAreJudgedAsTheyPrint) {
  expect_online_judged(online_page(small()));
  const auto committed = read_text(source_dir() + "/docs/reproduction/online.md");
  ASSERT_TRUE(committed);
  expect_online_judged(*committed);
}

}  // namespace
}  // namespace cleave
