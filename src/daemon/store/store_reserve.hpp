#pragma once
// Room on the disk for the store: space that its files have beyond their ends. It is theirs before
// they need it, so that nobody who fills the disk takes it, and the store grows into it: what frees
// the disk, jobs that end and are cancelled and forgotten, can be written while it is full.

#include <cstdint>
#include <filesystem>
#include <string>

#include "device/file_handle.hpp"

namespace cleave {

/// Holds room for a database and its log. Must outlive the connection to it: SQLite would lose its
/// locks if a file of it were closed before.
class StoreReserve {
 public:
  /// Nothing is held yet. Of a small file system at most an eighth is.
  StoreReserve(const std::filesystem::path& database, std::int64_t bytes);

  /// Takes what is missing, as far as the file system has it and can. Call it every few seconds.
  void hold();
  /// Whether the file system has less room than is to be held.
  [[nodiscard]] bool is_needed() const;

 private:
  /// A file that holds room.
  struct Holder {
    std::filesystem::path path;
    FileHandle file;
    std::uint64_t inode = 0;
    std::int64_t end = -1;  // room is held beyond this
  };
  [[nodiscard]] bool open(Holder& holder);

  std::int64_t bytes_;
  Holder database_, log_;
};

}  // namespace cleave
