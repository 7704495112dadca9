#pragma once
// The files of the store before SQLite sees them: whose they are, that they are plain files, and
// that only one daemon has them.

#include <cstdint>
#include <filesystem>
#include <optional>

#include "base/result.hpp"
#include "device/file_handle.hpp"

namespace cleave {

inline constexpr const char *store_name = "cleave.db", *witness_name = "cleave.db.witness";
inline constexpr std::int64_t store_page_bytes = 4096;  // of which a schema is begun

/// The size of a file; empty: there is none. Refuses what is not a plain file of this user.
[[nodiscard]] Result<std::optional<std::int64_t>> plain_file(const std::filesystem::path& path);
/// The error of a database that is empty or gone, but not its log.
[[nodiscard]] Error lost_to_its_log(const std::filesystem::path& path, std::int64_t log_bytes);

/// The database file and the lock that this process holds on it.
class StoreFile {
 public:
  /// Takes the lock STATE/cleave.db.lock and looks at STATE/cleave.db and what SQLite keeps beside
  /// it; makes an empty one where there is none. All are of mode 0600 then, whatever the umask.
  /// Refused: where another daemon has the lock ("is used by another cleaved (pid 123)"), where one
  /// of them is a link, a folder, a pipe or another user's, and where the database is gone but not
  /// what belongs to it. Nothing is deleted.
  [[nodiscard]] static Result<StoreFile> take(const std::filesystem::path& state_directory);

  /// Without a link in it.
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// The file of the witness beside it (store_witness.hpp).
  [[nodiscard]] std::filesystem::path witness() const;
  /// Fails where the name is not that of the file that was taken any more, nor, once there is one,
  /// that of its log.
  [[nodiscard]] Result<void> is_there();
  /// Whether its end is missing: its size is not a whole number of pages, and no log is there that
  /// makes up for it.
  [[nodiscard]] bool torn() const { return torn_; }

 private:
  StoreFile(FileHandle lock, std::filesystem::path path, std::uint64_t inode, bool torn)
      : lock_(std::move(lock)), path_(std::move(path)), inode_(inode), torn_(torn) {}
  FileHandle lock_;
  std::filesystem::path path_;
  std::uint64_t inode_;
  std::uint64_t log_ = 0;  // its inode, as first seen
  bool torn_;
};

}  // namespace cleave
