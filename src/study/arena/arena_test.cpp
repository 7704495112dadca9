// The arena: its runs are those of `simulate`, however many threads there are and whatever was
// kept; its scores are what a slow reading of the definitions gives.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/random.hpp"
#include "base/read_text.hpp"
#include "base/temporary_folder_test.hpp"
#include "base/text.hpp"
#include "study/arena/arena_page.hpp"
#include "study/arena/arena_report.hpp"
#include "study/arena/arena_rows.hpp"
#include "study/arena/kept_runs.hpp"

namespace cleave {
namespace {

constexpr std::string_view few_baselines = "full-gpu,static,miso:checkpoint=moved";

/// Two cells with two seeds each, in a folder.
class ArenaFolder {
 public:
  ArenaFolder() {
    for (std::uint64_t seed = 1; seed <= 2; ++seed) write_workload(seed, 12);
    cells_ = R"({"name": "free", "fleet": "2xA100-40GB", "workload": ["w1", "w2"], "req": "mem", )"
             R"("speeds": "known", "times": "unknown", "mob": "ckpt"})"
             "\n"
             R"({"name": "fixed", "fleet": "1xA100-40GB", "workload": ["w2", "w1"], "req": "mem", )"
             R"("speeds": "known", "times": "known", "mob": "none", "sim": {"process_start": 2}})"
             "\n";
  }

  void write_workload(std::uint64_t seed, std::size_t jobs) const {
    std::ofstream file(folder_.path() / fmt::format("w{}", seed));
    Random random(seed);
    double arrival = 0;
    for (std::size_t job = 0; job < jobs; ++job) {
      arrival += random.exponential(20);
      file << fmt::format(
          R"({{"id": "j{}", "arrival_s": {:.3f}, "duration_s": {:.3f}, "memory_mib": {}}})"
          "\n",
          job, arrival, 1 + random.exponential(300), 2000 + random.below(15000));
    }
  }

  [[nodiscard]] std::string path(std::string_view name) const { return folder_.path() / name; }

  [[nodiscard]] std::vector<OpenArenaCell> open(ArenaWorld world = ArenaWorld::plain) const {
    const auto cells = parse_arena_cells(cells_, path("cells.jsonl"), world);
    EXPECT_TRUE(cells) << cells.error().text();
    std::vector<OpenArenaCell> all;
    for (const ArenaCell& cell : *cells) {
      auto opened = open_arena_cell(cell);
      EXPECT_TRUE(opened) << opened.error().text();
      all.push_back(*std::move(opened));
    }
    return all;
  }

