#pragma once
// What is known of each MIG-capable GPU, as tables. A profile is a size of GPU instance; where it
// may start counts memory slices. Sources: NVIDIA's MIG User Guide, captures of `nvidia-smi mig
// -lgip` and `-lgipp`, and *Optimal Workload Placement on Multi-Instance GPUs*, table 1. What no
// source says stays empty, and starts that were inferred from the rest of the family say so. On a
// real GPU the driver is asked instead; these tables serve simulation and planning.
//
// A model has one row in every table of facts: here (gpu_model.cpp), its power (physics/power.cpp),
// its link to the host (physics/link.cpp), how slices slow work down (physics/slice_law.cpp) and
// what NVML says of its board (nvmlsim/board.cpp). A table that lacks a model does not compile:
// model/model_table.hpp.

#include <array>
#include <cassert>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/quantity.hpp"
#include "base/result.hpp"

namespace cleave {

/// The models that the tables describe, in the order of their rows. Add new ones before `other`.
enum class GpuModelId : std::uint8_t {
  a30_24gb,
  a100_40gb,
  a100_80gb,
  h100_80gb_sxm5,
  h100_80gb_pcie,
  h100_94gb_nvl,
  h100_96gb_gh200,
  h20_96gb,
  h200_141gb,
  gh200_144gb,
  b200_180gb,
  gb200_186gb,
  b300_269gb,
  gb300_278gb,
  rtx_pro_6000_bw_96gb,
  other,  // a GPU that no table describes; its driver does
};

/// The generation of a GPU's processors. Some facts are the same for all GPUs of a generation.
enum class Architecture : std::uint8_t { ampere, ada, hopper, blackwell, rubin, other };
/// "Hopper"; "unknown" for `other`.
std::string_view name(Architecture architecture);
/// The number that nvmlDeviceGetArchitecture has for it; 0 for `other`.
std::uint32_t nvml_number(Architecture architecture);
/// The architecture with this number; `other` where NVML's header has none that we know.
Architecture architecture_of(std::uint32_t nvml_number);

/// CUDA's version of what the processors can do: 9.0.
struct ComputeCapability {
  int major = 0, minor = 0;
};

/// What a profile carries beside processors and memory. On most GPUs there is one spare set of
/// media engines, which one `+me` instance takes; on RTX PRO an instance may also take all of them,
/// or none.
enum class Attribute : std::uint8_t { none, media, graphics, no_media, all_media };

/// Copy engines, decoders, encoders, JPEG decoders and optical-flow units of an instance.
struct Engines {
  int copy = 0, decode = 0, encode = 0, jpeg = 0, flow = 0;
};

/// The memory slices at which a profile may start, as a set and in the order in which the driver
/// takes them.
class Starts {
 public:
  static constexpr int most = 16;

  constexpr Starts() = default;
  /// In order of preference; each below `most` and listed once.
  constexpr Starts(std::initializer_list<int> order)
      : Starts(std::span(order.begin(), order.size())) {}
  constexpr explicit Starts(std::span<const int> order) {
    for (const int start : order)
      order_[static_cast<std::size_t>(count_++)] = static_cast<std::int8_t>(start);
  }

  [[nodiscard]] constexpr int size() const { return count_; }
  [[nodiscard]] constexpr bool contains(int start) const {
    for (int i = 0; i < count_; ++i)
      if (order_[static_cast<std::size_t>(i)] == start) return true;
    return false;
  }
  /// Position in the order of preference; asserts contains(start).
  [[nodiscard]] constexpr int rank(int start) const {
    for (int i = 0; i < count_; ++i)
      if (order_[static_cast<std::size_t>(i)] == start) return i;
    assert(false);
    return count_;
  }
  [[nodiscard]] std::vector<int> preferred() const {
    return {order_.begin(), order_.begin() + count_};
  }
  [[nodiscard]] std::vector<int> ascending() const;

 private:
  std::array<std::int8_t, most> order_{};
  int count_ = 0;
};

/// A size of GPU instance that a model offers, and where such instances may start.
struct Profile {
  std::string_view name;  // as the driver prints it: "3g.20gb", "1g.5gb+me"
  int nvml_profile;       // argument of nvmlDeviceGetGpuInstanceProfileInfo
  std::optional<int> id;  // what nvidia-smi and NVML call the profile id
  ComputeSlices compute;
  MemorySlices memory;
  std::optional<MiB> usable;  // memory that a program in the instance can use
  std::optional<Sms> sms;
  std::optional<Engines> engines;
  int max_instances;
  Starts starts;
  bool starts_inferred;      // no capture of this GPU shows them
  bool preference_inferred;  // no source gives this GPU's order of starts
  Attribute attribute = Attribute::none;
  bool double_memory = false;  // the 1g profile with twice the memory of the smallest

  /// The GB in the name, a marketing figure: 20 for "3g.20gb". For sizes use `usable`.
  [[nodiscard]] int name_gb() const;
};

/// A GPU as the tables or its driver describe it: its sizes and its profiles.
struct GpuModel {
  GpuModelId id = GpuModelId::other;
  std::string_view key;                            // "A100-40GB"
  std::span<const std::string_view> driver_names;  // what the driver calls boards of this model
  std::string_view title;                          // for people
  Architecture architecture = Architecture::other;
  std::optional<ComputeCapability> capability;
  std::optional<MiB> memory;
  ComputeSlices compute;
  MemorySlices memory_slices;
  std::optional<Sms> sms;
  std::optional<Sms> sms_in_mig;  // what the largest profile can use
  bool placements_inferred;
  std::span<const Profile> profiles;  // from large to small

  /// The largest profile that is known: the whole GPU, except on the H20, whose largest profile has
  /// not been published.
  [[nodiscard]] const Profile& largest() const { return profiles.front(); }
  [[nodiscard]] const Profile* find(std::string_view profile_name) const;
};

/// Every model whose placements are known or inferred.
std::span<const GpuModel> gpu_models();

/// Finds a model by key, driver's name or title, ignoring case; the error lists the known models.
[[nodiscard]] Result<const GpuModel*> find_gpu_model(std::string_view name);

}  // namespace cleave
