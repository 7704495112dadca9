#pragma once
// A file descriptor, closed with its object; and small files read and written whole in a directory
// that another user may own: no link is followed, only regular files are opened, and opening never
// blocks.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace cleave {

/// Owns a file descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;

  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] explicit operator bool() const { return number_ >= 0; }
  void close();
  /// Gives the descriptor to the caller.
  int release();

 private:
  int number_ = -1;
};

/// The error of the system call that just failed: "PLACE: cannot be read: Permission denied".
std::unexpected<Error> system_error_at(const std::string& place, std::string_view what);

/// Opens a folder; the last part of its path may not be a link.
[[nodiscard]] Result<Descriptor> open_folder(const std::string& path);
[[nodiscard]] Result<Descriptor> open_folder_in(int folder, const std::string& name);

/// Reads a regular file with one link, of this owner, of at most `most_bytes`; refuses others.
[[nodiscard]] Result<std::string> read_file_in(int folder, const std::string& name, uid_t owner,
                                               std::int64_t most_bytes);
/// Creates a file with mode 0600; fails if the name exists.
[[nodiscard]] Result<void> write_new_file_in(int folder, const std::string& name,
                                             std::string_view text);
/// Whether the path, with the rights of this process, leads to the open folder.
[[nodiscard]] bool leads_to(const std::string& path, int folder);
/// Writes all of it, in as many calls as the system needs.
[[nodiscard]] bool write_all(int descriptor, std::string_view text);

}  // namespace cleave
