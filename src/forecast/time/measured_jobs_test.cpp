#include "forecast/time/measured_jobs.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace cleave {
namespace {

TEST(MeasuredJobs, AreReadFromCsv) {
  const auto jobs = read_measured_jobs(
      "app,batch,time_s,dram\r\nbert,1,0.5,0.25\nbert,2,,0.5\n\"gpt, small\", 4 ,2e0,1\n", "m.csv",
      {});
  ASSERT_TRUE(jobs) << jobs.error().text();
  EXPECT_EQ(jobs->features, (std::vector<std::string>{"batch", "dram"}));
  EXPECT_EQ(jobs->passed_over, (std::vector<std::string>{"app"}));
  EXPECT_EQ(jobs->seconds, (std::vector{0.5, 2.0}));
  EXPECT_EQ(jobs->rows.cells, (std::vector<double>{1, 0.25, 4, 1}));
  EXPECT_EQ(jobs->left_out, 1U);
  EXPECT_TRUE(jobs->groups.empty());
}

TEST(MeasuredJobs, ColumnsCanBeNamed) {
  MeasuredJobsOptions options;
  options.target = "t";
  options.group = "app";
  options.features = {"b", "a"};
  const auto jobs = read_measured_jobs("app,a,b,c,t\nx,1,2,3,4\ny,5,6,7,8\n", "m.csv", options);
  ASSERT_TRUE(jobs) << jobs.error().text();
  EXPECT_EQ(jobs->rows.cells, (std::vector<double>{2, 1, 6, 5}));
  EXPECT_EQ(jobs->groups, (std::vector<std::string>{"x", "y"}));
  const std::size_t second[] = {1};
  const MeasuredJobs part = jobs->part(second);
  EXPECT_EQ(part.rows.cells, (std::vector<double>{6, 5}));
  EXPECT_EQ(part.groups, (std::vector<std::string>{"y"}));
}

TEST(MeasuredJobs, BadLinesArePassedOverWhereThatIsAskedFor) {
  const std::string text = "batch,time_s\n3\n1,2\nx,3\n2,5\n4,-1\n5,\n6,7,8\n";
  BadLines bad;
  MeasuredJobsOptions options;
  options.bad_lines = &bad;
  const auto jobs = read_measured_jobs(text, "m.csv", options);
  ASSERT_TRUE(jobs) << jobs.error().text();
  EXPECT_EQ(jobs->seconds, (std::vector<double>{2, 5}));
  EXPECT_EQ(jobs->left_out, 1U);
  ASSERT_EQ(bad.count, 4U);
  EXPECT_EQ(bad.first[0].place, "m.csv:2");
  EXPECT_EQ(bad.first[1].place, "m.csv:4");
  EXPECT_FALSE(read_measured_jobs("time_s\n", "m.csv", options)) << "the header must be there";
  BadLines asked_bad;
  const auto asked =
      read_asked_jobs(text, "m.csv", std::vector<std::string>{"batch"}, {}, &asked_bad);
  ASSERT_TRUE(asked) << asked.error().text();
  EXPECT_EQ(asked->size(), 4U);
  EXPECT_EQ(asked_bad.count, 3U);
}

/// The error, with its line, for an invalid file or options.
std::string refusal(const std::string& text, const MeasuredJobsOptions& options = {}) {
  const auto jobs = read_measured_jobs(text, "m.csv", options);
  return jobs ? "" : jobs.error().text();
}

TEST(MeasuredJobs, ErrorsNameTheirLine) {
  const auto contains = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos ? ::testing::AssertionSuccess()
                                                : ::testing::AssertionFailure() << text;
  };
  EXPECT_TRUE(contains(refusal("batch,time_s\n1,2\nx,3\n"), "m.csv:3: batch is not a number: 'x'"));
  EXPECT_TRUE(contains(refusal("batch,time_s\n,2\nx,3\n"), "no column holds numbers"));
  EXPECT_TRUE(
      contains(refusal("batch,dram,time_s\n1,,2\n2,,3\n", {"time_s", "", {"dram"}}), "dram"));
  EXPECT_TRUE(contains(refusal("batch,time_s\n1,2\n1e31,3\n"), "m.csv:3: batch is beyond"));
  EXPECT_TRUE(contains(refusal("batch,time_s\n1,0\n"), "m.csv:2: time_s is 0"));
  EXPECT_TRUE(contains(refusal("batch,time_s\n1,-4\n"), "m.csv:2: time_s is -4"));
  EXPECT_TRUE(contains(refusal("batch,time\n1,4\n"), "did you mean 'time'?"));
  EXPECT_TRUE(contains(refusal("app,time_s\nx,4\n"), "no column holds numbers"));
  EXPECT_TRUE(contains(refusal("batch,time_s\n1,\n"), "no row has a time"));
  EXPECT_TRUE(contains(refusal("batch,time_s\n1,2\n3\n"), "m.csv:3: the line has 1 cells"));
  EXPECT_TRUE(contains(refusal("batch,time_s\n"), "no row has a time"));
  EXPECT_TRUE(
      contains(refusal("b,time_s\n1,2\n", {"time_s", "", {"time_s"}}), "cannot be a feature"));
  EXPECT_TRUE(contains(refusal("b,time_s\n1,2\n", {"time_s", "", {"b", "b"}}),
                       "given twice; name each feature once"));
  EXPECT_TRUE(contains(refusal("b,time_s\n1,2\n", {"time_s", "app", {}}), "no column 'app'"));
}

