#pragma once
// The daemon's socket and store are files that somebody may remove under it: with a socket that is
// gone nobody can reach the daemon, and what is written into a store that is gone is lost with it.
// So both are looked at now and then.

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "daemon/http/socket_file.hpp"
#include "daemon/store/sqlite_store.hpp"

namespace cleave {

/// Makes a removed socket anew, and says what is wrong with either.
class PlaceWatch {
 public:
  /// Whether the server listens on this socket now.
  using ListenOn = std::function<bool(int socket)>;

  /// Both must outlive it.
  PlaceWatch(SocketFile& socket, SqliteStore& store, ListenOn listen_on)
      : socket_(&socket), store_(&store), listen_on_(std::move(listen_on)) {}

  /// Looks at them, once a second at most unless `now` is set; writes news into the log.
  void look(bool now = false);
  /// What is wrong at the moment, one line each.
  [[nodiscard]] const std::vector<std::string>& troubles() const { return troubles_; }

 private:
  void look_at_socket(std::vector<std::string>& troubles);

  SocketFile* socket_;
  SqliteStore* store_;
  ListenOn listen_on_;
  bool listens_ = true;
  std::chrono::steady_clock::time_point next_{};
  std::vector<std::string> troubles_;
};

}  // namespace cleave
