// What families of models call their tensors, as a table.

#include <algorithm>
#include <map>
#include <optional>

#include "base/format.hpp"
#include "base/text.hpp"
#include "forecast/shape/model_file.hpp"

namespace cleave {

namespace {

/// What a family calls its tensors. Names in layers follow `layers` and a number. An empty name:
/// there is no such tensor. `prefixes`: what some programs write before all names.
struct NameRow {
  std::string_view family;
  std::string_view prefix{};
  std::string_view embedding{}, positions{}, layers{};
  std::string_view query{}, key{};  // or:
  std::string_view fused{};         // queries, keys and values in one
  std::string_view output{}, up{};  // out of the attention; into the feed-forward part
  int up_parts = 1;                 // matrices of the feed-forward part in the tensor `up`
  std::string_view head{};
  std::string_view marker{};  // a layer tensor that only this family has
};

// Rows with a marker precede those without.
// clang-format off
constexpr NameRow name_rows[] = {
    {.family = "gemma2", .prefix = "model.", .embedding = "embed_tokens.weight",
     .layers = "layers.", .query = "self_attn.q_proj.weight", .key = "self_attn.k_proj.weight",
     .output = "self_attn.o_proj.weight", .up = "mlp.up_proj.weight", .head = "lm_head.weight",
     .marker = "pre_feedforward_layernorm.weight"},
    {.family = "qwen3", .prefix = "model.", .embedding = "embed_tokens.weight", .layers = "layers.",
     .query = "self_attn.q_proj.weight", .key = "self_attn.k_proj.weight",
     .output = "self_attn.o_proj.weight", .up = "mlp.up_proj.weight", .head = "lm_head.weight",
     .marker = "self_attn.q_norm.weight"},
    {.family = "phi", .prefix = "model.", .embedding = "embed_tokens.weight", .layers = "layers.",
     .query = "self_attn.q_proj.weight", .key = "self_attn.k_proj.weight",
     .output = "self_attn.dense.weight", .up = "mlp.fc1.weight", .head = "lm_head.weight",
     .marker = "mlp.fc1.weight"},
    {.family = "qwen2", .prefix = "model.", .embedding = "embed_tokens.weight", .layers = "layers.",
     .query = "self_attn.q_proj.weight", .key = "self_attn.k_proj.weight",
     .output = "self_attn.o_proj.weight", .up = "mlp.up_proj.weight", .head = "lm_head.weight",
     .marker = "self_attn.q_proj.bias"},
    {.family = "llama", .prefix = "model.", .embedding = "embed_tokens.weight", .layers = "layers.",
     .query = "self_attn.q_proj.weight", .key = "self_attn.k_proj.weight",
     .output = "self_attn.o_proj.weight", .up = "mlp.up_proj.weight", .head = "lm_head.weight"},
    {.family = "phi3", .prefix = "model.", .embedding = "embed_tokens.weight", .layers = "layers.",
     .fused = "self_attn.qkv_proj.weight", .output = "self_attn.o_proj.weight",
     .up = "mlp.gate_up_proj.weight", .up_parts = 2, .head = "lm_head.weight"},
    {.family = "opt", .prefix = "model.decoder.", .embedding = "embed_tokens.weight",
     .positions = "embed_positions.weight", .layers = "layers.", .query = "self_attn.q_proj.weight",
     .key = "self_attn.k_proj.weight", .output = "self_attn.out_proj.weight", .up = "fc1.weight",
     .head = "lm_head.weight"},
    {.family = "gpt2", .prefix = "transformer.", .embedding = "wte.weight",
     .positions = "wpe.weight", .layers = "h.", .fused = "attn.c_attn.weight",
     .output = "attn.c_proj.weight", .up = "mlp.c_fc.weight", .head = "lm_head.weight"},
    {.family = "gpt2", .embedding = "wte.weight", .positions = "wpe.weight", .layers = "h.",
     .fused = "attn.c_attn.weight", .output = "attn.c_proj.weight", .up = "mlp.c_fc.weight",
     .head = "lm_head.weight"},
    {.family = "gpt_neox", .prefix = "gpt_neox.", .embedding = "embed_in.weight",
     .layers = "layers.", .fused = "attention.query_key_value.weight",
     .output = "attention.dense.weight", .up = "mlp.dense_h_to_4h.weight",
     .head = "embed_out.weight"},
    {.family = "bloom", .prefix = "transformer.", .embedding = "word_embeddings.weight",
     .layers = "h.", .fused = "self_attention.query_key_value.weight",
     .output = "self_attention.dense.weight", .up = "mlp.dense_h_to_4h.weight",
     .head = "lm_head.weight", .marker = "input_layernorm.bias"},
    {.family = "bert", .prefix = "bert.", .embedding = "embeddings.word_embeddings.weight",
     .positions = "embeddings.position_embeddings.weight", .layers = "encoder.layer.",
     .query = "attention.self.query.weight", .key = "attention.self.key.weight",
     .output = "attention.output.dense.weight", .up = "intermediate.dense.weight"},
    {.family = "bert", .embedding = "embeddings.word_embeddings.weight",
     .positions = "embeddings.position_embeddings.weight", .layers = "encoder.layer.",
     .query = "attention.self.query.weight", .key = "attention.self.key.weight",
     .output = "attention.output.dense.weight", .up = "intermediate.dense.weight"},
};
// clang-format on

using Sizes = std::vector<std::uint64_t>;

class Names {
 public:
  explicit Names(std::span<const NamedTensor> tensors) {
    for (const NamedTensor& tensor : tensors) by_name_.emplace(tensor.name, &tensor.sizes);
  }

