#pragma once
// What the commands that read a profile repository share.

#include <string>
#include <vector>

#include "base/result.hpp"
#include "forecast/choice/profile_exports.hpp"

namespace cleave::cli {

/// The profiles of a repository file.
[[nodiscard]] Result<ProfileRepository> load_repository(const std::string& path);

/// "2 profiles left out: ..." on standard error; nothing where there are none.
void say_left_out(const std::vector<LeftOutProfile>& left_out);

}  // namespace cleave::cli
