#pragma once
// How much GPU memory a model takes before it has run, part by part, from its shape: weights, KV
// cache, activations, gradients, optimizer state, workspace, CUDA context. Also which instances of
// a GPU hold it, how many sequences they have room for, and what would have to be in host memory on
// the others.
//
// Each part says how it was counted. Methods: parameters and KV cache by counting; activations of
// training after Korthikanti et al., *Reducing Activation Recomputation in Large Transformer
// Models*, section 4, extended to gated and grouped variants; optimizer state after Rajbhandari et
// al., *ZeRO*, section 3.1; workspace after *MIGM*, 3.2.2, from CUBLAS_WORKSPACE_CONFIG. Workspace
// does not grow with time, and running jobs report it apart from what does.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.hpp"
#include "forecast/shape/model_file.hpp"
#include "forecast/shape/vision_models.hpp"
#include "model/gpu_model.hpp"

namespace cleave {

/// A type of number.
struct Precision {
  std::string_view name;
  std::uint64_t bits;
  bool trains;  // gradients can be kept in it
};
std::span<const Precision> precisions();
[[nodiscard]] Result<const Precision*> find_precision(std::string_view name);

/// What an optimizer keeps in addition to the weights.
struct OptimizerRow {
  std::string_view name;
  std::uint64_t bytes;    // for each parameter
  bool factored;          // four bytes for each row and each column of a matrix instead
  bool master;            // keeps 32-bit weights if the model's have 16 bits
  std::string_view what;  // in words
};
std::span<const OptimizerRow> optimizers();
[[nodiscard]] Result<const OptimizerRow*> find_optimizer(std::string_view name);

/// The size of a process's CUDA context, by how an instance is shared.
struct SharingRow {
  std::string_view name;
  MiB counted;  // for each process: the upper end of the known range
  MiB least;    // the lower end
  std::string_view source;
};
std::span<const SharingRow> sharing_modes();
[[nodiscard]] Result<const SharingRow*> find_sharing(std::string_view name);

/// The bytes that CUBLAS_WORKSPACE_CONFIG reserves: pairs :SIZE:COUNT with the size in KiB, such as
/// ":4096:2:16:8".
[[nodiscard]] Result<std::uint64_t> parse_workspace(std::string_view text);
/// PyTorch's default if the variable is not set: 8.125 MiB, and 32 MiB from Hopper on.
std::uint64_t usual_workspace(std::optional<Architecture> architecture);

/// What an image network holds in its backward pass in addition to what it kept, in multiples of
/// the largest layer's input and output: once their gradients, twice the convolution's copies of
/// them in the tensor cores' order. A whole number, the same for every network. It was chosen by
/// looking at measured tasks; docs/forecast-model.md shows the result for other numbers too.
constexpr std::uint64_t usual_moved_copies = 3;

/// How the model is run or trained.
struct MemoryOptions {
  const Precision* weights = nullptr;  // null: as in the file, else 16 bits
  const Precision* kv = nullptr;       // null: 16 bits
  std::int64_t batch = 1;              // sequences or images at a time
  std::int64_t context = 0;            // tokens of a sequence; 0: the longest input, at most 4096
  std::int64_t input = 0;              // tokens for the encoder; 0: as the context
  std::int64_t prefill = 0;            // prompt tokens computed at once; 0: one sequence
  bool train = false;
  const OptimizerRow* optimizer = nullptr;  // null: adam
  bool recompute = false;                  // activations again in the backward pass, layer by layer
  bool plain_attention = false;            // keeps the matrix of scores; fused kernels do not
  const SharingRow* sharing = nullptr;     // null: alone
  std::int64_t processes = 1;              // equal ones, on one instance
  std::optional<std::uint64_t> workspace;  // bytes; empty: usual_workspace
  bool workspace_per_layer = false;        // one for each layer, as MIGM adds them up
  std::optional<Architecture> architecture;         // of the GPU; empty: before Hopper
  std::uint64_t moved_copies = usual_moved_copies;  // in training of image networks
};

/// What memory is used for.
enum class Part : std::uint8_t {
  weights,
  kv_cache,
  activations,
  gradients,
  optimizer,
  workspace,
  context
};
constexpr std::size_t part_count = 7;
std::string_view name(Part part);

/// One part of a forecast, with its formula.
struct MemoryPart {
  Part part = Part::weights;
  std::uint64_t bytes = 0;
  std::string how;  // the formula in words
};

/// The memory of a model, part by part.
struct MemoryForecast {
  std::vector<MemoryPart> parts;  // every part in the order of the enumeration
  std::uint64_t parameters = 0, active_parameters = 0;
  std::uint64_t layers = 0;           // that can be moved one by one
  std::uint64_t layered_weights = 0;  // bytes of the weights in layers
  std::uint64_t kv_per_token = 0;     // bytes; 0: none
  std::uint64_t cross_kv_per_token = 0;
  std::uint64_t kv_per_sequence = 0;
  std::int64_t batch = 1, context = 0, input = 0, processes = 1;
  bool train = false;
  std::vector<std::string> remarks;

  [[nodiscard]] std::uint64_t bytes(Part part) const {
    return parts[static_cast<std::size_t>(part)].bytes;
  }
  [[nodiscard]] std::uint64_t total() const;
  /// Rounded up.
  [[nodiscard]] MiB needed() const;
};

[[nodiscard]] Result<MemoryForecast> forecast_memory(const ModelFile& model,
                                                     const MemoryOptions& options,
                                                     const std::string& place);
[[nodiscard]] Result<MemoryForecast> forecast_memory(const VisionNetwork& network,
                                                     const MemoryOptions& options);

/// What would be in host memory so that the rest fits.
struct OffloadPlan {
  bool fits = false;                                                      // with that offload
  std::uint64_t optimizer = 0, gradients = 0, weights = 0, kv_cache = 0;  // bytes in host memory
  std::uint64_t layers = 0;                                               // whose weights do
  [[nodiscard]] std::uint64_t total() const;
};

/// Whether one profile holds the model.
struct ProfileFit {
  const Profile* profile = nullptr;
  std::optional<bool> fits;  // empty: the profile's memory is unknown
  /// Room in the KV cache beside everything else; empty: there is no cache.
  std::optional<std::uint64_t> sequences;
  std::optional<OffloadPlan> offload;  // if it does not fit
};

/// Plain profiles from large to small.
std::vector<ProfileFit> profile_fits(const MemoryForecast& forecast, const GpuModel& gpu);
/// The plain profile with the least memory that holds it, then with the least compute; null: none.
const Profile* smallest_that_holds(MiB memory, const GpuModel& gpu);
/// Chunks are offloaded as long as the rest does not fit: in training optimizer state, then
/// gradients; then weights, then the KV cache, each layer by layer. Offloaded weights need room for
/// one layer.
OffloadPlan plan_offload(const MemoryForecast& forecast, MiB room);

}  // namespace cleave
