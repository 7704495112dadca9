#pragma once
// What was used of GPUs, over the daemon's socket: sums by user, account, application, GPU and day.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.hpp"
#include "base/record.hpp"
#include "base/result.hpp"

namespace cleave {

/// What rows may be told apart by, in the words of a question's `by`.
enum class UsageBy : std::uint8_t { user, account, application, gpu, day };
inline constexpr std::array<std::string_view, 5> usage_by_names = {"user", "account", "application",
                                                                   "gpu", "day"};
/// "user,day": each once. An empty text is nothing: one sum.
[[nodiscard]] Result<std::vector<UsageBy>> parse_usage_by(std::string_view text,
                                                          const std::string& place);

/// Whose use it was, in words.
inline constexpr std::array<std::string_view, 3> usage_whose_names = {"jobs", "idle", "foreign"};

/// One sum. What was not asked for to tell rows apart is empty.
struct ApiUsage {
  std::string whose;  // a word, perhaps one of a later daemon
  std::optional<std::string> user, account, application, gpu, day;
  std::optional<std::int64_t> uid, gpu_index;
  std::int64_t jobs = 0, attempts = 0, lost = 0, moves = 0;
  double slice_hours = 0, gpu_hours = 0, unmetered = 0;
  std::optional<double> energy_j, energy_kwh;
  friend bool operator==(const ApiUsage&, const ApiUsage&) = default;
};
[[nodiscard]] Json to_json(const ApiUsage& usage);
/// Of {"usage": [...]}.
[[nodiscard]] Result<std::vector<ApiUsage>> read_usage(const Json& document,
                                                       const std::string& place);

/// "2026-05-04": a day since 1970, by UTC.
[[nodiscard]] std::string day_text(std::int64_t day);
[[nodiscard]] std::optional<std::int64_t> parse_day(std::string_view text);

template <>
inline constexpr auto fields_of<ApiUsage> = std::tuple{
    field("whose", &ApiUsage::whose,
          {.help = "`jobs`; or `idle`, what GPUs use for themselves and slices that no job had; or "
                   "`foreign`, instances and processes that are not Cleave's. Only operators who "
                   "ask for all users see the last two",
           .words = usage_whose_names,
           .needed = true}),
    field("user", &ApiUsage::user, {.help = "Name of the user, or its number"}),
    field("uid", &ApiUsage::uid, {.help = "Number of the user", .least = 0}),
    field("account", &ApiUsage::account, {.help = "Group that the jobs ran with"}),
    field("application", &ApiUsage::application,
          {.help = "Application that the jobs named; empty where they named none"}),
    field("gpu", &ApiUsage::gpu, {.help = "UUID of the GPU"}),
    field("gpu_index", &ApiUsage::gpu_index,
          {.help = "NVML's index of the GPU; -1 if it is not managed now", .least = -1}),
    field("day", &ApiUsage::day, {.help = "Day by UTC: 2026-05-04"}),
    field("jobs", &ApiUsage::jobs, {.help = "Jobs that ended and had run", .least = 0}),
    field("attempts", &ApiUsage::attempts, {.help = "Attempts that ended", .least = 0}),
    field("lost", &ApiUsage::lost,
          {.help = "Attempts that ended with their GPU, instance or supervisor", .least = 0}),
    field("moves", &ApiUsage::moves,
          {.help = "Attempts that ended to go on elsewhere", .least = 0}),
    field("slice_hours", &ApiUsage::slice_hours,
          {.help = "Compute slices times the hours for which they were held"}),
    field("gpu_hours", &ApiUsage::gpu_hours, {.help = "The same as parts of whole GPUs"}),
    field("energy_j", &ApiUsage::energy_j,
          {.help = "Joules of the GPUs' counters; null where none was read"}),
    field("energy_kwh", &ApiUsage::energy_kwh, {.help = "The same in kWh"}),
    field("unmetered_gpu_hours", &ApiUsage::unmetered,
          {.help = "Of `gpu_hours`, those in which no counter was read: their energy is not in "
                   "`energy_j`"}),
};
template <>
inline constexpr std::string_view schema_of<ApiUsage> = "Usage";

}  // namespace cleave
