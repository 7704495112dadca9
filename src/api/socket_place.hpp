#pragma once
// Where the daemon's socket is: one answer for the daemon, which makes it, and for clients, which
// try one after the other.
//
//   --socket FILE                         if it is given, and then nothing else
//   $CLEAVE_SOCKET                        likewise; a daemon that runs as root leaves it empty
//   as root    /run/cleave/cleaved.sock
//   otherwise  $XDG_RUNTIME_DIR/cleave/cleaved.sock
//              without that /tmp/cleave-UID/cleaved.sock, and where another user keeps that folder
//              from this one $XDG_STATE_HOME/cleave/run/cleaved.sock;
//              clients then try /run/cleave/cleaved.sock, the system's daemon

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace cleave {

inline constexpr const char* socket_variable = "CLEAVE_SOCKET";

/// What decides where it is.
struct SocketQuery {
  std::optional<std::string> given;              // --socket
  std::optional<std::string> environment;        // CLEAVE_SOCKET
  std::optional<std::string> runtime_directory;  // XDG_RUNTIME_DIR; a relative one is ignored
  uid_t uid = 0;                                 // effective
  std::filesystem::path temporary = "/tmp";      // where every user may make folders
  std::optional<std::string> state_home;         // XDG_STATE_HOME; a relative one is ignored
  std::optional<std::string> home;               // HOME; likewise
};
/// What this process has: its user and its environment; `given` is the caller's to fill in.
[[nodiscard]] SocketQuery socket_query_of_process();

/// A socket's path.
struct SocketPlace {
  std::filesystem::path path;
  bool chosen = false;  // named by the user, who then vouches for it
};

/// Where the daemon of this user may listen: at the first of these whose folder it can have. Fails
/// if a name is empty or longer than the 107 bytes that the kernel takes.
[[nodiscard]] Result<std::vector<SocketPlace>> daemon_sockets(const SocketQuery& query);
/// Where a client of this user asks, in this order; never empty.
[[nodiscard]] Result<std::vector<SocketPlace>> client_sockets(const SocketQuery& query);

/// Makes the directory of a socket, 0700 unless `mode` says otherwise. One that exists must not be
/// a link and must belong to the user or root, with no one else allowed to write in it (or be
/// sticky, if the user chose it). Otherwise another user could put a socket under the name.
[[nodiscard]] Result<void> make_socket_folder(const SocketPlace& place, mode_t mode = 0700);

}  // namespace cleave
