#include "device/state_directory.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/text.hpp"
#include "device/file_handle.hpp"

namespace cleave {

namespace {

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == 0 ? std::nullopt : std::optional<std::string>(value);
}

}  // namespace

StateQuery state_query_of_process() {
  return {.given = {},
          .sim_node = {},
          .root = ::geteuid() == 0,
          .xdg_state_home = variable("XDG_STATE_HOME"),
          .home = variable("HOME")};
}

Result<std::filesystem::path> state_directory(const StateQuery& query) {
  if (query.given) {
    if (query.given->empty())
      return fail(ErrorKind::bad_usage, "--state", "it is empty",
                  "name a directory, or leave it out");
    return *query.given;
  }
  if (query.sim_node) return *query.sim_node / "cleave";
  if (query.root) return "/var/lib/cleave";
  // The specification of the XDG directories says to ignore a relative path.
  if (query.xdg_state_home && query.xdg_state_home->starts_with('/'))
    return std::filesystem::path(*query.xdg_state_home) / "cleave";
  if (query.home && query.home->starts_with('/'))
    return std::filesystem::path(*query.home) / ".local" / "state" / "cleave";
  return fail(ErrorKind::infeasible, "state directory",
              "neither HOME nor XDG_STATE_HOME names a directory", "name one with --state");
}

Result<void> make_state_directory(const std::filesystem::path& directory) {
  std::error_code failed;
  const std::filesystem::path whole =
      std::filesystem::absolute(directory, failed).lexically_normal();
  std::filesystem::path so_far;
  for (const auto& part : whole) {
    so_far /= part;
    if (::mkdir(so_far.c_str(), 0700) != 0 && errno != EEXIST && errno != EISDIR) {
      const int why = errno;
      if (std::filesystem::is_directory(so_far, failed))
        continue;  // exists, though not writable for this user
      errno = why;
      return system_failure(so_far, "the state directory cannot be made");
    }
  }
  if (!std::filesystem::is_directory(whole, failed))
    return fail(ErrorKind::infeasible, shown(directory.string(), 200), "it is not a directory",
                "name another state directory with --state");
  return {};
}

}  // namespace cleave
