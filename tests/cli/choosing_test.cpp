// `cleave recommend`, `choose`, `waste` and `profiles` from outside: the reference cases' inputs if
// they are present, the tables behind the answers, repositories that grow, and errors for bad
// input.

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/places_test.hpp"
#include "json_of.hpp"

namespace cleave {
namespace {

using testing_program::cleave;
using testing_program::json_of;
using testing_program::Outcome;
using testing_program::Scratch;
using testing_program::shell;

Json answer_of(const std::string& arguments) {
  return json_of(cleave(arguments + " --json"));
}

void refuses(const std::string& arguments, const std::string& what, int exit_code = 2) {
  const Outcome outcome = cleave(arguments);
  EXPECT_EQ(outcome.exit_code, exit_code) << arguments;
  EXPECT_EQ(outcome.out, "") << arguments;
  EXPECT_NE(outcome.err.find(what), std::string::npos) << arguments << "\n" << outcome.err;
}

/// Every key of `expected` is in `got`, numbers within 1e-9.
bool has_all(const Json& expected, const Json& got) {
  if (expected.is_number())
    return got.is_number() && std::abs(expected.get<double>() - got.get<double>()) < 1e-9;
  if (expected.is_array()) {
    if (!got.is_array() || got.size() != expected.size()) return false;
    for (std::size_t i = 0; i < expected.size(); ++i)
      if (!has_all(expected[i], got[i])) return false;
    return true;
  }
  if (!expected.is_object()) return expected == got;
  for (const auto& [key, value] : expected.items())
    if (!got.is_object() || !got.contains(key) || !has_all(value, got[key])) return false;
  return true;
}

TEST(Choosing, AnswersTheReferenceCases) {
  struct Operation {
    const char *module, *op, *command;
  };
  constexpr Operation operations[] = {{"reward", "best", "recommend --form sum --measurements "},
                                      {"reward", "reward", "recommend --form sum --measurements "},
                                      {"dynap", "bpp", "choose --jobs "},
                                      {"wasted", "waste", "waste --input "},
                                      {"wasted", "table", "waste --input "}};
  for (const auto& [module, op, command] : operations) {
    const std::filesystem::path file = std::filesystem::path(source_dir()) / ".." / "shared" /
                                       "cases" / (std::string(module) + ".json");
    if (!std::filesystem::exists(file))
      GTEST_SKIP() << "the reference cases are not beside the repository";
    std::ifstream stream(file);
    std::stringstream text;
    text << stream.rdbuf();
    const Json cases = Json::parse(text.str())["cases"];
    const Scratch scratch;
    int asked = 0;
    for (const Json& one : cases) {
      if (one["op"] != op || asked == 6) continue;
      const Json got = answer_of(command + scratch.write("input.json", one["input"].dump()));
      EXPECT_TRUE(has_all(one["expected"], got)) << one["id"] << "\n" << got.dump(1);
      ++asked;
    }
    EXPECT_GT(asked, 0) << module << " " << op;
  }
}

TEST(Choosing, TheBestInstanceFollowsAlpha) {
  const auto best = [](const std::string& more) {
    return answer_of("recommend --measurements examples/profiles/llama3.json" + more)["best"]
        .get<std::string>();
  };
  EXPECT_EQ(best(" --alpha 2"), "7g.96gb");
  EXPECT_EQ(best(" --alpha 0"), "1g.12gb") << "with host memory no memory lies idle";
  const Json all = answer_of("recommend --measurements examples/profiles/llama3.json");
  EXPECT_EQ(all["alpha"], 1) << "the file's";
  EXPECT_EQ(all["best_by_alpha"][0]["name"], "1g.12gb");
  EXPECT_EQ(all["best_by_alpha"][0]["offload"], true);
  EXPECT_EQ(all["configs"].size(), 6U);
  const Outcome text = cleave("recommend --measurements examples/profiles/llama3.json --alpha 0");
  EXPECT_NE(text.out.find("1g.12gb + host memory"), std::string::npos) << text.out;
}

// Figure 8's choices, from measurements in the manner of the paper: at alpha 0, in between and
// at 1.
TEST(Choosing, ThePapersChoicesComeOutAtItsAlphas) {
  struct Application {
    std::string file;
    std::array<std::string, 3> chosen;
    bool by_sum;  // whether the sum of the wastes makes the same choice at alpha 1
  };
  const Application applications[] = {
      {"llama3", {"1g.12gb + host memory", "2g.24gb", "7g.96gb"}, false},
      {"qiskit", {"2g.24gb", "7g.96gb", "7g.96gb"}, true},
      {"faiss", {"1g.12gb + host memory", "1g.12gb + host memory", "2g.24gb"}, false}};
  constexpr std::array<double, 3> alphas = {0, 0.5, 1};
  const auto chosen = [](const std::string& file, double alpha, const std::string& more = "") {
    const Json all = answer_of(fmt::format(
        "recommend --measurements examples/profiles/{}.json --alpha {}{}", file, alpha, more));
    const Json& best = all["configs"][all["best_index"].get<std::size_t>()];
    return best["name"].get<std::string>() + (best.value("offload", false) ? " + host memory" : "");
  };
  for (const Application& each : applications) {
    for (std::size_t i = 0; i < alphas.size(); ++i)
      EXPECT_EQ(chosen(each.file, alphas[i]), each.chosen[i]) << each.file << " " << alphas[i];
    EXPECT_EQ(chosen(each.file, 1, " --form sum") == each.chosen[2], each.by_sum) << each.file;
  }
}

TEST(Choosing, ProfilesBetweenTwoMeasuredOnesCompete) {
  const Scratch scratch;
  const auto line = [](const char* profile, double time, double occupancy) {
    return fmt::format(
        R"({{"application":"r","gpu_model":"A100-40GB","batch":8,"profile":"{}","time_s":{},)"
        R"("peak_memory_mib":4000,"counters":{{"sm_occupancy":{}}}}})"
        "\n",
        profile, time, occupancy);
  };
  const std::string two =
      scratch.write("two.jsonl", line("7g.40gb", 92, 0.2) + line("1g.5gb", 310, 0.4));
  const std::string asked = fmt::format("recommend --repository {} --application r", two);
  EXPECT_EQ(answer_of(asked)["configs"].size(), 2U);
  const Json all = answer_of(asked + " --complete");
  ASSERT_EQ(all["configs"].size(), 6U);
  const Json by_law =
      json_of(cleave("forecast time --json --gpu A100-40GB --known 1g.5gb=310,7g.40gb=92"), 0);
  for (const Json& config : all["configs"]) {
    const bool measured = config["name"] == "1g.5gb" || config["name"] == "7g.40gb";
    EXPECT_EQ(config.contains("estimated"), !measured);
    for (const Json& each : by_law["profiles"])
      if (each["profile"] == config["name"]) {
        EXPECT_NEAR(config["relative_performance"].get<double>(),
                    92 / each["seconds"].get<double>(), 1e-9)
            << "one law";
      }
    EXPECT_TRUE(measured || config["law_error_median"] == 0.038);
    EXPECT_LE(config["sm_waste"].get<double>(), 1);
    EXPECT_GE(config["sm_waste"].get<double>(), 0);
  }
  const Outcome text = cleave(asked + " --complete");
  EXPECT_NE(text.out.find("estimated: 2g.10gb, by the law of slices: median error 3.8 %"),
            std::string::npos)
      << text.out;
  const std::string no_law =
      scratch.write("no-law.jsonl", line("7g.40gb", 1, 0.2) + line("1g.5gb", 310, 0.4));
  const Outcome refused =
      cleave(fmt::format("recommend --repository {} --application r --complete", no_law));
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_EQ(refused.out, "");
  EXPECT_NE(refused.err.find("--complete: it does not follow the law of slices"), std::string::npos)
      << refused.err;
  const Outcome offloaded = cleave(
      fmt::format("recommend --repository {} --application r --offload 100 --touches 1", no_law));
  EXPECT_EQ(offloaded.exit_code, 1);
  EXPECT_NE(offloaded.err.find("--offload: it does not follow the law of slices"),
            std::string::npos)
      << offloaded.err;
  const std::string one = scratch.write("one.jsonl", line("7g.40gb", 92, 0.2));
  const Outcome alone =
      cleave(fmt::format("recommend --repository {} --application r --complete", one));
  EXPECT_EQ(alone.exit_code, 1);
  EXPECT_NE(alone.err.find("30 to 40 %"), std::string::npos) << alone.err;
  refuses("recommend --measurements examples/profiles/llama3.json --complete", "give --repository");
}

TEST(Choosing, OffloadThatNobodyMeasuredStandsBesideTheNextSize) {
  const std::string bert =
      "recommend --repository examples/profiles/repository.jsonl --application bert --batch 32";
  const auto with = [&](double touches) {
    return answer_of(bert + fmt::format(" --offload 2048 --touches {}", touches));
  };
  const Json few = with(0.03), many = with(0.3);
  EXPECT_EQ(answer_of(bert)["configs"].size(), 2U);
  ASSERT_EQ(few["configs"].size(), 3U);
  const Json& small = few["configs"][0];
  EXPECT_EQ(small["name"], "1g.6gb");
  EXPECT_EQ(small["offload"], true);
  EXPECT_EQ(small["estimated"], true);
  EXPECT_EQ(small["host_mib"], 7300 - 5952) << "what does not fit, and no more";
  EXPECT_EQ(small["memory_waste"], 0);
  EXPECT_FALSE(few["configs"][1].contains("estimated"));
  EXPECT_GT(small["link_slowdown"], 1);
  // Each item takes that much longer: 1,348 MiB over 24 GB/s, 0.03 times.
  const double item_s = 1 / (300 * small["relative_performance"].get<double>());
  const double crossing_s = 0.03 * 1348 * 1048576 / 24e9;
  EXPECT_NEAR(item_s / (item_s - crossing_s), small["link_slowdown"].get<double>(), 1e-9);
  EXPECT_LT(many["configs"][0]["reward"], small["reward"]);
  EXPECT_LT(small["relative_performance"], few["configs"][1]["relative_performance"]);
  const Outcome text = cleave(bert + " --offload 2048 --touches 0.03");
  EXPECT_NE(text.out.find("estimated: 1g.6gb + host memory, 1348 MiB there"), std::string::npos)
      << text.out;
  const Outcome none = cleave(bert + " --offload 1000 --touches 0.03");
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_EQ(none.out, "");
  EXPECT_NE(none.err.find("--offload: its 7300 MiB do not fit on 1g.6gb even so: with 1000 MiB on "
                          "the host it needs 6300 MiB there, and 5952 are usable"),
            std::string::npos)
      << none.err;
  EXPECT_NE(none.err.find("at least 1348 MiB"), std::string::npos) << none.err;
  refuses(bert + " --offload 1000", "belong together");
  refuses(bert + " --touches 1", "belong together");
  refuses("recommend --measurements examples/profiles/llama3.json --offload 1 --touches 1",
          "give --repository");
}

TEST(Choosing, ABatchOfJobs) {
  const Json both = answer_of("choose --jobs examples/profiles/inference-jobs.json --gpu A30-24GB");
  EXPECT_EQ(both["jobs"].size(), 3U);
  EXPECT_GE(both["gpus"].get<int>(), 1);
  std::int64_t count = 0;
  for (const Json& one : both["batch"]) count += one["count"].get<std::int64_t>();
  EXPECT_EQ(count, 3);
  const Json one =
      answer_of("choose --jobs examples/profiles/inference-jobs.json --job mail --lambda 1");
  ASSERT_EQ(one["jobs"].size(), 1U);
  EXPECT_EQ(one["jobs"][0]["id"], "mail");
  EXPECT_EQ(one["jobs"][0]["choice"], "2g.12gb");
  const Outcome text = cleave("choose --jobs examples/profiles/inference-jobs.json");
  EXPECT_NE(text.out.find("misses the deadline"), std::string::npos) << text.out;
}

TEST(Choosing, WasteOfModelsAndLayouts) {
  const Json layout = answer_of("waste H100-96GB-GH200 4g.48gb@0,3g.48gb@4");
  EXPECT_EQ(layout["wasted_sms"], 8);
  EXPECT_NEAR(layout["wasted_sms_percent"].get<double>(), 100 * 8.0 / 132, 1e-9);
  EXPECT_EQ(answer_of("waste A30-24GB ''")["wasted_sms"], 56);
  const Json table = answer_of("waste A100-40GB --profiles plain");
  EXPECT_EQ(table["rows"].size(), 6U);
  EXPECT_EQ(table["gpu_sms"], 108);
  EXPECT_EQ(answer_of("waste --paper")["mix_4g_3g"]["wasted_memory"], 1.5);
  EXPECT_EQ(answer_of("waste H20-96GB")["rows"][0]["with_max_instances"]["wasted_sms"], nullptr);
}

TEST(Choosing, ARepositoryGrowsAndFeedsTheChoices) {
  const Scratch scratch;
  const std::string repository = scratch.path("profiles.jsonl"),
                    at = " --repository " + repository + " ";
  const Json first = answer_of("profiles add" + at + "examples/profiles/repository.jsonl");
  EXPECT_EQ(first["new"], 5);
  const std::string more = scratch.write(
      "more.jsonl",
      R"({"application": "bert", "gpu_model": "A30-24GB", "batch": 16, "profile": "1g.6gb", )"
      R"("time_s": 100, "samples": 1})");
  EXPECT_EQ(answer_of("profiles add" + at + more)["new"], 0);
  const Json listed = answer_of("profiles list" + at + "--application bert --batch 16");
  ASSERT_EQ(listed["profiles"].size(), 3U);
  EXPECT_EQ(listed["profiles"][0]["time_s"], 175) << "three of 200 and one of 100";
  EXPECT_EQ(listed["profiles"][0]["samples"], 4);
  EXPECT_EQ(answer_of("profiles add" + at + "--merge replace " + more)["profiles"], 5);
  EXPECT_EQ(answer_of("profiles list" + at)["profiles"][0]["time_s"], 100);
  // What is exported for a command can be read by it.
  const Outcome csv =
      cleave("profiles export" + at + "--as training --to " + scratch.path("t.csv"));
  EXPECT_EQ(csv.exit_code, 0) << csv.err;
  const std::string here = "--repository examples/profiles/repository.jsonl ";
  const std::string file = scratch.path("r.json");
  EXPECT_EQ(cleave("profiles export " + here + "--as recommend --batch 16 --to " + file).exit_code,
            0);
  EXPECT_EQ(answer_of("recommend --measurements " + file)["best"],
            answer_of("recommend " + here + "--application bert --batch 16")["best"]);
  EXPECT_EQ(cleave("profiles export " + here + "--as choose --gpu A30-24GB --to " + file).exit_code,
            0);
  EXPECT_EQ(answer_of("choose --jobs " + file)["jobs"].size(), 0U);
  const Json chosen = answer_of("choose --jobs examples/profiles/jobs.json --gpu A30-24GB " + here);
  EXPECT_EQ(chosen["jobs"].size(), 2U);
  EXPECT_NE(chosen["jobs"][0]["choice"], nullptr);
}

TEST(Choosing, ABadLineChangesNothing) {
  const Scratch scratch;
  const std::string repository = scratch.write("profiles.jsonl", ""),
                    at = " --repository " + repository + " ";
  const std::string bad = scratch.write("bad.jsonl", "{\"application\": \"a\"}\n");
  refuses("profiles add" + at + bad, "bad.jsonl:1: ");
  EXPECT_EQ(answer_of("profiles list" + at)["profiles"], Json::array());
}

TEST(Choosing, NanIsNotANumber) {
  const std::string files = "--measurements examples/profiles/llama3.json",
                    jobs = "choose --jobs examples/profiles/inference-jobs.json";
  for (const char* no_number : {"nan", "inf", "-inf", "NaN", "1e999"}) {
    refuses(fmt::format("recommend {} --alpha {}", files, no_number), "expected a number from");
    refuses(fmt::format("{} --lambda {}", jobs, no_number), "expected a number from");
    refuses(fmt::format("{} --margin {}", jobs, no_number), "expected a number from");
    refuses(fmt::format("bench placement --gpus 1 --load {}", no_number), "expected a number from");
    refuses(fmt::format("bench placement --gpus 1 --seconds {}", no_number),
            "expected a number from");
  }
}

TEST(Choosing, ImpossibleMeasurementsAreNotRecommended) {
  const Scratch scratch;
  const auto with = [&](const std::string& config) {
    return "recommend --measurements " +
           scratch.write("m.json",
                         R"({"gpu_sms": 132, "perf_full": 80, "configs": [{"name": "a", )" +
                             config + R"(, "perf": 31}]})");
  };
  refuses(with(R"("sms": 16, "occupancy": 0.9, "capacity": 11, "peak": 9)"),
          "configs[0].occupancy: 0.9 of the GPU's 132 SMs are 118.8 busy ones, and the instance "
          "has 16");
  refuses(with(R"("sms": 140, "occupancy": 0.1, "capacity": 11, "peak": 9)"),
          "configs[0].sms: 140 SMs, and the GPU has 132");
  refuses(with(R"("sms": 16, "occupancy": 0.1, "capacity": 11, "peak": 16)"),
          "configs[0].peak: 16 is more than the capacity 11");
  EXPECT_EQ(
      cleave(with(R"("sms": 16, "occupancy": 0.1, "capacity": 11, "peak": 16, "offload": true)"))
          .exit_code,
      0);
  EXPECT_EQ(
      cleave(with(R"("sms": 16, "occupancy": 0.1212, "capacity": 11, "peak": 11.05)")).exit_code, 0)
      << "rounded";
  // A repository leaves the profile out and gives the reason; if no other is left there is no
  // answer.
  const std::string repository = scratch.write(
      "r.jsonl",
      R"({"application": "a", "gpu_model": "A30-24GB", "profile": "4g.24gb", "time_s": 5, )"
      R"("peak_memory_mib": 30000, "counters": {"sm_occupancy": 0.5}})");
  refuses("recommend --repository " + repository + " --application a", "no profile has everything",
          1);
  refuses("recommend --repository " + repository + " --application a", "lacks a peak that can be",
          1);
}

TEST(Profiles, ConcurrentAddsLoseNothing) {
  const Scratch scratch;
  const std::string repository = scratch.path("r.jsonl");
  std::string all;
  for (int i = 1; i <= 12; ++i)
    all += fmt::format(
        "echo "
        "'{{\"application\":\"app{0}\",\"gpu_model\":\"A30-24GB\",\"profile\":\"1g.6gb\",\"time_"
        "s\":{0}}}' | "
        "cleave profiles add --repository {1} - >/dev/null & ",
        i, repository);
  EXPECT_EQ(shell(all + "wait").err, "");
  EXPECT_EQ(answer_of("profiles list --repository " + repository)["profiles"].size(), 12U);
}

TEST(Profiles, ARepositoryIsNotWrittenOverAndKeepsItsMode) {
  const Scratch scratch;
  const std::string line =
      R"({"application": "a", "gpu_model": "A30-24GB", "profile": "1g.6gb", "time_s": 5, )"
      R"("counters": {"sm_occupancy": 0.5}})";
  const std::string repository = scratch.write("r.jsonl", line + "\n"),
                    more = scratch.write("m.jsonl", line);
  refuses("profiles export --as training --repository " + repository + " --to " + repository,
          "read by the same command");
  refuses("profiles add --repository " + repository + " " + repository, "the repository itself");
  EXPECT_EQ(shell("cat " + repository).out, line + "\n");
  EXPECT_EQ(shell("chmod 600 " + repository).exit_code, 0);
  EXPECT_EQ(cleave("profiles add --repository " + repository + " " + more).exit_code, 0);
  EXPECT_EQ(shell("stat -c %a " + repository).out, "600\n");
  refuses("profiles add --repository " + repository + " " +
              scratch.write("d.jsonl",
                            R"({"application": "a", "gpu_model": "A30-24GB", "profile": "1g.6gb",)"
                            R"( "time_s": 5, "date": "2025-13-45"})"),
          "'2025-13-45' is not a date");
}

TEST(Choosing, NoAnswerIsNotASuccess) {
  const Scratch scratch;
  refuses("recommend --measurements " +
              scratch.write("none.json", R"({"gpu_sms": 132, "perf_full": 80, "configs": []})"),
          "no instance was measured", 1);
  const Outcome none = cleave("choose --jobs " + scratch.write("late.json", R"({
      "partitions": [{"name": "1g.6gb", "slices": 1, "memory": 6}],
      "jobs": [{"id": "a", "model": "m", "batch": 1, "memory": 7}],
      "profiles": [{"model": "m", "batch": 1, "partition": "1g.6gb", "latency": 1,
        "throughput": 1}]})"));
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_NE(none.out.find("does not fit"), std::string::npos) << "the table says why";
  // It was measured, so there is no note that it was not.
  EXPECT_NE(none.out.find("None of them is known to hold m with this batch."), std::string::npos)
      << none.out;
  EXPECT_NE(none.err.find("no job has a partition"), std::string::npos) << none.err;
}

TEST(Choosing, NoInputIsSwallowed) {
  const Scratch scratch;
  const auto jobs = [&](const std::string& list, const std::string& rows) {
    return "choose --jobs " +
           scratch.write(
               "j.json",
               R"({"partitions": [{"name": "1g.6gb", "slices": 1, "memory": 6}], "jobs": [)" +
                   list + R"(], "profiles": [)" + rows + "]}");
  };
  const std::string
      job = R"({"id": "a", "model": "m", "batch": 1, "memory": 5})",
      row = R"({"model": "m", "batch": 1, "partition": "1g.6gb", "latency": 1, "throughput": 1})";
  refuses(jobs(job + "," + job, row), "jobs[1].id: the job 'a' is listed twice");
  refuses(jobs(job, row + "," + row), "profiles[1]: m with batch 1 on 1g.6gb is listed twice");
  refuses(
      jobs(job,
           R"({"model": "m", "batch": 1, "partition": "1g.6bg", "latency": 1, "throughput": 1})"),
      "did you mean '1g.6gb'?");
  refuses(
      jobs(R"({"id": "a", "model": "m", "batch": 1, "memory": {"1g.6gb": 5, "2g.6gb": 5}})", row),
      "unknown key '2g.6gb'");
  refuses(jobs(job, row) + " --gpu A100-40GB", "the A100-40GB has no profile '1g.6gb'");
  EXPECT_EQ(cleave(jobs(job, row) + " --gpu A30-24GB").exit_code, 0);
  refuses("recommend --measurements examples/profiles/llama3.json --application x",
          "leave them out");
  refuses(
      "waste --input " +
          scratch.write(
              "w.json",
              R"({"gpu_sms": 132, "gpu_memory": 94, "instances": [{"sms": 140, "memory": 9}]})"),
      "instances[0].sms: 140 is more than the 132 of the GPU");
}

TEST(Choosing, BadInputIsReported) {
  const Scratch scratch;
  const std::string empty = scratch.write("empty.json", "{}"),
                    list = scratch.write("list.json", "[]");
  refuses("recommend", "give either --measurements or --repository");
  refuses("recommend --measurements " + empty, "the key 'gpu_sms' is missing");
  refuses("recommend --measurements " + list, "expected an object");
  refuses("recommend --measurements " + scratch.path("absent.json"), "absent.json");
  refuses("recommend --measurements examples/profiles/llama3.json --alpha -1", "--alpha");
  refuses("recommend --repository examples/profiles/repository.jsonl", "add --application NAME");
  refuses("recommend --repository examples/profiles/repository.jsonl --application bert",
          "batch sizes; choose one");
  refuses("recommend --repository examples/profiles/repository.jsonl --application gpt",
          "no profile", 1);
  refuses("choose --jobs " + empty, "the key 'partitions' is missing");
  refuses("choose --jobs examples/profiles/inference-jobs.json --job chta", "did you mean 'chat'?");
  refuses(
      "choose --jobs examples/profiles/inference-jobs.json --repository "
      "examples/profiles/repository.jsonl",
      "add --gpu MODEL");
  refuses("waste", "give one of MODEL, --input and --paper");
  refuses("waste A100-40GB 2g.10gb@3", "2g.10gb@3 cannot be there");
  refuses("waste A101", "unknown GPU model 'A101'");
  refuses("waste --input " + scratch.write("w.json", R"({"gpu_sms": 1})"),
          "the key 'gpu_memory' is missing");
  refuses("profiles export --repository examples/profiles/repository.jsonl --as choose",
          "add --gpu MODEL");
  refuses("profiles list --repository " + scratch.path("absent.jsonl"), "absent.jsonl");
}

TEST(ForecastKernel, OccupancyWavesAndProfile) {
  const Json json =
      answer_of("forecast kernel --grid 200 --threads 256 --registers 40 --gpu A100-40GB");
  EXPECT_EQ(json["capabilities"][0]["blocks_of_sm"], 6);
  EXPECT_EQ(json["capabilities"][0]["occupancy"], 0.75);
  EXPECT_EQ(json["capabilities"][0]["limited_by"], "registers");
  EXPECT_EQ(json["gpu"]["sms_needed"], 34) << "200 blocks, six on an SM";
  EXPECT_EQ(json["gpu"]["waves"], 1);
  EXPECT_EQ(json["gpu"]["sms_folded"], 34);
  EXPECT_EQ(json["gpu"]["profile"], "3g.20gb") << "it has 42 SMs";
  // One more wave needs half of them.
  EXPECT_EQ(answer_of("forecast kernel --grid 200 --threads 256 --registers 40 --gpu A100-40GB "
                      "--more-waves 1")["gpu"]["profile"],
            "2g.10gb");
  EXPECT_NE(shell("cleave forecast kernel --grid 200 --threads 256 --registers 40 --gpu A100-40GB "
                  "--more-waves 1")
                .out.find("1 wave on 98 SMs, 2 on 17"),
            std::string::npos);
  const Json large = answer_of("forecast kernel --grid 8,8 --threads 16,16 --shared-memory 120000");
  EXPECT_EQ(large["blocks"], 64);
  EXPECT_EQ(large["threads"], 256);
  EXPECT_FALSE(large.contains("gpu"));
  EXPECT_TRUE(large["capabilities"][3]["blocks_of_sm"].is_null()) << "12.0 has 99 KiB for a block";
  refuses("forecast kernel --grid 1,2,3,4 --threads 32", "one of three dimensions");
  refuses("forecast kernel --grid x --threads 32", "--grid: 'x'");
  refuses("forecast kernel --grid 1 --threads 2000", "threads of a block");
  refuses("forecast kernel --grid 1 --threads 32 --sharing 1", "give --gpu MODEL too");
  for (const char* blocks : {"0", "1001", "4294967296"})
    refuses(
        fmt::format("forecast kernel --grid 1 --threads 32 --gpu A100-40GB --sharing {}", blocks),
        "--sharing");
}

TEST(ForecastKernel, AJobsKernelRaisesItsRequest) {
  const Scratch scratch;
  const auto makespan = [&](const std::string& kernel) {
    std::string jobs;
    for (const char* id : {"a", "b"})
      jobs += fmt::format(R"({{"id": "{}", "memory_mib": 1000, "phases": {{"cpu_s": 100}}{}}})", id,
                          kernel) +
              "\n";
    return answer_of("simulate --fleet 1xA100-40GB --scheduler scheme-b --workload " +
                     scratch.write("jobs.jsonl", jobs))["makespan_s"]
        .get<double>();
  };
  const double beside = makespan("");
  EXPECT_LT(beside, 150) << "two small instances";
  EXPECT_LT(makespan(R"(, "kernel": {"grid": [200], "threads": [256], "registers": 40})"), 150)
      << "3g.20gb beside 3g.20gb";
  EXPECT_GT(makespan(R"(, "kernel": {"grid": [63, 63], "threads": [16, 16]})"), 190)
      << "each takes the whole GPU";
  const auto refused = [&](const std::string& job, const std::string& fleet,
                           const std::string& what) {
    refuses("simulate --scheduler scheme-b --fleet " + fleet + " --workload " +
                scratch.write("bad.jsonl", R"({"id": "a", "duration_s": 1, )" + job + "}"),
            what);
  };
  const std::string kernel = R"("kernel": {"grid": [63], "threads": [64]})";
  refused(kernel, "1xA100-40GB", "give memory_mib or shape too");
  refused(R"("memory_mib": 9, )" + kernel, "1xA100-40GB,1xA30-24GB", "several");
  refused(R"("memory_mib": 9, "kernel": {"grid": [1, 0], "threads": [64]})", "1xA100-40GB", "grid");
  refused(R"("memory_mib": 9, "kernel": {})", "1xA100-40GB", "the key 'grid' is missing");
  refused(R"("memory_mib": 9, "kernel": {"grid": [1], "threads": [64], "regs": 40})", "1xA100-40GB",
          "regs");
  refused(R"("memory_mib": 9, "kernel": {"grid": [1], "threads": [64, 64]})", "1xA100-40GB",
          "threads of a block");
}

}  // namespace
}  // namespace cleave
