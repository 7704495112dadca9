// `cleave gpu [MODEL]`: what is known of GPU models.

#include <algorithm>

#include "base/format.hpp"
#include "base/json.hpp"
#include "cli/columns.hpp"
#include "cli/command.hpp"
#include "graph/state_graph.hpp"
#include "model/gpu_model.hpp"

namespace cleave::cli {

namespace {

struct Options {
  std::string model, profiles = "all";
  bool json = false;
};

/// A quantity of a model, in a sentence.
template <class Quantity>
std::string or_unknown(const std::optional<Quantity>& quantity) {
  return or_word("unknown")(as_json(quantity));
}

std::string_view known(bool inferred) {
  return inferred ? "inferred" : "captured";
}

const Columns<Engines> engine_columns = {{"copy", json_only, &Engines::copy},
                                         {"decode", json_only, &Engines::decode},
                                         {"encode", json_only, &Engines::encode},
                                         {"jpeg", json_only, &Engines::jpeg},
                                         {"optical_flow", json_only, &Engines::flow}};

std::string starts_text(const Profile& profile) {
  return fmt::format("{}{}{}", fmt::join(profile.starts.preferred(), " "),
                     profile.starts_inferred ? " *" : "", profile.preference_inferred ? " ~" : "");
}

const Columns<Profile> profile_columns = {
    {"name", "profile", &Profile::name},
    {"compute_slices", "compute", &Profile::compute},
    {"memory_slices", "memory", &Profile::memory},
    {"memory_mib", "MiB", &Profile::usable, or_word("unknown")},
    {"sms", "SMs", &Profile::sms, or_word("unknown")},
    {"max_instances", "most", &Profile::max_instances},
    {"starts", "starts, preferred first", [](const Profile& p) { return p.starts.preferred(); },
     starts_text},
    {"starts_are", json_only, [](const Profile& p) { return known(p.starts_inferred); }},
    {"order_is", json_only, [](const Profile& p) { return known(p.preference_inferred); }},
    {"id", json_only, &Profile::id},
    {"nvml_profile", json_only, &Profile::nvml_profile},
    {"engines", json_only, [](const Profile& p) {
       return p.engines ? json_row(engine_columns, *p.engines) : Json(nullptr);
     }}};

const Columns<GpuModel> model_columns = {
    {"model", "model", &GpuModel::key},
    {"title", json_only, &GpuModel::title},
    {"driver_names", json_only, &GpuModel::driver_names},
    {"architecture", "architecture",
     [](const GpuModel& model) { return name(model.architecture); }},
    {"memory_mib", json_only, &GpuModel::memory},
    {"compute_slices", "compute", &GpuModel::compute},
    {"memory_slices", "memory", &GpuModel::memory_slices},
    {"sms", "SMs", &GpuModel::sms, or_word("unknown")},
    {text_only, "MiB", &GpuModel::memory, or_word("unknown")},
    {"sms_in_mig", json_only, &GpuModel::sms_in_mig},
    {"placements", "placements",
     [](const GpuModel& model) { return known(model.placements_inferred); }},
    {text_only, "GPU", &GpuModel::title}};

int list_models(bool json) {
  if (json)
    print(Json{{"models", json_rows(model_columns, gpu_models())}});
  else
    fmt::print(
        "{}\ncompute and memory count slices. `cleave gpu MODEL` shows a model's profiles.\n",
        text_rows(model_columns, gpu_models()));
  return 0;
}

void show_model(const StateGraph& graph) {
  const GpuModel& model = graph.geometry().model();
  fmt::print("{}: {}, {}; {} compute slices, {} memory slices, {} SMs ({} with MIG), {} MiB\n\n",
             model.key, model.title, name(model.architecture), model.compute.value,
             model.memory_slices.value, or_unknown(model.sms), or_unknown(model.sms_in_mig),
             or_unknown(model.memory));
  std::vector<Profile> profiles;
  for (const Profile* profile : graph.geometry().profile_list()) profiles.push_back(*profile);
  fmt::print("{}\n", text_rows(profile_columns, profiles));
  const bool inferred_starts = std::ranges::any_of(profiles, &Profile::starts_inferred),
             inferred_order = std::ranges::any_of(profiles, &Profile::preference_inferred);
  if (inferred_starts)
    fmt::print(
        "* inferred from the rest of the family: no capture of this GPU shows these starts\n");
  if (inferred_order)
    fmt::print("~ the order of these starts is inferred; the set of starts is not affected\n");
  if (inferred_starts || inferred_order) fmt::print("\n");
  fmt::print("{} legal states, {} maximal ({} as multisets of profiles)\n", graph.size(),
             graph.maximal_states(), graph.maximal_multisets());
}

Result<int> gpu(const Options& options) {
  if (options.model.empty()) return list_models(options.json);
  const auto chosen = choose_profiles(options.model, options.profiles);
  if (!chosen) return std::unexpected(chosen.error());
  const auto graph = StateGraph::of(*chosen->model, chosen->profiles);
  if (!options.json) {
    show_model(*graph);
    return 0;
  }
  Json json = json_row(model_columns, *chosen->model);
  json["profiles"] = Json::array();
  for (const Profile* profile : graph->geometry().profile_list())
    json["profiles"].push_back(json_row(profile_columns, *profile));
  json["states"] = graph->size();
  json["maximal_states"] = graph->maximal_states();
  json["maximal_multisets"] = graph->maximal_multisets();
  print(json);
  return 0;
}

}  // namespace

void add_gpu(CommandLine& program, Run& run) {
  const auto [command, options] = add_command(
      program, run, "gpu",
      "The GPU models that Cleave knows; for one model, its profiles and its number of states",
      "cleave gpu A100-40GB --profiles five", gpu);
  command->add_option("MODEL", options.model,
                      "Model key or the driver's name for it; all models by default");
  add_profiles(*command, options.profiles);
  add_json(*command, options.json);
}

}  // namespace cleave::cli
