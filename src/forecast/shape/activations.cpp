#include "forecast/shape/activations.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"
#include "forecast/shape/saturating.hpp"

namespace cleave {

namespace {

/// Inner width of the feed-forward part for one token; with experts, of the active ones.
std::uint64_t inner_width(const ModelShape& shape) {
  if (shape.experts == 0) return whole(shape.ffn);
  const std::uint64_t mixed =
      saturating_add(saturating_multiply(whole(shape.active_experts), whole(shape.expert_ffn)),
                     whole(shape.shared_ffn));
  // If some layers have no experts, the wider of the two: all layers are counted alike.
  return shape.expert_layers < shape.layers ? std::max(mixed, whole(shape.ffn)) : mixed;
}

/// The scores of each query for each key it attends to.
std::uint64_t scores(const ModelShape& shape, std::uint64_t sequences, std::uint64_t from,
                     std::uint64_t to) {
  return saturating_multiply(sequences, whole(shape.heads), from, to);
}

std::uint64_t attention(const ModelShape& shape, const ActivationUse& use, std::uint64_t from,
                        std::uint64_t to) {
  const std::uint64_t tokens = saturating_multiply(use.sequences, from);
  const std::uint64_t others = saturating_multiply(use.sequences, to);
  const std::uint64_t numbers = saturating_add(
      saturating_multiply(tokens, whole(shape.hidden) + 2 * whole(shape.query_width())),
      saturating_multiply(others, 2 * whole(shape.kv_width())));
  std::uint64_t bytes = saturating_multiply(use.width, numbers);
  if (shape.family.dropout)
    bytes = saturating_add(bytes, saturating_multiply(tokens, whole(shape.hidden)));
  if (!use.plain_attention) return bytes;
  // The softmax's result, and with dropout its mask and its output.
  const std::uint64_t each = use.width + (shape.family.dropout ? 1 + use.width : 0);
  return saturating_add(bytes, saturating_multiply(each, scores(shape, use.sequences, from, to)));
}

std::uint64_t layer(const ModelShape& shape, const ActivationUse& use, std::uint64_t from,
                    bool attends) {
  const std::uint64_t tokens = saturating_multiply(use.sequences, from);
  const std::uint64_t hidden = whole(shape.hidden);
  const std::uint64_t norms = whole(shape.family.norms) + (attends ? 1 : 0);
  const std::uint64_t inner = saturating_multiply(shape.family.gated ? 4 : 2, inner_width(shape));
  const std::uint64_t numbers = saturating_add(saturating_multiply(norms + 1, hidden), inner);
  std::uint64_t bytes = saturating_multiply(use.width, tokens, numbers);
  if (shape.family.dropout) bytes = saturating_add(bytes, saturating_multiply(tokens, hidden));
  bytes = saturating_add(bytes, attention(shape, use, from, from));
  return attends ? saturating_add(bytes, attention(shape, use, from, use.input)) : bytes;
}

std::uint64_t stack(std::uint64_t layers, std::uint64_t each, std::uint64_t entry, bool recompute) {
  if (!recompute) return saturating_multiply(layers, each);
  return saturating_add(saturating_multiply(layers, entry), each);
}

}  // namespace

Activations training_activations(const ModelShape& shape, const ActivationUse& use) {
  const bool two = shape.encoder_layers > 0;
  const auto entry = [&](std::uint64_t from) {
    return saturating_multiply(use.width, use.sequences, from, whole(shape.hidden));
  };
  std::uint64_t bytes = stack(whole(shape.layers), layer(shape, use, use.context, two),
                              entry(use.context), use.recompute);
  if (two)
    bytes = saturating_add(bytes,
                           stack(whole(shape.encoder_layers), layer(shape, use, use.input, false),
                                 entry(use.input), use.recompute));
  const std::uint64_t tokens = saturating_multiply(use.sequences, use.context);
  bytes = saturating_add(bytes, saturating_multiply(2, entry(use.context)));
  bytes = saturating_add(bytes, saturating_multiply(tokens, whole(shape.vocab), use.width + 4));
  return {bytes, fmt::format("{} tokens through {} layers, {}, {} attention; logits of {} words",
                             tokens, shape.layers + shape.encoder_layers,
                             use.recompute ? "recomputed layer by layer" : "all kept",
                             use.plain_attention ? "plain" : "fused", shape.vocab)};
}

Activations inference_activations(const ModelShape& shape, const ActivationUse& use) {
  const std::uint64_t longest = std::max(use.context, use.input);
  const std::uint64_t prompt =
      use.prefill > 0 ? std::min(use.prefill, saturating_multiply(use.sequences, longest))
                      : longest;
  const std::uint64_t tokens = std::max(prompt, use.sequences);
  const std::uint64_t attention_width = 2 * (whole(shape.query_width()) + whole(shape.kv_width()));
  const std::uint64_t inner = saturating_multiply(shape.family.gated ? 3 : 2, inner_width(shape));
  const std::uint64_t widest =
      saturating_add(2 * whole(shape.hidden), std::max(attention_width, inner));
  std::uint64_t bytes = saturating_multiply(use.width, tokens, widest);
  if (use.plain_attention)
    bytes =
        saturating_add(bytes, saturating_multiply(use.width, scores(shape, 1, prompt, longest)));
  if (shape.family.decoder)
    bytes = saturating_add(bytes, saturating_multiply(4, use.sequences, whole(shape.vocab)));
  return {bytes, fmt::format("{} tokens at once x {} numbers of the widest layer; logits of {}",
                             tokens, widest, counted(use.sequences, "sequence"))};
}

}  // namespace cleave
