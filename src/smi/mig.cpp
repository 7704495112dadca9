#include "smi/mig.hpp"

#include <algorithm>
#include <array>

#include "base/format.hpp"
#include "base/text.hpp"
#include "device/live_instances.hpp"
#include "smi/mig_rows.hpp"

namespace cleave::smi {

namespace {

using Number = std::uint32_t;
using enum nvml::Return;

constexpr int not_found_code = static_cast<int>(not_found);

template <class Id>
Number number(Id id) {
  return static_cast<Number>(id);
}

/// What could not be done, and the summary below it.
Outcome failed(const Refusal& refusal, std::string text, const std::string& what,
               std::string_view plural) {
  const std::string why = words_of(refusal.code);
  text += fmt::format("Unable to {}: {}\nFailed to {}: {}\n", what, why, plural, why);
  return {static_cast<int>(refusal.code), std::move(text)};
}

bool is_chosen(const std::vector<Number>& chosen, Number id) {
  return chosen.empty() || std::ranges::find(chosen, id) != chosen.end();
}

template <class Row>
Outcome listed(const std::vector<Number>& gpus, std::string_view things,
               const std::function<DriverAnswer<std::vector<Row>>(Number)>& read,
               const std::function<bool(const Row&)>& wanted,
               std::string (*print)(const std::vector<Row>&)) {
  std::vector<Row> all;
  for (const Number gpu : gpus) {
    const auto rows = read(gpu);
    if (!rows)
      return {static_cast<int>(rows.error().code),
              fmt::format("Failed to display {}: {}\n", things, words_of(rows.error().code))};
    std::ranges::copy_if(*rows, std::back_inserter(all), wanted);
  }
  if (all.empty())
    return {not_found_code, fmt::format("No {} found: {}\n", things, words_of(not_found))};
  return {0, print(all)};
}

/// What was asked for with `-cgi` or `-cci`: a profile and perhaps its start.
struct AskedProfile {
  std::string profile;
  std::optional<Number> start;
};

std::optional<AskedProfile> parse(std::string_view word) {
  const std::size_t colon = word.find(':');
  AskedProfile asked{std::string(trimmed(word.substr(0, colon))), {}};
  if (asked.profile.starts_with("MIG ")) asked.profile.erase(0, 4);
  if (colon == std::string_view::npos) return asked;
  const auto start = parse_integer(trimmed(word.substr(colon + 1)));
  if (!start || *start < 0 || *start > 99) return {};
  asked.start = static_cast<Number>(*start);
  return asked;
}

bool is_named(const AskedProfile& asked, Number id, std::string_view name) {
  const auto given = parse_integer(asked.profile);
  return given ? *given == std::int64_t{id} : asked.profile == name;
}

/// Creates instances on one GPU, one after the other.
class Creation {
 public:
  Creation(Door& door, Number gpu) : door_(&door), gpu_(gpu) {}

  /// Whether it was made; otherwise `outcome` says why.
  bool make_gpu_instance(const AskedProfile& asked, bool with_compute) {
    const auto profiles = named_profiles(*door_, gpu_);
    const NamedProfile* found = nullptr;
    if (profiles)
      for (const NamedProfile& each : *profiles)
        if (is_named(asked, number(each.profile.id), each.name)) found = &each;
    const std::string what =
        fmt::format("create a GPU instance on GPU {:>2} using profile {}", gpu_, asked.profile);
    if (found == nullptr)
      return refused(profiles ? Refusal{invalid_argument, {}} : profiles.error(), what,
                     "create GPU instances");
    std::optional<Span> placement;
    if (asked.start) {
      const auto size = slices_of(found->profile.id);
      placement = Span{*asked.start, size};
    }
    const auto made = door_->create_gpu_instance(GpuIndex{gpu_}, found->profile.id, placement);
    if (!made) return refused(made.error(), what, "create GPU instances");
    outcome.text += fmt::format(
        "Successfully created GPU instance ID {:>2} on GPU {:>2} using profile MIG {} (ID {:>2})\n",
        number(made->id), gpu_, found->name, number(found->profile.id));
    return !with_compute || make_compute_instance({*made, *found}, {});
  }

  /// Without a profile, one that takes all of the GPU instance.
  bool make_compute_instance(const NamedInstance& in, const std::optional<AskedProfile>& asked) {
    const auto profiles = door_->compute_profiles(GpuIndex{gpu_}, in.instance.id);
    const DriverComputeProfile* found = nullptr;
    if (profiles && !asked) found = whole_instance_profile(*profiles, in.of.profile.slices);
    if (profiles && asked)
      for (const DriverComputeProfile& each : *profiles)
        if (is_named(*asked, number(each.id), compute_name(in.of, each.slices))) found = &each;
    const std::string what =
        fmt::format("create a compute instance on GPU {:>2} GPU instance ID {:>2} using profile {}",
                    gpu_, number(in.instance.id), asked ? asked->profile : in.of.name);
    constexpr auto plural = "create compute instances";
    if (found == nullptr)
      return refused(profiles ? Refusal{invalid_argument, {}} : profiles.error(), what, plural);
    std::optional<Span> placement;
    if (asked && asked->start) placement = Span{*asked->start, found->slices};
    const auto made =
        door_->create_compute_instance(GpuIndex{gpu_}, in.instance.id, found->id, placement);
    if (!made) return refused(made.error(), what, plural);
    outcome.text += fmt::format(
        "Successfully created compute instance ID {:>2} on GPU {:>2} GPU instance ID {:>2} using "
        "profile MIG {} (ID {:>2})\n",
        number(made->id), gpu_, number(in.instance.id), compute_name(in.of, found->slices),
        number(found->id));
    return true;
  }

