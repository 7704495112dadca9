#include "forecast/shape/model_memory.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "forecast/shape/activations.hpp"
#include "forecast/shape/hf_config.hpp"

namespace cleave {
namespace {

constexpr std::uint64_t mebibyte = bytes_per_mib;

ModelFile llama() {
  return {*parse_hf_config(
              R"({"model_type": "llama", "num_hidden_layers": 32, "hidden_size": 4096, )"
              R"("num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, )"
              R"("vocab_size": 128256, "max_position_embeddings": 8192})",
              "config.json"),
          "", std::nullopt};
}

ModelFile gpt2() {
  return {*parse_hf_config(R"({"model_type": "gpt2", "n_layer": 12, "n_embd": 768, "n_head": 12, )"
                           R"("vocab_size": 50257, "n_positions": 1024})",
                           "config.json"),
          "", std::nullopt};
}

ModelFile flan() {
  return {
      *parse_hf_config(
          R"({"model_type": "t5", "num_layers": 12, "d_model": 768, "num_heads": 12, "d_kv": 64, )"
          R"("d_ff": 2048, "vocab_size": 32128, "feed_forward_proj": "gated-gelu", )"
          R"("tie_word_embeddings": false})",
          "config.json"),
      "", std::nullopt};
}

MemoryForecast forecast(const ModelFile& model, const MemoryOptions& options) {
  auto result = forecast_memory(model, options, "test");
  EXPECT_TRUE(result);
  return result ? *result : MemoryForecast{};
}

TEST(ModelMemory, WeightsAndCacheByHand) {
  MemoryOptions options;
  options.batch = 3;
  options.context = 1000;
  const auto found = forecast(llama(), options);
  EXPECT_EQ(found.bytes(Part::weights), 2 * 8'030'261'248U);
  EXPECT_EQ(found.kv_per_token, 131'072U);
  EXPECT_EQ(found.kv_per_sequence, 131'072'000U);
  EXPECT_EQ(found.bytes(Part::kv_cache), 3U * 131'072'000U);
  EXPECT_EQ(found.bytes(Part::gradients), 0U);
  EXPECT_EQ(found.bytes(Part::optimizer), 0U);
  EXPECT_EQ(found.bytes(Part::context), 615 * mebibyte);
  std::uint64_t sum = 0;
  for (const MemoryPart& part : found.parts) {
    EXPECT_FALSE(part.how.empty());
    sum += part.bytes;
  }
  EXPECT_EQ(found.total(), sum);
  EXPECT_EQ(found.needed().value, static_cast<std::int64_t>((sum + mebibyte - 1) / mebibyte));
}

TEST(ModelMemory, EveryPrecisionHasItsBytes) {
  for (const Precision& precision : precisions()) {
    MemoryOptions options;
    options.weights = &precision;
    EXPECT_EQ(forecast(gpt2(), options).bytes(Part::weights),
              (124'439'808 * precision.bits + 7) / 8);
  }
}

ModelFile described(const std::string& more) {
  const auto shape =
      parse_hf_config(R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 16, )"
                      R"("num_attention_heads": 4, "intermediate_size": 24, "vocab_size": 40)" +
                          more + "}",
                      "config.json");
  EXPECT_TRUE(shape) << more;
  return {*shape, "", std::nullopt};
}

TEST(ModelMemory, ADescriptionSaysThePrecision) {
  const std::uint64_t count = parameters(*described("").shape);
  EXPECT_EQ(forecast(described(""), {}).bytes(Part::weights), 2 * count);
  EXPECT_EQ(forecast(described(R"(, "torch_dtype": "float32")"), {}).bytes(Part::weights),
            4 * count);
  EXPECT_EQ(forecast(described(R"(, "dtype": "float32")"), {}).bytes(Part::weights), 4 * count);
  EXPECT_EQ(forecast(described(R"(, "torch_dtype": "bfloat16")"), {}).bytes(Part::weights),
            2 * count);
  EXPECT_EQ(forecast(described(R"(, "torch_dtype": "float12")"), {}).remarks.size(), 1U);
  MemoryOptions asked;
  asked.weights = *find_precision("bf16");
  EXPECT_EQ(forecast(described(R"(, "torch_dtype": "float32")"), asked).bytes(Part::weights),
            2 * count);
  // Four bits for the matrices of the layers; embedding, output and norms keep theirs.
  const std::uint64_t rest = 2 * 40 * 16 + 5 * 16;
  for (const char* quantised : {R"(, "quantization_config": {"quant_method": "gptq", "bits": 4})",
                                R"(, "quantization_config": {"load_in_4bit": true})"}) {
    const auto found = forecast(described(quantised), {});
    EXPECT_EQ(found.bytes(Part::weights), (count - rest) / 2 + 2 * rest) << quantised;
    EXPECT_EQ(found.remarks.size(), 1U);
    MemoryOptions training;
    training.train = true;
    EXPECT_FALSE(forecast_memory(described(quantised), training, "test"))
        << "as with --precision int4";
  }
  EXPECT_EQ(
      forecast(described(R"(, "quantization_config": {"quant_method": "new"})"), {}).remarks.size(),
      1U);
}

TEST(ModelMemory, TrainingFollowsWhatIsStored) {
  MemoryOptions training;
  training.train = true;
  ModelFile model = described("");
  const std::uint64_t count = parameters(*model.shape);
  model.stored = StoredWeights{{}, 0, 4 * count + 100};  // an index of files
  EXPECT_EQ(forecast(model, training).bytes(Part::gradients), 4 * count);
  model.stored->bytes = 2 * count;
  EXPECT_EQ(forecast(model, training).bytes(Part::gradients), 2 * count);
  model.stored = StoredWeights{{{"Q4_0", 3, count, count * 18 / 32}}, count, count * 18 / 32};
  EXPECT_EQ(forecast(model, {}).bytes(Part::weights), count * 18 / 32);
  const auto refused = forecast_memory(model, training, "m.gguf");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text().find("its weights have Q4_0"), std::string::npos)
      << refused.error().text();
  // Part of a model.
  model.stored = StoredWeights{{{"BF16", 3, count / 2, count}}, count / 2, count};
  ASSERT_EQ(forecast(model, {}).remarks.size(), 1U);
  EXPECT_NE(forecast(model, {}).remarks[0].find("50 % of the"), std::string::npos);
}

TEST(ModelMemory, OptimizersSayWhatTheyKeep) {
  const auto how = [](const char* optimizer, const char* precision) {
    MemoryOptions options;
    options.train = true;
    options.optimizer = *find_optimizer(optimizer);
    options.weights = *find_precision(precision);
    return forecast(described(""), options).parts[static_cast<std::size_t>(Part::optimizer)].how;
  };
  EXPECT_EQ(
      how("adafactor", "bf16"),
      "adafactor: a sum of 32 bits for each row and column, weights of 32 bits for each parameter");
  EXPECT_EQ(how("adafactor", "fp32"), "adafactor: a sum of 32 bits for each row and column");
  EXPECT_EQ(how("adam", "bf16"),
            "adam: two moments of 32 bits and weights of 32 bits for each parameter");
  EXPECT_EQ(how("sgd", "bf16"), "sgd: weights of 32 bits for each parameter");
  EXPECT_EQ(how("none", "bf16"), "none: nothing");
}

TEST(ModelMemory, MixedTrainingTakesSixteenBytesAParameter) {
  MemoryOptions options;
  options.train = true;
  const auto found = forecast(gpt2(), options);
  const std::uint64_t state =
      found.bytes(Part::weights) + found.bytes(Part::gradients) + found.bytes(Part::optimizer);
  EXPECT_EQ(state, 16U * 124'439'808) << "ZeRO, section 3.1";
  options.weights = *find_precision("fp32");
  const auto wide = forecast(gpt2(), options);
  EXPECT_EQ(wide.bytes(Part::optimizer), 8U * 124'439'808) << "no second copy of the weights";
  EXPECT_EQ(wide.bytes(Part::kv_cache), 0U);
  std::uint64_t before = UINT64_MAX;
  for (const char* name : {"adam", "sgd-momentum", "adamw8bit", "adafactor", "none"}) {
    options.optimizer = *find_optimizer(name);
    const std::uint64_t bytes = forecast(gpt2(), options).bytes(Part::optimizer);
    EXPECT_LT(bytes, before) << name;
    before = bytes;
  }
}

TEST(ModelMemory, ActivationsOfTheKindInThePaper) {
  // 34 s b h a layer, and 5 a s^2 b with plain attention: Korthikanti et al., equation 1.
  const ModelShape shape = *gpt2().shape;
  const std::uint64_t s = 512, b = 4, h = 768, a = 12, layers = 12, vocab = 50257;
  ActivationUse use{.sequences = b, .context = s};
  const std::uint64_t ends = 2 * 2 * s * b * h + 6 * s * b * vocab;
  EXPECT_EQ(training_activations(shape, use).bytes, layers * 34 * s * b * h + ends);
  use.plain_attention = true;
  EXPECT_EQ(training_activations(shape, use).bytes,
            layers * (34 * s * b * h + 5 * a * s * s * b) + ends);
  use.recompute = true;
  EXPECT_EQ(training_activations(shape, use).bytes,
            layers * 2 * s * b * h + (34 * s * b * h + 5 * a * s * s * b) + ends);
}

TEST(ModelMemory, TwoStacksHoldTheInputBesides) {
  MemoryOptions options;
  options.context = 100;
  options.input = 400;
  const auto found = forecast(flan(), options);
  EXPECT_EQ(found.kv_per_token, 36'864U);
  EXPECT_EQ(found.kv_per_sequence, 36'864U * 500);
}

TEST(ModelMemory, WorkspaceAsTheVariableSays) {
  EXPECT_EQ(*parse_workspace(":4096:2:16:8"), (2 * 4096U + 8 * 16) * 1024);
  EXPECT_EQ(*parse_workspace(":4096:8"), 32U * mebibyte);
  EXPECT_EQ(*parse_workspace(":0:0"), 0U);
  for (const char* wrong :
       {"", ":", "4096:8", ":4096", ":4096:", ":4096:8:16", ":4k:8", ":-1:8", ":9999999999:1"})
    EXPECT_FALSE(parse_workspace(wrong)) << wrong;
  EXPECT_EQ(usual_workspace(Architecture::ampere), *parse_workspace(":4096:2:16:8"));
  EXPECT_EQ(usual_workspace(Architecture::hopper), *parse_workspace(":4096:8"));
  MemoryOptions options;
  options.workspace = 4 * mebibyte;
  options.workspace_per_layer = true;
  EXPECT_EQ(forecast(gpt2(), options).bytes(Part::workspace), 12U * 4 * mebibyte);
}

TEST(ModelMemory, ProcessesHaveEverythingOfTheirOwn) {
  MemoryOptions options;
  options.context = 128;
  const auto one = forecast(gpt2(), options);
  options.processes = 3;
  for (const SharingRow& row : sharing_modes()) {
    options.sharing = &row;
    EXPECT_EQ(forecast(gpt2(), options).total(), 3 * one.total()) << row.name;
  }
}

TEST(ModelMemory, GrowsWithBatchContextAndPrecision) {
  Random random(7);
  const ModelFile models[] = {llama(), gpt2(), flan()};
  for (int round = 0; round < 500; ++round) {
    const ModelFile& model = models[random.below(3)];
    MemoryOptions less;
    less.batch = 1 + static_cast<std::int64_t>(random.below(64));
    less.context = 1 + static_cast<std::int64_t>(random.below(5000));
    less.input = 1 + static_cast<std::int64_t>(random.below(5000));
    less.prefill = static_cast<std::int64_t>(random.below(3000));
    less.train = random.below(2) == 0;
    less.recompute = random.below(2) == 0;
    less.plain_attention = random.below(2) == 0;
    less.weights = *find_precision("bf16");
    const std::uint64_t least = forecast(model, less).total();
    for (int what = 0; what < 4; ++what) {
      MemoryOptions more = less;
      if (what == 0) more.batch += 1 + static_cast<std::int64_t>(random.below(9));
      if (what == 1) more.context += 1 + static_cast<std::int64_t>(random.below(900));
      if (what == 2) more.weights = *find_precision("fp32");
      if (what == 3) more.input += 1 + static_cast<std::int64_t>(random.below(900));
      EXPECT_GE(forecast(model, more).total(), least) << "round " << round << ", change " << what;
    }
    MemoryOptions again = less;
    again.recompute = true;
    EXPECT_LE(forecast(model, again).bytes(Part::activations),
              forecast(model, less).bytes(Part::activations));
  }
}

TEST(ModelMemory, HugeQuestionsAreAnsweredOrRefusedAndNeverWrapAround) {
  MemoryOptions options;
  options.batch = options.context = std::int64_t{1} << 32;
  EXPECT_EQ(forecast_memory(llama(), options, "test").error().text(),
            "test: with these options it needs more than an exbibyte; check batch, context and "
            "processes");
  options.batch = options.context = std::int64_t{1} << 20;
  const auto found = forecast(llama(), options);
  EXPECT_GE(found.total(), found.kv_per_token << 40);
  EXPECT_LT(found.total(), std::uint64_t{1} << 60);
  for (const ProfileFit& fit : profile_fits(found, **find_gpu_model("A100-40GB")))
    EXPECT_FALSE(*fit.fits);
}

TEST(ModelMemory, ImpossibleOptionsAreRefused) {
  MemoryOptions options;
  options.batch = 0;
  EXPECT_FALSE(forecast_memory(llama(), options, "test"));
  options.batch = 1;
  options.train = true;
  options.weights = *find_precision("int4");
  EXPECT_EQ(forecast_memory(llama(), options, "test").error().text(),
            "--precision: gradients are not kept in int4; train in fp32, bf16 or fp16");
  EXPECT_EQ(find_optimizer("adams").error().message, "there is no optimizer 'adams'");
  const ModelFile nothing{std::nullopt, "no names", std::nullopt};
  EXPECT_EQ(forecast_memory(nothing, {}, "x").error().message, "no names");
}

TEST(ModelMemory, ProfilesAndSequencesByTheirDefinition) {
  MemoryOptions options;
  options.context = 2048;
  options.batch = 4;
  const auto found = forecast(llama(), options);
  std::size_t known = 0;
  for (const GpuModel& gpu : gpu_models())
    for (const ProfileFit& fit : profile_fits(found, gpu)) {
      ASSERT_EQ(fit.fits.has_value(), fit.profile->usable.has_value());
      if (!fit.fits) continue;
      ++known;
      EXPECT_EQ(*fit.fits, found.needed() <= *fit.profile->usable);
      // The slow way: one more sequence as long as it fits.
      const std::uint64_t room = static_cast<std::uint64_t>(fit.profile->usable->value) * mebibyte;
      std::uint64_t held = found.total() - found.bytes(Part::kv_cache), count = 0;
      while (held + found.kv_per_sequence <= room) held += found.kv_per_sequence, ++count;
      EXPECT_EQ(*fit.sequences, count) << gpu.key << " " << fit.profile->name;
      EXPECT_EQ(fit.offload.has_value(), !*fit.fits);
    }
  EXPECT_GT(known, 20U);
}

TEST(ModelMemory, TheSmallestProfileThatHolds) {
  const GpuModel& gpu = **find_gpu_model("A100-40GB");
  EXPECT_EQ(smallest_that_holds({1}, gpu)->name, "1g.5gb");
  EXPECT_EQ(smallest_that_holds({4864}, gpu)->name, "1g.5gb");
  EXPECT_EQ(smallest_that_holds({4865}, gpu)->name, "1g.10gb");
  EXPECT_EQ(smallest_that_holds({9985}, gpu)->name, "3g.20gb");
  EXPECT_EQ(smallest_that_holds({20097}, gpu)->name, "7g.40gb");
  EXPECT_EQ(smallest_that_holds({40321}, gpu), nullptr);
}

TEST(ModelMemory, OffloadIsEnoughAndNotALayerTooMuch) {
  Random random(3);
  for (int round = 0; round < 300; ++round) {
    MemoryOptions options;
    options.context = 1 + static_cast<std::int64_t>(random.below(8192));
    options.batch = 1 + static_cast<std::int64_t>(random.below(8));
    options.train = random.below(3) == 0;
    const auto found = forecast(random.below(2) == 0 ? llama() : gpt2(), options);
    const MiB room{static_cast<std::int64_t>(1 + random.below(60'000))};
    const OffloadPlan plan = plan_offload(found, room);
    const std::uint64_t most = static_cast<std::uint64_t>(room.value) * mebibyte;
    const std::uint64_t layer = found.layered_weights / found.layers;
    const std::uint64_t passing = plan.layers > 0 ? layer : 0;
    EXPECT_LE(plan.optimizer, found.bytes(Part::optimizer));
    EXPECT_LE(plan.gradients, found.bytes(Part::gradients));
    EXPECT_LE(plan.weights, found.layered_weights);
    EXPECT_LE(plan.kv_cache, found.bytes(Part::kv_cache));
    EXPECT_TRUE(found.total() > most || plan.total() == 0);
    EXPECT_TRUE(!plan.fits || found.total() - plan.total() + passing <= most + 1);
    // With one layer's weights less it would not fit.
    const bool by_weights = plan.fits && plan.layers > 1 && plan.kv_cache == 0;
    EXPECT_TRUE(!by_weights || found.total() - plan.total() + layer + passing > most);
    EXPECT_TRUE(plan.fits || plan.kv_cache == found.bytes(Part::kv_cache));
  }
}

TEST(ModelMemory, StoredWeightsCountAsStored) {
  ModelFile model = gpt2();
  model.stored = StoredWeights{{{"Q4_0", 1, 124'439'808, 69'997'392}}, 124'439'808, 69'997'392};
  EXPECT_EQ(forecast(model, {}).bytes(Part::weights), 69'997'392U);
  MemoryOptions options;
  options.weights = *find_precision("bf16");
  EXPECT_EQ(forecast(model, options).bytes(Part::weights), 2U * 124'439'808)
      << "what is asked for goes before";
}

TEST(ModelMemory, ImagesByHand) {
  MemoryOptions options;
  options.train = true;
  options.batch = 8;
  const auto network = *vision_network("resnet18:32:10");
  const auto found = *forecast_memory(network, options);
  EXPECT_EQ(found.bytes(Part::weights), 4 * network.parameters());
  EXPECT_EQ(found.bytes(Part::activations), 8 * (4 * network.kept() + 8 * network.indices() +
                                                 usual_moved_copies * 4 * network.most_moved()));
  EXPECT_EQ(found.bytes(Part::optimizer), 8 * network.parameters());
  EXPECT_EQ(found.kv_per_sequence, 0U);
  options.train = false;
  EXPECT_LT(forecast_memory(network, options)->total(), found.total());
}

}  // namespace
}  // namespace cleave
