#include "forecast/shape/hf_config.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

constexpr std::int64_t most = std::int64_t{1} << 40;  // check() is stricter, and explains the error

// What families call their sizes: words separated by '|'; the first that is present counts.
constexpr std::string_view layers_keys = "num_hidden_layers|n_layer|num_layers|n_layers";
constexpr std::string_view hidden_keys = "hidden_size|n_embd|n_embed|d_model";
constexpr std::string_view heads_keys = "num_attention_heads|n_head|num_heads";
constexpr std::string_view kv_heads_keys = "num_key_value_heads|num_kv_heads";
constexpr std::string_view head_dim_keys = "head_dim|d_kv";
constexpr std::string_view ffn_keys = "intermediate_size|ffn_dim|n_inner|d_ff|ffn_hidden_size";
constexpr std::string_view positions_keys = "max_position_embeddings|n_positions|n_ctx|seq_length";
constexpr std::string_view experts_keys = "num_local_experts|num_experts";

class ConfigReader {
 public:
  ConfigReader(const Json& node, const std::string& place) : in_(node, place, error_) {}

  Result<ModelShape> read() {
    if (auto text = in_.object_if("text_config"); text && !in_.has("num_hidden_layers"))
      in_ = *text;
    const std::string type = in_.text("model_type");
    if (error_) return std::unexpected(*error_);
    const auto family = find_model_family(type);
    if (!family) return fail_at(in_.place(), family.error());
    shape_.family = **family;
    shape_.name = type;
    sizes();
    switches();
    experts();
    if (type == "t5") two_stacks();
    if (type == "falcon") falcon();
    if (error_) return std::unexpected(*error_);
    if (const auto sound = check(shape_, in_.place()); !sound)
      return std::unexpected(sound.error());
    return shape_;
  }

 private:
  std::optional<std::int64_t> first(std::string_view keys) {
    for (const std::string_view key : split(keys, '|'))
      if (const auto value = in_.integer_if(key, 0, most)) return value;
    return std::nullopt;
  }

  std::int64_t needed(std::string_view keys) {
    const auto value = first(keys);
    if (!value) {
      std::vector<std::string> names;
      for (const std::string_view key : split(keys, '|')) names.emplace_back(key);
      in_.refuse("", fmt::format("the key '{}' is missing", names.front()),
                 fmt::format("this size is called {}", any_of(names)));
    }
    return value.value_or(0);
  }

  void sizes() {
    shape_.layers = needed(layers_keys);
    shape_.hidden = needed(hidden_keys);
    shape_.heads = needed(heads_keys);
    shape_.kv_heads = first(kv_heads_keys).value_or(shape_.heads);
    shape_.head_dim =
        first(head_dim_keys).value_or(shape_.heads > 0 ? shape_.hidden / shape_.heads : 0);
    shape_.ffn = first(ffn_keys).value_or(4 * shape_.hidden);
    shape_.vocab = needed("vocab_size");
    shape_.positions = first(positions_keys).value_or(0);
    shape_.embedding_width = first("word_embed_proj_dim").value_or(0);
    if (shape_.embedding_width == shape_.hidden) shape_.embedding_width = 0;
  }

  void switches() {
    ModelFamily& family = shape_.family;
    shape_.tied = in_.flag("tie_word_embeddings", family.tied);
    const bool llama_like = family.decoder && family.gated;
    if (llama_like && in_.has("attention_bias"))
      family.query_bias = family.output_bias = in_.flag("attention_bias", false);
    if (llama_like) family.mlp_bias = in_.flag("mlp_bias", family.mlp_bias);
    if (family.token_types > 0)
      family.token_types = static_cast<int>(
          in_.integer_if("type_vocab_size", 0, 1 << 20).value_or(family.token_types));
    window();
    if (error_) return;
    weight_type();
    quantisation();
  }

  void window() {
    // Qwen's configurations name a window that is not in use unless they say so, and then only for
    // the layers from `max_window_layers` on (default 28).
    const bool qwen = std::string_view(shape_.family.name).starts_with("qwen");
    if (in_.flag("use_sliding_window", !qwen)) shape_.window = first("sliding_window").value_or(0);
    constexpr std::int64_t usual_full_layers = 28;
    if (qwen && shape_.window > 0)
      shape_.windowed = std::max<std::int64_t>(
          shape_.layers - first("max_window_layers").value_or(usual_full_layers), 0);
    if (shape_.window > 0 && in_.has("layer_types"))
      shape_.windowed = std::ranges::count(in_.texts("layer_types"), "sliding_attention");
  }

  void weight_type() {
    struct Type {
      std::string_view name;
      std::uint64_t bits;
    };
    constexpr Type types[] = {{"float64", 64}, {"float32", 32}, {"float16", 16}, {"bfloat16", 16},
                              {"float", 32},   {"half", 16},    {"auto", 0}};
    for (const std::string_view key : {"dtype", "torch_dtype"}) {
      auto name = in_.text_if(key);
      if (!name) continue;
      if (name->starts_with("torch.")) name->erase(0, 6);
      const auto* const found = std::ranges::find(types, *name, &Type::name);
      if (found != std::end(types)) {
        shape_.weight_bits = found->bits;
      } else if (name->starts_with("float8")) {
        shape_.weight_bits = 8;
      } else {
        shape_.remarks.push_back(
            fmt::format("{} '{}' is not known; weights are counted in 16 bits", key, shown(*name)));
      }
      return;
    }
  }