 private:
  TemporaryFolder folder_;
  std::string cells_;
};

std::vector<ArenaContestant> contestants(std::string_view tested = "online:backfill=easy",
                                         std::string_view baselines = few_baselines) {
  return *arena_contestants(tested, baselines);
}

TEST(Arena, TheAnswerDoesNotDependOnThreads) {
  const ArenaFolder folder;
  const auto cells = folder.open();
  const ArenaResults one = run_arena(cells, contestants(), {.most_threads = 1}),
                     three = run_arena(cells, contestants(), {.most_threads = 3});
  EXPECT_EQ(arena_text(one, 0), arena_text(three, 0));
  EXPECT_EQ(arena_csv(one), arena_csv(three));
  EXPECT_EQ(arena_json(one, 0, false), arena_json(three, 0, false));
}

TEST(Arena, RunsAreThoseOfSimulate) {
  const ArenaFolder folder;
  const auto cells = folder.open();
  const auto all = contestants();
  const ArenaResults results = run_arena(cells, all, {.most_threads = 2});
  SimulationOptions options = cells[1].options;
  EXPECT_EQ(options.process_start, std::chrono::seconds{2});
  EXPECT_EQ(options.may, MayInterrupt::never);
  options.seed = 2;
  const auto summary =
      simulate(cells[1].fleet, cells[1].workloads[1], *parse_scheduler("full-gpu"), options);
  ASSERT_TRUE(summary);
  const auto at = std::ranges::find(all, "full-gpu", &ArenaContestant::spec) - all.begin();
  const ArenaRun& run = results.cells[1].runs[static_cast<std::size_t>(at)][1];
  EXPECT_TRUE(run.finished);
  EXPECT_EQ(run.turnaround_s, in_seconds(summary->turnaround.mean));
  EXPECT_EQ(run.p95_slowdown, summary->slowdown.p95);
  EXPECT_EQ(run.makespan_s, in_seconds(summary->makespan));
  EXPECT_EQ(run.longest_wait_s, in_seconds(summary->first_wait_max));
  EXPECT_GT(run.wait_s, 0);
  EXPECT_NEAR(run.wait_s + run.execution_s, run.turnaround_s, 1e-6);
}

TEST(Arena, WhoRunsWhereFollowsFromTheCell) {
  const ArenaFolder folder;
  const auto cells = folder.open();
  const auto all = *arena_contestants("full-gpu", "");
  const auto in = [&](std::string_view spec, const OpenArenaCell& cell) {
    const auto found = std::ranges::find(all, spec, &ArenaContestant::spec);
    EXPECT_NE(found, all.end()) << spec;
    return spec_in(*found, cell.cell);
  };
  EXPECT_EQ(in("miso:checkpoint=all", cells[0])->text, "miso:checkpoint=all;measure=0");
  EXPECT_FALSE(in("miso:checkpoint=all", cells[1])) << "no job may be stopped";
  EXPECT_FALSE(in("online", cells[0])) << "jobs may not be moved for nothing";
  EXPECT_EQ(std::ranges::count(all, "full-gpu", &ArenaContestant::spec), 1);
  EXPECT_EQ(all.front().role, ArenaRole::tested);
  for (const ArenaContestant& each : all)
    EXPECT_EQ(text(told_in(each, cells[0].cell)), each.role == ArenaRole::hindsight
                                                      ? "speeds=true;times=true;memory=true"
                                                      : "speeds=true;times=unknown;memory=true");
  EXPECT_FALSE(arena_contestants("no-such", ""));
  EXPECT_FALSE(arena_contestants("online", "no-such"));
}

TEST(Arena, EveryBaselineOfTheTableCanBeMade) {
  const auto all = *arena_contestants("full-gpu:order=sjf", "");
  ArenaCell everything;
  everything.may = MayInterrupt::all;
  for (const ArenaContestant& each : all) EXPECT_TRUE(spec_in(each, everything)) << each.spec;
  EXPECT_EQ(std::ranges::count(all, ArenaRole::hindsight, &ArenaContestant::role), 2);
}

TEST(KeptRuns, AreUsedAndChangeNothing) {
  const ArenaFolder folder;
  const auto cells = folder.open();
  const auto all = contestants();
  const std::string path = folder.path("kept");
  std::string first;
  for (const std::size_t expected : {0, 14}) {
    const auto kept = *KeptRuns::open(path, 1);
    const ArenaResults results = run_arena(cells, all, {.kept = kept.get()});
    EXPECT_EQ(results.kept, expected) << "miso does not run in one of two cells";
    EXPECT_EQ(results.kept_of_another, 0U);
    if (first.empty()) first = arena_csv(results);
    EXPECT_EQ(arena_csv(results), first);
  }
  // What a killed program left.
  std::ofstream(path, std::ios::app) << R"({"run": "12)";
  const auto kept = KeptRuns::open(path, 1);
  ASSERT_TRUE(kept) << kept.error().text();
  EXPECT_EQ(run_arena(cells, all, {.kept = kept->get()}).kept, 14U);
}

TEST(KeptRuns, AnotherProgramsCountForBaselinesIfTheyComeOutTheSame) {
  const ArenaFolder folder;
  const auto cells = folder.open();
  const auto all = contestants();
  const std::string path = folder.path("kept");
  static_cast<void>(run_arena(cells, all, {.kept = KeptRuns::open(path, 1)->get()}));
  const std::string text = *read_text(path);
  {
    const auto kept = *KeptRuns::open(path, 2);
    EXPECT_EQ(run_arena(cells, all, {.kept = kept.get(), .own_runs_only = true}).kept, 0U);
  }
  std::ofstream(path) << text;
  {
    const auto kept = *KeptRuns::open(path, 2);
    const ArenaResults results = run_arena(cells, all, {.kept = kept.get()});
    EXPECT_EQ(results.kept, 10U) << "all but the four of the scheduler under test";
    EXPECT_EQ(results.kept_of_another, 10U);
  }
  // The other program's full-gpu, which comes first of the baselines, was another one.
  std::ofstream changed(path);
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty()) continue;
    Json run = *parse_json(line, "kept");
    const auto of_full_gpu = [&] {
      for (const OpenArenaCell& cell : cells)
        for (std::size_t seed = 0; seed < 2; ++seed)
          if (run["run"] == fmt::format("{:016x}", arena_key(cell, seed, all[1]))) return true;
      return false;
    };
    if (of_full_gpu()) run["makespan_s"] = run["makespan_s"].get<double>() + 1;
    changed << run.dump() << '\n';
  }
  changed.close();
  const auto kept = *KeptRuns::open(path, 2);
  EXPECT_EQ(run_arena(cells, all, {.kept = kept.get()}).kept, 6U);
}

