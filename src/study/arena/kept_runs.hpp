#pragma once
// Results of an arena's runs in a file, so that a scheduler can be tried again without running all
// that it is compared with. A line of JSON for each run, found by a hash of everything that decides
// it: workload, fleet, settings, scheduler, seed; and with the program that made it. What another
// program made counts for baselines only, after the quickest run of each has been repeated and came
// out the same; how many these are is said.

#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"
#include "study/arena/arena_runs.hpp"

namespace cleave {

/// Of this program's file.
[[nodiscard]] Result<std::uint64_t> program_hash();

/// Of all that decides the run of a scheduler in a cell.
[[nodiscard]] std::uint64_t arena_key(const OpenArenaCell& cell, std::size_t seed,
                                      const ArenaContestant& contestant);

/// The file. Everything but open may be called from any thread.
class KeptRuns {
 public:
  /// A run, and whether this program made it.
  struct Kept {
    ArenaRun run;
    bool own = true;
  };

  /// Reads what is there, and appends to it from then on. A last line that was cut off is passed
  /// over; other lines that cannot be read are an error.
  [[nodiscard]] static Result<std::unique_ptr<KeptRuns>> open(const std::string& path,
                                                              std::uint64_t program);

  /// Null where there is none.
  [[nodiscard]] const Kept* find(std::uint64_t key) const;
  /// Into the file; `find` does not know it.
  void add(std::uint64_t key, const ArenaRun& run);
  /// Fails where a run could not be written.
  [[nodiscard]] Result<void> written() const;

 private:
  KeptRuns(std::string path, std::uint64_t program) : path_(std::move(path)), program_(program) {}
  Result<void> read(std::string_view text);

  std::string path_;
  std::uint64_t program_;
  std::map<std::uint64_t, Kept> runs_;
  std::mutex writing_;
  std::ofstream file_;
};

}  // namespace cleave
