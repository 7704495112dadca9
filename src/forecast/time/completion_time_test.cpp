#include "forecast/time/completion_time.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/json.hpp"
#include "base/random.hpp"
#include "forecast/time/held_out_times.hpp"

namespace cleave {
namespace {

/// Jobs of `kinds` kinds: batch, slices, memory traffic and time on the whole GPU; 5 % of noise.
MeasuredJobs jobs_of(std::size_t kinds, std::uint64_t seed) {
  MeasuredJobs jobs;
  jobs.features = {"batch", "slices", "dram", "whole_s"};
  jobs.rows.width = jobs.features.size();
  std::uint64_t row = 0;
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    const double floor = 0.5 + uniform_of(seed, kind, 0),
                 work = 0.05 + 0.1 * uniform_of(seed, kind, 1);
    for (const double batch : {1, 2, 4, 8, 16, 32, 64})
      for (const double slices : {1, 2, 3, 4, 7}) {
        const double whole = floor + work * batch;
        const double seconds =
            (floor + work * batch * 7 / slices) * std::exp(0.05 * normal_of(seed, ++row, 7));
        jobs.rows.add(std::vector{batch, slices, work * batch / whole, whole});
        jobs.seconds.push_back(seconds);
        jobs.groups.push_back("kind " + std::to_string(kind));
      }
  }
  return jobs;
}

CompletionTimeOptions options_of(TimeForm form) {
  CompletionTimeOptions options;
  options.form = form;
  options.whole = "whole_s";
  options.slices = "slices";
  options.boosting.rounds = 100;
  return options;
}

const CompletionTime& trained(TimeForm form) {
  static const auto train = [](TimeForm each) {
    auto model = CompletionTime::train(jobs_of(20, 1), "time_s", options_of(each));
    EXPECT_TRUE(model) << model.error().text();
    return std::move(*model);
  };
  static const CompletionTime models[] = {train(TimeForm::seconds), train(TimeForm::log),
                                          train(TimeForm::ratio)};
  return models[static_cast<std::size_t>(form)];
}

TEST(CompletionTime, BeatsThePlainWays) {
  for (const TimeForm form : {TimeForm::log, TimeForm::ratio}) {
    const CompletionTimeFigures& figures = trained(form).figures();
    EXPECT_EQ(figures.rows, 700U);
    EXPECT_GT(figures.held_out, 650U);
    ASSERT_TRUE(figures.linear);
    EXPECT_LT(2 * figures.trees.median, figures.linear->median) << name(form);
    EXPECT_LT(figures.trees.median, figures.nearest.median) << name(form);
    EXPECT_LT(figures.trees.median, 0.08) << name(form);
  }
}

TEST(CompletionTime, IntervalsHaveTheirLevel) {
  // Other noise and other kinds, which neither the trees nor the interval have seen.
  const MeasuredJobs unseen = jobs_of(20, 2);
  MeasuredJobs seen = jobs_of(40, 3);
  auto options = options_of(TimeForm::ratio);
  for (const double level : {0.5, 0.8, 0.95}) {
    options.level = level;
    const auto model = CompletionTime::train(seen, "time_s", options);
    ASSERT_TRUE(model);
    std::size_t answered = 0, covered = 0;
    for (std::size_t i = 0; i < unseen.size(); ++i) {
      const auto forecast = model->forecast(unseen.rows[i]);
      if (!forecast) continue;
      ++answered;
      EXPECT_LE(forecast->lower, forecast->seconds);
      EXPECT_LE(forecast->seconds, forecast->upper);
      if (forecast->lower <= unseen.seconds[i] && unseen.seconds[i] <= forecast->upper) ++covered;
    }
    ASSERT_GT(answered, 600U);
    EXPECT_NEAR(static_cast<double>(covered) / static_cast<double>(answered), level, 0.06);
  }
}

TEST(CompletionTime, LearnsFromJobsThatLackACounter) {
  MeasuredJobs jobs = jobs_of(20, 1);
  for (std::size_t i = 0; i < jobs.size(); i += 3)
    jobs.rows.cells[i * jobs.rows.width + 2] = std::nan("");
  const auto model = CompletionTime::train(jobs, "time_s", options_of(TimeForm::ratio));
  ASSERT_TRUE(model) << model.error().text();
  EXPECT_LT(model->figures().trees.median, model->figures().linear->median);
  EXPECT_GT(model->figures().held_out, 600U);
  EXPECT_EQ(model->features_that_may_miss(), (std::vector<std::string>{"dram"}));
  const auto read = CompletionTime::load(model->save(), "m");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->save(), model->save());
  const std::vector<double> lacking = {8, 2, std::nan(""), 2};
  const auto forecast = read->forecast(lacking);
  ASSERT_TRUE(forecast) << forecast.error().text();
  EXPECT_EQ(forecast->seconds, model->forecast(lacking)->seconds);
  EXPECT_FALSE(read->forecast(std::vector{std::nan(""), 2.0, 0.5, 2.0})) << "every job had a batch";
}

