#include "study/reproduce/reproduce_completion_time.hpp"
#include "base/places_test.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "forecast/time/held_out_times.hpp"
#include "study/bench/bench_training.hpp"

namespace cleave {
namespace {

constexpr std::string_view header =
    "model,mig_gpcs,batch_size,mps_processes,throughput_rps_per_process,latency_s\n";

TEST(CompletionTimeStudy, ReadsWhatFitAndWasMeasuredOnTheWholeGpu) {
  const std::string text = std::string(header) +
                           "a,1,8,2,16,0.5\na,7,8,2,80,0.1\na,7,8,1,160,0.05\na,1,256,1,0,0\n"
                           "b,2,4,1,8,0.5\n";
  const auto read = read_parva_jobs(text, "p.csv");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->did_not_fit, 1U);
  EXPECT_EQ(read->no_whole, 1U) << "b has no row of 7g";
  EXPECT_EQ(read->jobs.rows.cells,
            (std::vector<double>{8, 2, 1, 0.1, 8, 2, 7, 0.1, 8, 1, 7, 0.05}));
  EXPECT_EQ(read->jobs.seconds, (std::vector{0.5, 0.1, 0.05}));
  EXPECT_EQ(read->jobs.groups, (std::vector<std::string>{"a", "a", "a"}));
}

TEST(CompletionTimeStudy, RefusesOtherFiles) {
  for (const char* text :
       {"", "model,mig_gpcs\na,1\n", "model,mig_gpcs,batch_size,mps_processes\na,1,2,3\n"})
    EXPECT_FALSE(read_parva_jobs(text, "p.csv")) << text;
  for (const char* row : {"a,8,1,1,5,0.1\n", "a,1,0,1,5,0.1\n", "a,1,1,1,-5,0.1\n",
                          "a,1,1,1,x,0.1\n", ",1,1,1,5,0.1\n", "a,1,1\n", "a,1,1,1,5,0.1\n"})
    EXPECT_FALSE(read_parva_jobs(std::string(header) + row, "p.csv")) << row;
}

TEST(CompletionTimeStudy, OfInventedJobsIsWhole) {
  ParvaJobs invented;
  invented.jobs = invented_jobs(3);
  std::vector<std::size_t> some;  // three of the models, with one process
  for (std::size_t i = 0; i < invented.jobs.size(); ++i)
    if (invented.jobs.groups[i] < "md" && invented.jobs.rows[i][1] == 1) some.push_back(i);
  invented.jobs = invented.jobs.part(some);
  CompletionTimeOptions options = parva_options(1);
  options.boosting.rounds = 40;
  const auto study = reproduce_completion_time(invented, options);
  ASSERT_TRUE(study) << study.error().text();
  EXPECT_EQ(study->rows, 3U * 45);
  ASSERT_EQ(study->all.size(), 2U);
  ASSERT_EQ(study->without_whole.size(), 2U);
  EXPECT_EQ(study->models.size(), 3U);
  EXPECT_EQ(study->forms.size(), 3U);
  std::size_t of_slices = 0, covered = 0;
  for (const SlicesResult& each : study->by_slices) {
    of_slices += each.answered;
    covered += each.covered;
    EXPECT_GE(each.width, 1);
  }
  EXPECT_EQ(study->by_slices.size(), 5U);
  EXPECT_EQ(of_slices, study->all[0].answered);
  EXPECT_EQ(covered, study->all[0].covered);
  for (const HeldOutResult& result : study->all) EXPECT_EQ(result.rows, 3U * 45);
  for (const HeldOutResult& result : study->without_whole) {
    EXPECT_EQ(result.rows, 3U * 36);
    EXPECT_LE(result.covered, result.answered);
    EXPECT_LE(result.answered, result.rows);
    EXPECT_LT(result.trees.median, result.linear.median);
  }
  std::size_t rows = 0, answered = 0;
  for (const HeldOutResult& model : study->models) {
    rows += model.rows;
    answered += model.answered;
  }
  EXPECT_EQ(rows, study->without_whole[1].rows);
  EXPECT_EQ(answered, study->without_whole[1].answered);
}

TEST(CompletionTimeStudy, OnMeasuredInferenceTheTreesAreTwiceAsGoodAsLinear) {
  const std::string file =
      source_dir() + "/../shared/data/mig-parvagpu-a100-80gb/inference_profiles.csv";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "no measurements at " << file;
  std::ifstream stream(file);
  std::stringstream text;
  text << stream.rdbuf();
  auto read = read_parva_jobs(text.str(), file);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->jobs.size(), 1747U);
  EXPECT_EQ(read->did_not_fit, 728U);
  EXPECT_EQ(read->no_whole, 0U);
  read->jobs.groups.clear();  // five random splits, 80/20
  const auto times = HeldOutTimes::of(read->jobs, parva_options(1));
  ASSERT_TRUE(times);
  std::vector<double> trees, linear, nearest;
  for (const HeldOutTime& time : *times) {
    trees.push_back(std::abs(time.trees / time.measured - 1));
    linear.push_back(std::abs(time.linear / time.measured - 1));
    nearest.push_back(std::abs(time.nearest / time.measured - 1));
  }
  EXPECT_LT(2 * time_errors(trees).median, time_errors(linear).median);
  EXPECT_LT(2 * time_errors(trees).median, time_errors(nearest).median);
  EXPECT_LT(time_errors(trees).median, 0.06);
}

TEST(BenchTraining, TrainsOnJobsOfTheRightShape) {
  const MeasuredJobs jobs = invented_jobs(1);
  EXPECT_EQ(jobs.size(), 2475U);
  EXPECT_EQ(jobs.rows.cells, invented_jobs(1).rows.cells);
  EXPECT_NE(jobs.rows.cells, invented_jobs(2).rows.cells);
  const auto bench = bench_training(1);
  ASSERT_TRUE(bench) << bench.error().text();
  EXPECT_EQ(bench->rows, 2475U);
  EXPECT_GT(bench->seconds_median, 0);
  EXPECT_GT(bench->prediction_ns, 0);
}

}  // namespace
}  // namespace cleave
