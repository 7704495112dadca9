// `cleave doctor`: checks NVML and Cleave's own state, and says what follows from what is missing.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <sstream>
#include <utility>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "cli/daemon/daemon_client.hpp"
#include "cli/live/live.hpp"
#include "cli/say.hpp"
#include "cli/table.hpp"
#include "device/recording.hpp"
#include "nvmlsim/sim_node.hpp"

namespace cleave::cli {

namespace {

struct DoctorCommandOptions : LiveOptions {
  std::string record;
  DaemonOptions daemon;
};

enum class Level { good, note, problem };

struct Finding {
  Level level;
  std::string subject, what, remedy;
};

std::string_view name(Level level) {
  constexpr auto names = std::to_array<std::string_view>({"ok", "note", "problem"});
  return names[static_cast<std::size_t>(level)];
}

/// What goes without a function, by the beginning of its name; the first row that fits.
struct MissingRow {
  std::string_view function, without;
};
constexpr auto consequences = std::to_array<MissingRow>({
    {"nvmlDeviceSetMigMode", "`cleave mig` cannot change the mode"},
    {"nvmlDeviceGetMigMode", "no GPU can be partitioned: the driver is older than MIG"},
    {"nvmlDeviceGetGpuInstanceProfileInfoV", "profiles are named by rule and not by the driver"},
    {"nvmlDeviceGetGpuInstanceProfileInfo", "profiles come from Cleave's own tables"},
    {"nvmlDeviceGetGpuInstancePossiblePlacements", "starts come from Cleave's own tables"},
    {"nvmlDeviceCreateGpuInstanceWithPlacement", "instances cannot be made at a chosen start"},
    {"nvmlDeviceCreateGpuInstance", "instances cannot be made at a start of the driver's choice"},
    {"nvmlGpuInstanceCreateComputeInstance", "instances cannot be made"},
    {"nvmlGpuInstanceDestroy", "instances cannot be destroyed"},
    {"nvmlComputeInstanceDestroy", "instances cannot be destroyed"},
    {"nvmlDeviceGetGpuInstances", "instances cannot be listed"},
    {"nvmlGpuInstanceGet", "instances cannot be described"},
    {"nvmlComputeInstanceGetInfo", "MIG UUIDs are not known"},
    {"nvmlDeviceGetMigDeviceHandle", "the memory of an instance is not known"},
    {"nvmlDeviceGetMemoryInfo", "memory is read in the older way, or not at all"},
    {"nvmlDeviceGetComputeRunningProcesses",
     "processes are not seen: an instance may be in use and look idle"},
    {"nvmlDeviceGetMPSComputeRunningProcesses", "clients of MPS are not seen"},
    {"nvmlDeviceGetPowerUsage", "power is not known"},
    {"nvmlDeviceGetEnforcedPowerLimit", "the power limit is not known"},
    {"nvmlDeviceGetTotalEnergyConsumption", "energy is not known"},
    {"nvmlGpm", "how busy instances are is not counted"},
    {"nvmlEvent", "lost GPUs are noticed only at the next call"},
    {"nvmlDeviceRegisterEvents", "lost GPUs are noticed only at the next call"},
    {"nvmlDeviceGetSupportedEventTypes", "lost GPUs are noticed only at the next call"},
});

std::string_view without(std::string_view function) {
  const auto* row = std::ranges::find_if(
      consequences, [&](const MissingRow& each) { return function.starts_with(each.function); });
  return row == consequences.end() ? "a detail is not shown" : row->without;
}

void look_at_library(const LiveNode& node, std::vector<Finding>& findings) {
  const DriverFacts driver = node.door->driver();
  findings.push_back(
      {Level::good, "library",
       fmt::format("{}{}, driver {}{}", shown(driver.library, 200),
                   node.library.sim_node ? " (simulated)" : "", shown(driver.driver_version),
                   driver.nvml_version ? ", NVML " + shown(*driver.nvml_version) : ""),
       ""});
  for (const std::string_view function : driver.missing)
    findings.push_back({Level::note, "library",
                        fmt::format("{} is missing: {}", function, without(function)),
                        "a newer driver has it"});
}

void look_at_gpu(const LiveGpu& gpu, std::vector<Finding>& findings) {
  const std::string what = shown(gpu.facts.name);
  if (!gpu.mig) {
    findings.push_back(
        {Level::note, gpu.place(), fmt::format("{} cannot be partitioned", what), ""});
    return;
  }
  const std::string_view mode = gpu.mig->current ? "on" : "off";
  if (gpu.mig->current != gpu.mig->pending) {
    findings.push_back({Level::note, gpu.place(),
                        fmt::format("{}: MIG is {} and {} is pending", what, mode,
                                    gpu.mig->pending ? "on" : "off"),
                        "it changes when the GPU is reset or the machine reboots"});
  } else {
    findings.push_back({Level::good, gpu.place(), fmt::format("{}: MIG is {}", what, mode), ""});
  }
  if (gpu.geometry && gpu.mig->current && gpu.geometry->from_table())
    findings.push_back({Level::note, gpu.place(),
                        "the driver reports no profiles; Cleave's own table is used", ""});
  for (const Error& unread : gpu.unread)
    findings.push_back({Level::problem, gpu.place(), unread.message, unread.remedy});
}

void look_at_instances(const LiveGpu& gpu, bool locked, std::vector<Finding>& findings) {
  for (const InstanceView& each : gpu.instances) {
    const std::string place = place_of(gpu.facts.index, each.live.id);
    const bool unfinished = each.owner == Ownership::half_made || each.live.computes.empty();
    if (locked && unfinished) {
      findings.push_back(
          {Level::note, place,
           fmt::format("an incomplete {}@{}, on a GPU that a Cleave program is changing right now",
                       each.live.profile, each.live.placement.start),
           "run doctor again when that is done"});
      continue;
    }
    if (each.owner == Ownership::half_made)
      findings.push_back(
          {Level::problem, place,
           fmt::format("a {}@{} that Cleave may have made without recording it", each.live.profile,
                       each.live.placement.start),
           fmt::format("if no other program made it: cleave destroy --gpu {} --instance {} --adopt",
                       static_cast<std::uint32_t>(gpu.facts.index),
                       static_cast<std::uint32_t>(each.live.id))});
    if (each.owner == Ownership::ours && each.live.computes.empty())
      findings.push_back(
          {Level::problem, place,
           fmt::format("a {}@{} of Cleave's without compute instance: no program can use it",
                       each.live.profile, each.live.placement.start),
           fmt::format("cleave destroy --gpu {} --instance {}",
                       static_cast<std::uint32_t>(gpu.facts.index),
                       static_cast<std::uint32_t>(each.live.id))});
    if (each.owner == Ownership::foreign && each.live.computes.empty())
      findings.push_back({Level::note, place,
                          fmt::format("a {}@{} that Cleave did not make has no compute instance",
                                      each.live.profile, each.live.placement.start),
                          ""});
  }
}

void look_at_gpus(const LiveNode& node, const Ledger* ledger, std::vector<Finding>& findings) {
  const auto gpus = all_gpus(*node.door);
  if (!gpus) {
    findings.push_back({Level::problem, "GPUs", gpus.error().message, gpus.error().remedy});
    return;
  }
  if (gpus->empty()) findings.push_back({Level::note, "GPUs", "the driver shows none", ""});
  for (const GpuIndex index : *gpus) {
    auto view = view_gpu(*node.door, index);
    if (!view) {
      findings.push_back(
          {Level::problem, place_of(index), view.error().message, view.error().remedy});
      continue;
    }
    look_at_gpu(*view, findings);
    const auto holder = GpuLock::holder(node.state, view->facts.uuid);
    if (ledger != nullptr) {
      set_owners(*view, ledger->state());
      look_at_instances(*view, holder.has_value(), findings);
    }
    if (holder)
      findings.push_back({Level::note, place_of(index),
                          holder->program.empty() ? std::string("a Cleave program holds its lock")
                                                  : fmt::format("{} (pid {}) holds its lock",
                                                                holder->program, holder->pid),
                          ""});
  }
}

bool may_write(const std::filesystem::path& folder) {
  return ::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) == 0;
}

/// The folder in which a path that is not there would be made, with those between.
std::filesystem::path nearest_folder(std::filesystem::path path) {
  path = std::filesystem::absolute(path).lexically_normal();
  std::error_code failed;
  while (path.has_relative_path() && !std::filesystem::is_directory(path, failed))
    path = path.parent_path();
  return path;
}

/// False where nothing can be written down there, so that no GPU can be changed.
bool look_at_state(const std::filesystem::path& state, std::vector<Finding>& findings) {
  struct stat facts = {};
  const std::string name = shown(state.string(), 200);
  if (::stat(state.c_str(), &facts) != 0) {
    const int why = errno;
    const auto folder = nearest_folder(state);
    if (why != ENOENT || !may_write(folder)) {
      findings.push_back(
          {Level::problem, "state directory",
           why != ENOENT ? fmt::format("{} cannot be read: {}", name, std::strerror(why))
                         : fmt::format("{} does not exist, and this user cannot create it in {}",
                                       name, shown(folder.string(), 200)),
           "run as a user with permission, or name another with --state"});
      return false;
    }
    findings.push_back({Level::good, "state directory",
                        name + " does not exist yet; the first change creates it", ""});
  } else if (!S_ISDIR(facts.st_mode)) {
    findings.push_back({Level::problem, "state directory", name + " is not a directory",
                        "name another with --state"});
    return false;
  } else if (!may_write(state)) {
    findings.push_back({Level::problem, "state directory", name + " cannot be written by this user",
                        "run as its owner, or name another with --state"});
    return false;
  } else if ((facts.st_mode & 0022U) != 0) {
    findings.push_back({Level::problem, "state directory", name + " can be written by others",
                        fmt::format("chmod go-w {}", name)});
  } else {
    findings.push_back({Level::good, "state directory", name, ""});
  }
  return true;
}

std::optional<Ledger> look_at_ledger(const std::filesystem::path& state,
                                     std::vector<Finding>& findings) {
  auto ledger = Ledger::open(state, program_name);
  if (!ledger) {
    findings.push_back({Level::problem, "ledger",
                        fmt::format("{}: {}", ledger.error().place, ledger.error().message),
                        ledger.error().remedy});
    return {};
  }
  if (!ledger->remark().empty()) findings.push_back({Level::note, "ledger", ledger->remark(), ""});
  const std::size_t open = ledger->state().open().size();
  findings.push_back(
      {open == 0 ? Level::good : Level::note, "ledger",
       fmt::format("{}{}", counted(ledger->state().lines(), "line"),
                   open == 0 ? std::string()
                             : fmt::format(", {} begun and not finished", counted(open, "change"))),
       open == 0 ? "" : "the next change of that GPU completes or undoes what it can"});
  return std::move(*ledger);
}

int answer(const DoctorCommandOptions& options, const std::vector<Finding>& findings, bool usable) {
  if (options.json) {
    Json list = Json::array();
    for (const Finding& each : findings)
      list.push_back({{"level", name(each.level)},
                      {"subject", each.subject},
                      {"message", each.what},
                      {"remedy", each.remedy.empty() ? Json(nullptr) : Json(each.remedy)}});
    print(Json{{"usable", usable}, {"findings", list}});
  } else {
    for (const Finding& each : findings) {
      say("{:<8}{}: {}\n", name(each.level), each.subject, each.what);
      if (!each.remedy.empty()) say("        {}\n", each.remedy);
    }
  }
  const bool problem =
      std::ranges::find(findings, Level::problem, &Finding::level) != findings.end();
  return usable && !problem ? 0 : 1;
}

/// False where this user is refused every change.
bool look_at_user(const LibraryChoice& library, std::vector<Finding>& findings) {
  if (::geteuid() == 0) {
    findings.push_back({Level::good, "user", "root", ""});
    return true;
  }
  const auto node =
      library.sim_node ? std::optional(look_at_sim_node(*library.sim_node)) : std::nullopt;
  if (node && *node && (**node).administrator != Administrator::everybody) {
    findings.push_back({Level::problem, "user",
                        "not root, and this simulated node lets only root change GPUs",
                        "run as root"});
    return false;
  }
  findings.push_back({Level::note, "user",
                      "not root: real drivers let only root change GPUs and see all instances",
                      "run as root to change real GPUs"});
  return true;
}

/// What is in the node's folder or in the state directory is not for others to write.
Result<void> is_apart(const DoctorCommandOptions& options, const LibraryChoice& library,
                      const Result<std::filesystem::path>& state) {
  if (options.record.empty()) return {};
  const auto folder = std::filesystem::absolute(options.record).parent_path();
  for (const auto& kept : {state ? std::optional(*state) : std::nullopt, library.sim_node}) {
    std::error_code failed;
    if (kept && std::filesystem::equivalent(folder, *kept, failed))
      return fail(
          ErrorKind::bad_usage, "--record",
          fmt::format("{} would be among files that Cleave keeps", shown(options.record, 200)),
          "write to another folder");
  }
  return {};
}

/// What keeps its jobs apart, if a daemon answers.
void look_at_daemon(const DoctorCommandOptions& options, std::vector<Finding>& findings) {
  auto daemon = open_daemon(options.daemon);
  if (!daemon) return;
  const auto document = daemon->ask_json("GET", "/v1/status");
  if (!document) return;
  const auto status = read_status(*document, "the daemon's answer");
  if (!status) return;
  const std::string subject = "the daemon's jobs";
  for (const std::string& each : status->isolation)
    findings.push_back({Level::good, subject, shown(each, 500), ""});
  for (const std::string& each : status->notices)
    findings.push_back({Level::note, subject, shown(each, 500), "see SECURITY.md"});
}

Result<int> doctor(const DoctorCommandOptions& options) {
  std::vector<Finding> findings;
  const auto library = choose_library(options);
  if (!library) return std::unexpected(library.error());
  const auto state = state_of(options, *library);
  if (const auto apart = is_apart(options, *library, state); !apart)
    return std::unexpected(apart.error());
  const auto node = open_node(options);
  if (node) {
    look_at_library(*node, findings);
  } else {
    Error error = node.error();
    const std::string remedy = std::exchange(error.remedy, {});
    findings.push_back({Level::problem, "library", error.text(), remedy});
  }
  const bool may_change = look_at_user(*library, findings);
  std::optional<Ledger> ledger;
  bool writable = false;
  if (!state) {
    findings.push_back(
        {Level::problem, "state directory", state.error().message, state.error().remedy});
  } else {
    writable = look_at_state(*state, findings);
    ledger = look_at_ledger(*state, findings);
  }
  if (node) look_at_gpus(*node, ledger ? &*ledger : nullptr, findings);
  look_at_daemon(options, findings);
  if (!options.record.empty()) {
    if (!node) return std::unexpected(node.error());
    std::ostringstream text;
    record_reading(*node->door, text);
    if (const auto written = write_whole(options.record, text.str()); !written)
      return std::unexpected(written.error());
    findings.push_back({Level::good, "recording",
                        shown(options.record, 200) + " has all the driver's answers", ""});
  }
  // Without its ledger Cleave changes no GPU.
  return answer(options, findings,
                node.has_value() && ledger.has_value() && writable && may_change);
}

}  // namespace

void add_doctor(CommandLine& program, Run& run) {
  const auto [command, options] =
      add_command(program, run, "doctor", "Check NVML and Cleave's own state, and say what follows",
                  "cleave doctor", doctor);
  command
      ->add_option("--record", options.record,
                   "Write the driver's answers to all read-only calls to this file")
      ->check(not_empty());
  add_live(*command, options);
  add_daemon(*command, options.daemon, false);
}

}  // namespace cleave::cli
