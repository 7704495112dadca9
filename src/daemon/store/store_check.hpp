#pragma once
// Reads all of a store and says what is wrong with it, without a change to any file, also while a
// daemon has it: SQLite's own check of the database, each row with its checksum, what rows say of
// one another, the numbers that were given, the witness, and the folders of attempts.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "daemon/store/store_reader.hpp"

namespace cleave {

/// What was found.
struct StoreFindings {
  std::vector<Error> faults;  // each with its place and what helps
  std::int64_t schema = 0;
  std::int64_t rows = 0, jobs = 0, folders = 0;  // that were read
  StoreProgress progress;
};

/// Of a store that can be read; an error says why it cannot. Reads again where a daemon was too
/// quick for it.
[[nodiscard]] Result<StoreFindings> check_store(const std::filesystem::path& state_directory);

/// The same of the database that this reader sees, without folders of attempts, and without the
/// witness unless it is asked for.
[[nodiscard]] Result<StoreFindings> check_database(StoreReader& reader, bool with_witness);

}  // namespace cleave
