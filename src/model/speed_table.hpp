#pragma once
// What a table of speeds says of a profile. Names in it are PROFILE or MODEL:PROFILE; `none` is the
// whole GPU with MIG off. Profiles that are absent do not fit the job, unless the table is to be
// completed: then two listed profiles of a GPU model stand for its others (physics/speed_law.hpp).

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "model/job.hpp"

namespace cleave {

/// The entry for a profile of `model`, or for `none`.
[[nodiscard]] std::optional<double> listed_speed(const SpeedTable& table, const GpuModel& model,
                                                 std::string_view profile);

/// Whether a table may have a column of this name: `none`, PROFILE or MODEL:PROFILE of a known GPU
/// model. A misspelt one would say that the job does not fit there.
[[nodiscard]] Result<void> check_column(std::string_view name, const std::string& place);

/// What the numbers are, and what would help where one is not above zero.
struct ByProfileWords {
  std::string_view number, remedy;
};
/// "1g.5gb=300,A100-40GB:7g.40gb=100": a number above zero for each profile; `none` is the whole
/// GPU with MIG off.
[[nodiscard]] Result<SpeedTable> parse_by_profile(std::string_view text, const std::string& option,
                                                  const ByProfileWords& words);

/// Whether a table that is to be completed covers this profile without listing it: it lists two or
/// more profiles of `model` that differ in compute, and this one has at least as much memory as the
/// smallest of them. Less memory was not tried, so the job may not fit there.
[[nodiscard]] bool is_completed(const SpeedTable& table, const GpuModel& model,
                                const Profile& profile);

/// The names of all profiles on which a job with this table runs: those listed and, if it is to be
/// completed, those of every known GPU model that it covers, as MODEL:PROFILE.
[[nodiscard]] std::vector<std::string> profiles_of(const SpeedTable& table, bool complete);

}  // namespace cleave