  [[nodiscard]] const Sizes* find(const std::string& name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second;
  }

  /// How many layers there are: one more than the highest number.
  [[nodiscard]] std::int64_t layers(const std::string& prefix) const {
    std::int64_t count = 0;
    for (auto at = by_name_.lower_bound(prefix);
         at != by_name_.end() && at->first.starts_with(prefix); ++at) {
      const std::string_view rest = std::string_view(at->first).substr(prefix.size());
      const auto number = parse_integer(rest.substr(0, rest.find('.')));
      if (number && *number >= 0 && *number < 100'000) count = std::max(count, *number + 1);
    }
    return count;
  }

 private:
  std::map<std::string, const Sizes*> by_name_;
};

/// The width of a matrix that is not `known`; both if they are equal. Some programs store matrices
/// transposed.
std::optional<std::int64_t> other(const Sizes* sizes, std::int64_t known) {
  if (sizes == nullptr || sizes->size() != 2) return std::nullopt;
  constexpr std::uint64_t widest = 1U << 30;
  if ((*sizes)[0] > widest || (*sizes)[1] > widest) return std::nullopt;
  const auto a = static_cast<std::int64_t>((*sizes)[0]), b = static_cast<std::int64_t>((*sizes)[1]);
  if (b == known) return a;
  if (a == known) return b;
  return std::nullopt;
}

/// Widths of queries and keys.
std::optional<std::pair<std::int64_t, std::int64_t>> widths(const Names& names, const NameRow& row,
                                                            const std::string& first,
                                                            std::int64_t hidden) {
  const auto of = [&](std::string_view name) {
    return other(names.find(fmt::format("{}{}", first, name)), hidden);
  };
  if (row.fused.empty()) {
    const auto query = of(row.query), key = of(row.key);
    if (!query || !key) return std::nullopt;
    return std::pair(*query, *key);
  }
  const auto query = of(row.output), all = of(row.fused);
  if (!query || !all || *all <= *query) return std::nullopt;
  return std::pair(*query, (*all - *query) / 2);
}

void share_out_heads(ModelShape& shape, std::int64_t query, std::int64_t key,
                     const Sizes* head_norm) {
  const bool told =
      head_norm != nullptr && head_norm->size() == 1 && head_norm->front() > 0 &&
      key % static_cast<std::int64_t>(std::min<std::uint64_t>(head_norm->front(), 1U << 30)) == 0;
  shape.heads_known = told;
  shape.head_dim = told ? static_cast<std::int64_t>(head_norm->front()) : key;
  shape.heads = shape.head_dim > 0 ? query / shape.head_dim : 0;
  shape.kv_heads = shape.head_dim > 0 ? key / shape.head_dim : 0;
}

std::optional<ModelShape> shape_by(const Names& names, const NameRow& row) {
  const Sizes* embedding = names.find(fmt::format("{}{}", row.prefix, row.embedding));
  const std::string layers = fmt::format("{}{}", row.prefix, row.layers), first = layers + "0.";
  if (embedding == nullptr || embedding->size() != 2) return std::nullopt;
  if (!row.marker.empty() && names.find(fmt::format("{}{}", first, row.marker)) == nullptr)
    return std::nullopt;
  if ((*embedding)[0] > (1U << 30) || (*embedding)[1] > (1U << 30)) return std::nullopt;
  ModelShape shape;
  const auto family = find_model_family(row.family);
  if (!family) return std::nullopt;
  shape.family = **family;
  shape.name = row.family;
  shape.vocab = static_cast<std::int64_t>((*embedding)[0]);
  shape.hidden = static_cast<std::int64_t>((*embedding)[1]);
  shape.layers = names.layers(layers);
  const auto width = widths(names, row, first, shape.hidden);
  const auto up = other(names.find(fmt::format("{}{}", first, row.up)), shape.hidden);
  if (!width || !up) return std::nullopt;
  shape.ffn = *up / row.up_parts;
  share_out_heads(shape, width->first, width->second,
                  names.find(first + "self_attn.q_norm.weight"));
  shape.tied = row.head.empty() || names.find(std::string(row.head)) == nullptr;
  if (!row.positions.empty()) {
    const auto rows =
        other(names.find(fmt::format("{}{}", row.prefix, row.positions)), shape.hidden);
    shape.positions = rows ? std::max<std::int64_t>(*rows - shape.family.extra_positions, 0) : 0;
  }
  return shape;
}

}  // namespace

Result<ModelShape> shape_from_names(std::span<const NamedTensor> tensors,
                                    const std::string& place) {
  const Names names(tensors);
  for (const NameRow& row : name_rows) {
    const auto shape = shape_by(names, row);
    if (!shape) continue;
    if (const auto sound = check(*shape, place); !sound) return std::unexpected(sound.error());
    return *shape;
  }
  return fail(ErrorKind::bad_input, place, "the names of the tensors do not tell the model's shape",
              "put the model's config.json beside the file");
}

}  // namespace cleave
