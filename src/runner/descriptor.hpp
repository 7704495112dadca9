#pragma once
// A descriptor of the system's, closed when it goes; and small files read and written whole in a
// directory that belongs to somebody else: no link is followed, nothing but a plain file is opened,
// none waits for a reader.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace cleave {

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
  /// The number is the caller's from here on.
  int release();

 private:
  int number_ = -1;
};

/// What the system said of the call that just failed: "PLACE: cannot be read: Permission denied".
std::unexpected<Error> system_error_at(const std::string& place, std::string_view what);

/// A folder by its path; the last part of it may not be a link.
[[nodiscard]] Result<Descriptor> open_folder(const std::string& path);
[[nodiscard]] Result<Descriptor> open_folder_in(int folder, const std::string& name);

/// A plain file with one name, of this user, of at most so many bytes; anything else is refused.
[[nodiscard]] Result<std::string> read_file_in(int folder, const std::string& name, uid_t owner,
                                               std::int64_t most_bytes);
/// Mode 0600; fails where anything of the name is there.
[[nodiscard]] Result<void> write_new_file_in(int folder, const std::string& name,
                                             std::string_view text);
/// All of it, however often the system takes less.
[[nodiscard]] bool write_all(int descriptor, std::string_view text);

}  // namespace cleave