TEST(KeptRuns, AreFoundOnlyIfNothingChanged) {
  const ArenaFolder folder;
  const auto cells = folder.open();
  const auto all = contestants();
  std::vector<std::uint64_t> keys;
  const auto add = [&](const std::vector<OpenArenaCell>& of) {
    for (const OpenArenaCell& cell : of)
      for (std::size_t seed = 0; seed < 2; ++seed)
        for (const ArenaContestant& each : all)
          if (spec_in(each, cell.cell)) keys.push_back(arena_key(cell, seed, each));
  };
  add(cells);
  add(folder.open(ArenaWorld::physical));
  for (std::uint64_t seed = 1; seed <= 2; ++seed) folder.write_workload(seed, 13);
  add(folder.open());
  std::ranges::sort(keys);
  EXPECT_EQ(std::ranges::adjacent_find(keys), keys.end());
}

TEST(KeptRuns, AnotherFileIsRefused) {
  const ArenaFolder folder;
  for (const char* text : {"{\"a\": 1}\n", "hello\n", "{\"run\": \"x\", \"program\": \"y\"}\n"}) {
    std::ofstream(folder.path("kept")) << text;
    const auto kept = KeptRuns::open(folder.path("kept"), 1);
    ASSERT_FALSE(kept) << text;
    EXPECT_NE(kept.error().text().find("kept:1"), std::string::npos) << kept.error().text();
    EXPECT_EQ(*read_text(folder.path("kept")), text) << "it is left as it was";
  }
  EXPECT_FALSE(KeptRuns::open(folder.path("none/kept"), 1));
}

// Scores against the definitions.

ArenaResults random_results(std::uint64_t seed) {
  Random random(seed);
  ArenaResults results;
  results.contestants = {{"new", ArenaRole::tested},
                         {"a", ArenaRole::baseline},
                         {"b", ArenaRole::baseline},
                         {"future", ArenaRole::hindsight}};
  for (std::size_t c = 0; c < 12; ++c) {
    ArenaResults::Of& cell = results.cells.emplace_back();
    cell.cell.name = fmt::format("c{}", c);
    cell.cell.seeds.resize(1 + random.below(4));
    cell.bounds.resize(cell.cell.seeds.size());
    for (LowerBounds& bounds : cell.bounds)
      bounds = {{1, 0.5 + random.uniform()}, {1, 0.2 + random.uniform()}};
    for (std::size_t contestant = 0; contestant < 4; ++contestant) {
      auto& runs = cell.runs.emplace_back();
      const bool left_out = random.below(8) == 0;
      for (std::size_t s = 0; s < cell.cell.seeds.size(); ++s) {
        ArenaRun& run = runs.emplace_back();
        run.finished = !left_out && random.below(12) != 0;
        run.shares = random.below(2) == 0;
        run.turnaround_s = 1 + random.uniform();
        run.p95_slowdown = 1 + random.uniform();
        run.makespan_s = 1 + random.uniform();
        if (left_out) run.why = Error{ErrorKind::bad_usage, "", "no", ""};
      }
    }
  }
  return results;
}

