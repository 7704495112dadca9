// The profile repository: round trips, merging and its laws, errors with their lines, and exports.

#include "forecast/choice/profile_repository.hpp"

#include <gtest/gtest.h>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/random.hpp"
#include "forecast/choice/profile_exports.hpp"

namespace cleave {
namespace {

constexpr std::string_view a30_names[] = {"1g.6gb", "2g.12gb", "4g.24gb", "none"};

ProfileRecord random_record(Random& random) {
  const auto number = [&] { return static_cast<double>(1 + random.below(100000)) / 997; };
  const auto maybe = [&]() {
    return random.below(3) == 0 ? std::nullopt : std::optional(number());
  };
  ProfileRecord record;
  record.key = {random.below(2) == 0 ? "bert" : "a, \"b\"", "A30-24GB",
                static_cast<std::int64_t>(1 + random.below(2)),
                std::string(a30_names[random.below(4)]), random.below(2) == 0};
  for (const char* counter : {"sm_activity", "sm_occupancy", "dram_activity"})
    if (random.below(3) != 0)
      record.counters[counter] = static_cast<double>(random.below(1001)) / 1000;
  record.time_s = maybe();
  record.tokens_per_s = maybe();
  record.throughput_per_s = maybe();
  record.p98_latency_s = maybe();
  if (random.below(2) == 0) record.peak_memory = MiB{static_cast<std::int64_t>(random.below(6000))};
  record.samples = static_cast<std::int64_t>(1 + random.below(5));
  if (random.below(2) == 0) record.date = fmt::format("2025-0{}-11", 1 + random.below(9));
  if (random.below(4) == 0) record.extra["x-run"] = R"({"host":"n0","tries":[1,2]})";
  return record;
}

ProfileRepository read(std::string_view text, MergeRule rule = MergeRule::mean) {
  ProfileRepository repository;
  const auto lines = add_profiles(repository, text, "r.jsonl", rule);
  EXPECT_TRUE(lines) << lines.error().text();
  return repository;
}

TEST(ProfileRepository, IsReadBackUnchanged) {
  Random random(41);
  for (int round = 0; round < 200; ++round) {
    ProfileRepository repository;
    for (std::uint64_t left = random.below(20); left > 0; --left)
      repository.add(random_record(random), MergeRule::mean);
    const std::string text = repository_text(repository);
    const ProfileRepository again = read(text);
    EXPECT_EQ(again.records(), repository.records());
    EXPECT_EQ(repository_text(again), text);
  }
}

TEST(ProfileRepository, MeansAreThoseOfAllSamplesInWhateverOrderTheyCome) {
  Random random(42);
  for (int round = 0; round < 300; ++round) {
    std::vector<ProfileRecord> records;
    double sum = 0;
    std::int64_t samples = 0;
    for (std::uint64_t left = 1 + random.below(6); left > 0; --left) {
      ProfileRecord record = random_record(random);
      record.key = {"bert", "A30-24GB", 1, "1g.6gb", false};
      record.time_s = static_cast<double>(1 + random.below(1000));
      record.p98_latency_s = *record.time_s;
      record.peak_memory = MiB{static_cast<std::int64_t>(*record.time_s)};
      sum += *record.time_s * static_cast<double>(record.samples);
      samples += record.samples;
      records.push_back(record);
    }
    ProfileRepository forth, back;
    for (std::size_t i = 0; i < records.size(); ++i) {
      forth.add(records[i], MergeRule::mean);
      back.add(records[records.size() - 1 - i], MergeRule::mean);
    }
    const ProfileRecord& a = *forth.find(records[0].key);
    const ProfileRecord& b = *back.find(records[0].key);
    EXPECT_NEAR(*a.time_s, sum / static_cast<double>(samples), 1e-9 * *a.time_s);
    EXPECT_NEAR(*a.time_s, *b.time_s, 1e-9 * *a.time_s);
    EXPECT_EQ(a.samples, samples);
    EXPECT_EQ(a.date, b.date);
    EXPECT_EQ(a.peak_memory, b.peak_memory);
    EXPECT_EQ(a.p98_latency_s, b.p98_latency_s);
    for (const ProfileRecord& each : records) EXPECT_GE(*a.p98_latency_s, *each.p98_latency_s);
  }
}

TEST(ProfileRepository, MissingMeasuresComeFromTheOtherAndReplaceForgets) {
  constexpr std::string_view lines =
      R"({"application": "a", "gpu_model": "A30-24GB", "profile": "1g.6gb", "counters": {"c": 1, )"
      R"("d": 2}, "time_s": 4, "date": "2025-05-01", "x-a": 1, "x-b": 1}
{"application": "a", "gpu_model": "A30-24GB", "profile": "1g.6gb", "counters": {"c": 4}, )"
      R"("tokens_per_s": 9, "samples": 2, "date": "2025-04-01", "x-b": 2})";
  const ProfileKey key{"a", "A30-24GB", 1, "1g.6gb", false};
  const ProfileRepository mean = read(lines), replaced = read(lines, MergeRule::replace);
  const ProfileRecord& kept = *mean.find(key);
  EXPECT_DOUBLE_EQ(kept.counters.at("c"), 3);
  EXPECT_DOUBLE_EQ(kept.counters.at("d"), 2);
  EXPECT_EQ(kept.time_s, 4);
  EXPECT_EQ(kept.tokens_per_s, 9);
  EXPECT_EQ(kept.samples, 3);
  EXPECT_EQ(kept.date, "2025-05-01");
  EXPECT_EQ(kept.extra.at("x-a"), "1");
  EXPECT_EQ(kept.extra.at("x-b"), "2");
  const ProfileRecord& later = *replaced.find(key);
  EXPECT_EQ(later.time_s, std::nullopt);
  EXPECT_EQ(later.counters.size(), 1U);
  EXPECT_EQ(later.samples, 2);
}

TEST(ProfileRepository, ModelsGoByTheirKeys) {
  const ProfileRepository repository = read(
      R"({"application": "a", "gpu_model": "NVIDIA A30", "profile": "none", "offload": true})");
  EXPECT_NE(repository.find({"a", "A30-24GB", 1, "none", true}), nullptr);
}

TEST(ProfileRepository, ABadLineIsNamedAndChangesNothing) {
  const auto says = [](std::string_view line, const std::string& what) {
    ProfileRepository repository;
    const std::string text = R"({"application": "a", "gpu_model": "A30-24GB", "profile": "1g.6gb"})"
                             "\n\n" +
                             std::string(line);
    const auto lines = add_profiles(repository, text, "r.jsonl", MergeRule::mean);
    ASSERT_FALSE(lines) << line;
    EXPECT_TRUE(lines.error().place.starts_with("r.jsonl:3")) << lines.error().place;
    EXPECT_NE(lines.error().text().find(what), std::string::npos) << lines.error().text();
    EXPECT_TRUE(repository.records().empty());
  };
  const auto with = [](const std::string& keys) {
    return R"({"application": "a", "gpu_model": "A30-24GB", "profile": "1g.6gb", )" + keys + "}";
  };
  says("{", "r.jsonl:3");
  says("[]", "expected an object");
  says("{}", "the key 'application' is missing");
  says(R"({"application": "a", "gpu_model": "A31", "profile": "1g.6gb"})", "gpu_model: ");
  says(R"({"application": "a", "gpu_model": "A30-24GB", "profile": "1g.5gb"})",
       "A30-24GB has no profile '1g.5gb'; did you mean '1g.6gb'");
  says(with(R"("time_s": 0)"), "time_s: expected a number above zero");
  says(with(R"("time_s": -1)"), "time_s: expected a number from 0");
  says(with(R"("counters": {"time_s": 1})"),
       "counters.time_s: the training table has a column of that name");
  says(with(R"("counters": {"c": "x"})"), "counters.c: expected a number");
  says(with(R"("date": "yesterday")"), "date: 'yesterday' is not a date");
  says(with(R"("batch": 0)"), "batch: ");
  says(with(R"("tokens": 3)"), "unknown key 'tokens'");
}

constexpr std::string_view bert =
    R"({"application":"bert","gpu_model":"A30-24GB","batch":16,"profile":"1g.6gb",)"
    R"("counters":{"sm_occupancy":0.5},"time_s":200,"peak_memory_mib":4100,"p98_latency_s":2,)"
    R"("throughput_per_s":80}
{"application":"bert","gpu_model":"A30-24GB","batch":16,"profile":"1g.6gb","offload":true,)"
    R"("counters":{"gpu_sm_occupancy":0.1},"time_s":400,"peak_memory_mib":5900,)"
    R"("throughput_per_s":40}
{"application":"bert","gpu_model":"A30-24GB","batch":16,"profile":"2g.12gb",)"
    R"("counters":{"sm_activity":1},"time_s":100}
{"application":"bert","gpu_model":"A30-24GB","batch":16,"profile":"4g.24gb",)"
    R"("counters":{"sm_occupancy":0.25},"time_s":50,"peak_memory_mib":4200,"throughput_per_s":300}
{"application":"bert","gpu_model":"A30-24GB","batch":16,"profile":"none","throughput_per_s":320}
)";

TEST(ProfileRepository, AMeanIsOfTheSamplesThatHaveTheMeasure) {
  const auto line = [](const std::string& more) {
    return R"({"application":"a","gpu_model":"A30-24GB","profile":"1g.6gb",)" + more + "}\n";
  };
  // Three samples of 10, seven that lack the time, one of 50: the mean is of four.
  const std::string lines = line(R"("time_s":10,"samples":3,"counters":{"c":1})") +
                            line(R"("samples":7,"counters":{"c":3})") + line(R"("time_s":50)");
  const ProfileRepository repository = read(lines);
  const ProfileRecord& record = repository.records().begin()->second;
  EXPECT_DOUBLE_EQ(*record.time_s, (3 * 10 + 50) / 4.0);
  EXPECT_DOUBLE_EQ(record.counters.at("c"), (3 * 1 + 7 * 3) / 10.0);
  EXPECT_EQ(record.samples, 11);
  EXPECT_EQ(record.measured_in.at("time_s"), 4);
  EXPECT_EQ(record.measured_in.at("c"), 10);
  // The same after writing and reading it, and again.
  const std::string text = repository_text(repository);
  EXPECT_EQ(repository_text(read(text)), text);
  const ProfileRepository more = read(text + line(R"("time_s":20)"));
  EXPECT_DOUBLE_EQ(*more.records().begin()->second.time_s, (3 * 10 + 50 + 20) / 5.0);
}

TEST(ProfileExports, TheTrainingTableHasARowForEachTime) {
  const auto table = training_table(read(bert), {});
  EXPECT_EQ(table.csv,
            "application,gpu_model,profile,batch,compute_slices,memory_slices,sms,offload,peak_"
            "memory_mib,"
            "gpu_sm_occupancy,sm_activity,sm_occupancy,time_s\n"
            "bert,A30-24GB,1g.6gb,16,1,1,14,0,4100,,,0.5,200\n"
            "bert,A30-24GB,1g.6gb,16,1,1,14,1,5900,0.1,,,400\n"
            "bert,A30-24GB,2g.12gb,16,2,2,28,0,,,1,,100\n"
            "bert,A30-24GB,4g.24gb,16,4,4,56,0,4200,,,0.25,50\n");
  EXPECT_EQ(table.rows, 4U);
  ASSERT_EQ(table.left_out.size(), 1U);
  EXPECT_EQ(table.left_out[0].key.profile, "none");
}

TEST(ProfileExports, MeasuredInstancesAreAgainstTheWholeGpu) {
  const auto measured = reward_question(read(bert), {"bert", "", std::nullopt});
  ASSERT_TRUE(measured) << measured.error().text();
  EXPECT_EQ(measured->performance, "throughput_per_s");
  EXPECT_EQ(measured->question.basis.full_performance, 320) << "without MIG";
  EXPECT_EQ(measured->question.basis.gpu_sms, 56);
  ASSERT_EQ(measured->question.instances.size(), 3U);
  EXPECT_EQ(measured->question.instances[0].capacity, 5952);
  EXPECT_TRUE(measured->question.instances[1].offloaded);
  ASSERT_EQ(measured->left_out.size(), 1U);
  EXPECT_EQ(measured->left_out[0].lacks, "the counter sm_occupancy");
  EXPECT_EQ(to_json(measured->question),
            to_json(*parse_reward_question(to_json(measured->question).dump(), "again")));
}

TEST(ProfileExports, AQuestionMustBeOfOneKind) {
  const auto says = [](const ProfileRepository& repository, const ProfileFilter& filter,
                       const std::string& what) {
    const auto measured = reward_question(repository, filter);
    ASSERT_FALSE(measured) << what;
    EXPECT_NE(measured.error().text().find(what), std::string::npos) << measured.error().text();
  };
  says(read(bert), {"gpt", "", std::nullopt}, "no profile that is asked for");
  says(read(std::string(bert) +
            R"({"application":"bert","gpu_model":"A30-24GB","batch":8,"profile":"none"})"),
       {"bert", "", std::nullopt}, "profiles of 2 batch sizes; choose one: 16, 8");
  says(read(R"({"application":"bert","gpu_model":"A30-24GB","profile":"1g.6gb","time_s":1})"),
       {"bert", "", std::nullopt}, "not measured on the whole GPU");
}

TEST(ProfileExports, RowsForThePartitionPredictor) {
  const ProfileRepository repository = read(bert);
  std::vector<LeftOutProfile> left_out;
  const BatchQuestion tables = batch_tables(repository, **find_gpu_model("A30-24GB"), &left_out);
  ASSERT_EQ(tables.partitions.size(), 3U);
  EXPECT_EQ(tables.partitions[0].name, "1g.6gb");
  EXPECT_EQ(tables.rows.size(), 2U);
  EXPECT_EQ(left_out.size(), 1U);
  EXPECT_EQ(to_json(tables), to_json(*parse_batch_question(to_json(tables).dump(), "again")));
  auto question = *parse_batch_question(R"({"jobs": [{"id": "a", "model": "bert", "batch": 16}]})",
                                        "j", BatchParts::jobs_alone);
  fill_from(question, repository, **find_gpu_model("A30-24GB"));
  EXPECT_EQ(question.jobs[0].memory, (std::vector<double>{4100, 0, 4200}));
  const auto choices = choose_partitions(question);
  EXPECT_EQ(choices[0].edges.size(), 2U);
  EXPECT_EQ(choices[0].choice, 0U) << "each is its own base, and the least slices win";
}

}  // namespace
}  // namespace cleave
