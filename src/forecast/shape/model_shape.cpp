#include "forecast/shape/model_shape.hpp"

#include <algorithm>
#include <array>

#include "base/format.hpp"
#include "base/text.hpp"
#include "forecast/shape/saturating.hpp"

namespace cleave {

namespace {

// Rows say only how a family differs from a decoder of the Llama kind: gated, two norms, no biases.
// clang-format off
constexpr auto families = std::to_array<ModelFamily>({
    {.name = "llama"},
    {.name = "mistral"},
    {.name = "mixtral"},
    {.name = "qwen2", .query_bias = true},
    {.name = "qwen2_moe", .query_bias = true},
    {.name = "qwen3", .query_key_norm = true},
    {.name = "qwen3_moe", .query_key_norm = true},
    {.name = "gemma", .tied = true},
    {.name = "gemma2", .tied = true, .norms = 4, .window = WindowRule::every_second},
    {.name = "gemma3_text", .tied = true, .norms = 4, .query_key_norm = true,
     .window = WindowRule::five_of_six},
    {.name = "phi3"},
    {.name = "phi", .gated = false, .norms = 1, .norm_bias = true, .query_bias = true,
     .output_bias = true, .mlp_bias = true, .head_bias = true},
    {.name = "opt", .gated = false, .tied = true, .norm_bias = true, .query_bias = true,
     .output_bias = true, .mlp_bias = true, .learned_positions = true, .extra_positions = 2,
     .dropout = true},
    {.name = "gpt2", .gated = false, .tied = true, .norm_bias = true, .query_bias = true,
     .output_bias = true, .mlp_bias = true, .learned_positions = true, .dropout = true},
    {.name = "gptj", .gated = false, .norms = 1, .norm_bias = true, .mlp_bias = true,
     .head_bias = true},
    {.name = "codegen", .gated = false, .norms = 1, .norm_bias = true, .mlp_bias = true,
     .head_bias = true},
    {.name = "gpt_neox", .gated = false, .norm_bias = true, .query_bias = true, .output_bias = true,
     .mlp_bias = true},
    {.name = "bloom", .gated = false, .tied = true, .norm_bias = true, .query_bias = true,
     .output_bias = true, .mlp_bias = true, .embedding_norm = true},
    {.name = "falcon", .gated = false, .tied = true, .norms = 1, .norm_bias = true},
    {.name = "bert", .decoder = false, .gated = false, .tied = true, .norm_bias = true,
     .query_bias = true, .output_bias = true, .mlp_bias = true, .learned_positions = true,
     .embedding_norm = true, .final_norm = false, .token_types = 2, .pooler = true,
     .dropout = true},
    {.name = "roberta", .decoder = false, .gated = false, .tied = true, .norm_bias = true,
     .query_bias = true, .output_bias = true, .mlp_bias = true, .learned_positions = true,
     .embedding_norm = true, .final_norm = false, .token_types = 1, .pooler = true,
     .dropout = true},
    {.name = "t5", .gated = false, .tied = true, .relative_buckets = 32, .dropout = true},
});
// clang-format on

constexpr std::uint64_t most_parameters = 1'000'000'000'000'000;

class Weights {
 public:
  explicit Weights(const ModelShape& shape) : s_(shape), f_(shape.family) {}

  std::vector<WeightGroup> count() {
    const std::uint64_t width = whole(s_.embedding_width == 0 ? s_.hidden : s_.embedding_width);
    add("embedding", 1, whole(s_.vocab), width, false);
    if (width != whole(s_.hidden))
      add("embedding", 2, width, hidden(), false);  // in and out of the layers
    if (f_.learned_positions)
      add("embedding", 1, whole(s_.positions + f_.extra_positions), hidden(), false);
    if (f_.token_types > 0) add("embedding", 1, whole(f_.token_types), hidden(), false);
    if (f_.embedding_norm) norms(1, false);
    stack(whole(s_.layers), s_.encoder_layers > 0);
    if (s_.encoder_layers > 0) stack(whole(s_.encoder_layers), false);
    if (f_.pooler) linear("output", 1, hidden(), hidden(), true, false);
    if (!s_.tied) add("output", 1, width, whole(s_.vocab), false);
    if (f_.head_bias) add("output", 1, 1, whole(s_.vocab), false);
    return std::move(groups_);
  }