TEST(MeasuredJobs, EmptyCellsWereNotMeasured) {
  const auto jobs =
      read_measured_jobs("app,dram,gone,batch,time_s\nx,,,1,2\n,0.5,,,3\n", "m.csv", {});
  ASSERT_TRUE(jobs) << jobs.error().text();
  EXPECT_EQ(jobs->features, (std::vector<std::string>{"dram", "batch"}))
      << "the first row does not decide alone";
  EXPECT_EQ(jobs->passed_over, (std::vector<std::string>{"app", "gone"}));
  EXPECT_EQ(jobs->missing(0), 1U);
  EXPECT_TRUE(std::isnan(jobs->rows[0][0]));
  EXPECT_EQ(jobs->rows[0][1], 1);
  EXPECT_TRUE(std::isnan(jobs->rows[1][1]));
  const std::vector<std::string> features = {"batch", "dram"}, may_miss = {"dram"};
  const auto asked = read_asked_jobs("dram,batch\n,1\n1,\n", "j.csv", features, may_miss);
  ASSERT_TRUE(asked);
  EXPECT_EQ((*asked)[0].missing, "");
  EXPECT_TRUE(std::isnan((*asked)[0].row[1]));
  EXPECT_EQ((*asked)[1].missing, "batch is missing");
}

TEST(AskedJobs, MissAndAreWrongOneByOne) {
  const std::vector<std::string> features = {"batch", "dram"};
  const auto jobs = read_asked_jobs("dram,name,batch\n0.5,a,1\n,b,2\n1,c,4\n", "j.csv", features);
  ASSERT_TRUE(jobs) << jobs.error().text();
  ASSERT_EQ(jobs->size(), 3U);
  EXPECT_EQ((*jobs)[0].row, (std::vector<double>{1, 0.5}));
  EXPECT_EQ((*jobs)[1].missing, "dram is missing");
  EXPECT_EQ((*jobs)[1].place, "j.csv:3");
  EXPECT_EQ((*jobs)[2].row, (std::vector<double>{4, 1}));
  EXPECT_FALSE(read_asked_jobs("dram\n1\n", "j.csv", features)) << "a column is not there";
  EXPECT_FALSE(read_asked_jobs("dram,batch\n1,x\n", "j.csv", features));
}

}  // namespace
}  // namespace cleave
