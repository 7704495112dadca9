// What a job may wait for.

#include "model/dependency.hpp"

#include <gtest/gtest.h>

namespace cleave {
namespace {

using On = Dependency::On;

TEST(Dependencies, SayHowJobsMustHaveEnded) {
  EXPECT_EQ(*parse_dependency("ok:12"), (Dependency{On::ok, 12, 12}));
  EXPECT_EQ(*parse_dependency("failed:3"), (Dependency{On::failed, 3, 3}));
  EXPECT_EQ(*parse_dependency("any:12-40"), (Dependency{On::any, 12, 40}));
  for (const char* text :
       {"", "ok", "ok:", "12", "done:12", "ok:0", "ok:-1", "ok:40-12", "ok:12-", "ok:a", "ok:12_7",
        "ok:1-200000", "OK:12", "ok: 12", "ok:9999999999999999999"}) {
    const auto read = parse_dependency(text);
    ASSERT_FALSE(read) << text;
    EXPECT_NE(read.error().remedy.find("ok:12"), std::string::npos) << text;
    EXPECT_TRUE(wrong_dependency(text)) << text;
  }
}

TEST(Dependencies, AreMetByTheEndThatTheyName) {
  const auto met = [](const char* text) {
    std::string ends;
    for (const JobState state :
         {JobState::finished, JobState::failed, JobState::cancelled, JobState::running})
      ends += is_met_by(*parse_dependency(text), state) ? 'y' : 'n';
    return ends;
  };
  EXPECT_EQ(met("ok:1"), "ynnn");
  EXPECT_EQ(met("failed:1"), "nyyn");
  EXPECT_EQ(met("any:1"), "yyyn");
}

TEST(Dependencies, AreSaidInWords) {
  EXPECT_EQ(in_words(*parse_dependency("ok:12")), "job 12 has finished");
  EXPECT_EQ(in_words(*parse_dependency("any:12-40")), "jobs 12 to 40 have ended");
}

}  // namespace
}  // namespace cleave