/// The product of values to the power of one over their number; infinite where a run did not
/// finish.
double slow_value(const std::vector<ArenaRun>& runs, double ArenaRun::*value) {
  double product = 1;
  for (const ArenaRun& run : runs)
    product *= run.finished ? run.*value : std::numeric_limits<double>::infinity();
  return std::pow(product, 1 / static_cast<double>(runs.size()));
}

TEST(ArenaScore, IsWhatTheDefinitionsSay) {
  std::size_t compared = 0, unfinished = 0, left_out = 0, unrivalled = 0, beyond = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const ArenaResults results = random_results(seed);
    for (const ArenaMetric& metric : arena_metrics()) {
      const auto scores = arena_scores(results, 0, metric);
      ASSERT_EQ(scores.size(), results.cells.size());
      for (std::size_t c = 0; c < scores.size(); ++c) {
        const ArenaScore& score = scores[c];
        const auto& runs = results.cells[c].runs;
        const double own = slow_value(runs[0], metric.value), a = slow_value(runs[1], metric.value),
                     b = slow_value(runs[2], metric.value);
        if (std::isinf(own)) {
          const bool out = runs[0].front().why.has_value();
          EXPECT_EQ(score.state, out ? ArenaScore::State::left_out : ArenaScore::State::unfinished);
          EXPECT_EQ(score.lost(), !out);
          ++(out ? left_out : unfinished);
          continue;
        }
        if (std::isinf(a) && std::isinf(b)) {
          EXPECT_EQ(score.state, ArenaScore::State::unrivalled);
          EXPECT_FALSE(score.lost());
          ++unrivalled;
          continue;
        }
        ++compared;
        EXPECT_EQ(score.state, ArenaScore::State::compared);
        EXPECT_EQ(score.best, a <= b ? 1U : 2U);
        EXPECT_NEAR(score.ratio, own / std::min(a, b), 1e-12);
        EXPECT_EQ(score.lost(), own / std::min(a, b) > 1.03);
        const std::size_t n = runs[0].size();
        EXPECT_EQ(score.error.has_value(), n > 1);
        if (n == 1) {
          EXPECT_FALSE(score.beyond_noise());
          continue;
        }
        // n (n - 1) se^2 is the sum of squares less the square of the sum over n.
        double sum = 0, squares = 0;
        for (std::size_t s = 0; s < n; ++s) {
          const double log =
              std::log(runs[0][s].*metric.value / (runs[*score.best][s].*metric.value));
          sum += log;
          squares += log * log;
        }
        const auto count = static_cast<double>(n);
        EXPECT_NEAR(*score.error * *score.error * count * (count - 1), squares - sum * sum / count,
                    1e-9);
        beyond += score.beyond_noise() ? 1 : 0;
        EXPECT_EQ(score.beyond_noise(), sum / count > 2 * *score.error);
      }
    }
  }
  for (const std::size_t seen : {compared, unfinished, left_out, unrivalled, beyond})
    EXPECT_GT(seen, 50U);
}

TEST(ArenaScore, SummariesCountWhatScoresSay) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const ArenaResults results = random_results(seed);
    const auto scores = arena_scores(results, 0, arena_metrics().front());
    std::vector<bool> which;
    for (std::size_t c = 0; c < scores.size(); ++c) which.push_back(c % 3 != 0);
    const ArenaSummary summary = summary_of(scores, which);
    double product = 1;
    std::size_t cells = 0, lost = 0, bad = 0, unfinished = 0;
    for (std::size_t c = 0; c < scores.size(); ++c) {
      if (c % 3 == 0) continue;
      const bool stuck = scores[c].state == ArenaScore::State::unfinished;
      const bool counts = scores[c].state == ArenaScore::State::compared;
      unfinished += stuck ? 1 : 0;
      lost += stuck || (counts && scores[c].ratio > 1.03) ? 1 : 0;
      bad += stuck || (counts && scores[c].ratio > 1.10) ? 1 : 0;
      if (!counts) continue;
      product *= scores[c].ratio;
      ++cells;
      EXPECT_LE(scores[c].ratio, summary.worst);
    }
    EXPECT_EQ(summary.cells, cells);
    EXPECT_EQ(summary.unfinished, unfinished);
    EXPECT_EQ(summary.lost, lost);
    EXPECT_EQ(summary.badly_lost, bad);
    EXPECT_NEAR(summary.mean, std::pow(product, 1 / static_cast<double>(cells)), 1e-12);
  }
}

