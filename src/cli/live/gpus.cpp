// `cleave gpus`: lists the GPUs of this machine, or of a simulated node.

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/tell.hpp"
#include "base/text.hpp"
#include "cli/columns.hpp"
#include "cli/daemon/claimed_instances.hpp"
#include "cli/live/live.hpp"
#include "cli/say.hpp"
#include "cli/table.hpp"
#include "model/layout_text.hpp"

namespace cleave::cli {

namespace {

struct Row {
  GpuIndex index{};
  Result<LiveGpu> view;
};

std::string mig_text(const std::optional<MigMode>& mig) {
  if (!mig) return "cannot";
  const std::string now = mig->current ? "on" : "off";
  return mig->current == mig->pending
             ? now
             : fmt::format("{}, {} pending", now, mig->pending ? "on" : "off");
}

std::string power_text(const LiveGpu& gpu) {
  if (!gpu.power_mw) return "unknown";
  std::string text = fmt::format("{:.0f} W", *gpu.power_mw / 1000.0);
  if (gpu.power_limit_mw)
    text = fmt::format("{:.0f} of {:.0f} W", *gpu.power_mw / 1000.0, *gpu.power_limit_mw / 1000.0);
  return text;
}

Json model_json(const LiveGpu& gpu) {
  const GpuModel* table = gpu.geometry ? gpu.geometry->table() : nullptr;
  if (!gpu.geometry)
    if (const auto by_name = find_gpu_model(gpu.facts.name)) table = *by_name;
  return table != nullptr ? Json(table->key) : Json(nullptr);
}

Json mig_json(const LiveGpu& gpu) {
  if (!gpu.mig) return nullptr;
  return {{"enabled", gpu.mig->current}, {"pending", gpu.mig->pending}};
}

/// Without the claims, which row_json() adds.
Json instances_json(const LiveGpu& gpu) {
  Json instances = Json::array();
  for (const InstanceView& instance : gpu.instances)
    instances.push_back({{"profile", instance.live.profile},
                         {"start", instance.live.placement.start},
                         {"owner", owner_json(instance.owner)}});
  for (const MigDevice& device : gpu.visible)
    instances.push_back(
        {{"profile", nullptr}, {"start", nullptr}, {"owner", nullptr}, {"uuid", device.uuid}});
  return instances;
}

Json unread_json(const LiveGpu& gpu) {
  Json unread = Json::array();
  for (const Error& error : gpu.unread) unread.push_back(error.message);
  return unread;
}

std::optional<double> watts(const std::optional<std::uint32_t>& milliwatts) {
  return milliwatts ? std::optional(*milliwatts / 1000.0) : std::nullopt;
}

using G = LiveGpu;
const Columns<LiveGpu> gpu_columns = {
    {"gpu", "GPU", [](const G& gpu) { return static_cast<std::uint32_t>(gpu.facts.index); }},
    {"name", "name", [](const G& gpu) { return gpu.facts.name; },
     [](const G& gpu) { return shown(gpu.facts.name); }},
    {"uuid", json_only, [](const G& gpu) { return gpu.facts.uuid; }},
    {"model", json_only, model_json},
    {"mig", "MIG", mig_json, [](const G& gpu) { return mig_text(gpu.mig); }},
    {"picture", "layout", [](const G& gpu) { return picture(gpu); }},
    {"instances", json_only, instances_json},
    {"unread", json_only, unread_json},
    {"memory_used_mib", "memory",
     [](const G& gpu) { return gpu.memory ? mebibytes(gpu.memory->used_bytes) : Json(nullptr); },
     [](const G& gpu) { return memory_text(gpu.memory); }},
    {"memory_mib", json_only,
     [](const G& gpu) { return gpu.memory ? mebibytes(gpu.memory->total_bytes) : Json(nullptr); }},
    {"power_w", "power", [](const G& gpu) { return watts(gpu.power_mw); }, power_text},
    {"power_limit_w", json_only, [](const G& gpu) { return watts(gpu.power_limit_mw); }},
    {"processes", "processes", [](const G& gpu) { return to_json(gpu.processes); },
     [](const G& gpu) { return fmt::format("{}", gpu.processes.size()); }},
    {text_only, "UUID", [](const G& gpu) { return gpu.facts.uuid; }}};

Json row_json(const Row& row, const ClaimedInstances& claims) {
  if (row.view) {
    Json json = json_row(gpu_columns, *row.view);
    for (Json& each : json["instances"])
      each["claim"] =
          each["start"].is_null() ? Json(nullptr) : claims.key(*row.view, each["start"]);
    return json;
  }
  const Error& error = row.view.error();
  return {{"gpu", static_cast<std::uint32_t>(row.index)},
          {"error", {{"message", error.message}, {"remedy", error.remedy}}}};
}

std::vector<std::string> row_cells(const Row& row) {
  if (row.view) return cells(gpu_columns, *row.view);
  std::vector<std::string> all(headings(gpu_columns).size());
  all[0] = fmt::format("{}", static_cast<std::uint32_t>(row.index));
  all[1] = "unreachable";
  return all;
}

void print_text(const LiveNode& node, const DriverFacts& driver, const std::vector<Row>& rows,
                const ClaimedInstances& claims) {
  const std::string of = node.library.sim_node
                             ? fmt::format("simulated, node {}", node.library.sim_node->string())
                             : std::string("of this machine");
  say("{} {}, driver {}\n", counted(rows.size(), "GPU"), of, shown(driver.driver_version));
  if (rows.empty()) return;
  Table table(headings(gpu_columns));
  for (const Row& row : rows) table.add(row_cells(row));
  say("\n{}", table.text());
  std::string claimed;
  for (const Row& row : rows)
    if (row.view) claimed += claims.lines(*row.view);
  if (!claimed.empty()) say("\n{}", claimed);
  for (const Row& row : rows) {
    if (!row.view) {
      say("\n{}\n", row.view.error().text());
    } else {
      for (const Error& unread : row.view->unread) say("\n{}\n", unread.text());
      if (!row.view->visible.empty()) say("visible MIG devices of {}:\n", row.view->place());
      for (const MigDevice& device : row.view->visible) say("  {}\n", shown(device.uuid));
    }
  }
}

Result<int> gpus(const LiveOptions& options) {
  const auto node = open_node(options);
  if (!node) return std::unexpected(node.error());
  const auto indices = all_gpus(*node->door);
  if (!indices) return std::unexpected(indices.error());
  // Without the ledger the GPUs can still be shown, but not who made their instances.
  const auto ledger = Ledger::open(node->state, program_name);
  if (!ledger) tell("cleave: the owners of the instances are unknown: {}\n", ledger.error().text());
  std::vector<Row> rows;
  for (const GpuIndex index : *indices) {
    rows.push_back({index, view_gpu(*node->door, index)});
    if (ledger && rows.back().view) set_owners(*rows.back().view, ledger->state());
  }
  const DriverFacts driver = node->door->driver();
  const auto claims = ClaimedInstances::of_daemon();
  if (!options.json) {
    print_text(*node, driver, rows, claims);
    return 0;
  }
  Json list = Json::array();
  for (const Row& row : rows) list.push_back(row_json(row, claims));
  print(Json{{"simulated", node->library.sim_node.has_value()},
             {"driver", driver.driver_version},
             {"gpus", list},
             {"ledger_error", ledger ? Json(nullptr) : error_json(ledger.error())}});
  return 0;
}

}  // namespace

void add_gpus(CommandLine& program, Run& run) {
  const auto [command, options] =
      add_command(program, run, "gpus", "List the GPUs of this machine, or of a simulated node",
                  "cleave gpus", gpus);
  add_live(*command, options);
}

}  // namespace cleave::cli
