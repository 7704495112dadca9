#pragma once
// The file of the daemon's socket. It is made in a folder that only the daemon's user can write,
// never replaces a socket on which another program answers, and is removed with the daemon.

#include <sys/stat.h>

#include <string>

#include "api/socket_place.hpp"
#include "base/result.hpp"
#include "runner/descriptor.hpp"

namespace cleave {

/// A listening stream socket and its file. One program has it at a time, which holds PATH.lock.
class SocketFile {
 public:
  /// Makes the folder if it is missing. If `everybody` may connect, the folder is 0755 and the
  /// socket 0666, else 0700 and 0600. Fails if another daemon has it, the folder belongs to or can
  /// be written by another user, or the path is too long for a socket.
  [[nodiscard]] static Result<SocketFile> listen(const SocketPlace& place, bool everybody);
  ~SocketFile();
  SocketFile(SocketFile&&) = default;
  SocketFile& operator=(SocketFile&&) = delete;

  [[nodiscard]] int number() const { return socket_.number(); }
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Removes the file; nobody can connect afterwards.
  void remove();

 private:
  SocketFile(std::string path, Descriptor lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  Result<void> bind(bool everybody);

  std::string path_;
  Descriptor lock_, socket_;
  struct stat made_ {};
};

}  // namespace cleave
