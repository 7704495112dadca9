// `cleave forecast model`: the memory of a model from its shape.

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "cli/columns.hpp"
#include "cli/command.hpp"
#include "cli/forecast/model_input.hpp"
#include "cli/say.hpp"
#include "forecast/shape/model_memory.hpp"

namespace cleave::cli {

namespace {

struct ForecastModelCommandOptions {
  std::string model, precision, kv_precision, optimizer, attention = "fused", sharing = "alone";
  std::string workspace, workspace_per = "process", fits;
  std::int64_t batch = 1, context = 0, input = 0, prefill = 0, processes = 1;
  bool train = false, recompute = false, offload = false, json = false;
};

/// What was asked about, and the answer.
struct ModelAnswer {
  std::optional<ModelFile> model;
  std::optional<VisionNetwork> network;
  MemoryForecast forecast;
  const GpuModel* gpu = nullptr;  // of --fits
};

template <class Row>
Result<const Row*> chosen(const char* option, const std::string& name,
                          Result<const Row*> (*find)(std::string_view)) {
  if (name.empty()) return static_cast<const Row*>(nullptr);
  auto row = find(name);
  if (!row) return fail_at(option, row.error());
  return row;
}

Result<MemoryOptions> memory_options(const ForecastModelCommandOptions& options,
                                     const GpuModel* gpu) {
  MemoryOptions memory;
  const auto weights = chosen<Precision>("--precision", options.precision, find_precision);
  if (!weights) return std::unexpected(weights.error());
  const auto kv = chosen<Precision>("--kv-precision", options.kv_precision, find_precision);
  if (!kv) return std::unexpected(kv.error());
  const auto optimizer = chosen<OptimizerRow>("--optimizer", options.optimizer, find_optimizer);
  if (!optimizer) return std::unexpected(optimizer.error());
  const auto sharing = chosen<SharingRow>("--sharing", options.sharing, find_sharing);
  if (!sharing) return std::unexpected(sharing.error());
  memory.weights = *weights;
  memory.kv = *kv;
  memory.optimizer = *optimizer;
  memory.sharing = *sharing;
  if (!options.workspace.empty()) {
    const auto bytes = parse_workspace(options.workspace);
    if (!bytes) return fail_at("--workspace", bytes.error());
    memory.workspace = *bytes;
  }
  memory.batch = options.batch;
  memory.context = options.context;
  memory.input = options.input;
  memory.prefill = options.prefill;
  memory.processes = options.processes;
  memory.train = options.train;
  memory.recompute = options.recompute;
  memory.plain_attention = options.attention == "plain";
  memory.workspace_per_layer = options.workspace_per == "layer";
  if (gpu != nullptr) memory.architecture = gpu->architecture;
  return memory;
}

Result<ModelAnswer> ask(const ForecastModelCommandOptions& options) {
  ModelAnswer answer;
  if (!options.fits.empty()) {
    const auto gpu = find_gpu_model(options.fits);
    if (!gpu) return fail_at("--fits", gpu.error());
    answer.gpu = *gpu;
  }
  if (!options.train && (!options.optimizer.empty() || options.recompute))
    return fail(ErrorKind::bad_usage, options.recompute ? "--recompute" : "--optimizer",
                "this applies only to training", "give --train too");
  if (options.offload && answer.gpu == nullptr)
    return fail(ErrorKind::bad_usage, "--offload", "this needs a GPU model",
                "give --fits GPU_MODEL too");
  const auto memory = memory_options(options, answer.gpu);
  if (!memory) return std::unexpected(memory.error());
  Result<MemoryForecast> forecast;
  if (options.model.starts_with(vision_prefix)) {
    auto network = vision_network(std::string_view(options.model).substr(vision_prefix.size()));
    if (!network) return fail_at(shown(options.model), network.error());
    forecast = forecast_memory(*network, *memory);
    answer.network = std::move(*network);
  } else {
    auto model = load_model(options.model);
    if (!model) return std::unexpected(model.error());
    forecast = forecast_memory(*model, *memory, shown(options.model, 200));
    answer.model = std::move(*model);
  }
  if (!forecast) return std::unexpected(forecast.error());
  answer.forecast = std::move(*forecast);
  return answer;
}

Json shape_json(const ModelShape& shape) {
  const auto or_null = [](std::int64_t number) {
    return number > 0 ? Json(number) : Json(nullptr);
  };
  return {{"name", shape.name},
          {"family", shape.family.name},
          {"layers", shape.layers},
          {"encoder_layers", shape.encoder_layers},
          {"hidden", shape.hidden},
          {"heads", shape.heads_known ? Json(shape.heads) : Json(nullptr)},
          {"kv_heads", shape.heads_known ? Json(shape.kv_heads) : Json(nullptr)},
          {"head_dim", shape.heads_known ? Json(shape.head_dim) : Json(nullptr)},
          {"kv_width", shape.kv_width()},
          {"ffn", shape.ffn},
          {"vocab", shape.vocab},
          {"max_positions", or_null(shape.positions)},
          {"tied_embeddings", shape.tied},
          {"sliding_window", or_null(shape.window)},
          {"window_layers", shape.window_layers()},
          {"experts", shape.experts},
          {"active_experts", shape.active_experts}};
}

Json stored_json(const StoredWeights& stored) {
  Json types = Json::array();
  for (const StoredType& type : stored.types)
    types.push_back({{"type", type.name},
                     {"tensors", type.tensors},
                     {"parameters", type.parameters},
                     {"bytes", type.bytes}});
  return {{"bytes", stored.bytes}, {"types", types}};
}

double in_mib(std::uint64_t bytes) {
  return static_cast<double>(bytes) / bytes_per_mib;
}

Json offload_json(const OffloadPlan& plan) {
  return {{"fits", plan.fits},
          {"host_mib", in_mib(plan.total())},
          {"optimizer_mib", in_mib(plan.optimizer)},
          {"gradients_mib", in_mib(plan.gradients)},
          {"weights_mib", in_mib(plan.weights)},
          {"weight_layers", plan.layers},
          {"kv_cache_mib", in_mib(plan.kv_cache)}};
}

std::string host_memory(const OffloadPlan& plan, std::uint64_t layers) {
  if (!plan.fits) return "not even with host memory";
  std::vector<std::string> what;
  const auto add = [&](std::uint64_t bytes, const std::string& thing) {
    if (bytes > 0) what.push_back(fmt::format("{} MiB of {}", mib_that_hold(bytes).value, thing));
  };
  add(plan.optimizer, "optimizer state");
  add(plan.gradients, "gradients");
  add(plan.weights, fmt::format("weights ({} of {} layers)", plan.layers, layers));
  add(plan.kv_cache, "KV cache");
  return fmt::format("{}", fmt::join(what, ", "));
}

const Columns<MemoryPart> part_columns = {
    {"part", "part", [](const MemoryPart& part) { return name(part.part); }},
    {"memory_mib", "MiB", [](const MemoryPart& part) { return in_mib(part.bytes); }, decimals(1)},
    {"bytes", json_only, &MemoryPart::bytes},
    {"how", "counted as", &MemoryPart::how}};

Columns<ProfileFit> fit_columns(const MemoryForecast& forecast, bool offload) {
  using F = ProfileFit;
  Columns<F> columns = {
      {"profile", "profile", [](const F& fit) { return fit.profile->name; }},
      {"memory_mib", "MiB", [](const F& fit) { return as_json(fit.profile->usable); },
       or_word("unknown")},
      {"fits", "holds it", &F::fits, or_word("unknown")},
      {"sequences", forecast.kv_per_sequence > 0 ? "sequences" : json_only, &F::sequences,
       or_word("unknown")}};
  if (offload)
    columns.emplace_back(
        "offload", "in host memory",
        [](const F& fit) { return fit.offload ? offload_json(*fit.offload) : Json(nullptr); },
        [layers = forecast.layers](const F& fit) {
          return fit.offload ? host_memory(*fit.offload, layers) : std::string();
        });
  return columns;
}

void print_json(const ForecastModelCommandOptions& options, const ModelAnswer& answer) {
  const MemoryForecast& forecast = answer.forecast;
  Json json{{"source", options.model},
            {"parameters", forecast.parameters},
            {"active_parameters", forecast.active_parameters},
            {"shape", answer.model ? shape_json(*answer.model->shape) : Json(nullptr)},
            {"stored", answer.model && answer.model->stored ? stored_json(*answer.model->stored)
                                                            : Json(nullptr)},
            {"train", forecast.train},
            {"batch", forecast.batch},
            {"context", forecast.context},
            {"input", forecast.input},
            {"processes", forecast.processes},
            {"parts", json_rows(part_columns, forecast.parts)},
            {"memory_mib", forecast.needed().value},
            {"kv_bytes_per_token", forecast.kv_per_token},
            {"cross_kv_bytes_per_input_token", forecast.cross_kv_per_token},
            {"kv_bytes_per_sequence", forecast.kv_per_sequence},
            {"remarks", forecast.remarks}};
  if (answer.gpu != nullptr) {
    const Profile* smallest = smallest_that_holds(forecast.needed(), *answer.gpu);
    json["fits"] = {{"model", answer.gpu->key},
                    {"smallest", smallest == nullptr ? Json(nullptr) : Json(smallest->name)},
                    {"profiles", json_rows(fit_columns(forecast, options.offload),
                                           profile_fits(forecast, *answer.gpu))}};
  }
  print(json);
}

std::string heading(const ModelAnswer& answer) {
  const MemoryForecast& forecast = answer.forecast;
  std::string text;
  if (answer.network) {
    text = fmt::format("{}: {} parameters, images of {} x {}, {} classes\n", answer.network->name,
                       forecast.parameters, answer.network->pixels, answer.network->pixels,
                       answer.network->classes);
    return text +
           fmt::format("{}, batch {}\n", forecast.train ? "training" : "inference", forecast.batch);
  }
  const ModelShape& shape = *answer.model->shape;
  text = fmt::format("{}: {} parameters", shape.name, forecast.parameters);
  if (forecast.active_parameters != forecast.parameters)
    text += fmt::format(" ({} for each token)", forecast.active_parameters);
  text += fmt::format(", {} layers of {}", shape.layers, shape.hidden);
  if (shape.encoder_layers > 0) text += fmt::format(" and {} of the encoder", shape.encoder_layers);
  if (shape.heads_known)
    text +=
        fmt::format(", {} heads, {} KV heads of {}", shape.heads, shape.kv_heads, shape.head_dim);
  text += fmt::format("\n{}, batch {}, {} tokens", forecast.train ? "training" : "inference",
                      forecast.batch, forecast.context);
  if (forecast.input > 0) text += fmt::format(" after {} of input", forecast.input);
  return text + "\n";
}

void print_text(const ForecastModelCommandOptions& options, const ModelAnswer& answer) {
  const MemoryForecast& forecast = answer.forecast;
  Table table(headings(part_columns));
  for (const MemoryPart& part : forecast.parts)
    if (part.bytes > 0) table.add(cells(part_columns, part));
  table.add({"together", fmt::format("{:.1f}", in_mib(forecast.total())), ""});
  say("{}\n{}", heading(answer), table.text());
  const bool cache = forecast.kv_per_sequence > 0;
  if (cache)
    say("\nKV cache: {} bytes a token, {:.1f} MiB a sequence\n", forecast.kv_per_token,
        in_mib(forecast.kv_per_sequence));
  for (const std::string& remark : forecast.remarks) say("note: {}\n", remark);
  if (answer.gpu == nullptr) return;
  say("\n{}\n{}", answer.gpu->key,
      text_rows(fit_columns(forecast, options.offload), profile_fits(forecast, *answer.gpu)));
  if (cache) say("sequences: of {} tokens, beside everything but the KV cache\n", forecast.context);
}

Result<int> forecast_model(const ForecastModelCommandOptions& options) {
  const auto answer = ask(options);
  if (!answer) return std::unexpected(answer.error());
  if (options.json)
    print_json(options, *answer);
  else
    print_text(options, *answer);
  return 0;
}

template <class Rows>
std::string names(const Rows& rows) {
  return fmt::format("{}", fmt::join(names_of(rows), ", "));
}

void add_counts(CommandLine& command, ForecastModelCommandOptions& options) {
  command.add_option("--batch", options.batch, "Sequences or images at a time")
      ->check(whole_number(1))
      ->default_str("1");
  command
      .add_option(
          "--context", options.context,
          "Tokens of a sequence, prompt and answer; by default the model's maximum, at most 4096")
      ->check(whole_number(1));
  command
      .add_option("--input", options.input,
                  "Tokens for the encoder, if the model has one; by default as --context")
      ->check(whole_number(1));
  command
      .add_option("--prefill", options.prefill,
                  "Prompt tokens that are computed at once; by default one sequence")
      ->check(whole_number(1));
  command.add_option("--processes", options.processes, "Number of equal processes on one instance")
      ->check(whole_number(1))
      ->default_str("1");
}

void add_choices(CommandLine& command, ForecastModelCommandOptions& options) {
  command.add_option("--precision", options.precision,
                     fmt::format("Precision of the weights: {}; by default what the file stores or "
                                 "describes, else bf16 (images: fp32)",
                                 names(precisions())));
  command.add_option("--kv-precision", options.kv_precision,
                     "Precision of the KV cache; 16 bits by default");
  command.add_flag("--train", options.train,
                   "Include gradients, optimizer state and all activations");
  command
      .add_option("--optimizer", options.optimizer,
                  fmt::format("With --train: {}", names(optimizers())))
      ->default_str("adam");
  command.add_flag("--recompute", options.recompute,
                   "Recompute activations layer by layer (activation checkpointing)");
  command
      .add_option("--attention", options.attention, "fused keeps no attention scores, plain does")
      ->check(Check::one_of({"fused", "plain"}))
      ->default_str("fused");
  command
      .add_option("--sharing", options.sharing,
                  fmt::format("How the instance is shared: {}", names(sharing_modes())))
      ->default_str("alone");
  command.add_option(
      "--workspace", options.workspace,
      "As in CUBLAS_WORKSPACE_CONFIG: pairs of KiB and count, :4096:2:16:8; PyTorch's by default");
  command
      .add_option("--workspace-per", options.workspace_per,
                  "One workspace per process, or one per layer as MIGM counts them")
      ->check(Check::one_of({"process", "layer"}))
      ->default_str("process");
}

}  // namespace

void add_forecast_model(CommandLine& forecast, Run& run) {
  const auto [command, options] = add_command(
      forecast, run, "model",
      "Compute the memory of a model from its shape, and find the instances that hold it",
      "cleave forecast model examples/models/llama-3.1-8b/config.json --batch 4 --fits A100-80GB",
      forecast_model);
  command
      ->add_option(
          "MODEL", options.model,
          "config.json, F.safetensors, F.gguf, SHAPES.json#NAME, or vision:NAME[:PIXELS[:CLASSES]]")
      ->required();
  add_counts(*command, options);
  add_choices(*command, options);
  command->add_option("--fits", options.fits, "GPU model whose profiles are checked");
  command->add_flag("--offload", options.offload,
                    "With --fits: show how much would have to be kept in host memory");
  add_json(*command, options.json);
}

}  // namespace cleave::cli
