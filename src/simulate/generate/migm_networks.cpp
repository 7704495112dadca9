#include "simulate/generate/migm_networks.hpp"

#include <algorithm>

#include "forecast/shape/hf_config.hpp"
#include "forecast/shape/model_memory.hpp"
#include "model/speed_table.hpp"
#include "physics/measured_speeds.hpp"
#include "physics/speed_law.hpp"
#include "simulate/generate/generate_parts.hpp"

namespace cleave {

namespace {

/// BERT base, in the sizes of its publication.
constexpr std::string_view bert_base = R"({"model_type": "bert", "num_hidden_layers": 12,
  "hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 30522,
  "type_vocab_size": 2, "max_position_embeddings": 512, "torch_dtype": "float32"})";

}  // namespace

Result<MiB> training_memory(const Training& training) {
  MemoryOptions options;
  options.batch = training.batch;
  options.train = true;
  Result<MemoryForecast> forecast;
  if (training.network == "bert") {
    auto shape = parse_hf_config(bert_base, "bert");
    if (!shape) return std::unexpected(shape.error());
    options.context = training.tokens;
    forecast = forecast_memory(ModelFile{std::move(*shape), {}, {}}, options, "bert");
  } else {
    // torchvision's name.
    const bool inception = training.network == "inceptionv3";
    const auto network = vision_network(inception ? "inception_v3" : training.network);
    if (!network) return std::unexpected(network.error());
    forecast = forecast_memory(*network, options);
  }
  if (!forecast) return std::unexpected(forecast.error());
  return forecast->needed();
}

SpeedTable training_speeds(std::string_view miso_model, int miso_batch, MiB memory) {
  const GpuModel& a100 = **find_gpu_model("A100-40GB");
  const MeasuredSpeed& row = *find_measured(MeasuredSet::miso, miso_model, miso_batch);
  const SliceLaw law = fitted_job(row.speeds, a100)->law;
  return speeds_from_times(a100, memory, [&](const Profile& profile) {
    if (const auto measured = row.speeds.find(profile.name); measured != row.speeds.end())
      return 1 / std::min(1.0, measured->second);
    const double whole = time_on(law, 1);
    return std::max(1.0, time_on(law, gpu_bound_time(a100, profile)) / whole);
  });
}

}  // namespace cleave
