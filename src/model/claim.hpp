#pragma once
// A claim: instances that somebody else's engine has asked for and holds, such as a job of Slurm's.
// No process of ours belongs to it, its end is not known, and nothing moves it. Its holder chooses
// the key, so that asking again does no harm.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/record.hpp"

namespace cleave {

/// Instances of one kind, by profile or by memory.
struct ClaimAsk {
  std::string profile;        // empty: by memory
  std::optional<MiB> memory;  // the least that programs can use
  std::int64_t count = 1;
  std::optional<std::int64_t> gpu;    // NVML's index: only there
  std::optional<std::int64_t> start;  // and with this first memory slice
  friend bool operator==(const ClaimAsk&, const ClaimAsk&) = default;
};

/// What is asked for, and for whom.
struct ClaimOrder {
  std::string holder;     // for people: "job 1234 of alice"
  std::int64_t uid = -1;  // the user whose programs will run there; -1: that of the request
  std::vector<ClaimAsk> asks;
  friend bool operator==(const ClaimOrder&, const ClaimOrder&) = default;
};

/// How a claim stands.
enum class ClaimState : std::uint8_t {
  making,     // its instances are being made
  held,       // they are there
  releasing,  // given back; some still have processes, or have not been looked at since
  failed,     // its instances could not be made; it holds nothing
  released    // in answers: there is no such claim any more
};
inline constexpr std::array<std::string_view, 5> claim_state_names = {"making", "held", "releasing",
                                                                      "failed", "released"};
template <>
inline constexpr std::span<const std::string_view> words_of<ClaimState> = claim_state_names;

/// One instance of a claim.
struct ClaimPlace {
  std::string gpu;  // UUID
  std::string profile;
  std::int64_t start = 0;  // first memory slice
  std::string device;      // the instance's MIG UUID; empty: not made yet
  std::string replaces;    // an instance in the same place that goes first, for its user's memory
  bool lost = false;       // somebody else destroyed it, or its GPU is gone
  friend bool operator==(const ClaimPlace&, const ClaimPlace&) = default;
};

/// A claim and what has become of it.
struct Claim {
  std::string key;
  ClaimOrder order;
  ClaimState state = ClaimState::making;
  std::string why;  // in words: why it failed, or what it waits for
  std::vector<ClaimPlace> places;
  Instant since{};         // was taken, on the wall clock
  std::int64_t tries = 0;  // of making it elsewhere, after a GPU refused
  friend bool operator==(const Claim&, const Claim&) = default;
};

/// The most instances of one claim, and the most claims at a time.
inline constexpr std::int64_t most_claimed = 256;
inline constexpr std::size_t most_claims = 10'000;
/// The longest key, of letters, digits and ._:-
inline constexpr std::size_t longest_claim_key = 128;
[[nodiscard]] bool is_claim_key(std::string_view text);

template <>
inline constexpr auto fields_of<ClaimAsk> = std::tuple{
    field("profile", &ClaimAsk::profile,
          {.help = "Profile of the instances; null: by memory",
           .most = 100,
           .null = NullWhen::empty}),
    field("memory_mib", &ClaimAsk::memory,
          {.help = "Memory that programs need; the smallest profile that has it is taken",
           .least = 1,
           .most = 1'048'576}),
    field("count", &ClaimAsk::count,
          {.help = "Number of instances; 1 by default", .least = 1, .most = most_claimed}),
    field("gpu", &ClaimAsk::gpu,
          {.help = "Index of the only GPU on which they may be", .least = 0, .most = 1023}),
    field("start", &ClaimAsk::start,
          {.help = "The only memory slice at which they may begin", .least = 0, .most = 99}),
};
template <>
inline constexpr std::string_view schema_of<ClaimAsk> = "ClaimAsk";

template <>
inline constexpr auto fields_of<ClaimOrder> = std::tuple{
    field("holder", &ClaimOrder::holder,
          {.help = "Who has it, for people", .least = 0, .most = 200}),
    field("uid", &ClaimOrder::uid,
          {.help = "User whose programs run there; the client's by default",
           .least = -1,
           .most = UINT32_MAX}),
    field("asks", &ClaimOrder::asks, {.help = "What is asked for, all of it or none"}),
};
template <>
inline constexpr std::string_view schema_of<ClaimOrder> = "ClaimOrder";

template <>
inline constexpr auto fields_of<ClaimPlace> = std::tuple{
    field("gpu", &ClaimPlace::gpu, {.always_stored = true}),
    field("profile", &ClaimPlace::profile, {.always_stored = true}),
    field("start", &ClaimPlace::start, {.always_stored = true}),
    field("device", &ClaimPlace::device),
    field("replaces", &ClaimPlace::replaces),
    field("lost", &ClaimPlace::lost),
};

template <>
inline constexpr auto fields_of<Claim> = std::tuple{
    field("key", &Claim::key, {.always_stored = true}),
    field("order", &Claim::order, {.always_stored = true}),
    field("state", &Claim::state, {.always_stored = true}),
    field("why", &Claim::why),
    field("places", &Claim::places),
    field("since", &Claim::since),
    field("tries", &Claim::tries),
};

}  // namespace cleave
