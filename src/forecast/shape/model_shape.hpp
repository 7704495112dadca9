#pragma once
// The shape of a transformer: how many layers of which widths, which of its parts have biases, how
// many tokens its layers look back. Parameters and the KV cache of a token follow from it by
// counting; nothing is fitted.
//
// The differences between architectures are a table with one row for each family (the `model_type`
// of Hugging Face). The sources are the published descriptions of the architectures.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace cleave {

/// Which layers look back only over a window, if the model has one.
enum class WindowRule : std::uint8_t { all_layers, every_second, five_of_six };

/// What the models of a family have in common besides their sizes.
struct ModelFamily {
  std::string_view name;
  bool decoder = true;  // keeps the keys and values of earlier tokens
  bool gated = true;    // three matrices in the feed-forward part instead of two
  bool tied = false;    // default: the output uses the embedding's weights
  int norms = 2;        // in each layer
  bool norm_bias = false;
  bool query_bias = false, output_bias = false, mlp_bias = false, head_bias = false;
  bool query_key_norm = false;  // one of the head's size for queries, one for keys
  bool learned_positions = false;
  int extra_positions = 0;  // rows of the table of positions beyond the longest input
  bool embedding_norm = false;
  bool final_norm = true;
  int token_types = 0;
  bool pooler = false;
  int relative_buckets = 0;  // of relative positions, for each head, once in each stack
  bool dropout = false;      // published configurations train with it
  WindowRule window = WindowRule::all_layers;
};

/// The error lists the known families.
[[nodiscard]] Result<const ModelFamily*> find_model_family(std::string_view name);

/// The sizes of one model.
struct ModelShape {
  std::string name;
  ModelFamily family;               // a copy: a model's own description may differ
  std::int64_t layers = 0;          // of the decoder if there are two stacks
  std::int64_t encoder_layers = 0;  // 0: one stack
  std::int64_t hidden = 0;
  std::int64_t heads = 0, kv_heads = 0, head_dim = 0;
  bool heads_known = true;  // else only their products with the head's size are known
  std::int64_t ffn = 0;
  std::int64_t vocab = 0;
  std::int64_t positions = 0;        // the longest input
  std::int64_t embedding_width = 0;  // 0: same as `hidden`
  bool tied = false;
  std::int64_t window = 0;               // tokens; 0: all layers look back over everything
  std::optional<std::int64_t> windowed;  // layers with the window; empty: by the family's rule
  // Bits of a weight according to the model's own description; 0: unknown. Quantisation applies to
  // the matrices in the layers; the others keep `weight_bits`.
  std::uint64_t weight_bits = 0, quantised_bits = 0;
  std::vector<std::string> remarks;  // parts of the description that are not understood
  // Mixture of experts; 0 experts: none. `ffn` is then that of layers without experts.
  std::int64_t experts = 0, active_experts = 0, expert_ffn = 0, shared_ffn = 0, expert_layers = 0;

  [[nodiscard]] std::int64_t query_width() const { return heads * head_dim; }
  [[nodiscard]] std::int64_t kv_width() const { return kv_heads * head_dim; }
  /// How many layers look back only over the window.
  [[nodiscard]] std::int64_t window_layers() const;
};

/// Matrices of one size: `count` of them, each `rows` x `columns`.
struct WeightGroup {
  std::string_view part;  // "embedding", "attention", "feed-forward", "experts", "norms", "output"
  std::uint64_t count = 0, rows = 0, columns = 0;
  bool in_layers = true;  // spread evenly over the layers

  [[nodiscard]] std::uint64_t parameters() const;
};

/// Refuses impossible sizes: zero where a value is required, heads that do not divide evenly, more
/// than 10^15 parameters. `place` is named in the error.
[[nodiscard]] Result<void> check(const ModelShape& shape, const std::string& place);

/// Every weight of the model. Biases and norms are matrices of one row.
std::vector<WeightGroup> weight_groups(const ModelShape& shape);
std::uint64_t parameters(const ModelShape& shape);
/// The parameters that one token uses: with experts, the active ones of each layer.
std::uint64_t active_parameters(const ModelShape& shape);

/// Keys and values that one token adds to the cache of its sequence, in numbers, not bytes: 2 x
/// layers x KV heads x head size. With two stacks, for the decoder's own attention.
std::uint64_t kv_per_token(const ModelShape& shape);
/// With two stacks, what one input token leaves for the decoder to attend to; else 0.
std::uint64_t cross_kv_per_token(const ModelShape& shape);
/// The cache of one sequence of `context` tokens and, with two stacks, `input` tokens: layers with
/// a window hold at most the window.
std::uint64_t kv_of_sequence(const ModelShape& shape, std::uint64_t context, std::uint64_t input);

}  // namespace cleave
