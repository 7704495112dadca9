// The page of reports: that what is committed is what its sources give, and that a browser shows
// it.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "../cli/program.hpp"
#include "base/format.hpp"
#include "base/places_test.hpp"
#include "base/text.hpp"

namespace cleave {
namespace {

using testing_program::Outcome;
using testing_program::Scratch;
using testing_program::shell;

/// The shell's rules for words that have none of its signs.
Outcome in_page(const std::string& command) {
  return shell(fmt::format("cd page && {}", command));
}

TEST(Page, WhatIsCommittedIsOfTheseSources) {
  const Outcome same = in_page("sha256sum -c --quiet built/sources.sha256");
  EXPECT_EQ(same.exit_code, 0) << same.out << same.err << "run tools/page.sh";
  const Outcome listed = in_page("cut -c 67- built/sources.sha256 | LC_ALL=C sort");
  const Outcome there = in_page(
      "{ find src -name '*.ts' -o -name '*.tsx' -o -name '*.css' -o -name '*.html'; "
      "echo build.mjs; echo package-lock.json; } | LC_ALL=C sort");
  EXPECT_EQ(listed.out, there.out) << "run tools/page.sh";
}

TEST(Page, IsBuiltAgainToTheByte) {
  const Outcome built = shell("tools/page.sh --check");
  if (built.exit_code == 3) GTEST_SKIP() << built.err;
  EXPECT_EQ(built.exit_code, 0) << built.out << built.err;
}

/// What a browser makes of the file, and what it complains of.
class Browser : public testing::Test {
 protected:
  void SetUp() override {
    if (shell("command -v chromium").exit_code != 0) GTEST_SKIP() << "there is no Chromium";
  }

  [[nodiscard]] std::string path(const std::string& name) const { return scratch_.path(name); }

  [[nodiscard]] Outcome shows(const std::string& file) const {
    return shell(fmt::format(
        "HOME={} timeout 60 chromium --headless --no-sandbox --disable-gpu --user-data-dir={} "
        "--disable-dev-shm-usage --no-first-run --enable-logging=stderr --virtual-time-budget=4000 "
        "--dump-dom file://{}",
        scratch_.path(""), scratch_.path("profile"), file));
  }

  static void expect_no_complaint(const Outcome& seen) {
    EXPECT_EQ(seen.exit_code, 0) << seen.err;
    for (const std::string_view line : split(seen.err, '\n'))
      EXPECT_EQ(line.find("CONSOLE"), std::string_view::npos) << line;
  }

  static std::size_t count(const std::string& text, std::string_view what) {
    std::size_t all = 0;
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++all;
    return all;
  }

