// Questions about choices as JSON: writing and reading round-trips, errors are reported, and
// answers are exact if possible.

#include "forecast/choice/choice_file.hpp"

#include <gtest/gtest.h>

#include "base/json.hpp"

namespace cleave {
namespace {

constexpr std::string_view measured =
    R"({"alpha": 0.5, "gpu_sms": 132, "perf_full": 80, "configs": [
    {"name": "1g.12gb", "sms": 16, "occupancy": 0.1, "capacity": 11, "peak": 11, "perf": 6, )"
    R"("offload": true},
    {"name": "2g.24gb", "sms": 32, "instance_occupancy": 0.4, "capacity": 23, "peak": 15.4, )"
    R"("perf": 31}]})";

constexpr std::string_view batch = R"({"lambda": 0.25, "margin": 0.1, "base": "full",
    "partitions": [{"name": "1g.6gb", "slices": 1, "memory": 6}, {"name": "2g.12gb", )"
                                   R"("slices": 2, "memory": 12}],
    "jobs": [{"id": "a", "model": "m", "batch": 4, "memory": {"1g.6gb": 5, "2g.12gb": 5.5}, )"
                                   R"("deadline": 3},
             {"id": "b", "model": "m", "batch": 8, "memory": 7}],
    "profiles": [{"model": "m", "batch": 4, "partition": "1g.6gb", "latency": 2, "throughput": 3},
                 {"model": "m", "batch": 8, "partition": "1g.6gb", "latency": 3, "throughput": 4},
                 {"model": "m", "batch": 8, "partition": "2g.12gb", "latency": 1, )"
                                   R"("throughput": 7}]})";

TEST(ChoiceFile, QuestionsAreWrittenAsTheyAreRead) {
  const auto reward = parse_reward_question(measured, "m.json");
  ASSERT_TRUE(reward) << reward.error().text();
  EXPECT_EQ(to_json(*reward), to_json(*parse_reward_question(to_json(*reward).dump(), "again")));
  EXPECT_EQ(reward->basis.alpha, 0.5);
  EXPECT_TRUE(reward->instances[0].offloaded);
  EXPECT_EQ(reward->instances[1].instance_occupancy, 0.4);
  const auto question = parse_batch_question(batch, "b.json");
  ASSERT_TRUE(question) << question.error().text();
  EXPECT_EQ(to_json(*question), to_json(*parse_batch_question(to_json(*question).dump(), "again")));
  EXPECT_EQ(question->weighing.base, BatchBase::full);
  EXPECT_EQ(question->jobs[0].memory, (std::vector<double>{5, 5.5}));
  EXPECT_EQ(question->jobs[1].memory, (std::vector<double>{7}));
}

TEST(ChoiceFile, AnswersAreExactWhereDecimalsAreShort) {
  auto question = *parse_batch_question(batch, "b.json");
  question.weighing.base = BatchBase::own;
  auto choices = choose_partitions(question);
  ASSERT_EQ(choices.size(), 2U);
  ASSERT_EQ(choices[0].edges.size(), 1U);
  EXPECT_EQ(choices[0].edges[0].delta_latency.exact->exact(), "1/3");
  EXPECT_EQ(choices[0].edges[0].weight.exact->exact(), "-5/48");
  EXPECT_EQ(choices[1].choice, 1U) << "7 do not fit into 6";
  const auto demand = demand_of(choices);
  ASSERT_EQ(demand.size(), 2U);
  EXPECT_EQ(demand[0].count, 1);
  // A number with more digits than an exact fraction holds: the same choice in doubles.
  question.rows[0].measured.latency = 2.0000000000001;
  choices = choose_partitions(question);
  EXPECT_FALSE(choices[0].edges[0].weight.exact);
  EXPECT_NEAR(choices[0].edges[0].weight.value, -5.0 / 48, 1e-9);
}

TEST(ChoiceFile, OneInstanceIsAskedForItsRewardAlone) {
  const auto one = parse_reward_question(
      R"({"alpha": 0, "capacity": 24, "gpu_sms": 132, "occupancy": 0.1, "peak": 16, "perf": 1, )"
      R"("perf_full": 4, "sms": 32})",
      "one.json");
  ASSERT_TRUE(one) << one.error().text();
  EXPECT_NEAR(reward(one->instances.front(), one->basis).reward, -0.9208333333333333 / 2, 1e-12);
}

TEST(ChoiceFile, AnEmptyQuestionOfWasteIsThePapersTable) {
  EXPECT_FALSE(parse_waste_question("{}", "w.json")->has_value());
  EXPECT_TRUE(parse_waste_question(R"({"gpu_sms": 1, "gpu_memory": 1, "instances": []})", "w.json")
                  ->has_value());
}

TEST(ChoiceFile, ErrorsNameTheirPlace) {
  const auto says = [](const auto& parsed, const std::string& what) {
    ASSERT_FALSE(parsed) << what;
    EXPECT_NE(parsed.error().text().find(what), std::string::npos) << parsed.error().text();
  };
  const auto reward = [](std::string_view text) { return parse_reward_question(text, "f"); };
  says(reward("{}"), "f: the key 'gpu_sms' is missing");
  says(reward(R"({"gpu_sms": 0, "perf_full": 1, "configs": []})"),
       "gpu_sms: expected a number above zero");
  says(reward(R"({"gpu_sms": 1, "perf_full": 1})"), "the key 'configs' is missing");
  says(reward(R"({"gpu_sms": 1, "perf_full": 1, "alpha": -1, "configs": []})"),
       "alpha: expected a number from 0");
  says(
      reward(R"({"gpu_sms": 1, "perf_full": 1, "configs": [{"name": "a", "sms": 1, "capacity": 1, )"
             R"("peak": 1, "perf": 1}]})"),
      "configs[0]: the key 'occupancy' is missing");
  says(reward(R"({"gpu_sms": 1, "perf_full": 1, "configs": [{"name": "a", "sms": 1, )"
              R"("occupancy": 10}]})"),
       "configs[0].occupancy: expected a number from 0 to 1, found 10");
  says(reward(R"({"gpu_sms": 1, "perf_full": 1, "configs": [], "aplha": 2})"),
       "unknown key 'aplha'");
  const auto jobs = [](std::string_view text, BatchParts parts = BatchParts::all) {
    return parse_batch_question(text, "f", parts);
  };
  says(jobs("{}"), "the key 'partitions' is missing");
  says(jobs(R"({"lambda": 2})"), "lambda: expected a number from 0 to 1");
  says(jobs(R"({"base": "both"})"), "base: 'both' is not a base");
  says(
      jobs(R"({"partitions": [{"name": "a", "slices": 1, "memory": 1}, {"name": "a", "slices": 1, )"
           R"("memory": 1}]})"),
      "partitions[1].name: the partition 'a' is listed twice");
  says(jobs(R"({"partitions": [], "profiles": [{"model": "m", "partition": "p", "batch": 1, )"
            R"("latency": 0}]})"),
       "profiles[0].latency: expected a number above zero");
  says(jobs(R"({"jobs": [{"id": "a", "model": "m", "batch": 1, "memory": {"p": 1}}]})",
            BatchParts::jobs_alone),
       "jobs[0].memory: the partitions are not in this file");
  EXPECT_TRUE(jobs(R"({"jobs": [{"id": "a", "model": "m", "batch": 1}]})", BatchParts::jobs_alone));
  says(parse_waste_question(R"({"gpu_sms": 1})", "f"), "the key 'gpu_memory' is missing");
}

}  // namespace
}  // namespace cleave
