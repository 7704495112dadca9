// `cleave reproduce co-runs` from outside.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/places_test.hpp"
#include "json_of.hpp"

namespace cleave {
namespace {

using testing_program::cleave;
using testing_program::json_of;
using testing_program::Outcome;

TEST(ReproduceCorunsCommand, ThePapersNeedNoData) {
  const Json answer = json_of(cleave("reproduce co-runs --json"));
  std::size_t figures = 0, skipped = 0;
  for (const Json& experiment : answer["experiments"]) {
    figures += experiment["figures"].size();
    if (!experiment.contains("skipped")) {
      EXPECT_FALSE(experiment["inputs"].empty());
      continue;
    }
    ++skipped;
    EXPECT_EQ(experiment["skipped"], "because it needs --data");
  }
  EXPECT_EQ(figures, 109U);
  EXPECT_EQ(skipped, 4U);
  const Json& gain = answer["experiments"][1]["figures"][1];
  EXPECT_EQ(gain["name"], "throughput gain");
  EXPECT_EQ(gain["measured"]["least"], 1.92);
  EXPECT_NEAR(gain["predicted"].get<double>(), 3.014, 0.001);
  EXPECT_EQ(gain["agrees"], true);
  const Outcome text = cleave("reproduce co-runs");
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("STREAM: skipped, because it needs --data"), std::string::npos);
}

TEST(ReproduceCorunsCommand, AFolderThatIsNotThereIsAnError) {
  EXPECT_EQ(cleave("reproduce co-runs --data /nowhere").exit_code, 2);
}

TEST(ReproduceCorunsCommand, ThePageShowsWhatComesOut) {
  const std::string data = "../shared/data";
  if (!std::filesystem::exists(source_dir() + "/" + data + "/mig-reconfig-a100-40gb")) {
    GTEST_SKIP() << "the public measurements are not beside this source tree";
  }
  std::stringstream page;
  page << std::ifstream(source_dir() + "/docs/physics.md").rdbuf();
  const Outcome outcome = cleave("reproduce co-runs --data " + data);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(page.str().find("```text\n" + outcome.out + "```"), std::string::npos)
      << "docs/physics.md shows older tables; tools/update-docs.sh rewrites them";
}

}  // namespace
}  // namespace cleave
