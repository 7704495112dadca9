#include "forecast/shape/model_shape.hpp"
#include "base/places_test.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "base/json.hpp"
#include "base/random.hpp"
#include "forecast/shape/hf_config.hpp"
#include "forecast/shape/saturating.hpp"

namespace cleave {
namespace {

/// Published configurations with published numbers of parameters, so that these are tested even
/// without the data files.
struct Published {
  const char* config;
  std::uint64_t parameters;
  std::uint64_t kv_bytes_of_token;  // with 16 bits
};

constexpr Published published[] = {
    {R"({"model_type": "gpt2", "n_layer": 12, "n_embd": 768, "n_head": 12, "vocab_size": 50257, )"
     R"("n_positions": 1024, "n_inner": null})",
     124'439'808, 36'864},
    {R"({"model_type": "bert", "num_hidden_layers": 12, "hidden_size": 768, )"
     R"("num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 30522, )"
     R"("max_position_embeddings": 512, "type_vocab_size": 2})",
     109'482'240, 0},
    {R"({"model_type": "roberta", "num_hidden_layers": 12, "hidden_size": 768, )"
     R"("num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 50265, )"
     R"("max_position_embeddings": 514, "type_vocab_size": 1})",
     124'645'632, 0},
    {R"({"model_type": "llama", "num_hidden_layers": 32, "hidden_size": 4096, )"
     R"("num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, )"
     R"("vocab_size": 128256, "max_position_embeddings": 8192, "tie_word_embeddings": false})",
     8'030'261'248, 131'072},
    {R"({"model_type": "mixtral", "num_hidden_layers": 32, "hidden_size": 4096, )"
     R"("num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, )"
     R"("vocab_size": 32000, "num_local_experts": 8, "num_experts_per_tok": 2, )"
     R"("sliding_window": null})",
     46'702'792'704, 131'072},
    {R"({"model_type": "qwen2_moe", "num_hidden_layers": 24, "hidden_size": 2048, )"
     R"("num_attention_heads": 16, "num_key_value_heads": 16, "intermediate_size": 5632, )"
     R"("moe_intermediate_size": 1408, "shared_expert_intermediate_size": 5632, )"
     R"("num_experts": 60, "num_experts_per_tok": 4, "vocab_size": 151936, )"
     R"("tie_word_embeddings": false, "use_sliding_window": false, "sliding_window": 32768})",
     14'315'784'192, 196'608},
    {R"({"model_type": "falcon", "num_hidden_layers": 32, "hidden_size": 4544, )"
     R"("num_attention_heads": 71, "multi_query": true, "parallel_attn": true, "bias": false, )"
     R"("vocab_size": 65024})",
     6'921'720'704, 8'192},
    {R"({"model_type": "gemma", "num_hidden_layers": 18, "hidden_size": 2048, )"
     R"("num_attention_heads": 8, "num_key_value_heads": 1, "head_dim": 256, )"
     R"("intermediate_size": 16384, "vocab_size": 256000})",
     2'506'172'416, 18'432},
    {R"({"model_type": "t5", "num_layers": 12, "d_model": 768, "num_heads": 12, "d_kv": 64, )"
     R"("d_ff": 3072, "vocab_size": 32128, "feed_forward_proj": "relu"})",
     222'903'552, 36'864},
    {R"({"model_type": "opt", "num_hidden_layers": 12, "hidden_size": 768, )"
     R"("num_attention_heads": 12, "ffn_dim": 3072, "vocab_size": 50272, )"
     R"("max_position_embeddings": 2048, "word_embed_proj_dim": 768})",
     125'239'296, 36'864},
};

TEST(ModelShape, PublishedParametersAreCountedExactly) {
  for (const Published& model : published) {
    const auto shape = parse_hf_config(model.config, "config.json");
    ASSERT_TRUE(shape) << shape.error().text();
    EXPECT_EQ(parameters(*shape), model.parameters) << shape->name;
    EXPECT_EQ(2 * kv_per_token(*shape), model.kv_bytes_of_token) << shape->name;
  }
}

TEST(ModelShape, WithExpertsFewerParametersAreActive) {
  const auto mixtral = parse_hf_config(published[4].config, "config.json");
  ASSERT_TRUE(mixtral);
  EXPECT_EQ(active_parameters(*mixtral), 12'879'925'248U);
  const auto qwen = parse_hf_config(published[5].config, "config.json");
  ASSERT_TRUE(qwen);
  EXPECT_EQ(qwen->window, 0) << "its window is not in use";
  EXPECT_NEAR(static_cast<double>(active_parameters(*qwen)), 2.7e9, 0.05e9);
}

TEST(ModelShape, TheModelsOfTheData) {
  const std::string file = source_dir() + "/../shared/data/models/model_shapes.json";
  if (!std::filesystem::exists(file))
    GTEST_SKIP() << "the shapes of models are not beside this source tree";
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  const auto document = parse_json(text.str(), file);
  ASSERT_TRUE(document);
  std::size_t seen = 0;
  for (const auto& model : (*document)["models"]) {
    const std::string name = model["name"];
    const auto shape = parse_model_shapes(text.str(), name, "shapes.json");
    ASSERT_TRUE(shape) << shape.error().text();
    const double said = model["params"].get<double>();
    EXPECT_LE(std::fabs(static_cast<double>(parameters(*shape)) - said), 0.01 * said) << name;
    EXPECT_EQ(2 * kv_per_token(*shape), model["kv_bytes_per_token_fp16"].get<std::uint64_t>())
        << name;
    const std::uint64_t cross =
        model.value("cross_kv_bytes_per_input_token_fp16", std::uint64_t{0});
    EXPECT_EQ(2 * cross_kv_per_token(*shape), cross) << name;
    if (parameters(*shape) != model["params"].get<std::uint64_t>())
      std::cout << name << ": " << parameters(*shape) << ", published " << model["params"] << "\n";
    ++seen;
  }
  EXPECT_EQ(seen, 38U);
}

TEST(ModelShape, WindowsBoundTheCache) {
  auto shape = *parse_hf_config(published[3].config, "config.json");
  const std::uint64_t each = kv_per_token(shape);
  EXPECT_EQ(kv_of_sequence(shape, 1000, 0), 1000 * each);
  shape.window = 256;
  EXPECT_EQ(kv_of_sequence(shape, 100, 0), 100 * each);
  EXPECT_EQ(kv_of_sequence(shape, 1000, 0), 256 * each);
  shape.family.window = WindowRule::every_second;
  EXPECT_EQ(kv_of_sequence(shape, 1000, 0), (1000 + 256) * each / 2);
  shape.family.window = WindowRule::five_of_six;
  EXPECT_EQ(shape.window_layers(), 27)
      << "of 32, the sixth, twelfth, ... look back over everything";
}

TEST(ModelShape, ImpossibleSizesAreRefused) {
  const auto refused = [](const char* text) {
    const auto shape = parse_hf_config(text, "config.json");
    EXPECT_FALSE(shape);
    return shape ? std::string() : shape.error().text();
  };
  EXPECT_EQ(refused(R"({"model_type": "lama"})"),
            "config.json: no known family of models is called 'lama'; did you mean 'llama'?");
  EXPECT_EQ(refused(R"({"model_type": "gpt2", "n_layer": 12, "n_head": 12, "vocab_size": 9})"),
            "config.json: the key 'hidden_size' is missing; this size is called hidden_size, "
            "n_embd, n_embed "
            "or d_model");
  EXPECT_EQ(
      refused(R"({"model_type": "gpt2", "n_layer": 999999999, "n_embd": 768, "n_head": 12, )"
              R"("vocab_size": 9})"),
      "config.json: layers must be from 1 to 10000, not 999999999; check the file that describes "
      "the model");
  EXPECT_NE(refused(R"({"model_type": "gpt2", "n_layer": "many"})").find("expected a whole number"),
            std::string::npos);
  EXPECT_NE(
      refused(R"({"model_type": "llama", "num_hidden_layers": 10000, "hidden_size": 1000000, )"
              R"("num_attention_heads": 60000, "head_dim": 60000, "intermediate_size": 1000000, )"
              R"("vocab_size": 9})")
          .find("10^15"),
      std::string::npos);
  EXPECT_NE(
      refused(R"({"model_type": "llama", "num_hidden_layers": 1, "hidden_size": 64, )"
              R"("num_attention_heads": 8, "num_key_value_heads": 3, "intermediate_size": 64, )"
              R"("vocab_size": 9})")
          .find("evenly"),
      std::string::npos);
}

TEST(ModelShape, AConfigurationTornAnywhereIsAnError) {
  const std::string whole = published[4].config;
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const auto shape = parse_hf_config(whole.substr(0, length), "config.json");
    ASSERT_FALSE(shape) << length;
    ASSERT_FALSE(shape.error().message.empty());
  }
}

TEST(ModelShape, GrowsWithEverySize) {
  const ModelShape base = *parse_hf_config(published[4].config, "config.json");
  std::int64_t ModelShape::*const sizes[] = {&ModelShape::layers,   &ModelShape::hidden,
                                             &ModelShape::head_dim, &ModelShape::vocab,
                                             &ModelShape::experts,  &ModelShape::expert_ffn};
  Random random(1);
  for (int round = 0; round < 200; ++round) {
    ModelShape smaller = base;
    for (const auto size : sizes) smaller.*size += static_cast<std::int64_t>(random.below(100));
    const auto size = sizes[random.below(std::size(sizes))];
    ModelShape larger = smaller;
    larger.*size += 1 + static_cast<std::int64_t>(random.below(1000));
    if (size == &ModelShape::layers) larger.expert_layers = smaller.expert_layers;
    EXPECT_GT(parameters(larger), parameters(smaller));
    EXPECT_GE(kv_per_token(larger), kv_per_token(smaller));
  }
}

TEST(Saturating, StaysAtTheTop) {
  EXPECT_EQ(saturating_add(too_much - 1, 1), too_much);
  EXPECT_EQ(saturating_add(too_much, 1), too_much);
  EXPECT_EQ(saturating_multiply(std::uint64_t{1} << 32, std::uint64_t{1} << 32), too_much);
  EXPECT_EQ(saturating_multiply((std::uint64_t{1} << 32) - 1, (std::uint64_t{1} << 32) + 1),
            too_much);
  EXPECT_EQ(saturating_multiply(0, too_much, too_much), 0U);
  EXPECT_EQ(saturating_multiply(too_much, 0), 0U);
}

TEST(HfConfig, QwenHasAWindowWhereItSaysSo) {
  const auto windowed = [](const std::string& more) {
    const auto shape =
        parse_hf_config(R"({"model_type": "qwen2", "num_hidden_layers": 32, "hidden_size": 64, )"
                        R"("num_attention_heads": 4,
            "vocab_size": 9, "sliding_window": 100)" +
                            more + "}",
                        "c");
    EXPECT_TRUE(shape) << more;
    return shape ? shape->window_layers() : -1;
  };
  EXPECT_EQ(windowed(""), 0) << "not in use where nobody says it is";
  EXPECT_EQ(windowed(R"(, "use_sliding_window": false)"), 0);
  EXPECT_EQ(windowed(R"(, "use_sliding_window": true, "max_window_layers": 20)"), 12);
  EXPECT_EQ(windowed(R"(, "use_sliding_window": true)"), 4)
      << "28 layers look back over everything";
  EXPECT_EQ(windowed(R"(, "use_sliding_window": true, "max_window_layers": 40)"), 0);
  EXPECT_EQ(windowed(R"(, "use_sliding_window": true, "layer_types": ["sliding_attention", )"
                     R"("full_attention"])"),
            1);
}

}  // namespace
}  // namespace cleave
