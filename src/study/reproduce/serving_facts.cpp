#include "study/reproduce/growth_series.hpp"

#include <filesystem>

#include "base/csv.hpp"
#include "base/json.hpp"
#include "base/read_text.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

Result<ServingFacts::Lengths> read_lengths(const std::string& name, const std::string& path,
                                           std::string_view input, std::string_view output) {
  const auto text = read_text(path);
  if (!text) return std::unexpected(text.error());
  auto csv = CsvReader::open(*text, path);
  if (!csv) return std::unexpected(csv.error());
  const auto in = csv->column(input), out = csv->column(output);
  if (!in) return std::unexpected(in.error());
  if (!out) return std::unexpected(out.error());
  ServingFacts::Lengths lengths{name, {}, {}};
  std::vector<std::string> cells;
  for (;;) {
    const auto more = csv->next(cells);
    if (!more) return std::unexpected(more.error());
    if (!*more) break;
    const auto prompt = parse_number(cells[*in]), answer = parse_number(cells[*out]);
    if (!prompt || !answer)
      return fail(ErrorKind::bad_input, csv->place(), "lengths must be numbers",
                  "take the published file");
    if (*answer < 1) continue;  // nothing was answered
    lengths.input.push_back(*prompt);
    lengths.output.push_back(*answer);
  }
  if (lengths.input.empty())
    return fail(ErrorKind::bad_input, path, "there is no request in it", "take the published file");
  return lengths;
}

Result<std::vector<ServingFacts::Model>> read_models(const std::string& path) {
  const auto text = read_text(path);
  if (!text) return std::unexpected(text.error());
  const auto document = parse_json(*text, path);
  if (!document) return std::unexpected(document.error());
  std::optional<Error> error;
  JsonReader in(*document, path, error);
  std::vector<ServingFacts::Model> models;
  for (JsonReader& each : in.objects("models")) {
    ServingFacts::Model model{each.text("name"), 0, 0};
    const double weights = each.number_if("weights_bytes_fp16").value_or(0);
    const double per_token = each.number_if("kv_bytes_per_token_fp16").value_or(0);
    if (!(weights > 0) || !(per_token > 0)) continue;  // an encoder keeps no cache
    model.weights_mib = weights / bytes_per_mib;
    model.kv_mib_per_token = per_token / bytes_per_mib;
    models.push_back(std::move(model));
  }
  if (error) return std::unexpected(*error);
  return models;
}

}  // namespace

Result<ServingFacts> read_serving_facts(const std::string& folder) {
  const std::filesystem::path data(folder);
  ServingFacts facts;
  std::error_code unknown;
  if (!std::filesystem::is_directory(data, unknown)) return facts;
  auto models = read_models((data / "models/model_shapes.json").string());
  if (!models) return std::unexpected(models.error());
  facts.models = std::move(*models);
  struct Trace {
    const char *name, *file, *input, *output;
  };
  constexpr Trace traces[] = {
      {"azure conversation", "azure-llm-2023/AzureLLMInferenceTrace_conv.csv.gz", "ContextTokens",
       "GeneratedTokens"},
      {"azure code", "azure-llm-2023/AzureLLMInferenceTrace_code.csv.gz", "ContextTokens",
       "GeneratedTokens"},
      {"mooncake conversation", "mooncake-fast25/conversation_trace.csv.gz", "input_length",
       "output_length"},
  };
  for (const Trace& trace : traces) {
    auto lengths =
        read_lengths(trace.name, (data / trace.file).string(), trace.input, trace.output);
    if (!lengths) return std::unexpected(lengths.error());
    facts.traces.push_back(std::move(*lengths));
  }
  return facts;
}

}  // namespace cleave