 private:
  Scratch scratch_;
};

TEST_F(Browser, ShowsASimulation) {
  const std::string file = path("report.html");
  const Outcome made = shell(fmt::format(
      "cleave simulate --fleet 4xA100-40GB --workload data/workloads/lab-day.jsonl --report {}",
      file));
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const Outcome seen = shows(file);
  expect_no_complaint(seen);
  for (const char* part :
       {"<h1>cleave simulate</h1>", "200 finished, 0 failed", "<h3>Timeline</h3>", "--report",
        "Fragmentation", "Distributions", "lab-day.jsonl"})
    EXPECT_NE(seen.out.find(part), std::string::npos) << part;
  // The timeline; five charts over time and three distributions.
  EXPECT_EQ(count(seen.out, "<canvas"), 9U);
}

TEST_F(Browser, ShowsAComparison) {
  const std::string file = path("report.html");
  const Outcome made = shell(
      fmt::format("cleave compare --fleet 2xA100-40GB --generate lab-day --seeds 3 --schedulers "
                  "full-gpu,online,adaptive --report {}",
                  file));
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const Outcome seen = shows(file);
  expect_no_complaint(seen);
  for (const char* part : {"Schedulers side by side", "Medians over 3 seeds", "role=\"tab\"",
                           "class=\"dots\"", "online against full-gpu", "with seed 1"})
    EXPECT_NE(seen.out.find(part), std::string::npos) << part;
  EXPECT_EQ(count(seen.out, "role=\"tab\""), 3U);
}

TEST_F(Browser, SaysThatSeedsMakeNoDifference) {
  const std::string file = path("report.html");
  const Outcome made = shell(fmt::format(
      "cleave compare --fleet 2xA100-40GB --workload data/workloads/lab-day.jsonl --seeds 3 "
      "--schedulers full-gpu,online --report {}",
      file));
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const Outcome seen = shows(file);
  EXPECT_NE(seen.out.find("The 3 seeds make no difference"), std::string::npos);
  EXPECT_EQ(seen.out.find(">With one seed"), std::string::npos);
}

TEST_F(Browser, ShowsAnAdvice) {
  const std::string file = path("report.html");
  const Outcome made = shell(fmt::format(
      "cleave advise --fleet 2xA100-40GB --generate lab-day --draws 6 --report {}", file));
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const Outcome seen = shows(file);
  expect_no_complaint(seen);
  const std::string first = made.out.substr(0, made.out.find(':'));
  for (const std::string& part :
       {std::string("<h1>cleave advise</h1>"), std::string("The advice"), first,
        std::string("Candidates side by side"), std::string("class=\"dots\""),
        std::string("Layouts that stay"), std::string("What to measure first"),
        std::string("With one thing changed"), std::string("6 draws of the workload")})
    EXPECT_NE(seen.out.find(part), std::string::npos) << part;
  EXPECT_EQ(count(seen.out, "NaN"), 0U);
  // Several layouts are of one scheduler; the advised one alone is among the candidates.
  const std::size_t drawn = seen.out.find("class=\"dots\""), end = seen.out.find("</svg>", drawn);
  const std::string chart = seen.out.substr(drawn, end - drawn);
  EXPECT_EQ(count(chart, ">best fixed layout"), 1U);
}

TEST_F(Browser, ShowsAPlan) {
  const std::string file = path("report.html");
  const Outcome made = shell(
      fmt::format("cleave plan compact --fleet examples/fleets/scattered.json --report {}", file));
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const Outcome seen = shows(file);
  expect_no_complaint(seen);
  for (const char* part :
       {"proven optimal", "One GPU stays as it is", "from n0/1 at 4 to n0/2 at 2"})
    EXPECT_NE(seen.out.find(part), std::string::npos) << part;
  EXPECT_EQ(count(seen.out, "class=\"trip\""), 3U);
  EXPECT_EQ(count(seen.out, "<rect class=\"box"), 14U);
  const Outcome twice = shell(
      fmt::format("cleave plan compact --fleet examples/fleets/scattered.json --report {} --svg {}",
                  file, file));
  EXPECT_EQ(twice.exit_code, 2);
}

/// The live page, driven against a daemon: page/test/live.test.mjs has the scenes.
TEST_F(Browser, UsesTheLivePageOfADaemon) {
  const Outcome used = shell(
      "CLEAVE_BIN=$(dirname \"$(command -v cleaved)\") timeout 400 "
      "tools/page.sh --run test/live.test.mjs");
  if (used.exit_code == 3) GTEST_SKIP() << used.err;
  EXPECT_EQ(used.exit_code, 0) << used.out << used.err;
}

/// A workload whose jobs are called as an attacker would call them.
TEST_F(Browser, RunsNothingThatAJobIsCalled) {
  const std::string workload = path("workload.jsonl"), file = path("report.html");
  std::ofstream(workload)
      << R"({"id":"</script><script>document.title='run'</script>","arrival_s":0,)"
      << R"("profile":"1g.5gb","duration_s":60,)"
      << R"("user":"<img src=x onerror=\"document.title='run'\">"})" << '\n';
  const Outcome made = shell(
      fmt::format("cleave simulate --fleet 1xA100-40GB --workload {} --report {}", workload, file));
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const Outcome seen = shows(file);
  expect_no_complaint(seen);
  EXPECT_NE(seen.out.find("<title>cleave simulate</title>"), std::string::npos);
  EXPECT_NE(seen.out.find("&lt;img src=x"), std::string::npos);
}

/// More spans than are drawn one by one.
TEST_F(Browser, ShowsALargeRunByGroupsOfGpus) {
  const std::string workload = path("workload.jsonl"), file = path("report.html");
  std::ofstream jobs(workload);
  for (int i = 0; i < 100'000; ++i)
    jobs << fmt::format(R"({{"id":"j{}","arrival_s":{},"profile":"{}","duration_s":{}}})"
                        "\n",
                        i, i, i % 3 == 0 ? "3g.20gb" : "1g.5gb", 300 + i % 700);
  jobs.close();
  const Outcome made = shell(fmt::format(
      "cleave simulate --fleet 400xA100-40GB --workload {} --scheduler online --report {}",
      workload, file));
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_LT(std::filesystem::file_size(file), 5'000'000U);
  const Outcome seen = shows(file);
  expect_no_complaint(seen);
  EXPECT_NE(seen.out.find("100000 finished"), std::string::npos);
  EXPECT_NE(seen.out.find("of the compute slices held"), std::string::npos);
}

}  // namespace
}  // namespace cleave
