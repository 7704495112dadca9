#pragma once
// What the store is known to have held, in a file beside it, STATE/cleave.db.witness. SQLite takes
// a log that is damaged or cut for one that ends there, as after a power failure, and says nothing
// of what came after; the witness tells the two apart. It says less than what is on the disk, never
// more: it is written after each batch that was synced, and synced itself now and then.
//
// Two lines of the same length, written in turn, each with its checksum, so that one is whole
// whenever the other is being written.

#include <cstdint>
#include <filesystem>
#include <optional>

#include "device/file_handle.hpp"

namespace cleave {

/// How far a store has come.
struct StoreProgress {
  std::int64_t batch = 0, job = 0, event = 0;  // the number of the last
  friend bool operator==(const StoreProgress&, const StoreProgress&) = default;
};

/// The file, for the one that has the store's lock.
class StoreWitness {
 public:
  /// Makes an empty one where there is none.
  [[nodiscard]] static Result<StoreWitness> open(const std::filesystem::path& path);

  /// Empty in a new file, and in one of which nothing can be read.
  [[nodiscard]] const std::optional<StoreProgress>& seen() const { return seen_; }
  [[nodiscard]] bool damaged() const { return damaged_; }
  /// From here on, whatever was seen before.
  void begin_at(const StoreProgress& progress);
  /// What fails here costs the next start some of its certainty, and nothing else.
  void note(const StoreProgress& progress);
  void sync();

 private:
  explicit StoreWitness(FileHandle file) : file_(std::move(file)) {}
  FileHandle file_;
  std::optional<StoreProgress> seen_;
  bool damaged_ = false, noted_ = false;
  int next_line_ = 0;
};

}  // namespace cleave
