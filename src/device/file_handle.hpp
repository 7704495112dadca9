#pragma once
// An open file, closed with the object, and what ledger and locks do with one: read the whole file
// and write a whole text. Errors are the system's, with the path in front.

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace cleave {

/// Owns a file descriptor.
class FileHandle {
 public:
  FileHandle() = default;
  explicit FileHandle(int descriptor) : descriptor_(descriptor) {}
  ~FileHandle();
  FileHandle(FileHandle&& other) noexcept;
  FileHandle& operator=(FileHandle&& other) noexcept;

  /// open(2) with these flags and O_CLOEXEC. A new file is accessible to its owner only.
  [[nodiscard]] static Result<FileHandle> open(const std::filesystem::path& path, int flags);

  /// The same; without a descriptor if there is no such file.
  [[nodiscard]] static Result<FileHandle> open_if_there(const std::filesystem::path& path,
                                                        int flags);

  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] explicit operator bool() const { return descriptor_ >= 0; }

  /// Reads from this offset to the end; `path` is for errors.
  [[nodiscard]] Result<std::string> read_from(std::int64_t offset,
                                              const std::filesystem::path& path) const;
  [[nodiscard]] Result<void> write_whole(std::string_view text,
                                         const std::filesystem::path& path) const;
  /// Waits until the file is on the disk.
  [[nodiscard]] Result<void> sync(const std::filesystem::path& path) const;

 private:
  int descriptor_ = -1;
};

/// The error of the system call that just failed: "PATH: cannot be read: Permission denied".
std::unexpected<Error> system_failure(const std::filesystem::path& path, std::string_view what);

/// Waits until the directory is on the disk.
[[nodiscard]] Result<void> sync_directory(const std::filesystem::path& directory);

}  // namespace cleave