  void quantisation() {
    auto in = in_.object_if("quantization_config");
    if (!in) return;
    const std::string method = in->text_if("quant_method").value_or("");
    std::optional<std::int64_t> bits = in->integer_if("bits", 1, 64);
    if (!bits && in->flag("load_in_4bit", false)) bits = 4;
    if (!bits && in->flag("load_in_8bit", false)) bits = 8;
    if (!bits && (method == "fp8" || method == "fbgemm_fp8")) bits = 8;
    if (!bits && method == "mxfp4") bits = 4;
    if (bits) {
      shape_.quantised_bits = static_cast<std::uint64_t>(*bits);
    } else {
      shape_.remarks.push_back(
          fmt::format("quantization_config{} does not say its bits in a way that is known; it is "
                      "not counted, give "
                      "--precision",
                      method.empty() ? "" : fmt::format(" of the method '{}'", shown(method))));
    }
  }

  void experts() {
    shape_.experts = first(experts_keys).value_or(0);
    if (shape_.experts == 0) return;
    shape_.active_experts = first("num_experts_per_tok").value_or(2);
    shape_.expert_ffn = first("moe_intermediate_size").value_or(shape_.ffn);
    shape_.shared_ffn = first("shared_expert_intermediate_size").value_or(0);
    const std::int64_t step = std::max<std::int64_t>(first("decoder_sparse_step").value_or(1), 1);
    const auto without = in_.integers("mlp_only_layers", 0, most);
    shape_.expert_layers =
        std::max<std::int64_t>(shape_.layers / step - static_cast<std::int64_t>(without.size()), 0);
  }

  void two_stacks() {
    shape_.encoder_layers = shape_.layers;
    shape_.layers = first("num_decoder_layers").value_or(shape_.layers);
    const std::string kind = in_.text_if("feed_forward_proj").value_or("relu");
    shape_.family.gated = kind.starts_with("gated");
    shape_.family.relative_buckets =
        static_cast<int>(in_.integer_if("relative_attention_num_buckets", 0, 1 << 20).value_or(32));
  }

  void falcon() {
    ModelFamily& family = shape_.family;
    const bool newer = in_.flag("new_decoder_architecture", false);
    if (!newer) shape_.kv_heads = in_.flag("multi_query", true) ? 1 : shape_.heads;
    const bool one_norm = newer ? in_.integer_if("num_ln_in_parallel_attn", 1, 2).value_or(2) == 1
                                : in_.flag("parallel_attn", true);
    family.norms = one_norm ? 1 : 2;
    const bool bias = in_.flag("bias", false);
    family.query_bias = family.output_bias = family.mlp_bias = bias;
  }

  std::optional<Error> error_;
  JsonReader in_;
  ModelShape shape_;
};

ModelShape read_entry(JsonReader& in) {
  const auto size = [&](std::string_view key) { return in.integer(key, 0, most); };
  const auto size_or = [&](std::string_view key, std::int64_t otherwise) {
    return in.integer_if(key, 0, most).value_or(otherwise);
  };
  ModelShape shape;
  shape.name = in.text("name");
  shape.layers = size("layers");
  shape.encoder_layers = size_or("encoder_layers", 0);
  shape.hidden = size("hidden");
  shape.heads = size("heads");
  shape.kv_heads = size_or("kv_heads", shape.heads);
  shape.head_dim = size_or("head_dim", shape.heads > 0 ? shape.hidden / shape.heads : 0);
  shape.ffn = size("ffn");
  shape.vocab = size("vocab");
  shape.positions = size_or("max_positions", 0);
  shape.window = size_or("sliding_window", 0);
  shape.experts = size_or("experts", 0);
  shape.active_experts = size_or("active_experts", 0);
  shape.expert_ffn = size_or("expert_ffn", shape.experts > 0 ? shape.ffn : 0);
  shape.shared_ffn = size_or("shared_ffn", 0);
  shape.expert_layers = size_or("expert_layers", shape.experts > 0 ? shape.layers : 0);
  return shape;
}

}  // namespace

Result<ModelShape> parse_hf_config(std::string_view text, const std::string& place) {
  const auto document = parse_json(without_byte_order_mark(text), place);
  if (!document) return std::unexpected(document.error());
  return ConfigReader(*document, place).read();
}

Result<ModelShape> parse_model_shapes(std::string_view text, std::string_view name,
                                      const std::string& place) {
  const auto document = parse_json(without_byte_order_mark(text), place);
  if (!document) return std::unexpected(document.error());
  std::optional<Error> error;
  JsonReader in(*document, place, error);
  std::vector<std::string> known;
  for (JsonReader& entry : in.objects("models")) {
    known.push_back(entry.text("name"));
    if (error) return std::unexpected(*error);
    if (known.back() != name) continue;
    const std::string family_name = entry.text("family");
    ModelShape shape = read_entry(entry);
    if (error) return std::unexpected(*error);
    const auto family = find_model_family(family_name);
    if (!family) return fail_at(entry.place(), family.error());
    shape.family = **family;
    // The text-to-text models in use (FLAN, version 1.1) are gated and untied, unlike the first
    // ones.
    shape.family.gated = entry.flag("gated", shape.family.gated || family_name == "t5");
    shape.tied = entry.flag("tied_embeddings", shape.family.tied);
    if (error) return std::unexpected(*error);
    if (const auto sound = check(shape, entry.place()); !sound)
      return std::unexpected(sound.error());
    return shape;
  }
  if (error) return std::unexpected(*error);
  return fail(ErrorKind::bad_input, place,
              fmt::format("no model in it is called '{}'", shown(name)),
              known.empty() ? "a file of shapes is {\"models\": [{\"name\", ...}]}"
                            : suggestion(name, known));
}

}  // namespace cleave
