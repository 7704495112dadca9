#pragma once
// Claims over the daemon's socket: what somebody else's engine asks for (model/claim.hpp has the
// order), what it holds, and what it could have. An order is read strictly.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json_fwd.hpp"
#include "base/result.hpp"
#include "model/claim.hpp"

namespace cleave {

/// An instance of a claim.
struct ApiClaimInstance {
  std::optional<std::int64_t> gpu;
  std::string gpu_uuid, profile;
  std::int64_t start = 0, compute_slices = 0, memory_slices = 0;
  std::optional<MiB> memory;
  std::optional<std::int64_t> gpu_instance, compute_instance;
  std::string uuid;
  bool lost = false;
  friend bool operator==(const ApiClaimInstance&, const ApiClaimInstance&) = default;
};

/// What programs of its holder are to have in their environment.
struct ApiClaimEnvironment {
  std::string visible_devices;
  friend bool operator==(const ApiClaimEnvironment&, const ApiClaimEnvironment&) = default;
};

/// A claim.
struct ApiClaim {
  std::string key, holder;
  std::int64_t uid = 0;
  ClaimState state = ClaimState::making;
  std::string why;
  std::optional<Instant> since;
  std::vector<ApiClaimInstance> instances;
  ApiClaimEnvironment environment;
  friend bool operator==(const ApiClaim&, const ApiClaim&) = default;
};

/// The most instances of each profile that can be made now, of that profile alone.
struct ApiRoomGpu {
  std::int64_t gpu = 0;
  std::string uuid;
  std::map<std::string, std::int64_t> profiles;
  friend bool operator==(const ApiRoomGpu&, const ApiRoomGpu&) = default;
};
/// The same of all GPUs.
struct ApiRoom {
  std::vector<ApiRoomGpu> gpus;
  std::map<std::string, std::int64_t> profiles;
  friend bool operator==(const ApiRoom&, const ApiRoom&) = default;
};

[[nodiscard]] Json to_json(const ClaimOrder& order);
[[nodiscard]] Result<ClaimOrder> read_claim_order(const Json& document, const std::string& place);
[[nodiscard]] Json to_json(const ApiClaim& claim);
[[nodiscard]] Result<ApiClaim> read_claim(const Json& document, const std::string& place);
/// Of {"claims": [...]}.
[[nodiscard]] Result<std::vector<ApiClaim>> read_claims(const Json& document,
                                                        const std::string& place);
[[nodiscard]] Json to_json(const ApiRoom& room);
[[nodiscard]] Result<ApiRoom> read_room(const Json& document, const std::string& place);

template <>
inline constexpr auto fields_of<ApiClaimInstance> = std::tuple{
    field("gpu", &ApiClaimInstance::gpu,
          {.help = "Index of its GPU; null: not managed any more", .least = 0}),
    field("gpu_uuid", &ApiClaimInstance::gpu_uuid, {.help = "UUID of its GPU"}),
    field("profile", &ApiClaimInstance::profile, {.help = "Its profile", .needed = true}),
    field("start", &ApiClaimInstance::start, {.help = "Its first memory slice", .least = 0}),
    field("compute_slices", &ApiClaimInstance::compute_slices,
          {.help = "Its compute slices", .least = 0}),
    field("memory_slices", &ApiClaimInstance::memory_slices,
          {.help = "Its memory slices", .least = 0}),
    field("memory_mib", &ApiClaimInstance::memory,
          {.help = "Memory that programs can use there", .least = 0}),
    field("gpu_instance", &ApiClaimInstance::gpu_instance,
          {.help = "Number of the GPU instance on its GPU; null until it is there", .least = 0}),
    field("compute_instance", &ApiClaimInstance::compute_instance,
          {.help = "Number of its compute instance", .least = 0}),
    field("uuid", &ApiClaimInstance::uuid,
          {.help = "Its MIG UUID; null until it is there", .null = NullWhen::empty}),
    field("lost", &ApiClaimInstance::lost,
          {.help = "Whether it is gone although the claim holds it"}),
};
template <>
inline constexpr std::string_view schema_of<ApiClaimInstance> = "ClaimInstance";

template <>
inline constexpr auto fields_of<ApiClaimEnvironment> = std::tuple{
    field("CUDA_VISIBLE_DEVICES", &ApiClaimEnvironment::visible_devices,
          {.help = "MIG UUIDs of the instances that are there, with commas"}),
};
template <>
inline constexpr std::string_view schema_of<ApiClaimEnvironment> = "ClaimEnvironment";

template <>
inline constexpr auto fields_of<ApiClaim> = std::tuple{
    field("key", &ApiClaim::key, {.help = "Its holder's name for it", .needed = true}),
    field("holder", &ApiClaim::holder, {.help = "Who has it, for people"}),
    field("uid", &ApiClaim::uid, {.help = "User whose programs run there"}),
    field("state", &ApiClaim::state, {.help = "How it stands", .needed = true}),
    field("why", &ApiClaim::why,
          {.help = "Why it failed, or what it waits for, in words", .null = NullWhen::empty}),
    field("since", &ApiClaim::since, {.help = "When it was taken"}),
    field("instances", &ApiClaim::instances,
          {.help = "Its instances, in the order of their sizes, the largest first"}),
    field("environment", &ApiClaim::environment,
          {.help = "What programs there are to have in their environment"}),
};
template <>
inline constexpr std::string_view schema_of<ApiClaim> = "Claim";

}  // namespace cleave