TEST(CompletionTime, RefusesJobsUnlikeAllMeasuredOnes) {
  const CompletionTime& model = trained(TimeForm::ratio);
  const std::vector<double> usual = {8, 2, 0.5, 2};
  const auto changed = [&](std::size_t feature, double value) {
    std::vector<double> row = usual;
    row[feature] = value;
    const auto forecast = model.forecast(row);
    return forecast ? std::string() : forecast.error().message;
  };
  EXPECT_TRUE(model.forecast(usual));
  EXPECT_EQ(changed(0, 4096), "batch is 4096, the measured jobs have 1 to 64");
  EXPECT_EQ(changed(0, 0), "batch is 0, the measured jobs have 1 to 64");
  EXPECT_EQ(changed(1, -1), "slices is -1, the measured jobs have 1 to 7");
  std::vector<double> margin = {64, 7, 0, 0};  // of a measured job, and then a little beyond
  const MeasuredJobs jobs = jobs_of(20, 1);
  for (std::size_t i = 0; i < jobs.size(); ++i)
    if (jobs.rows[i][0] == 64) margin.assign(jobs.rows[i].begin(), jobs.rows[i].end());
  margin[0] = 70;
  EXPECT_TRUE(model.forecast(margin));
  margin[0] = 71;
  EXPECT_FALSE(model.forecast(margin));
  EXPECT_NE(changed(2, std::nan("")), "");
  // Each feature is within its range, but no job was like this: the largest batch with hardly any
  // traffic.
  const auto forecast = model.forecast(std::vector{64.0, 7.0, 0.05, 1.0});
  ASSERT_FALSE(forecast);
  EXPECT_EQ(forecast.error().kind, ErrorKind::infeasible);
  EXPECT_TRUE(forecast.error().message.starts_with("no measured job is near: "))
      << forecast.error().message;
}

TEST(CompletionTime, AnswersEveryJobThatWasMeasured) {
  const MeasuredJobs jobs = jobs_of(20, 1);
  for (const TimeForm form : {TimeForm::seconds, TimeForm::log, TimeForm::ratio})
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const auto forecast = trained(form).forecast(jobs.rows[i]);
      ASSERT_TRUE(forecast) << forecast.error().text();
      EXPECT_GT(forecast->lower, 0);
    }
}

TEST(CompletionTime, SurvivesAnyNumbers) {
  Random random(5);
  constexpr double strange[] = {0, -1, 1e30, -1e30, 1e-300, 1e308, HUGE_VAL, -HUGE_VAL, 4};
  for (int i = 0; i < 2000; ++i) {
    std::vector<double> row;
    for (int f = 0; f < 4; ++f) row.push_back(strange[random.below(std::size(strange))]);
    for (const TimeForm form : {TimeForm::seconds, TimeForm::log, TimeForm::ratio}) {
      const double seconds = trained(form).seconds(row);
      ASSERT_GT(seconds, 0);
      ASSERT_LE(seconds, largest_number);
      (void)trained(form).forecast(row);
    }
  }
}

TEST(CompletionTime, TheSameTrainingGivesTheSameBytes) {
  const MeasuredJobs jobs = jobs_of(5, 1);
  auto options = options_of(TimeForm::ratio);
  const auto save = [&] { return CompletionTime::train(jobs, "time_s", options)->save(); };
  const std::string first = save();
  EXPECT_EQ(first, save());
  options.boosting.seed = 9;
  EXPECT_NE(first, save());
}

TEST(CompletionTime, ComesBackFromItsFileAsItWas) {
  const MeasuredJobs jobs = jobs_of(20, 2);
  for (const TimeForm form : {TimeForm::seconds, TimeForm::log, TimeForm::ratio}) {
    const CompletionTime& model = trained(form);
    const auto read = CompletionTime::load(model.save(), "m.json");
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(read->save(), model.save());
    EXPECT_EQ(read->features(), model.features());
    EXPECT_EQ(read->figures(), model.figures());
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const auto ours = model.forecast(jobs.rows[i]), theirs = read->forecast(jobs.rows[i]);
      ASSERT_EQ(ours.has_value(), theirs.has_value());
      if (!ours) continue;
      EXPECT_EQ(ours->seconds, theirs->seconds);
      EXPECT_EQ(ours->upper, theirs->upper);
    }
  }
}

