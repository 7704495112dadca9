// `cleave forecast time` from outside: training, predictions and refusals, and errors for bad
// input.

#include <gtest/gtest.h>

#include "base/format.hpp"
#include "base/json.hpp"
#include "json_of.hpp"

namespace cleave {
namespace {

using testing_program::cleave;
using testing_program::json_of;
using testing_program::Outcome;
using testing_program::Scratch;

const std::string measured =
    "--train examples/forecast/measured.csv --group app --whole whole_s --slices slices";

Json time_forecast(const std::string& arguments, int exit_code = 0) {
  return json_of(cleave("forecast time --json " + arguments), exit_code);
}

TEST(ForecastTime, LearnsSavesAndAnswers) {
  const Scratch scratch;
  const std::string model = scratch.path("m.json");
  const Json training = time_forecast(measured + " --save " + model);
  EXPECT_EQ(training["rows"], 157);
  EXPECT_EQ(training["left_out"], 3);
  EXPECT_EQ(training["form"], "ratio");
  EXPECT_EQ(training["passed_over"], Json::array()) << "the group is no text that is passed over";
  EXPECT_EQ(training["features"].size(), 6U);
  const Json& held_out = training["held_out"];
  EXPECT_LT(held_out["trees"]["median"], held_out["linear"]["median"]);
  EXPECT_LT(held_out["trees"]["median"], held_out["nearest"]["median"]);

  const Json asked =
      time_forecast("--model " + model + " --predict examples/forecast/asked.csv", 1);
  EXPECT_EQ(asked["refused"], 2);
  ASSERT_EQ(asked["jobs"].size(), 4U);
  EXPECT_EQ(asked["jobs"][0]["place"], "examples/forecast/asked.csv:2");
  EXPECT_LT(asked["jobs"][0]["lower"], asked["jobs"][0]["seconds"]);
  EXPECT_LT(asked["jobs"][0]["seconds"], asked["jobs"][0]["upper"]);
  EXPECT_GT(asked["jobs"][0]["seconds"], 17.4) << "slower than on the whole GPU";
  EXPECT_EQ(asked["jobs"][2]["refused"], "batch is 512, the measured jobs have 1 to 64");
  EXPECT_EQ(asked["jobs"][3]["refused"], "dram is missing");

  const std::string one = scratch.write("one.csv",
                                        "batch,slices,dram,tensor,memory_mib,whole_s\n"
                                        "8,2,0.210,0.140,2600,17.4\n");
  EXPECT_EQ(time_forecast("--model " + model + " --predict " + one)["jobs"][0]["seconds"],
            asked["jobs"][0]["seconds"]);
}

TEST(ForecastTime, ARepositoryFeedsIt) {
  const Scratch scratch;
  std::string lines;
  // Applications on three profiles; every second one lacks a counter, the first line lacks all, and
  // one counter belongs to one application alone.
  constexpr const char* profiles[] = {"1g.6gb", "2g.12gb", "4g.24gb"};
  for (int app = 0; app < 12; ++app)
    for (int profile = 0; profile < 3; ++profile) {
      const std::string counter = app % 2 == 0
                                      ? (app == 2 ? R"("other": 1)" : "")
                                      : fmt::format(R"("sm_activity": {})", 0.3 + 0.05 * app);
      lines += fmt::format(
          R"({{"application": "a{}", "gpu_model": "A30-24GB", "profile": "{}", "time_s": {}, )"
          R"("counters": {{{}}}}})"
          "\n",
          app, profiles[profile], (10.0 + app) / (1 << profile), counter);
    }
  const std::string repository = scratch.write("r.jsonl", lines), csv = scratch.path("t.csv"),
                    model = scratch.path("m.json");
  ASSERT_EQ(
      cleave("profiles export --repository " + repository + " --as training --to " + csv).exit_code,
      0);
  const Json training = time_forecast("--train " + csv + " --save " + model);
  EXPECT_EQ(training["rows"], 36);
  bool seen = false;
  for (const Json& feature : training["features"]) {
    if (feature["name"] != "sm_activity") continue;
    seen = true;
    EXPECT_EQ(feature["missing"], 18);
  }
  EXPECT_TRUE(seen) << "a feature, although the first row has none";
  const Outcome text = cleave("forecast time --train " + csv);
  EXPECT_NE(text.out.find("not measured: other (33), sm_activity (18)"), std::string::npos)
      << text.out;
  EXPECT_EQ(time_forecast("--model " + model + " --predict " + csv)["refused"], 0);
}

TEST(ForecastTime, WithoutRowsThereIsNoAnswer) {
  const Scratch scratch;
  const std::string model = scratch.path("m.json");
  ASSERT_EQ(cleave("forecast time " + measured + " --save " + model).exit_code, 0);
  const Outcome none =
      cleave("forecast time --model " + model + " --predict " +
             scratch.write("h.csv", "batch,slices,dram,tensor,memory_mib,whole_s\n"));
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_NE(none.err.find("it has a header but no jobs"), std::string::npos) << none.err;
}

TEST(ForecastTime, TheSameTrainingGivesTheSameFile) {
  const Scratch scratch;
  const auto train = [&](const std::string& name, const std::string& more) {
    EXPECT_EQ(
        cleave("forecast time " + measured + more + " --save " + scratch.path(name)).exit_code, 0);
  };
  train("a", "");
  train("b", "");
  train("c", " --seed 2");
  const auto same = [&](const std::string& one, const std::string& other) {
    return testing_program::shell("cmp -s " + scratch.path(one) + " " + scratch.path(other))
        .exit_code;
  };
  EXPECT_EQ(same("a", "b"), 0);
  EXPECT_EQ(same("a", "c"), 1);
}

TEST(ForecastTime, SaysWhatIsWrong) {
  const Scratch scratch;
  const auto refused = [](const std::string& arguments, const std::string& part) {
    const Outcome outcome = cleave("forecast time " + arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_NE(outcome.err.find(part), std::string::npos) << arguments << "\n" << outcome.err;
  };
  refused("", "nothing to do");
  refused("--train examples/forecast/measured.csv --target times", "did you mean 'time_s'?");
  refused("--train examples/forecast/measured.csv --whole whole", "did you mean 'whole_s'?");
  refused("--train examples/forecast/measured.csv --form ratio", "needs to know");
  refused("--train examples/forecast/measured.csv --form logs", "did you mean 'log'?");
  refused("--train examples/forecast/measured.csv --group nobody", "no column 'nobody'");
  refused("--train examples/forecast/measured.csv --level 1", "not between 0 and 1");
  refused("--train " + scratch.write("torn.csv", "batch,time_s\n1,2\n1"), "torn.csv:3");
  refused("--train " + scratch.write("few.csv", "batch,time_s\n1,2\n2,3\n"), "too few");
  refused("--train examples/forecast/measured.csv --model m",
          "--train and --model cannot be used together");
  refused("--model examples/forecast/asked.csv --predict examples/forecast/asked.csv",
          "not valid JSON");
  const std::string copy = scratch.path("copy.csv");
  testing_program::shell("cp examples/forecast/measured.csv " + copy);
  refused("--train " + copy + " --save " + copy, "read by the same command");
}

TEST(ForecastTime, TwoProfilesGiveTheOthers) {
  const Json all = time_forecast("--gpu A100-40GB --known 1g.5gb=310,7g.40gb=92");
  ASSERT_EQ(all["profiles"].size(), 6U);
  EXPECT_EQ(all["law"]["tested"], true);
  double before = 0;
  for (const Json& each : all["profiles"]) {
    EXPECT_GE(each["seconds"].get<double>(), before) << "from large to small";
    before = each["seconds"].get<double>();
    const bool known = each["profile"] == "1g.5gb" || each["profile"] == "7g.40gb";
    EXPECT_EQ(each["basis"], known ? "known" : "between");
    EXPECT_EQ(each["error_median"].is_null(), known);
  }
  EXPECT_EQ(all["profiles"][0]["seconds"], 92);
  // Ten times the times are ten times the answer.
  const Json tenfold = time_forecast("--gpu A100-40GB --known 1g.5gb=3100,7g.40gb=920");
  EXPECT_NEAR(tenfold["profiles"][2]["seconds"].get<double>(),
              10 * all["profiles"][2]["seconds"].get<double>(), 1e-6);
  const Outcome text = cleave("forecast time --gpu A100-40GB --known 1g.5gb=310,7g.40gb=92");
  EXPECT_NE(text.out.find("median error 3.8 %"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("assumed:"), std::string::npos);
  const std::string no_law = "forecast time --gpu A100-40GB --known 1g.5gb=310,7g.40gb=1";
  const Outcome misses = cleave(no_law);
  EXPECT_EQ(misses.out.find("median error"), std::string::npos) << misses.out;
  EXPECT_NE(misses.out.find("does not follow the law: misses the known times by up to 580"),
            std::string::npos)
      << misses.out;
  const Json no_error = json_of(cleave(no_law + " --json"), 0);
  for (const Json& each : no_error["profiles"])
    EXPECT_TRUE(each["error_median"].is_null() && each["error_p90"].is_null());
  const Outcome huge = cleave("forecast time --gpu A100-40GB --known 1g.5gb=1e300,7g.40gb=1");
  EXPECT_NE(huge.out.find("more than 1000 %"), std::string::npos) << huge.out;
  EXPECT_LT(huge.out.size(), misses.out.size() + 200) << huge.out;
  const Outcome other = cleave("forecast time --gpu A30-24GB --known 1g.6gb=310,4g.24gb=92");
  EXPECT_NE(other.out.find("not tested on the A30-24GB"), std::string::npos) << other.out;
}

TEST(ForecastTime, KnownTimesThatDoNotSufficeAreRefused) {
  const auto refuses = [](const std::string& arguments, int code, const std::string& why) {
    const Outcome outcome = cleave("forecast time " + arguments);
    EXPECT_EQ(outcome.exit_code, code) << arguments;
    EXPECT_NE(outcome.err.find(why), std::string::npos) << outcome.err;
  };
  refuses("--gpu A100-40GB --known 7g.40gb=92", 1, "30 to 40 %");
  refuses("--known 1g.5gb=310,7g.40gb=92", 2, "--gpu");
  refuses("--gpu A100-40GB --known 1g.5gb=310,7g.80gb=92", 2, "no profile '7g.80gb'");
  refuses("--gpu A100-40GB --known 1g.5gb=0,7g.40gb=92", 2, "above zero");
  refuses("--gpu A100-40GB --known 1g.5gb=310,A30-24GB:4g.24gb=92", 2, "has no profile");
  refuses("--gpu nothing --known 1g.5gb=310,7g.40gb=92", 2, "--gpu");
}

}  // namespace
}  // namespace cleave