TEST(ArenaScore, TimesBoundTakesTheBoundOfEachRun) {
  const ArenaResults results = random_results(3);
  std::size_t seen = 0;
  for (const ArenaResults::Of& cell : results.cells) {
    const auto times = times_bound(cell, 0);
    const bool all = std::ranges::all_of(cell.runs[0], &ArenaRun::finished);
    EXPECT_EQ(times.has_value(), all);
    if (!all) continue;
    double product = 1;
    for (std::size_t s = 0; s < cell.bounds.size(); ++s) {
      const ArenaRun& run = cell.runs[0][s];
      product *= run.turnaround_s / (run.shares ? cell.bounds[s].shared.turnaround_mean_s
                                                : cell.bounds[s].apart.turnaround_mean_s);
    }
    EXPECT_NEAR(*times, std::pow(product, 1 / static_cast<double>(cell.bounds.size())), 1e-12);
    ++seen;
  }
  EXPECT_GT(seen, 3U);
}

TEST(ArenaReport, ListsLossesWorstFirst) {
  const ArenaResults results = random_results(5);
  const auto losses = arena_losses(results, 0, arena_metrics().front());
  ASSERT_GT(losses.size(), 2U);
  for (std::size_t i = 1; i < losses.size(); ++i) {
    const bool stuck = losses[i].score.state == ArenaScore::State::unfinished;
    const bool before = losses[i - 1].score.state == ArenaScore::State::unfinished;
    EXPECT_TRUE(before || (!stuck && losses[i - 1].score.ratio >= losses[i].score.ratio));
  }
}

TEST(ArenaReport, LossesSayWhy) {
  ArenaResults results;
  results.contestants = {{"new", ArenaRole::tested}, {"old", ArenaRole::baseline}};
  ArenaResults::Of& cell = results.cells.emplace_back();
  cell.cell.seeds = {1, 2};
  const auto run = [](double wait, double execution, double makespan, double disruptions) {
    ArenaRun made;
    made.finished = true;
    made.turnaround_s = wait + execution;
    made.wait_s = wait;
    made.execution_s = execution;
    made.p95_slowdown = 1;
    made.makespan_s = makespan;
    made.disruptions = disruptions;
    return made;
  };
  cell.runs = {{run(40, 90, 300, 1), run(40, 110, 300, 0)},
               {run(30, 100, 100, 0), run(10, 60, 100, 0.5)}};
  const auto why = [&](std::size_t metric) {
    return arena_losses(results, 0, arena_metrics()[metric]).at(0).why;
  };
  // Means of 40 and 100 s against 20 and 80 s.
  EXPECT_EQ(why(0), "wait +20.0 %, execution +20.0 %; disruptions 0.50, there 0.25");
  EXPECT_EQ(why(2), "turnaround 1.40 of its");
  EXPECT_TRUE(arena_losses(results, 0, arena_metrics()[1]).empty());
}

TEST(ArenaReport, CsvQuotesWhatItMust) {
  ArenaResults results = random_results(5);
  results.cells.resize(1);
  results.cells.front().cell.name = "a \"b\", c";
  EXPECT_NE(arena_csv(results).find("\n\"a \"\"b\"\", c\",new,"), std::string::npos);
}

TEST(ArenaReport, ThePageHasBothWorldsAndNarrowProse) {
  const ArenaFolder folder;
  const ArenaResults plain = run_arena(folder.open(), contestants(), {}),
                     physical = run_arena(folder.open(ArenaWorld::physical), contestants(), {});
  const std::string page = arena_page(plain, physical, 0);
  for (const char* heading : {"## `online:backfill=easy` in the plain world",
                              "## `online:backfill=easy` in the physical world", "### Cells lost"})
    EXPECT_NE(page.find(heading), std::string::npos) << heading;
  EXPECT_NE(page.find("2 cells, 4 runs of each scheduler."), std::string::npos);
  for (const std::string_view line : split(page, '\n'))
    EXPECT_TRUE(line.size() <= 100 || line.starts_with("|")) << line;
}

}  // namespace
}  // namespace cleave
