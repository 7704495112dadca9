#pragma once
// A copy of the store as it stands at one moment, also while a daemon has it: one database file
// without a log, and beside it FILE.witness, of what the copy holds. Both are of mode 0600, on the
// disk, and were read again before they got their names.

#include <filesystem>

#include "daemon/store/store_check.hpp"

namespace cleave {

/// Nothing is overwritten. A store that is damaged is not copied: the error says what is wrong
/// first. Returns what the copy holds.
[[nodiscard]] Result<StoreFindings> back_up_store(const std::filesystem::path& state_directory,
                                                  const std::filesystem::path& file);

}  // namespace cleave
