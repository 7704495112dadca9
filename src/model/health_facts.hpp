#pragma once
// What is known of the health of GPUs, as a table: each sign that a driver gives (an Xid, a
// recovery action, a state of row remapping, a count of memory errors), what Cleave does about it,
// what makes it good again, and where that is said. The daemon reacts by it (control/verdicts), the
// simulated driver gives each sign on demand (nvmlsim), and `cleave health` prints it.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cleave {

/// How a driver tells it.
enum class HealthSign : std::uint8_t {
  xid,              // an event with this number
  recovery_action,  // what the driver asks for, by NVML's number
  rows_pending,     // rows of memory are to be remapped at the next reset
  rows_failed,      // a remapping has failed
  memory_errors     // the count of uncorrected errors has risen
};

/// What Cleave does.
enum class HealthReaction : std::uint8_t {
  ignore,          // nothing but an event
  requeue_job,     // a job that fails there soon after runs again at no cost to its retries
  drain_instance,  // the instance is destroyed, and its place used again once that has worked
  drain_gpu        // no new job starts on the GPU
};
std::string_view name(HealthReaction reaction);

/// What makes it good again.
enum class HealthCure : std::uint8_t {
  nothing,   // there is nothing to be made good
  remake,    // the instance was destroyed
  reset,     // the GPU was reset, or the machine started again
  state,     // the driver no longer says so
  operators  // only an operator can know
};
/// "a reset of the GPU, ..."; empty where there is nothing to be made good.
std::string_view in_words(HealthCure cure);

/// A row of the table.
struct HealthFact {
  HealthSign sign{};
  std::uint32_t number = 0;  // of an Xid or a recovery action
  HealthReaction reaction{};
  HealthReaction without_instance{};  // where the driver does not say which instance it is
  /// Where the driver says which recovery action it asks for, that decides about the GPU, and this
  /// row only has jobs that fail run again.
  bool deferred = false;
  bool stops_jobs = false;  // jobs there are stopped: what they compute can be wrong
  HealthCure cure{};
  std::string_view what;    // "contained memory error"
  std::string_view why;     // of the reaction
  std::string_view source;  // a key of health_sources(), or "assumed"
};
std::span<const HealthFact> health_facts();

/// The number of a recovery action that has no row of its own.
inline constexpr std::uint32_t other_recovery_action = 5;

/// The row; that of other_recovery_action for higher recovery actions. Null for an Xid without one.
[[nodiscard]] const HealthFact* find_health_fact(HealthSign sign, std::uint32_t number = 0);
/// The name of a row, by which it is stored and simulated: "xid-94", "recovery-action-1",
/// "rows-failed".
[[nodiscard]] std::string name(const HealthFact& fact);
[[nodiscard]] const HealthFact* find_health_fact(std::string_view name);
/// For people: "Xid 94 (contained memory error)".
[[nodiscard]] std::string in_words(const HealthFact& fact);

/// Where a row is from.
struct HealthSource {
  std::string_view key, title, address;
};
std::span<const HealthSource> health_sources();

}  // namespace cleave
