#pragma once
// What is known of each MIG-capable GPU, as tables. A profile is a size of GPU instance; where it
// may start counts memory slices. Sources: NVIDIA's MIG User Guide, captures of `nvidia-smi mig
// -lgip` and `-lgipp`, and *Optimal Workload Placement on Multi-Instance GPUs*, table 1. What no
// source says stays empty, and starts that were inferred from the rest of the family say so. On a
// real GPU the driver is asked instead; these tables serve simulation and planning.

#include <array>
#include <cassert>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.hpp"
#include "base/result.hpp"

namespace cleave {

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
  /// In order of preference; each below `most`, none twice.
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
  /// Place in the order of preference; asserts contains(start).
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

struct GpuModel {
  std::string_view key;                            // "A100-40GB"
  std::string_view title;                          // for people
  std::span<const std::string_view> driver_names;  // what the driver calls boards of this model
  std::string_view architecture;
  std::optional<MiB> memory;
  ComputeSlices compute;
  MemorySlices memory_slices;
  std::optional<Sms> sms;
  std::optional<Sms> sms_in_mig;  // what the largest profile can use
  bool placements_inferred;
  std::span<const Profile> profiles;  // from large to small

  /// The largest profile that is known: the whole GPU, but for the H20, whose largest has not been
  /// published.
  [[nodiscard]] const Profile& largest() const { return profiles.front(); }
  [[nodiscard]] const Profile* find(std::string_view profile_name) const;
};

/// Every model whose placements are known or inferred.
std::span<const GpuModel> gpu_models();

/// By key, driver's name or title, whatever the case; the error names the models there are.
[[nodiscard]] Result<const GpuModel*> find_gpu_model(std::string_view name);

}  // namespace cleave
