#pragma once
// The daemon's own settings in the store, which outlive it: keys and values are text there, and
// typed values everywhere else. Parsed once, when the loop begins.

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/quantity.hpp"
#include "control/node/gpu_conditions.hpp"
#include "control/node/gpu_meter.hpp"
#include "model/claim.hpp"

namespace cleave {

/// An application of one user; what others run under the same name is theirs.
struct UserApplication {
  std::uint32_t uid = 0;
  std::string name;
  friend auto operator<=>(const UserApplication&, const UserApplication&) = default;
};

/// What earlier runs of applications held at most, by application.
using ApplicationNeeds = std::map<UserApplication, MiB>;

/// The settings that a store holds. Keys and values that this program does not know are left out.
struct StoredSettings {
  bool paused = false;
  std::set<std::string> drained;  // GPUs, by UUID
  std::optional<std::string> boot, scheduler;
  ApplicationNeeds needs;
  std::map<std::string, std::vector<GpuCondition>> conditions;  // by the GPU's UUID
  std::map<JobNumber, std::vector<JobFault>> faults;
  /// To whose job instances were given last, by MIG UUID; empty: to nobody's.
  std::map<std::string, std::optional<std::uint32_t>> users;
  /// Up to which reading the use of GPUs has been counted, by the GPU's UUID.
  std::map<std::string, MeterReading> meters;
  std::map<std::string, Claim> claims;  // by key
};
[[nodiscard]] StoredSettings parse_settings(const std::map<std::string, std::string>& settings);

// Keys, as the store has them. An empty value takes a setting away.

inline constexpr const char* paused_key = "paused";
inline constexpr const char* boot_key = "boot";
inline constexpr const char* scheduler_key = "scheduler";
[[nodiscard]] std::string drained_key(const std::string& uuid);
[[nodiscard]] std::string health_key(const std::string& gpu);
[[nodiscard]] std::string faults_key(JobNumber job);
[[nodiscard]] std::string user_key(const std::string& device);
/// Whose value is claim_text() of it (control/record_text.hpp).
[[nodiscard]] std::string claim_key(const std::string& key);
[[nodiscard]] std::string meter_key(const std::string& gpu);
/// "123456 1700000000000000000": the counter, "-" where it could not be read, and when.
[[nodiscard]] std::string meter_text(const MeterReading& reading);
inline constexpr const char* no_user = "none";
[[nodiscard]] std::string need_key(const UserApplication& application);

}  // namespace cleave
