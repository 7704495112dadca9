#pragma once
// Names of hosts as Slurm, ClusterShell and pdsh write several in one word: "n[01-03,07],login".

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace cleave {

inline constexpr std::size_t most_hosts_in_list = 65'536;

/// All names, in their order. One pair of brackets a name, with numbers and ranges of them, whose
/// leading zeros are kept.
[[nodiscard]] Result<std::vector<std::string>> expand_hosts(std::string_view text,
                                                            const std::string& place);

}  // namespace cleave
