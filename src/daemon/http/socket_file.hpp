#pragma once
// The file of the daemon's socket: made in a folder of ours, never in the place of one that
// somebody answers on, and gone when the daemon is.

#include <sys/stat.h>

#include <string>

#include "api/socket_place.hpp"
#include "base/result.hpp"
#include "runner/descriptor.hpp"

namespace cleave {

/// A listening stream socket and its file. One program at a time has it: PATH.lock is held
/// meanwhile.
class SocketFile {
 public:
  /// The folder is made where it is missing, 0755 where `everybody` may connect, else 0700; the
  /// socket is 0666 or 0600. Fails where another daemon has it, the folder is somebody else's or
  /// everybody's, or the path is too long for a socket's.
  [[nodiscard]] static Result<SocketFile> listen(const SocketPlace& place, bool everybody);
  ~SocketFile();
  SocketFile(SocketFile&&) = default;
  SocketFile& operator=(SocketFile&&) = delete;

  [[nodiscard]] int number() const { return socket_.number(); }
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Takes the file away; who comes now finds nobody.
  void remove();

 private:
  SocketFile(std::string path, Descriptor lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  Result<void> bind(bool everybody);

  std::string path_;
  Descriptor lock_, socket_;
  struct stat made_ {};
};

}  // namespace cleave