TEST(CompletionTime, DamagedFilesAreRefused) {
  auto options = options_of(TimeForm::ratio);
  options.boosting.rounds = 3;
  const auto model = CompletionTime::train(jobs_of(3, 1), "time_s", options);
  ASSERT_TRUE(model);
  const std::string text = model->save();
  for (std::size_t cut = 0; cut + 2 < text.size(); cut += 97)
    EXPECT_FALSE(CompletionTime::load(text.substr(0, cut), "m.json")) << "cut at " << cut;
  const Json whole = Json::parse(text);
  for (const auto& [key, value] : whole.items()) {
    Json without = whole, other = whole;
    without.erase(key);
    other[key] = "seven";
    EXPECT_FALSE(CompletionTime::load(without.dump(), "m.json")) << "without " << key;
    EXPECT_EQ(CompletionTime::load(other.dump(), "m.json").has_value(), key == "target") << key;
  }
  Json newer = whole;
  newer["version"] = 2;
  const auto read = CompletionTime::load(newer.dump(), "m.json");
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("newer"), std::string::npos);
  Json log = whole;  // the trees have columns that this form lacks
  log["form"] = "log";
  EXPECT_FALSE(CompletionTime::load(log.dump(), "m.json"));
}

TEST(CompletionTime, RefusesToLearnFromTooLittle) {
  const auto refusal = [](const MeasuredJobs& jobs, const CompletionTimeOptions& options) {
    const auto model = CompletionTime::train(jobs, "time_s", options);
    return model ? std::string() : model.error().message;
  };
  const MeasuredJobs jobs = jobs_of(2, 1);
  std::vector<std::size_t> few(CompletionTime::least_rows - 1);
  for (std::size_t i = 0; i < few.size(); ++i) few[i] = i;
  EXPECT_NE(refusal(jobs.part(few), options_of(TimeForm::log)), "");
  few.push_back(few.size());
  EXPECT_NE(refusal(jobs.part(few), options_of(TimeForm::log)), "") << "one group";
  MeasuredJobs apart = jobs;
  for (std::size_t i = 0; i < jobs.size(); ++i)
    if (jobs.groups[i] == jobs.groups[0]) apart.rows.cells[i * apart.rows.width] += 1e6;
  EXPECT_NE(refusal(apart, options_of(TimeForm::log)), "")
      << "no group is within the range of the other";
  const auto with = [&](auto change) {
    CompletionTimeOptions options = options_of(TimeForm::ratio);
    change(options);
    return refusal(jobs, options);
  };
  EXPECT_NE(with([](auto& o) { o.whole = ""; }), "");
  EXPECT_NE(with([](auto& o) { o.whole = "hole_s"; }), "");
  EXPECT_NE(with([](auto& o) { o.slices = "time"; }), "");
  EXPECT_NE(with([](auto& o) { o.level = 1; }), "");
  EXPECT_NE(with([](auto& o) { o.margin = -1; }), "");
  EXPECT_NE(with([](auto& o) { o.folds = 1; }), "");
  EXPECT_EQ(with([](auto& o) { o.slices = ""; }), "");
}

TEST(HeldOutTimes, GroupsAreNeverParted) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const MeasuredJobs jobs = jobs_of(2 + seed % 9, seed);
    const std::vector<std::size_t> folds = HeldOutTimes::deal(jobs, 5, seed);
    std::map<std::string, std::set<std::size_t>> of;
    for (std::size_t i = 0; i < folds.size(); ++i) of[jobs.groups[i]].insert(folds[i]);
    std::set<std::size_t> used;
    for (const auto& [group, parts] : of) {
      EXPECT_EQ(parts.size(), 1U);
      used.insert(parts.begin(), parts.end());
    }
    EXPECT_EQ(used.size(), std::min<std::size_t>(5, of.size()));
    EXPECT_EQ(*used.rbegin(), used.size() - 1);
  }
  MeasuredJobs single = jobs_of(3, 1);
  single.groups.clear();
  const std::vector<std::size_t> folds = HeldOutTimes::deal(single, 5, 1);
  for (std::size_t fold = 0; fold < 5; ++fold) EXPECT_EQ(std::ranges::count(folds, fold), 21);
}

TEST(TimeBaselines, AreWhatTheySay) {
  const MeasuredJobs jobs = jobs_of(3, 1);
  const auto linear = LinearInSlices::make(jobs, "slices", "whole_s");
  ASSERT_TRUE(linear);
  EXPECT_DOUBLE_EQ(linear->seconds(std::vector{8.0, 2.0, 0.5, 3.0}), 10.5);
  EXPECT_DOUBLE_EQ(
      LinearInSlices::make(jobs, "slices", "whole_s", 4)->seconds(std::vector{8.0, 2.0, 0.5, 3.0}),
      6);
  EXPECT_FALSE(LinearInSlices::make(jobs, "slice", "whole_s"));
  const NearestMeasuredJob nearest(jobs);
  for (std::size_t i = 0; i < jobs.size(); ++i)
    EXPECT_DOUBLE_EQ(nearest.seconds(jobs.rows[i]), jobs.seconds[i]);
}

TEST(TimeErrors, AreQuantiles) {
  EXPECT_EQ(time_errors({3, 1, 2}), (TimeErrors{2, 3}));
  EXPECT_EQ(time_errors({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}), (TimeErrors{5.5, 9}));
  EXPECT_EQ(time_errors({4}), (TimeErrors{4, 4}));
}

}  // namespace
}  // namespace cleave