 private:
  [[nodiscard]] std::uint64_t hidden() const { return whole(s_.hidden); }

  void add(std::string_view part, std::uint64_t count, std::uint64_t rows, std::uint64_t columns,
           bool in_layers = true) {
    if (count > 0) groups_.push_back({part, count, rows, columns, in_layers});
  }
  void linear(std::string_view part, std::uint64_t count, std::uint64_t from, std::uint64_t to,
              bool bias, bool in_layers = true) {
    add(part, count, from, to, in_layers);
    if (bias) add(part, count, 1, to, in_layers);
  }
  void norms(std::uint64_t count, bool in_layers) {
    add("norms", count * (f_.norm_bias ? 2 : 1), 1, hidden(), in_layers);
  }

  void attention(std::uint64_t count) {
    linear("attention", count, hidden(), whole(s_.query_width()), f_.query_bias);
    linear("attention", 2 * count, hidden(), whole(s_.kv_width()), f_.query_bias);
    linear("attention", count, whole(s_.query_width()), hidden(), f_.output_bias);
    if (f_.query_key_norm) add("norms", 2 * count, 1, whole(s_.head_dim));
  }
  void feed_forward(std::string_view part, std::uint64_t count, std::uint64_t width) {
    linear(part, (f_.gated ? 2 : 1) * count, hidden(), width, f_.mlp_bias);
    linear(part, count, width, hidden(), f_.mlp_bias);
  }

  /// `attends`: also to the other stack, with a norm of its own.
  void stack(std::uint64_t layers, bool attends) {
    attention(attends ? 2 * layers : layers);
    const std::uint64_t mixed = s_.experts > 0 ? std::min(whole(s_.expert_layers), layers) : 0;
    if (layers > mixed) feed_forward("feed-forward", layers - mixed, whole(s_.ffn));
    if (mixed > 0) {
      add("experts", mixed, hidden(), whole(s_.experts));
      feed_forward("experts", saturating_multiply(mixed, whole(s_.experts)), whole(s_.expert_ffn));
      if (s_.shared_ffn > 0) {
        feed_forward("experts", mixed, whole(s_.shared_ffn));
        add("experts", mixed, hidden(), 1);  // the weight of the shared expert
      }
    }
    norms(saturating_multiply(layers, whole(f_.norms) + (attends ? 1 : 0)), true);
    if (f_.final_norm) norms(1, false);
    if (f_.relative_buckets > 0)
      add("attention", 1, whole(f_.relative_buckets), whole(s_.heads), false);
  }

