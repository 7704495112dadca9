#pragma once
// What a job asks for: a profile by name, a size, a share of a GPU as traces record it, whole GPUs,
// or nothing; and of how many such it has. Which placements satisfy a request is decided per GPU
// model, in placement/request_table.hpp.

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/quantity.hpp"
#include "model/gpu_model.hpp"
#include "model/host_share.hpp"

namespace cleave {

/// A profile by name, on every model that has it; MODEL:profile for one model only.
struct ByProfile {
  std::string profile;
  friend auto operator<=>(const ByProfile&, const ByProfile&) = default;
};

/// A size, for which the smallest sufficient instance is taken.
struct BySize {
  MiB memory;
  ComputeSlices compute;
  friend auto operator<=>(const BySize&, const BySize&) = default;
};

/// How a share of a GPU's compute becomes a profile: the least that is enough, or the nearest (ties
/// up).
enum class ShareRule { round_up, nearest };

/// A share of a whole GPU, as traces record it.
struct ByShare {
  int thousandths;  // 1000: the whole GPU
  ShareRule rule;
  friend auto operator<=>(const ByShare&, const ByShare&) = default;
};

/// Nothing is known: the smallest instance will do.
struct Unknown {
  friend auto operator<=>(const Unknown&, const Unknown&) = default;
};

/// A whole GPU with MIG off. The largest instance is no substitute: between instances there is no
/// peer access, and part of the GPU is not theirs.
struct WholeGpu {
  friend auto operator<=>(const WholeGpu&, const WholeGpu&) = default;
};

/// Where the places of a job of several lie.
enum class Together : std::uint8_t {
  anywhere,
  gpu,    // on one GPU
  node,   // on GPUs of one node
  spread  // each on another GPU
};
inline constexpr std::array<std::string_view, 4> words_of_together = {"anywhere", "gpu", "node",
                                                                      "spread"};

/// The most instances or GPUs of one job; more are taken for a mistake.
inline constexpr std::int64_t most_places = 100'000;

/// What a job asks for, and what it can run on.
struct Request {
  std::variant<ByProfile, BySize, ByShare, Unknown, WholeGpu> wanted;
  /// The only profiles on which the job can run, if known.
  std::optional<std::vector<std::string>> fits;
  std::optional<MiB> at_least{};  // memory the instance must have, learned while the job ran
  /// Of a size: how much of it may stay on the host, at a price in speed (physics/offload.hpp).
  std::optional<MiB> offload{};
  bool offloaded = false;  // smaller instances only, with the rest on the host
  /// The job has as many such places at a time, each with a process of its own, or none. They begin
  /// and end together.
  std::uint32_t places = 1;
  Together together = Together::anywhere;
  HostAsk host{};  // of the node, for each place; only where nodes limit it
  friend auto operator<=>(const Request&, const Request&) = default;
};

/// " on one GPU"; empty where they may lie anywhere.
[[nodiscard]] std::string_view in_words(Together together);

/// "2g.10gb", "9216 MiB", "460/1000 of a GPU", "a whole GPU", "nothing", "8696 MiB, found by
/// running", "4 x 1g.5gb on one GPU"
std::string text(const Request& request);

/// The profile of `model`, among `profiles`, that a share means. Only plain profiles without double
/// memory count; of two with equal compute the one with less memory. Null when there are none.
const Profile* profile_of_share(const GpuModel& model, const std::vector<const Profile*>& profiles,
                                ByShare share);

}  // namespace cleave
