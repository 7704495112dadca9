#include "forecast/shape/model_memory.hpp"

#include <algorithm>
#include <array>

#include "base/format.hpp"
#include "base/options.hpp"
#include "base/text.hpp"
#include "forecast/shape/activations.hpp"
#include "forecast/shape/saturating.hpp"

namespace cleave {

namespace {

constexpr Precision precision_rows[] = {
    {"fp32", 32, true}, {"fp16", 16, true}, {"bf16", 16, true},
    {"fp8", 8, false},  {"int8", 8, false}, {"int4", 4, false},
};

// Bytes for each parameter: *ZeRO*, 3.1, counts 12 for Adam with mixed precision, 4 of which are
// the weights.
constexpr OptimizerRow optimizer_rows[] = {
    {"adam", 8, false, true, "two moments of 32 bits"},
    {"adamw", 8, false, true, "two moments of 32 bits"},
    {"adamw8bit", 2, false, false, "two moments of 8 bits"},
    {"sgd-momentum", 4, false, true, "one moment of 32 bits"},
    {"sgd", 0, false, true, "nothing"},
    {"adafactor", 0, true, true, "nothing"},
    {"none", 0, false, false, "nothing"},
};

constexpr std::string_view context_source =
    "about 0.3 to 0.6 GiB a process (README of the model shapes)";
constexpr SharingRow sharing_rows[] = {
    {"alone", {615}, {307}, context_source},
    {"time-sliced", {615}, {307}, "every process has a context of its own: as alone"},
    {"mps",
     {615},
     {307},
     "NVIDIA, Multi-Process Service: from Volta on clients share little of their contexts; counted "
     "as alone"},
};

constexpr std::uint64_t workspace_before_hopper = (2 * 4096 + 8 * 16) * 1024;  // :4096:2:16:8
constexpr std::uint64_t workspace_from_hopper = 8 * 4096 * 1024;               // :4096:8

std::uint64_t bytes_of(std::uint64_t numbers, std::uint64_t bits) {
  return saturating_add(saturating_multiply(numbers, bits), 7) / 8;
}

/// The parts that are the same for all kinds of models.
class Parts {
 public:
  Parts(const MemoryOptions& options, std::uint64_t layers) : options_(options) {
    for (std::size_t i = 0; i < part_count; ++i)
      forecast.parts.push_back({static_cast<Part>(i), 0, "none"});
    forecast.layers = layers;
    forecast.batch = options.batch;
    forecast.processes = options.processes;
    forecast.train = options.train;
  }

  /// For each process.
  void set(Part part, std::uint64_t bytes, std::string how) {
    forecast.parts[static_cast<std::size_t>(part)] = {
        part, saturating_multiply(bytes, whole(options_.processes)), std::move(how)};
  }

  /// `sums`: the numbers that a factored optimizer keeps, and what they are.
  void training(std::uint64_t weight_bits, std::uint64_t sums, std::string_view what_sums) {
    const OptimizerRow& optimizer =
        options_.optimizer != nullptr ? *options_.optimizer : optimizer_rows[0];
    if (!options_.train) return;
    set(Part::gradients, bytes_of(forecast.parameters, weight_bits),
        fmt::format("parameters x {} bits, as the weights", weight_bits));
    const bool master = optimizer.master && weight_bits < 32;
    const std::uint64_t each = optimizer.bytes + (master ? 4 : 0);
    const std::uint64_t factored = optimizer.factored ? saturating_multiply(4, sums) : 0;
    set(Part::optimizer, saturating_add(saturating_multiply(each, forecast.parameters), factored),
        fmt::format("{}: {}", optimizer.name, kept_by(optimizer, master, what_sums)));
  }

  static std::string kept_by(const OptimizerRow& optimizer, bool master,
                             std::string_view what_sums) {
    std::vector<std::string> each, all;
    if (optimizer.factored) all.push_back(fmt::format("a sum of 32 bits for each {}", what_sums));
    if (optimizer.bytes > 0) each.emplace_back(optimizer.what);
    if (master) each.emplace_back("weights of 32 bits");
    if (!each.empty())
      all.push_back(fmt::format("{} for each parameter", fmt::join(each, " and ")));
    return all.empty() ? "nothing" : fmt::format("{}", fmt::join(all, ", "));
  }

