// `cleave gpu [MODEL]`: what is known of GPU models.

#include "base/format.hpp"
#include "base/json.hpp"
#include "cli/command.hpp"
#include "cli/table.hpp"
#include "graph/state_graph.hpp"
#include "model/gpu_model.hpp"

namespace cleave::cli {

namespace {

struct Options {
  std::string model, profiles = "all";
  bool json = false;
};

template <class Quantity>
Json or_null(const std::optional<Quantity>& quantity) {
  return quantity ? Json(quantity->value) : Json(nullptr);
}

template <class Quantity>
std::string or_unknown(const std::optional<Quantity>& quantity) {
  return quantity ? fmt::format("{}", quantity->value) : "unknown";
}

std::string_view known(bool inferred) {
  return inferred ? "inferred" : "captured";
}

Json to_json(const Profile& profile) {
  Json json{{"name", profile.name},
            {"compute_slices", profile.compute.value},
            {"memory_slices", profile.memory.value},
            {"memory_mib", or_null(profile.usable)},
            {"sms", or_null(profile.sms)},
            {"max_instances", profile.max_instances},
            {"starts", profile.starts.preferred()},
            {"starts_are", known(profile.starts_inferred)},
            {"order_is", known(profile.preference_inferred)},
            {"id", profile.id ? Json(*profile.id) : Json(nullptr)},
            {"nvml_profile", profile.nvml_profile}};
  if (profile.engines) {
    const Engines& e = *profile.engines;
    json["engines"] = {{"copy", e.copy},
                       {"decode", e.decode},
                       {"encode", e.encode},
                       {"jpeg", e.jpeg},
                       {"optical_flow", e.flow}};
  } else {
    json["engines"] = nullptr;
  }
  return json;
}

Json header(const GpuModel& model) {
  return {{"model", model.key},
          {"title", model.title},
          {"driver_names", model.driver_names},
          {"architecture", name(model.architecture)},
          {"memory_mib", or_null(model.memory)},
          {"compute_slices", model.compute.value},
          {"memory_slices", model.memory_slices.value},
          {"sms", or_null(model.sms)},
          {"sms_in_mig", or_null(model.sms_in_mig)},
          {"placements", known(model.placements_inferred)}};
}

int list_models(bool json) {
  if (json) {
    Json models = Json::array();
    for (const GpuModel& model : gpu_models()) models.push_back(header(model));
    print(Json{{"models", models}});
    return 0;
  }
  Table table({"model", "architecture", "compute", "memory", "SMs", "MiB", "placements", "GPU"});
  for (const GpuModel& model : gpu_models())
    table.add({std::string(model.key), std::string(name(model.architecture)),
               fmt::format("{}", model.compute.value), fmt::format("{}", model.memory_slices.value),
               or_unknown(model.sms), or_unknown(model.memory),
               std::string(known(model.placements_inferred)), std::string(model.title)});
  fmt::print("{}\ncompute and memory count slices. `cleave gpu MODEL` shows a model's profiles.\n",
             table.text());
  return 0;
}

void show_model(const StateGraph& graph) {
  const GpuModel& model = graph.geometry().model();
  fmt::print("{}: {}, {}; {} compute slices, {} memory slices, {} SMs ({} with MIG), {} MiB\n\n",
             model.key, model.title, name(model.architecture), model.compute.value,
             model.memory_slices.value, or_unknown(model.sms), or_unknown(model.sms_in_mig),
             or_unknown(model.memory));
  Table table({"profile", "compute", "memory", "MiB", "SMs", "most", "starts, preferred first"});
  bool inferred_starts = false, inferred_order = false;
  for (const Profile* profile : graph.geometry().profile_list()) {
    inferred_starts = inferred_starts || profile->starts_inferred;
    inferred_order = inferred_order || profile->preference_inferred;
    table.add({std::string(profile->name), fmt::format("{}", profile->compute.value),
               fmt::format("{}", profile->memory.value), or_unknown(profile->usable),
               or_unknown(profile->sms), fmt::format("{}", profile->max_instances),
               fmt::format("{}{}{}", fmt::join(profile->starts.preferred(), " "),
                           profile->starts_inferred ? " *" : "",
                           profile->preference_inferred ? " ~" : "")});
  }
  fmt::print("{}\n", table.text());
  if (inferred_starts)
    fmt::print(
        "* inferred from the rest of the family: no capture of this GPU shows these starts\n");
  if (inferred_order)
    fmt::print("~ the order of these starts is inferred; which starts there are is not affected\n");
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
  Json json = header(*chosen->model);
  json["profiles"] = Json::array();
  for (const Profile* profile : graph->geometry().profile_list())
    json["profiles"].push_back(to_json(*profile));
  json["states"] = graph->size();
  json["maximal_states"] = graph->maximal_states();
  json["maximal_multisets"] = graph->maximal_multisets();
  print(json);
  return 0;
}

}  // namespace

void add_gpu(CommandLine& program, Run& run) {
  auto options = std::make_shared<Options>();
  CommandLine* command = add_command(
      program, "gpu",
      "The GPU models that Cleave knows; for one model, its profiles and its number of states",
      "cleave gpu A100-40GB --profiles five");
  command->add_option("MODEL", options->model,
                      "Model key or the driver's name for it; all models by default");
  add_profiles(*command, options->profiles);
  add_json(*command, options->json);
  command->callback([options, &run] { run = [options] { return gpu(*options); }; });
}

}  // namespace cleave::cli