  Outcome outcome;

 private:
  bool refused(const Refusal& refusal, const std::string& what, std::string_view plural) {
    outcome = failed(refusal, std::move(outcome.text), what, plural);
    return false;
  }
  Number slices_of(ProfileId profile) {
    const auto placements = door_->placements(GpuIndex{gpu_}, profile);
    return placements && !placements->empty() ? placements->front().size : 0;
  }

  Door* door_;
  Number gpu_;
};

/// Does this for each GPU until it fails.
template <class Do>
Outcome on_each(const std::vector<Number>& gpus, Do act) {
  Outcome all;
  for (const Number gpu : gpus) {
    Outcome one = act(gpu);
    all.text += one.text;
    all.code = one.code;
    if (all.code != 0) break;
  }
  return all;
}

/// The profiles as they were asked for; invalid_argument where one cannot be read.
std::optional<std::vector<AskedProfile>> parse_all(const std::vector<std::string>& words) {
  std::vector<AskedProfile> list;
  for (const std::string& word : words) {
    auto asked = parse(word);
    if (!asked || asked->profile.empty()) return {};
    list.push_back(std::move(*asked));
  }
  return list;
}

Outcome not_a_profile(const MigRequest& request) {
  return {static_cast<int>(invalid_argument),
          fmt::format("Invalid profile in '{}': expected numbers or names, with ':start' or "
                      "without, such as 9, 3g.20gb or 9:4\n",
                      fmt::join(request.profiles, ","))};
}

Outcome create_gpu_instances(Door& door, const MigRequest& request,
                             const std::vector<Number>& gpus) {
  const auto asked = parse_all(request.profiles);
  if (!asked) return not_a_profile(request);
  return on_each(gpus, [&](Number gpu) {
    Creation creation(door, gpu);
    for (const AskedProfile& each : *asked)
      if (!creation.make_gpu_instance(each, request.with_compute)) break;
    return creation.outcome;
  });
}

/// Does this with the chosen GPU instances of each GPU until it fails; there must be some.
template <class Do>
Outcome on_chosen_instances(Door& door, const MigRequest& request, const std::vector<Number>& gpus,
                            Do act) {
  bool any = false;
  Outcome all = on_each(gpus, [&](Number gpu) -> Outcome {
    auto instances = named_instances(door, gpu);
    if (!instances)
      return {static_cast<int>(instances.error().code),
              fmt::format("Failed to list GPU instances: {}\n", words_of(instances.error().code))};
    std::erase_if(*instances, [&](const NamedInstance& each) {
      return !is_chosen(request.gpu_instances, number(each.instance.id));
    });
    any = any || !instances->empty();
    return act(gpu, *instances);
  });
  if (!any && all.code == 0)
    return {not_found_code, fmt::format("No GPU instances found: {}\n", words_of(not_found))};
  return all;
}

Outcome create_compute_instances(Door& door, const MigRequest& request,
                                 const std::vector<Number>& gpus) {
  const auto asked = parse_all(request.profiles);
  if (!asked) return not_a_profile(request);
  const auto create = [&](Number gpu, const std::vector<NamedInstance>& instances) {
    Creation creation(door, gpu);
    for (const NamedInstance& in : instances) {
      if (asked->empty() && !creation.make_compute_instance(in, {})) return creation.outcome;
      for (const AskedProfile& each : *asked)
        if (!creation.make_compute_instance(in, each)) return creation.outcome;
    }
    return creation.outcome;
  };
  return on_chosen_instances(door, request, gpus, create);
}

Outcome destroy_gpu_instances(Door& door, const MigRequest& request,
                              const std::vector<Number>& gpus) {
  const auto destroy = [&](Number gpu, const std::vector<NamedInstance>& instances) {
    Outcome outcome;
    for (const NamedInstance& each : instances) {
      const Number id = number(each.instance.id);
      if (const auto gone = door.destroy_gpu_instance(GpuIndex{gpu}, each.instance.id); !gone)
        return failed(gone.error(), std::move(outcome.text),
                      fmt::format("destroy GPU instance ID {:>2} from GPU {:>2}", id, gpu),
                      "destroy GPU instances");
      outcome.text +=
          fmt::format("Successfully destroyed GPU instance ID {:>2} from GPU {:>2}\n", id, gpu);
    }
    return outcome;
  };
  return on_chosen_instances(door, request, gpus, destroy);
}

Outcome destroy_compute_instances(Door& door, const MigRequest& request,
                                  const std::vector<Number>& gpus) {
  bool any = false;
  Outcome all = on_each(gpus, [&](Number gpu) {
    Outcome outcome;
    const auto rows = compute_instance_rows(door, gpu);
    if (!rows) return failed(rows.error(), {}, "list compute instances", "list compute instances");
    for (const ComputeInstanceRow& row : *rows) {
      if (!is_chosen(request.gpu_instances, row.gpu_instance) ||
          !is_chosen(request.compute_instances, row.id))
        continue;
      any = true;
      const std::string which =
          fmt::format("compute instance ID {:>2} from GPU {:>2} GPU instance ID {:>2}", row.id, gpu,
                      row.gpu_instance);
      const auto gone = door.destroy_compute_instance(
          GpuIndex{gpu}, GpuInstanceId{row.gpu_instance}, ComputeInstanceId{row.id});
      if (!gone)
        return failed(gone.error(), std::move(outcome.text), "destroy " + which,
                      "destroy compute instances");
      outcome.text += fmt::format("Successfully destroyed {}\n", which);
    }
    return outcome;
  });
  if (!any && all.code == 0)
    return {not_found_code, fmt::format("No compute instances found: {}\n", words_of(not_found))};
  return all;
}

}  // namespace

Outcome carry_out(Door& door, const nvml::EveryFunction& nvml, const MigRequest& request,
                  const std::vector<Number>& gpus) {
  const auto all = [](const auto&) { return true; };
  const auto in_chosen = [&](const auto& row) {
    return is_chosen(request.gpu_instances, row.gpu_instance);
  };
  switch (request.action) {
    case MigAction::list_gpu_profiles:
      return listed<GpuProfileRow>(
          gpus, "GPU instance profiles",
          [&](Number gpu) { return gpu_profile_rows(door, nvml, gpu); }, all, table);
    case MigAction::list_placements:
      return listed<PlacementsRow>(
          gpus, "GPU instance placements", [&](Number gpu) { return placements_rows(door, gpu); },
          all, lines);
    case MigAction::list_compute_profiles:
      return listed<ComputeProfileRow>(
          gpus, "compute instance profiles",
          [&](Number gpu) { return compute_profile_rows(door, nvml, gpu); }, in_chosen, table);
    case MigAction::list_gpu_instances:
      return listed<GpuInstanceRow>(
          gpus, "GPU instances", [&](Number gpu) { return gpu_instance_rows(door, gpu); }, all,
          table);
    case MigAction::list_compute_instances:
      return listed<ComputeInstanceRow>(
          gpus, "compute instances", [&](Number gpu) { return compute_instance_rows(door, gpu); },
          in_chosen, table);
    case MigAction::create_gpu_instances:
      return create_gpu_instances(door, request, gpus);
    case MigAction::create_compute_instances:
      return create_compute_instances(door, request, gpus);
    case MigAction::destroy_gpu_instances:
      return destroy_gpu_instances(door, request, gpus);
    case MigAction::destroy_compute_instances:
      return destroy_compute_instances(door, request, gpus);
  }
  return {};
}

Outcome set_mig(Door& door, bool on, const std::vector<Number>& gpus) {
  Outcome outcome = on_each(gpus, [&](Number gpu) -> Outcome {
    const auto facts = door.gpu(GpuIndex{gpu});
    const std::string which =
        facts && facts->pci_bus_id ? *facts->pci_bus_id : fmt::format("{}", gpu);
    const auto answer = door.set_mig_mode(GpuIndex{gpu}, on);
    const std::string what =
        fmt::format("{} MIG Mode for GPU {}", on ? "enable" : "disable", which);
    if (!answer)
      return {static_cast<int>(answer.error().code),
              fmt::format("Unable to {}: {}\n", what, words_of(answer.error().code))};
    if (*answer != success)
      return {0, fmt::format("Warning: MIG mode is in pending {} state for GPU {}: {}\n",
                             on ? "enable" : "disable", which, words_of(*answer))};
    return {0, fmt::format("{} MIG Mode for GPU {}\n", on ? "Enabled" : "Disabled", which)};
  });
  if (outcome.code == 0) outcome.text += "All done.\n";
  return outcome;
}

std::string words_of(nvml::Return code) {
  constexpr auto words = std::to_array<std::pair<nvml::Return, const char*>>({
      {uninitialized, "Uninitialized"},
      {invalid_argument, "Invalid Argument"},
      {not_supported, "Not Supported"},
      {no_permission, "Insufficient Permissions"},
      {not_found, "Not Found"},
      {insufficient_size, "Insufficient Size"},
      {driver_not_loaded, "Driver Not Loaded"},
      {timeout, "Timeout"},
      {function_not_found, "Function Not Found"},
      {gpu_is_lost, "GPU is lost"},
      {reset_required, "GPU requires reset"},
      {in_use, "In use by another client"},
      {insufficient_resources, "Insufficient Resources"},
      {unknown, "Unknown Error"},
  });
  const auto found = std::ranges::find(words, code, &std::pair<nvml::Return, const char*>::first);
  return found == words.end() ? fmt::format("NVML error {}", static_cast<int>(code))
                              : found->second;
}

}  // namespace cleave::smi
