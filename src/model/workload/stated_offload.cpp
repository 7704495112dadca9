#include "model/workload/stated_offload.hpp"

#include <algorithm>

namespace cleave {

namespace {

/// What programs can use of a profile; nullopt where models that have it differ, or nobody knows.
std::optional<MiB> usable_of(std::string_view name) {
  std::optional<MiB> usable;
  const std::size_t colon = name.rfind(':');
  for (const GpuModel& model : gpu_models()) {
    if (colon != std::string_view::npos && model.key != name.substr(0, colon)) continue;
    const Profile* profile =
        model.find(colon == std::string_view::npos ? name : name.substr(colon + 1));
    if (profile == nullptr) continue;
    if (!profile->usable || (usable && *usable != *profile->usable)) return std::nullopt;
    usable = profile->usable;
  }
  return usable;
}

/// The memory of a job that offloads: what it asks for or, where it asks for a profile, what that
/// has and what does not fit there.
std::optional<MiB> memory_with(const Request& request, MiB on_host) {
  if (const auto* size = std::get_if<BySize>(&request.wanted)) return size->memory;
  const auto* profile = std::get_if<ByProfile>(&request.wanted);
  const auto usable = profile != nullptr ? usable_of(profile->profile) : std::nullopt;
  if (!usable) return std::nullopt;
  return *usable + on_host;
}

}  // namespace

std::optional<Offload> read_offload(JsonReader& in, const Request& request,
                                    const JobDetails& details, Duration duration) {
  if (!details.offload_touches || !details.offload) return std::nullopt;
  const auto memory = memory_with(request, *details.offload);
  if (!memory) {
    in.refuse("offload_touches", "how much does not fit on the GPU follows from the memory",
              "give memory_mib or shape, or a profile of one GPU model: MODEL:NAME");
    return std::nullopt;
  }
  if (*details.offload == MiB{0}) return std::nullopt;
  // Work that takes no time crosses no link.
  const double seconds = in_seconds(duration);
  return Offload{*memory, std::min(*details.offload, *memory),
                 seconds > 0 ? *details.offload_touches / seconds : 0};
}

}  // namespace cleave