  const ModelShape& s_;
  const ModelFamily& f_;
  std::vector<WeightGroup> groups_;
};

struct Bound {
  const char* what;
  std::int64_t value, least, most;
};

}  // namespace

Result<const ModelFamily*> find_model_family(std::string_view name) {
  const auto found = std::ranges::find(families, name, &ModelFamily::name);
  if (found != families.end()) return &*found;
  return fail(ErrorKind::bad_input, "",
              fmt::format("no known family of models is called '{}'", shown(name)),
              suggestion(name, names_of(families)));
}

std::int64_t ModelShape::window_layers() const {
  if (window == 0) return 0;
  if (windowed) return *windowed;
  if (family.window == WindowRule::every_second)
    return (layers + 1) / 2;  // the first layer has a window
  if (family.window == WindowRule::five_of_six) return layers - layers / 6;
  return layers;
}

std::uint64_t WeightGroup::parameters() const {
  return saturating_multiply(count, rows, columns);
}

Result<void> check(const ModelShape& shape, const std::string& place) {
  const std::int64_t least_ffn = shape.experts > 0 ? 0 : 1;
  const Bound bounds[] = {
      {"layers", shape.layers, 1, 10'000},
      {"encoder layers", shape.encoder_layers, 0, 10'000},
      {"hidden size", shape.hidden, 1, 1 << 20},
      {"heads", shape.heads, 1, 1 << 16},
      {"KV heads", shape.kv_heads, 1, shape.heads},
      {"head size", shape.head_dim, 1, 1 << 16},
      {"feed-forward size", shape.ffn, least_ffn, 1 << 24},
      {"vocabulary", shape.vocab, 1, 1 << 28},
      {"longest input", shape.positions, 0, std::int64_t{1} << 32},
      {"embedding width", shape.embedding_width, 0, 1 << 20},
      {"sliding window", shape.window, 0, std::int64_t{1} << 32},
      {"layers with a sliding window", shape.windowed.value_or(0), 0, shape.layers},
      {"experts", shape.experts, 0, 1 << 16},
      {"experts for each token", shape.active_experts, 0, shape.experts},
      {"layers with experts", shape.expert_layers, 0, shape.layers},
      {"size of an expert", shape.expert_ffn, shape.experts > 0 ? 1 : 0, 1 << 24},
      {"size of the shared expert", shape.shared_ffn, 0, 1 << 24},
  };
  for (const Bound& bound : bounds)
    if (bound.value < bound.least || bound.value > bound.most)
      return fail(ErrorKind::bad_input, place,
                  fmt::format("{} must be from {} to {}, not {}", bound.what, bound.least,
                              bound.most, bound.value),
                  "check the file that describes the model");
  if (shape.heads % shape.kv_heads != 0)
    return fail(
        ErrorKind::bad_input, place,
        fmt::format("{} heads do not share {} KV heads evenly", shape.heads, shape.kv_heads),
        "check the file that describes the model");
  if (parameters(shape) > most_parameters)
    return fail(ErrorKind::bad_input, place, "the model would have more than 10^15 parameters",
                "check the file that describes the model");
  return {};
}

std::vector<WeightGroup> weight_groups(const ModelShape& shape) {
  return Weights(shape).count();
}

std::uint64_t parameters(const ModelShape& shape) {
  std::uint64_t sum = 0;
  for (const WeightGroup& group : weight_groups(shape))
    sum = saturating_add(sum, group.parameters());
  return sum;
}

std::uint64_t active_parameters(const ModelShape& shape) {
  ModelShape active = shape;
  active.experts = shape.active_experts;
  if (shape.experts == 0) return parameters(shape);
  // The router covers all experts.
  const std::uint64_t idle = whole(shape.experts - shape.active_experts);
  return saturating_add(parameters(active),
                        saturating_multiply(whole(shape.expert_layers), whole(shape.hidden), idle));
}

std::uint64_t kv_per_token(const ModelShape& shape) {
  if (!shape.family.decoder) return 0;
  return saturating_multiply(2, whole(shape.layers), whole(shape.kv_width()));
}

std::uint64_t cross_kv_per_token(const ModelShape& shape) {
  return shape.encoder_layers > 0 ? kv_per_token(shape) : 0;
}

std::uint64_t kv_of_sequence(const ModelShape& shape, std::uint64_t context, std::uint64_t input) {
  if (!shape.family.decoder) return 0;
  const std::uint64_t of_layer = saturating_multiply(2, whole(shape.kv_width()));
  const std::uint64_t short_layers = whole(shape.window_layers());
  const std::uint64_t long_layers = whole(shape.layers) - short_layers;
  const std::uint64_t held = saturating_add(
      saturating_multiply(long_layers, context),
      saturating_multiply(short_layers,
                          shape.window > 0 ? std::min(context, whole(shape.window)) : context));
  return saturating_add(saturating_multiply(of_layer, held),
                        saturating_multiply(cross_kv_per_token(shape), input));
}

}  // namespace cleave
