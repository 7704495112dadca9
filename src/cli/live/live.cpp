#include "cli/live/live.hpp"

#include <unistd.h>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "cli/interrupts.hpp"
#include "device/state_directory.hpp"
#include "model/layout_text.hpp"
#include "nvmlsim/sim_node.hpp"

namespace cleave::cli {

namespace fs = std::filesystem;

void add_live(CommandLine& command, LiveOptions& options) {
  command
      .add_option("--nvml", options.nvml,
                  "NVML library to open; by default Cleave's simulated one if CLEAVE_SIM_NODE "
                  "names a node, else the driver's")
      ->check(not_empty());
  command
      .add_option("--state", options.state,
                  "State directory with the ledger and the locks; by default the user's, or the "
                  "simulated node's own")
      ->check(not_empty());
  add_json(command, options.json);
}

Option* add_gpu_choice(CommandLine& command, std::string& gpu) {
  return command.add_option("--gpu", gpu, "The GPU's index or UUID")->check(not_empty());
}

Patience until_interrupted() {
  Patience patience;
  patience.enough = [] { return Interrupts::came() != 0; };
  return patience;
}

Result<LibraryChoice> choose_library(const LiveOptions& options) {
  const auto node = sim_node_of_environment();
  if (!options.nvml.empty()) {
    // A name without a folder is looked for where libraries are, unless it stands right here.
    std::error_code failed;
    const bool here =
        options.nvml.find('/') == std::string::npos && fs::exists(options.nvml, failed);
    LibraryChoice choice{here ? "./" + options.nvml : options.nvml, {}};
    if (node && is_simulated_library(options.nvml)) choice.sim_node = node;
    return choice;
  }
  if (!node) return LibraryChoice{nvml::library_name, {}};
  const fs::path library = simulated_library();
  std::error_code failed;
  if (!fs::exists(library, failed))
    return fail(ErrorKind::infeasible, library.string(),
                fmt::format("{} is set, but the simulated library is missing", sim_node_variable),
                "build it, or name one with --nvml");
  return LibraryChoice{library.string(), node};
}

Result<fs::path> state_of(const LiveOptions& options, const LibraryChoice& library) {
  StateQuery query = state_query_of_process();
  if (!options.state.empty()) query.given = options.state;
  query.sim_node = library.sim_node;
  return state_directory(query);
}

Result<LiveNode> open_node(const LiveOptions& options) {
  const auto library = choose_library(options);
  if (!library) return std::unexpected(library.error());
  const auto state = state_of(options, *library);
  if (!state) return std::unexpected(state.error());
  if (library->sim_node)
    if (const auto node = look_at_sim_node(*library->sim_node); !node)
      return fail_at(sim_node_variable, node.error());
  auto door = NvmlDoor::open(library->file);
  if (!door) {
    Error error = door.error();
    if (options.nvml.empty() && !library->sim_node)
      error.remedy += fmt::format("{}or try simulated GPUs: `cleave sim-node create`",
                                  error.remedy.empty() ? "" : "; ");
    return std::unexpected(std::move(error));
  }
  return LiveNode{*library, std::move(*door), *state};
}

Result<std::vector<GpuIndex>> all_gpus(Door& door) {
  const auto count = door.gpu_count();
  if (!count) return std::unexpected(error_of(count.error(), "GPUs"));
  std::vector<GpuIndex> gpus;
  for (std::uint32_t i = 0; i < *count; ++i) gpus.push_back(GpuIndex{i});
  return gpus;
}

Result<GpuIndex> find_gpu(Door& door, const std::string& gpu) {
  const auto gpus = all_gpus(door);
  if (!gpus) return std::unexpected(gpus.error());
  if (const auto index = parse_integer(gpu)) {
    if (*index >= 0 && *index < static_cast<std::int64_t>(gpus->size()))
      return GpuIndex{static_cast<std::uint32_t>(*index)};
  } else {
    std::optional<Error> not_asked;
    for (const GpuIndex index_of_gpu : *gpus) {
      const auto facts = door.gpu(index_of_gpu);
      if (facts && facts->uuid == gpu) return index_of_gpu;
      if (!facts && !not_asked) not_asked = error_of(facts.error(), place_of(index_of_gpu));
    }
    if (not_asked)
      return fail(ErrorKind::infeasible, "--gpu",
                  fmt::format("none of the GPUs that answer is '{}', and {} did not answer: {}",
                              shown(gpu), not_asked->place, not_asked->message),
                  not_asked->remedy);
  }
  const std::string there = gpus->empty()       ? "the driver shows no GPU"
                            : gpus->size() == 1 ? "there is one GPU, 0"
                                                : fmt::format("there are {} GPUs, 0 to {}",
                                                              gpus->size(), gpus->size() - 1);
  return fail(ErrorKind::bad_input, "--gpu", fmt::format("there is no GPU '{}'", shown(gpu)),
              there);
}

Result<const Geometry*> geometry_of(const LiveGpu& gpu) {
  if (!gpu.mig && !gpu.unread.empty()) return std::unexpected(gpu.unread.front());
  if (!gpu.mig)
    return fail(ErrorKind::infeasible, gpu.place(),
                fmt::format("the {} cannot be partitioned", shown(gpu.facts.name)));
  if (!gpu.mig->current)
    return fail(ErrorKind::infeasible, gpu.place(), "MIG is off",
                gpu.mig->pending ? "it turns on when the GPU is reset or the machine reboots"
                                 : fmt::format("switch it on with `cleave mig enable --gpu {}`",
                                               static_cast<std::uint32_t>(gpu.facts.index)));
  if (!gpu.unread.empty()) return std::unexpected(gpu.unread.front());
  if (!gpu.geometry) return fail(ErrorKind::internal, gpu.place(), "its profiles were not read");
  return &gpu.geometry->geometry();
}

Result<const Profile*> find_profile(const LiveGpu& gpu, std::string_view name) {
  const auto geometry = geometry_of(gpu);
  if (!geometry) return std::unexpected(geometry.error());
  const Profile* profile = (*geometry)->model().find(name);
  if (profile != nullptr) return profile;
  return fail(ErrorKind::bad_input, gpu.place(),
              fmt::format("the {} has no profile '{}'", (*geometry)->model().key, shown(name)),
              suggestion(name, (*geometry)->profile_names()));
}

std::string picture(const LiveGpu& gpu) {
  if (!gpu.mig || !gpu.mig->current) return "-";
  if (!gpu.geometry || !gpu.unread.empty()) return "?";
  PlacementSet held, idle, foreign;
  for (const InstanceView& instance : gpu.instances) {
    if (!instance.placement) continue;
    PlacementSet& set = instance.owner != Ownership::ours ? foreign
                        : instance.processes.empty()      ? idle
                                                          : held;
    set.insert(*instance.placement);
  }
  return fmt::format("[{}]", draw(gpu.geometry->geometry(), held, idle, foreign));
}

Json mebibytes(std::optional<std::uint64_t> bytes) {
  return bytes ? Json(*bytes >> 20) : Json(nullptr);
}

Json to_json(const std::vector<LiveProcess>& processes) {
  Json list = Json::array();
  for (const LiveProcess& process : processes)
    list.push_back({{"pid", process.pid}, {"memory_mib", mebibytes(process.memory_bytes)}});
  return list;
}

Json owner_json(Ownership owner) {
  return owner == Ownership::unknown ? Json(nullptr) : Json(name(owner));
}

std::string memory_text(const std::optional<MemoryUse>& memory) {
  if (!memory) return "unknown";
  return fmt::format("{} of {} MiB", memory->used_bytes >> 20, memory->total_bytes >> 20);
}

namespace {

Json computes_json(const InstanceRow& row) {
  Json computes = Json::array();
  if (row.device != nullptr)
    computes.push_back(
        {{"compute_instance", static_cast<std::uint32_t>(row.device->compute_instance)},
         {"uuid", row.device->uuid},
         {"start", nullptr},
         {"compute_slices", nullptr}});
  else
    for (const LiveComputeInstance& compute : row.instance->live.computes)
      computes.push_back({{"compute_instance", static_cast<std::uint32_t>(compute.id)},
                          {"uuid", compute.uuid},
                          {"start", compute.placement.start},
                          {"compute_slices", compute.placement.size}});
  return computes;
}

std::string uuids_text(const InstanceRow& row) {
  if (row.device != nullptr) return shown(row.device->uuid);
  std::vector<std::string> uuids;
  for (const LiveComputeInstance& compute : row.instance->live.computes)
    uuids.push_back(compute.uuid);
  return uuids.empty() ? "no compute instance" : fmt::format("{}", fmt::join(uuids, " "));
}

/// What only NVML's handle of a whole instance tells; nothing of a device that is only visible.
template <class Get>
auto of_instance(Get get) {
  return [get](const InstanceRow& row) {
    return row.instance != nullptr ? Json(get(*row.instance)) : Json(nullptr);
  };
}

}  // namespace

const Columns<InstanceRow>& instance_columns() {
  using Row = InstanceRow;
  static const Columns<Row> columns = {
      {"gpu", "GPU",
       [](const Row& row) { return static_cast<std::uint32_t>(row.gpu->facts.index); }},
      {"gpu_instance", "instance",
       [](const Row& row) {
         return static_cast<std::uint32_t>(row.instance != nullptr ? row.instance->live.id
                                                                   : row.device->gpu_instance);
       }},
      {"profile", "profile", of_instance([](const auto& each) { return each.live.profile; }),
       or_word("unknown")},
      {"start", "start", of_instance([](const auto& each) { return each.live.placement.start; }),
       or_word("unknown")},
      {"memory_slices", json_only,
       of_instance([](const auto& each) { return each.live.placement.size; })},
      {"compute_instances", json_only, computes_json},
      {"owner", "owner", of_instance([](const auto& each) { return owner_json(each.owner); }),
       or_word("unknown")},
      {text_only, "memory", [](const Row& row) { return memory_text(row.memory()); }},
      {"processes", "processes", [](const Row& row) { return to_json(row.processes()); },
       [](const Row& row) {
         return row.processes().empty() ? "none" : pids_text(row.processes());
       }},
      {text_only, "MIG UUID", uuids_text},
      {"memory_used_mib", json_only,
       [](const Row& row) {
         return row.memory() ? mebibytes(row.memory()->used_bytes) : Json(nullptr);
       }},
      {"memory_mib", json_only, [](const Row& row) {
         return row.memory() ? mebibytes(row.memory()->total_bytes) : Json(nullptr);
       }}};
  return columns;
}

}  // namespace cleave::cli
