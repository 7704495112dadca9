#pragma once
// The file of the daemon's socket. It is made in a folder that only the daemon's user can write,
// never replaces a socket on which another program answers, and is removed with the daemon.

#include <sys/stat.h>

#include <chrono>
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
  /// Whether the file is the one that was made here.
  [[nodiscard]] bool is_there() const;
  /// Makes what was removed of the folder, the lock and the socket anew, under another number().
  /// Waits for nobody; where it fails nobody can connect, and it can be tried again.
  [[nodiscard]] Result<void> renew();
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Removes the file; nobody can connect afterwards.
  void remove();

 private:
  SocketFile(SocketPlace place, bool everybody)
      : place_(std::move(place)), path_(place_.path.string()), everybody_(everybody) {}
  Result<void> make(std::chrono::milliseconds patience);
  Result<void> take_lock(std::chrono::milliseconds patience);
  Result<void> bind(std::chrono::milliseconds patience);

  SocketPlace place_;
  std::string path_;
  bool everybody_;
  Descriptor lock_, socket_;
  struct stat made_ {};
};

}  // namespace cleave
