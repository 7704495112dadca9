// `cleave reproduce physics` from outside.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "base/json.hpp"
#include "base/places_test.hpp"
#include "json_of.hpp"

namespace cleave {
namespace {

using testing_program::cleave;
using testing_program::Outcome;
using testing_program::Scratch;

TEST(ReproducePhysicsCommand, ScoresWhatIsThereAndSaysWhatIsNot) {
  const Scratch scratch;
  std::filesystem::create_directory(scratch.path("mig-reconfig-a100-40gb"));
  scratch.write("mig-reconfig-a100-40gb/stream_bandwidth.csv",
                "setting,kernel,median_s\n1g isolated,copy,0.0123\n1g+2g+4g (1g),copy,0.0124\n");
  const std::string folder = std::filesystem::path(scratch.path("x")).parent_path().string();
  const Outcome outcome = cleave("reproduce physics --json --data " + folder);
  EXPECT_EQ(outcome.exit_code, 1) << "0.8 % is more than V8 allows";
  const Json answer = parse_json(outcome.out, "answer").value();
  std::vector<std::string> names;
  int scored = 0;
  for (const Json& check : answer["checks"]) {
    names.push_back(check["name"]);
    scored += check["met"].is_null() ? 0 : 1;
    const Json parts = check.contains("parts") ? check["parts"] : Json::array({check});
    for (const Json& part : parts) {
      EXPECT_EQ(part["met"].is_null(), part.contains("skipped"));
      if (part.contains("skipped")) {
        EXPECT_NE(part["skipped"].get<std::string>().find("is not in the folder"),
                  std::string::npos);
      }
    }
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"V1", "V2", "V3", "V4", "V5", "V6", "V7", "V8", "V9"}));
  EXPECT_EQ(scored, 2) << "V8 by STREAM, and V9, which needs no data";
  const Json& v8 = answer["checks"][7];
  EXPECT_EQ(v8["met"], false);
  EXPECT_EQ(v8["count"], 1);
  EXPECT_EQ(v8["parts"][0]["target"]["worst"], 0.005);
  EXPECT_TRUE(v8["parts"][0]["alternatives"].is_object());
  const Outcome text = cleave("reproduce physics --data " + folder);
  EXPECT_NE(text.out.find("V8  STREAM on GPU instances side by side: NOT MET"), std::string::npos)
      << text.out;
  EXPECT_NE(text.out.find("V7  creating all instances of a layout, medians: skipped"),
            std::string::npos);
}

TEST(ReproducePhysicsCommand, AFolderThatIsNotThereIsAnError) {
  const Outcome outcome = cleave("reproduce physics --data /nowhere");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.err,
            "cleave: /nowhere: this folder does not exist; give the folder that has "
            "mig-miso-a100-40gb and the like in it\n");
}

TEST(ReproducePhysicsCommand, ThePageShowsWhatComesOut) {
  const std::string data = "../shared/data";
  if (!std::filesystem::exists(source_dir() + "/" + data + "/mig-miso-a100-40gb")) {
    GTEST_SKIP() << "the public measurements are not beside this source tree";
  }
  std::stringstream page;
  page << std::ifstream(source_dir() + "/docs/physics.md").rdbuf();
  const Outcome outcome = cleave("reproduce physics --data " + data);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(page.str().find("```text\n" + outcome.out + "```"), std::string::npos)
      << "docs/physics.md shows older tables; tools/update-docs.sh rewrites them";
}

}  // namespace
}  // namespace cleave
