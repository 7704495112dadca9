// `cleave gpu [MODEL]`: what is known of GPU models.

#include <algorithm>

#include "base/format.hpp"
#include "base/json.hpp"
#include "cli/columns.hpp"
#include "cli/command.hpp"
#include "cli/say.hpp"
#include "forecast/choice/wasted_resources.hpp"
#include "graph/state_graph.hpp"
#include "model/gpu_model.hpp"
#include "physics/link.hpp"
#include "physics/memory_bandwidth.hpp"

namespace cleave::cli {

namespace {

struct GpuCommandOptions {
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

/// A profile, and what it means for a GPU that is filled with it and for the link.
struct ShownProfile : Profile {
  std::optional<double> bandwidth;  // GiB/s
  WastedResources wasted;           // memory in MiB
  double link, direct;              // GiB/s, to the device
};

constexpr double gib_of_gb = 1e9 / (1 << 30);

std::vector<ShownProfile> shown_profiles(const Geometry& geometry) {
  const GpuModel& model = geometry.model();
  const HostLink& link = host_link(model);
  const std::vector<WasteRow> waste = waste_table(geometry);
  std::vector<ShownProfile> all;
  for (const Profile* profile : geometry.profile_list()) {
    const MeasuredBandwidth* measured = measured_bandwidth(model, profile->name);
    all.push_back({*profile, measured ? std::optional(measured->gib_per_s) : std::nullopt,
                   std::ranges::find(waste, profile->name, &WasteRow::profile)->achievable,
                   link.instance_gb_per_s * gib_of_gb,
                   link.direct_rate(profile->compute) * gib_of_gb});
  }
  return all;
}

std::optional<int> copy_engines(const ShownProfile& profile) {
  return profile.engines ? std::optional(profile.engines->copy) : std::nullopt;
}

const Columns<ShownProfile> profile_columns = {
    {"name", "profile", &Profile::name},
    {"compute_slices", "compute", &Profile::compute},
    {"memory_slices", "memory", &Profile::memory},
    {"memory_mib", "MiB", &Profile::usable, or_word("unknown")},
    {"sms", "SMs", &Profile::sms, or_word("unknown")},
    {"max_instances", "most", &Profile::max_instances},
    {"sms_wasted", "SMs lost", [](const ShownProfile& p) { return p.wasted.sms; },
     decimals(0, 1, "?")},
    {"memory_wasted_mib", "MiB lost", [](const ShownProfile& p) { return p.wasted.memory; },
     decimals(0, 1, "?")},
    {"bandwidth_gib_per_s", "GiB/s", &ShownProfile::bandwidth, decimals(0, 1, "?")},
    {text_only, "CEs", copy_engines, or_word("?")},
    {"link_gib_per_s", "by CEs", &ShownProfile::link, decimals(1)},
    {"link_direct_gib_per_s", "direct", &ShownProfile::direct, decimals(1)},
    {"starts", "starts, preferred first", [](const Profile& p) { return p.starts.preferred(); },
     starts_text},
    {"starts_are", json_only, [](const Profile& p) { return known(p.starts_inferred); }},
    {"order_is", json_only, [](const Profile& p) { return known(p.preference_inferred); }},
    {"id", json_only, &Profile::id},
    {"nvml_profile", json_only, &Profile::nvml_profile},
    {"engines", json_only, [](const ShownProfile& p) {
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
    say("{}\ncompute and memory count slices. `cleave gpu MODEL` shows a model's profiles.\n",
        text_rows(model_columns, gpu_models()));
  return 0;
}

/// Of the bandwidths, null where none was measured.
const MeasuredBandwidth* bandwidth_of(const GpuModel& model) {
  return measured_bandwidth(model, model.largest().name);
}

void print_sources(const GpuModel& model) {
  const HostLink& link = host_link(model);
  say("lost: by a GPU that is filled with the profile, as in `cleave waste`\n");
  if (const MeasuredBandwidth* measured = bandwidth_of(model))
    say("GiB/s: of its memory; {}\n", measured->source);
  else
    say("GiB/s: of its memory; not measured on this model\n");
  say("link: {:.1f} GiB/s from the host, by copy engines (CEs) and by its SMs directly; {}{}\n\n",
      link.gb_per_s * gib_of_gb, link.inferred ? "inferred: " : "", link.source);
}

void show_model(const StateGraph& graph) {
  const GpuModel& model = graph.geometry().model();
  say("{}: {}, {}; {} compute slices, {} memory slices, {} SMs ({} with MIG), {} MiB\n\n",
      model.key, model.title, name(model.architecture), model.compute.value,
      model.memory_slices.value, or_unknown(model.sms), or_unknown(model.sms_in_mig),
      or_unknown(model.memory));
  const std::vector<ShownProfile> profiles = shown_profiles(graph.geometry());
  say("{}\n", text_rows(profile_columns, profiles));
  print_sources(model);
  const bool inferred_starts = std::ranges::any_of(profiles, &Profile::starts_inferred),
             inferred_order = std::ranges::any_of(profiles, &Profile::preference_inferred);
  if (inferred_starts)
    say("* inferred from the rest of the family: no capture of this GPU shows these starts\n");
  if (inferred_order)
    say("~ the order of these starts is inferred; the set of starts is not affected\n");
  if (inferred_starts || inferred_order) say("\n");
  say("{} legal states, {} maximal ({} as multisets of profiles)\n", graph.size(),
      graph.maximal_states(), graph.maximal_multisets());
}

Json sources_json(const GpuModel& model) {
  const HostLink& link = host_link(model);
  const MeasuredBandwidth* measured = bandwidth_of(model);
  return {{"bandwidth_source", measured ? Json(measured->source) : Json(nullptr)},
          {"link",
           {{"gib_per_s", link.gb_per_s * gib_of_gb},
            {"rates_are", link.inferred ? "inferred" : "measured"},
            {"source", link.source}}}};
}

Result<int> gpu(const GpuCommandOptions& options) {
  if (options.model.empty()) return list_models(options.json);
  const auto chosen = choose_profiles(options.model, options.profiles);
  if (!chosen) return std::unexpected(chosen.error());
  const auto graph = StateGraph::of(*chosen->model, chosen->profiles);
  if (!options.json) {
    show_model(*graph);
    return 0;
  }
  Json json = json_row(model_columns, *chosen->model);
  json["profiles"] = json_rows(profile_columns, shown_profiles(graph->geometry()));
  json.update(sources_json(*chosen->model));
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
  command
      ->add_option("MODEL", options.model,
                   "Model key or the driver's name for it; all models by default")
      ->check(not_empty());
  add_profiles(*command, options.profiles);
  add_json(*command, options.json);
}

}  // namespace cleave::cli
