#pragma once
// The memory in bytes that a transformer keeps, or holds for a moment, while it computes.

#include <cstdint>
#include <string>

#include "forecast/shape/model_shape.hpp"

namespace cleave {

/// How the model is used: sequences, tokens and numbers.
struct ActivationUse {
  std::uint64_t sequences = 1, context = 1, input = 0;
  std::uint64_t prefill = 0;  // prompt tokens at once; 0: one sequence
  std::uint64_t width = 2;    // bytes of a number
  bool recompute = false, plain_attention = false;
};

/// An amount of memory, with its formula in words.
struct Activations {
  std::uint64_t bytes = 0;
  std::string how;
};

/// Korthikanti et al., section 4.1, for each layer and token with numbers of w bytes: norms'
/// inputs, the attention's input, queries, keys, values and result, the feed-forward part's input
/// and inner results (four of them when gated, else two), one byte for each dropped number. Equal
/// to their 34 s b h with h = 4 x the rest, and 5 a s^2 b more with plain attention. With
/// recomputation the input of each layer is kept and one layer at a time is computed again (5.).
/// Logits are kept as computed and once in 32 bits for the loss.
Activations training_activations(const ModelShape& shape, const ActivationUse& use);

/// Nothing is kept: one layer's memory for the tokens that are computed together, and the logits of
/// each sequence's last token. This is our own count; engines differ.
Activations inference_activations(const ModelShape& shape, const ActivationUse& use);

}  // namespace cleave
