#include "api/socket_place.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

constexpr std::size_t longest_socket = 107;  // sizeof(sockaddr_un::sun_path) without the end
constexpr const char* system_socket = "/run/cleave/cleaved.sock";

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == 0 ? std::nullopt : std::optional<std::string>(value);
}

Result<SocketPlace> checked(const char* name, const std::string& path) {
  if (path.empty())
    return fail(ErrorKind::bad_usage, name, "it is empty", "name a socket, or leave it out");
  if (path.size() > longest_socket)
    return fail(ErrorKind::bad_usage, name,
                fmt::format("'{}' is longer than the {} bytes that a unix socket's name may have",
                            shown(path, 80), longest_socket),
                "name it from a nearer folder, or choose a shorter one");
  return SocketPlace{path, true};
}

std::optional<std::filesystem::path> absolute(const std::optional<std::string>& directory) {
  return directory && directory->starts_with('/') ? std::optional<std::filesystem::path>(*directory)
                                                  : std::nullopt;
}

/// The user's own, where nothing was chosen.
std::vector<std::filesystem::path> own_sockets(const SocketQuery& query) {
  if (query.uid == 0) return {system_socket};
  const auto fits = [](const std::filesystem::path& path) {
    return path.native().size() <= longest_socket;
  };
  if (const auto runtime = absolute(query.runtime_directory))
    if (auto path = *runtime / "cleave/cleaved.sock"; fits(path)) return {std::move(path)};
  std::vector<std::filesystem::path> paths = {query.temporary /
                                              fmt::format("cleave-{}/cleaved.sock", query.uid)};
  auto state = absolute(query.state_home);
  if (const auto home = absolute(query.home); home && !state) state = *home / ".local/state";
  if (state)
    if (auto path = *state / "cleave/run/cleaved.sock"; fits(path))
      paths.push_back(std::move(path));
  return paths;
}

std::unexpected<Error> unsafe(const std::string& folder, std::string_view why) {
  return fail(ErrorKind::infeasible, shown(folder, 200), std::string(why),
              "remove it, or name another socket with --socket");
}

}  // namespace

SocketQuery socket_query_of_process() {
  return {.given = {},
          .environment = variable(socket_variable),
          .runtime_directory = variable("XDG_RUNTIME_DIR"),
          .uid = ::geteuid(),
          .state_home = variable("XDG_STATE_HOME"),
          .home = variable("HOME")};
}

Result<std::vector<SocketPlace>> daemon_sockets(const SocketQuery& query) {
  if (query.given || query.environment) {
    const auto named = query.given ? checked("--socket", *query.given)
                                   : checked(socket_variable, *query.environment);
    if (!named) return std::unexpected(named.error());
    return std::vector<SocketPlace>{*named};
  }
  std::vector<SocketPlace> places;
  for (std::filesystem::path& path : own_sockets(query)) places.push_back({std::move(path), false});
  return places;
}

Result<std::vector<SocketPlace>> client_sockets(const SocketQuery& query) {
  auto places = daemon_sockets(query);
  if (!places) return places;
  if (!places->front().chosen && places->front().path != system_socket)
    places->push_back({system_socket, false});
  return places;
}

Result<void> make_socket_folder(const SocketPlace& place, mode_t mode) {
  std::filesystem::path folder = place.path.parent_path();
  if (folder.empty()) folder = ".";
  const std::string name = folder.string();
  std::error_code ignored;  // what is missing above is what the folder cannot be made in
  if (!place.chosen) std::filesystem::create_directories(folder.parent_path(), ignored);
  const bool made = ::mkdir(name.c_str(), mode) == 0;
  if (!made && errno != EEXIST)
    return fail(ErrorKind::infeasible, shown(name, 200),
                fmt::format("the folder of the socket cannot be made: {}",
                            std::generic_category().message(errno)),
                "make the folder above it, or name another socket with --socket");
  if (made && ::chmod(name.c_str(), mode) != 0)  // whatever the umask is
    return unsafe(name, "its mode cannot be set");
  struct stat status {};
  if (::lstat(name.c_str(), &status) != 0) return unsafe(name, "it cannot be examined");
  if (S_ISLNK(status.st_mode) && place.chosen && ::stat(name.c_str(), &status) != 0)
    return unsafe(name, "it is a link to nowhere");
  if (!S_ISDIR(status.st_mode)) return unsafe(name, "it is not a folder");
  if (status.st_uid != ::geteuid() && status.st_uid != 0)
    return unsafe(name, "it belongs to somebody else, who could put another socket in its place");
  const bool others_write = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  if (others_write && !(place.chosen && (status.st_mode & S_ISVTX) != 0))
    return unsafe(name, "others may write in it, who could put another socket in its place");
  return {};
}

}  // namespace cleave
