#pragma once
// Where the folders of jobs are: in STATE/jobs, or where jobs_directory says, which may be another
// file system. Two small files keep the place and the state together: STATE/jobs.place names the
// place, and .of-cleaved in the place names the state. So a file system that is not mounted, or one
// of another daemon's, is not taken for a place where no job ever ran.

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "control/node/disk_use.hpp"

namespace cleave {

/// As root: what another user could change there, the daemon would believe. Of a folder that is
/// there; `remedy` says how to name another.
[[nodiscard]] Result<void> check_owner(const std::filesystem::path& directory,
                                       std::string_view remedy);

/// The folder of jobs, which is made if its parent is there; `given` is jobs_directory, and empty
/// for the usual place. Call it with the store's lock held. Refused where another place still has
/// folders of jobs.
[[nodiscard]] Result<std::filesystem::path> prepare_jobs_place(const std::filesystem::path& state,
                                                               const std::string& given);

/// How much room the file systems have on which these folders lie, that of the jobs' last; only one
/// where it is the same.
[[nodiscard]] std::vector<DiskRoom> look_at_disk(const std::filesystem::path& state,
                                                 const std::filesystem::path& jobs);

}  // namespace cleave