  void surroundings() {
    const std::uint64_t workspace =
        options_.workspace.value_or(usual_workspace(options_.architecture));
    const std::uint64_t times =
        options_.workspace_per_layer ? std::max<std::uint64_t>(forecast.layers, 1) : 1;
    set(Part::workspace, saturating_multiply(workspace, times),
        fmt::format("cuBLAS, {} KiB {}", workspace / 1024,
                    options_.workspace_per_layer ? "for each layer" : "for each process"));
    const SharingRow& sharing = options_.sharing != nullptr ? *options_.sharing : sharing_rows[0];
    set(Part::context, whole(sharing.counted.value) * bytes_per_mib,
        fmt::format("{}: {} to {} MiB a process, the most is counted", sharing.name,
                    sharing.least.value, sharing.counted.value));
    if (options_.processes > 1)
      forecast.remarks.push_back(fmt::format(
          "{} processes alike on one instance, each with weights of its own", options_.processes));
  }

  MemoryForecast forecast;

 private:
  const MemoryOptions& options_;
};

Result<void> check_options(const MemoryOptions& options) {
  const auto refuse = [](std::string place, std::string message, std::string remedy) {
    return fail(ErrorKind::bad_usage, std::move(place), std::move(message), std::move(remedy));
  };
  constexpr std::int64_t most = std::int64_t{1} << 32;
  for (const auto& [what, value] :
       {std::pair("--batch", options.batch), std::pair("--processes", options.processes)})
    if (value < 1 || value > most)
      return refuse(what, fmt::format("{} is not possible", value),
                    fmt::format("give 1 to {}", most));
  for (const auto& [what, value] :
       {std::pair("--context", options.context), std::pair("--input", options.input),
        std::pair("--prefill", options.prefill)})
    if (value < 0 || value > most)
      return refuse(what, fmt::format("{} tokens are not possible", value),
                    fmt::format("give 1 to {}", most));
  if (options.train && options.weights != nullptr && !options.weights->trains)
    return refuse("--precision", fmt::format("gradients are not kept in {}", options.weights->name),
                  "train in fp32, bf16 or fp16");
  return {};
}

struct StoredShare {
  std::uint64_t all = 0, in_layers = 0;  // bytes
  std::uint64_t bits = 16;               // of most weights
  std::string type;                      // their name, for an error
  std::string how;
};

/// Bits of most weights of a file, and their name. An index of files has only their sum.
std::pair<std::uint64_t, std::string> stored_bits(const StoredWeights& stored,
                                                  std::uint64_t parameters) {
  const auto most = std::ranges::max_element(stored.types, {}, &StoredType::bytes);
  const bool typed = most != stored.types.end() && most->parameters > 0;
  const std::uint64_t bytes = typed ? most->bytes : stored.bytes;
  const std::uint64_t numbers = std::max<std::uint64_t>(typed ? most->parameters : parameters, 1);
  const double bits = 8 * static_cast<double>(bytes) / static_cast<double>(numbers);
  std::string type = typed ? most->name : fmt::format("{:.1f} bits on average", bits);
  // A sum is never an exact multiple: it includes buffers, and norms in another precision.
  constexpr double nearly = 0.9;
  for (const std::uint64_t step : {32U, 16U})
    if (bits >= nearly * static_cast<double>(step)) return {step, std::move(type)};
  return {std::max<std::uint64_t>(static_cast<std::uint64_t>(bits), 1), std::move(type)};
}

/// Matrices in the layers as quantised, all others in `bits`.
StoredShare quantised_weights(const ModelShape& shape, std::uint64_t bits) {
  std::uint64_t matrices = 0, in_layers = 0, all = 0;
  for (const WeightGroup& group : weight_groups(shape)) {
    all = saturating_add(all, group.parameters());
    if (!group.in_layers) continue;
    in_layers = saturating_add(in_layers, group.parameters());
    if (group.rows > 1) matrices = saturating_add(matrices, group.parameters());
  }
  const std::uint64_t packed = bytes_of(matrices, shape.quantised_bits);
  return {saturating_add(packed, bytes_of(all - matrices, bits)),
          saturating_add(packed, bytes_of(in_layers - matrices, bits)), shape.quantised_bits,
          fmt::format("{} bits", shape.quantised_bits),
          fmt::format("{} parameters x {} bits + {} x {} bits, as described", matrices,
                      shape.quantised_bits, all - matrices, bits)};
}

StoredShare weights_of(const ModelFile& model, const MemoryOptions& options) {
  const ModelShape& shape = *model.shape;
  const std::uint64_t counted = parameters(shape);
  std::uint64_t layered = 0;
  for (const WeightGroup& group : weight_groups(shape))
    if (group.in_layers) layered = saturating_add(layered, group.parameters());
  if (options.weights == nullptr && model.stored) {
    const double share =
        static_cast<double>(layered) / static_cast<double>(std::max<std::uint64_t>(counted, 1));
    const auto [bits, type] = stored_bits(*model.stored, counted);
    return {model.stored->bytes,
            static_cast<std::uint64_t>(static_cast<double>(model.stored->bytes) * share), bits,
            type, "as stored in the file"};
  }
  const bool described = options.weights == nullptr && shape.weight_bits > 0;
  const std::uint64_t bits = options.weights != nullptr ? options.weights->bits
                             : described                ? shape.weight_bits
                                                        : 16;
  if (options.weights == nullptr && shape.quantised_bits > 0) return quantised_weights(shape, bits);
  return {
      bytes_of(counted, bits), bytes_of(layered, bits), bits, fmt::format("{} bits", bits),
      fmt::format("{} parameters x {} bits{}", counted, bits, described ? ", as described" : "")};
}

/// Why a training run cannot use this model.
Result<void> check_training(const StoredShare& weights, const MemoryOptions& options,
                            const std::string& place) {
  if (!options.train || weights.bits >= 16) return {};
  return fail(ErrorKind::bad_usage, place,
              fmt::format("its weights have {}, and gradients are not kept in that", weights.type),
              "--precision bf16 counts the model before it was quantised");
}

/// Signs that the file is not the whole model, and parts of its description that were not
/// understood.
void remark(MemoryForecast& forecast, const ModelFile& model, const MemoryOptions& options) {
  const ModelShape& shape = *model.shape;
  for (const std::string& each : shape.remarks) forecast.remarks.push_back(each);
  if (options.weights == nullptr && !model.stored && shape.quantised_bits > 0)
    forecast.remarks.emplace_back("scales of quantised weights are not counted");
  if (!shape.heads_known)
    forecast.remarks.emplace_back("the tensors do not tell the number of heads; widths are exact");
  if (shape.positions > 0 && forecast.context > shape.positions)
    forecast.remarks.push_back(
        fmt::format("{} tokens are beyond the model's {}", forecast.context, shape.positions));
  if (options.weights != nullptr || !model.stored || model.stored->parameters == 0) return;
  // Several quantised weights may be packed into one integer.
  const auto packed = [](const StoredType& type) {
    return type.name.size() > 1 && (type.name[0] == 'I' || type.name[0] == 'U') &&
           type.name[1] >= '0' && type.name[1] <= '9';
  };
  const double share =
      static_cast<double>(model.stored->parameters) / static_cast<double>(forecast.parameters);
  constexpr double nearly_all = 0.9;
  if (share >= nearly_all || std::ranges::any_of(model.stored->types, packed)) return;
  forecast.remarks.push_back(fmt::format(
      "the file holds {:.0f} % of the {} parameters that its shape has; of a model in several "
      "safetensors files, name their model.safetensors.index.json",
      100 * share, forecast.parameters));
}

void cache(Parts& parts, const ModelShape& shape, const MemoryOptions& options,
           std::uint64_t context, std::uint64_t input) {
  const std::uint64_t bits = options.kv != nullptr ? options.kv->bits : 16;
  MemoryForecast& forecast = parts.forecast;
  forecast.kv_per_token = bytes_of(kv_per_token(shape), bits);
  forecast.cross_kv_per_token = bytes_of(cross_kv_per_token(shape), bits);
  if (options.train || !shape.family.decoder) return;
  forecast.kv_per_sequence = bytes_of(kv_of_sequence(shape, context, input), bits);
  std::string how = fmt::format("{} x {} tokens x 2 x {} layers x {} KV heads x {} x {} bits",
                                counted(whole(options.batch), "sequence"), context, shape.layers,
                                shape.kv_heads, shape.head_dim, bits);
  if (shape.window_layers() > 0)
    how += fmt::format("; {} layers hold {} tokens at most", shape.window_layers(), shape.window);
  if (shape.encoder_layers > 0) how += fmt::format("; and the same for {} tokens of input", input);
  parts.set(Part::kv_cache, saturating_multiply(forecast.kv_per_sequence, whole(options.batch)),
            std::move(how));
}

}  // namespace

std::span<const Precision> precisions() {
  return precision_rows;
}
Result<const Precision*> find_precision(std::string_view name) {
  return find_row(precisions(), name, "precision");
}
std::span<const OptimizerRow> optimizers() {
  return optimizer_rows;
}
Result<const OptimizerRow*> find_optimizer(std::string_view name) {
  return find_row(optimizers(), name, "optimizer");
}
std::span<const SharingRow> sharing_modes() {
  return sharing_rows;
}
Result<const SharingRow*> find_sharing(std::string_view name) {
  return find_row(sharing_modes(), name, "way of sharing");
}

std::string_view name(Part part) {
  constexpr std::array<std::string_view, part_count> names = {
      "weights", "kv_cache", "activations", "gradients", "optimizer", "workspace", "context"};
  return names[static_cast<std::size_t>(part)];
}

Result<std::uint64_t> parse_workspace(std::string_view text) {
  const auto refuse = [&] {
    return fail(ErrorKind::bad_usage, "CUBLAS_WORKSPACE_CONFIG",
                fmt::format("'{}' is not understood", shown(text)),
                "write pairs of a size in KiB and a count, such as :4096:2:16:8");
  };
  const auto words = split(text, ':');
  if (words.size() < 3 || words.size() % 2 == 0 || !words.front().empty()) return refuse();
  std::uint64_t sum = 0;
  for (std::size_t i = 1; i + 1 < words.size(); i += 2) {
    const auto size = parse_integer(words[i]), count = parse_integer(words[i + 1]);
    if (!size || !count || *size < 0 || *count < 0 || *size > 1 << 30 || *count > 1 << 20)
      return refuse();
    sum = saturating_add(sum, saturating_multiply(whole(*size), 1024, whole(*count)));
  }
  return sum;
}

std::uint64_t usual_workspace(std::optional<Architecture> architecture) {
  switch (architecture.value_or(Architecture::ampere)) {
    case Architecture::ampere:
    case Architecture::ada:
      return workspace_before_hopper;
    case Architecture::hopper:
    case Architecture::blackwell:
    case Architecture::rubin:
    case Architecture::other:
      break;
  }
  return workspace_from_hopper;
}

std::uint64_t MemoryForecast::total() const {
  std::uint64_t sum = 0;
  for (const MemoryPart& part : parts) sum = saturating_add(sum, part.bytes);
  return sum;
}

MiB MemoryForecast::needed() const {
  return mib_that_hold(total());
}

namespace {

/// Beyond this, sums may have been cut off at 64 bits.
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 60;

Result<MemoryForecast> if_countable(MemoryForecast&& forecast, const std::string& place) {
  if (forecast.total() < most_bytes) return std::move(forecast);
  return fail(ErrorKind::bad_input, place, "with these options it needs more than an exbibyte",
              "check batch, context and processes");
}

}  // namespace

Result<MemoryForecast> forecast_memory(const ModelFile& model, const MemoryOptions& options,
                                       const std::string& place) {
  if (const auto sound = check_options(options); !sound) return std::unexpected(sound.error());
  if (!model.shape)
    return fail(ErrorKind::bad_input, place, model.why_no_shape,
                "put the model's config.json beside the file");
  const ModelShape& shape = *model.shape;
  constexpr std::int64_t usual_context = 4096;
  const std::int64_t longest = shape.positions > 0 ? shape.positions : usual_context;
  const std::int64_t context =
      options.context > 0 ? options.context : std::min(longest, usual_context);
  const std::int64_t input = shape.encoder_layers == 0 ? 0
                             : options.input > 0       ? options.input
                                                       : context;
  Parts parts(options, whole(shape.layers + shape.encoder_layers));
  MemoryForecast& forecast = parts.forecast;
  forecast.context = context;
  forecast.input = input;
  forecast.parameters = parameters(shape);
  forecast.active_parameters = active_parameters(shape);
  const StoredShare weights = weights_of(model, options);
  if (const auto sound = check_training(weights, options, place); !sound)
    return std::unexpected(sound.error());
  const std::uint64_t computed = std::max<std::uint64_t>(weights.bits, 16);
  forecast.layered_weights = saturating_multiply(weights.in_layers, whole(options.processes));
  parts.set(Part::weights, weights.all, weights.how);
  cache(parts, shape, options, whole(context), whole(input));
  const ActivationUse use{whole(options.batch),   whole(context), whole(input),
                          whole(options.prefill), computed / 8,   options.recompute,
                          options.plain_attention};
  const auto activations =
      options.train ? training_activations(shape, use) : inference_activations(shape, use);
  parts.set(Part::activations, activations.bytes, activations.how);
  std::uint64_t sides = 0;
  for (const WeightGroup& group : weight_groups(shape))
    sides = saturating_add(sides, saturating_multiply(group.count, group.rows + group.columns));
  parts.training(computed, sides, "row and column");
  parts.surroundings();
  remark(forecast, model, options);
  return if_countable(std::move(forecast), place);
}

Result<MemoryForecast> forecast_memory(const VisionNetwork& network, const MemoryOptions& options) {
  if (const auto sound = check_options(options); !sound) return std::unexpected(sound.error());
  const std::uint64_t bits = options.weights != nullptr ? options.weights->bits : 32;
  Parts parts(options, network.layers.size());
  MemoryForecast& forecast = parts.forecast;
  forecast.parameters = forecast.active_parameters = network.parameters();
  parts.set(Part::weights, bytes_of(forecast.parameters, bits),
            fmt::format("{} parameters x {} bits", forecast.parameters, bits));
  forecast.layered_weights = forecast.bytes(Part::weights);
  const std::uint64_t width = std::max<std::uint64_t>(bits, 16) / 8, images = whole(options.batch);
  const std::uint64_t moved = saturating_multiply(images, width, network.most_moved());
  if (options.train) {
    const std::uint64_t kept = saturating_add(saturating_multiply(images, width, network.kept()),
                                              saturating_multiply(images, 8, network.indices()));
    parts.set(Part::activations,
              saturating_add(kept, saturating_multiply(options.moved_copies, moved)),
              fmt::format("{} x ({} numbers kept + {} x {} of the largest layer)",
                          counted(images, "image"), network.kept(), options.moved_copies,
                          network.most_moved()));
  } else {
    parts.set(Part::activations, moved,
              fmt::format("{} x {} numbers of the largest layer", counted(images, "image"),
                          network.most_moved()));
  }
  // Rows and columns of convolutions are not in the table of layers: there are at most as many as
  // parameters.
  parts.training(std::max<std::uint64_t>(bits, 16), forecast.parameters, "parameter at most");
  parts.surroundings();
  return if_countable(std::move(forecast), "");
}

}  // namespace cleave
