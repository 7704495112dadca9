#pragma once
// Small safetensors and GGUF files, made up for tests.

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/format.hpp"
#include "forecast/shape/model_file.hpp"

namespace cleave::made_up {

/// The text as a file. It must outlive the source.
inline ByteSource source(const std::string& bytes) {
  return {"file", bytes.size(),
          [&bytes](std::uint64_t offset, std::size_t length) -> Result<std::string> {
            if (offset > bytes.size() || length > bytes.size() - offset)
              return fail(ErrorKind::internal, "test", "read beyond the end");
            return bytes.substr(offset, length);
          }};
}

template <class Number>
std::string number(Number value) {
  std::string bytes(sizeof(Number), '\0');
  std::memcpy(bytes.data(), &value, sizeof(Number));
  return bytes;
}

inline std::string with_length(const std::string& header) {
  return number<std::uint64_t>(header.size()) + header;
}

/// A tensor to write.
struct Tensor {
  std::string name;
  std::string_view dtype;
  std::vector<std::uint64_t> sizes;
};

inline std::string safetensors(const std::vector<Tensor>& tensors) {
  std::string header = R"({"__metadata__": {"format": "pt"})";
  std::size_t at = 0;
  for (const Tensor& tensor : tensors) {
    std::uint64_t bits = tensor.dtype == "F32" ? 32 : tensor.dtype == "F4" ? 4 : 16;
    for (const std::uint64_t size : tensor.sizes) bits *= size;
    header +=
        fmt::format(R"(, "{}": {{"dtype": "{}", "shape": [{}], "data_offsets": [{}, {}]}})",
                    tensor.name, tensor.dtype, fmt::join(tensor.sizes, ", "), at, at + bits / 8);
    at += bits / 8;
  }
  return with_length(header + "}") + std::string(at, 'w');
}

/// Two layers of width 16, a KV width of 8, an inner width of 24, 40 words.
inline std::string small_llama() {
  std::vector<Tensor> tensors = {{"model.embed_tokens.weight", "BF16", {40, 16}},
                                 {"model.norm.weight", "F32", {16}},
                                 {"lm_head.weight", "BF16", {40, 16}}};
  const Tensor layer[] = {
      {"self_attn.q_proj", "BF16", {16, 16}},    {"self_attn.k_proj", "BF16", {8, 16}},
      {"self_attn.v_proj", "BF16", {8, 16}},     {"self_attn.o_proj", "BF16", {16, 16}},
      {"mlp.gate_proj", "BF16", {24, 16}},       {"mlp.up_proj", "BF16", {24, 16}},
      {"mlp.down_proj", "BF16", {16, 24}},       {"input_layernorm", "BF16", {16}},
      {"post_attention_layernorm", "BF16", {16}}};
  for (int i = 0; i < 2; ++i)
    for (const Tensor& each : layer)
      tensors.push_back(
          {fmt::format("model.layers.{}.{}.weight", i, each.name), each.dtype, each.sizes});
  return safetensors(tensors);
}

inline std::string text(std::string_view words) {
  return number<std::uint64_t>(words.size()) + std::string(words);
}
inline std::string key(std::string_view name, std::uint32_t value) {
  return text(name) + number<std::uint32_t>(4) + number(value);
}

/// A model of the Llama kind whose embedding has three rows, in blocks of 256, with one value of
/// every kind.
inline std::string small_gguf() {
  const std::string keys[] = {
      text("general.architecture") + number<std::uint32_t>(8) + text("llama"),
      key("llama.block_count", 2),
      key("llama.embedding_length", 256),
      key("llama.feed_forward_length", 512),
      key("llama.attention.head_count", 8),
      text("llama.attention.head_count_kv") + number<std::uint32_t>(9) + number<std::uint32_t>(5) +
          number<std::uint64_t>(2) + number<std::int32_t>(4) + number<std::int32_t>(2),
      key("llama.context_length", 4096),
      text("llama.rope.freq_base") + number<std::uint32_t>(6) + number(1e4F),
      text("general.name") + number<std::uint32_t>(8) + text("made up"),
      text("tokenizer.ggml.tokens") + number<std::uint32_t>(9) + number<std::uint32_t>(8) +
          number<std::uint64_t>(3) + text("a") + text("b") + text(""),
      text("tokenizer.ggml.scores") + number<std::uint32_t>(9) + number<std::uint32_t>(6) +
          number<std::uint64_t>(3) + number(1.F) + number(2.F) + number(3.F),
      text("general.file_type") + number<std::uint32_t>(10) + number<std::uint64_t>(15),
      text("some.flag") + number<std::uint32_t>(7) + std::string(1, '\1'),
  };
  std::string file = "GGUF" + number<std::uint32_t>(3) + number<std::uint64_t>(2) +
                     number<std::uint64_t>(std::size(keys));
  for (const std::string& each : keys) file += each;
  file += text("token_embd.weight") + number<std::uint32_t>(2) + number<std::uint64_t>(256) +
          number<std::uint64_t>(3) + number<std::uint32_t>(12) + number<std::uint64_t>(0);
  file += text("output_norm.weight") + number<std::uint32_t>(1) + number<std::uint64_t>(32) +
          number<std::uint32_t>(0) + number<std::uint64_t>(448);
  file.resize((file.size() + 31) / 32 * 32);
  return file + std::string(448 + 32 * 4, 'w');
}

}  // namespace cleave::made_up
