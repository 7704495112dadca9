// `cleave forecast model` from outside: answers for each kind of file, and errors for bad input.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/places_test.hpp"
#include "forecast/shape/tensor_file_maker_test.hpp"
#include "json_of.hpp"

namespace cleave {
namespace {

using testing_program::cleave;
using testing_program::json_of;
using testing_program::Outcome;
using testing_program::Scratch;

constexpr const char* llama = "examples/models/llama-3.1-8b/config.json";

Json model_forecast(const std::string& arguments) {
  return json_of(cleave("forecast model --json " + arguments));
}

std::uint64_t bytes_of(const Json& json, std::string_view part) {
  for (const Json& each : json["parts"])
    if (each["part"] == part) return each["bytes"];
  ADD_FAILURE() << part;
  return 0;
}

TEST(ForecastModel, PartsAddUp) {
  const Json json = model_forecast(std::string(llama) + " --batch 2 --context 1024");
  EXPECT_EQ(json["parameters"], 8'030'261'248U);
  EXPECT_EQ(json["kv_bytes_per_token"], 131'072);
  EXPECT_EQ(bytes_of(json, "kv_cache"), 2U * 1024 * 131'072);
  std::uint64_t sum = 0;
  for (const Json& part : json["parts"]) sum += part["bytes"].get<std::uint64_t>();
  EXPECT_EQ(json["memory_mib"].get<std::uint64_t>(), (sum + (1U << 20) - 1) >> 20);
  EXPECT_FALSE(json.contains("fits"));
}

TEST(ForecastModel, ProfilesAndHostMemory) {
  const Json json =
      model_forecast(std::string(llama) + " --precision int8 --fits A100-40GB --offload");
  EXPECT_EQ(json["fits"]["smallest"], "1g.10gb");
  for (const Json& row : json["fits"]["profiles"]) {
    EXPECT_EQ(row["fits"], row["memory_mib"] >= json["memory_mib"]);
    EXPECT_EQ(row["offload"].is_null(), row["fits"].get<bool>());
    EXPECT_TRUE(row["fits"] || row["offload"]["weights_mib"] > 0);
  }
}

TEST(ForecastModel, WeightsInFilesCountAsStored) {
  const Scratch scratch;
  const std::string tensors = scratch.write("m.safetensors", made_up::small_llama());
  const Json alone = model_forecast(tensors);
  EXPECT_EQ(alone["stored"]["bytes"], bytes_of(alone, "weights"));
  EXPECT_EQ(alone["shape"]["layers"], 2);
  EXPECT_TRUE(alone["shape"]["heads"].is_null());
  scratch.write("config.json", R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 16,
      "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 24,
        "vocab_size": 40})");
  const Json beside = model_forecast(tensors);
  EXPECT_EQ(beside["shape"]["heads"], 4);
  EXPECT_EQ(beside["parameters"], alone["parameters"]);
  const Json gguf = model_forecast(scratch.write("m.gguf", made_up::small_gguf()));
  EXPECT_EQ(gguf["stored"]["types"].size(), 2U);
  const Json index = model_forecast(scratch.write(
      "model.safetensors.index.json", R"({"metadata": {"total_size": 4096}, "weight_map": {}})"));
  EXPECT_EQ(bytes_of(index, "weights"), 4096U);
}

TEST(ForecastModel, NetworksForImages) {
  const Json json = model_forecast("vision:resnet50 --batch 32 --train --fits A100-40GB");
  EXPECT_EQ(json["parameters"], 25'557'032);
  EXPECT_EQ(bytes_of(json, "optimizer"), 8U * 25'557'032);
  EXPECT_TRUE(json["shape"].is_null());
  EXPECT_EQ(json["fits"]["smallest"], "1g.5gb");
}

TEST(ForecastModel, BadInputIsToldWhereAndWhat) {
  const Scratch scratch;
  const auto refused = [](const std::string& arguments) {
    const Outcome outcome = cleave("forecast model " + arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments << outcome.out;
    return outcome.err;
  };
  EXPECT_NE(refused("no-such-file.json").find("no-such-file.json: No such file"),
            std::string::npos);
  EXPECT_NE(refused("examples").find("not a plain file"), std::string::npos);
  EXPECT_NE(refused(std::string(llama) + " --precision fp12")
                .find("--precision: there is no precision 'fp12'"),
            std::string::npos);
  EXPECT_NE(refused(std::string(llama) + " --offload").find("--fits"), std::string::npos);
  EXPECT_NE(refused(std::string(llama) + " --batch 0").find("at least 1"), std::string::npos);
  EXPECT_NE(refused(std::string(llama) + " --batch 2000000000 --context 1000000").find("exbibyte"),
            std::string::npos);
  EXPECT_NE(refused(std::string(llama) + " --workspace 4096").find("--workspace"),
            std::string::npos);
  EXPECT_NE(refused("vision:resnet51").find("resnet50"), std::string::npos);
  EXPECT_NE(refused(scratch.write("torn.gguf", made_up::small_gguf().substr(0, 60)))
                .find("torn.gguf: byte"),
            std::string::npos);
  EXPECT_NE(refused(scratch.write("torn.safetensors", "\x40")).find("too short"),
            std::string::npos);
  EXPECT_NE(refused(scratch.write("shapes.json", R"({"models": []})") + "#a").find("'a'"),
            std::string::npos);
}

TEST(ForecastModel, OneFileOfSeveralIsNotTheModel) {
  const Scratch scratch;
  scratch.write("config.json", R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 16,
      "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 24,
        "vocab_size": 40})");
  for (const char* name : {"model-00001-of-00002.safetensors", "m-00002-of-00002.gguf"}) {
    const Outcome part =
        cleave("forecast model " + scratch.write(name, std::string(name).ends_with("gguf")
                                                           ? made_up::small_gguf()
                                                           : made_up::small_llama()));
    EXPECT_EQ(part.exit_code, 2);
    EXPECT_NE(part.err.find("of 2, and holds only a part of the weights"), std::string::npos)
        << part.err;
    EXPECT_NE(part.err.find("model.safetensors.index.json"), std::string::npos) << part.err;
  }
  EXPECT_EQ(cleave("forecast model " +
                   scratch.write("model-00001-of-00001.safetensors", made_up::small_llama()))
                .exit_code,
            0);
}

TEST(ForecastModel, OptionsOfTrainingNeedIt) {
  for (const char* option : {"--optimizer sgd", "--recompute"}) {
    const Outcome outcome = cleave(fmt::format("forecast model {} {}", llama, option));
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_NE(outcome.err.find("give --train too"), std::string::npos) << outcome.err;
    EXPECT_EQ(cleave(fmt::format("forecast model {} {} --train", llama, option)).exit_code, 0);
  }
  const Outcome many = cleave(fmt::format("forecast model {} --batch 5000000000", llama));
  EXPECT_NE(many.err.find("give 1 to 4294967296"), std::string::npos) << many.err;
}

TEST(ForecastModel, AFileWithoutAShapeIsNamedOnce) {
  const Scratch scratch;
  std::string file = made_up::small_gguf();
  file.replace(file.find("general.architecture"), 20, "general.architectore");
  const Outcome outcome = cleave("forecast model " + scratch.write("noarch.gguf", file));
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("noarch.gguf: the key 'general.architecture'"), std::string::npos)
      << outcome.err;
  EXPECT_EQ(outcome.err.find("noarch.gguf"), outcome.err.rfind("noarch.gguf")) << outcome.err;
}

TEST(ForecastModel, JobsMayNameAModelInPlaceOfASize) {
  const Scratch scratch;
  scratch.write("config.json",
                R"({"model_type": "gpt2", "n_layer": 48, "n_embd": 1600, "n_head": 25,
      "vocab_size": 50257, "n_positions": 1024})");
  const std::string jobs = scratch.write("jobs.jsonl",
                                         R"({"id": "a", "duration_s": 10, "shape": "config.json"}
{"id": "b", "duration_s": 10, "shape": "config.json", "train": true}
{"id": "c", "duration_s": 10, "shape": "vision:resnet50", "batch": 64, "train": true}
)");
  const Outcome run =
      cleave("simulate --fleet 1xA100-40GB --scheduler scheme-b --json --workload " + jobs);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const Outcome torn = cleave(
      "simulate --fleet 1xA100-40GB --scheduler scheme-b --workload " +
      scratch.write("torn.jsonl", R"({"id": "a", "duration_s": 1, "shape": "nothing.json"})"));
  EXPECT_EQ(torn.exit_code, 2);
  EXPECT_NE(torn.err.find("torn.jsonl:1: shape: "), std::string::npos) << torn.err;
}

TEST(ReproduceCarma, ThePageShowsWhatComesOut) {
  const std::string tasks = "../shared/data/carma-dl-tasks/training_tasks.csv";
  if (!std::filesystem::exists(source_dir() + "/" + tasks))
    GTEST_SKIP() << "the tasks of CARMA are not beside this source tree";
  std::stringstream page;
  page << std::ifstream(source_dir() + "/docs/forecast-model.md").rdbuf();
  const Outcome outcome = cleave("reproduce carma --tasks " + tasks);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(page.str().find("```text\n" + outcome.out + "```"), std::string::npos)
      << "docs/forecast-model.md shows an older table";
}

}  // namespace
}  // namespace cleave
