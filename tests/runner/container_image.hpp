#pragma once
// The image in which the tests of containers run jobs, and whether they can be run here.

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/places_test.hpp"
#include "runner/container/container_runtimes.hpp"

namespace cleave::contained {

/// Made by tools/containers.sh.
inline std::filesystem::path image_folder() {
  return std::filesystem::path(source_dir()) / "build/containers/root";
}

/// Whether this system lets the user make the namespaces of a container.
inline bool may_make_namespaces(uid_t uid) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() == 0 && ::setresuid(uid, uid, uid) != 0) ::_exit(1);
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) ::_exit(1);
    ::_exit(::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) == 0 &&
                    ::mount("tmpfs", "/tmp", "tmpfs", 0, nullptr) == 0
                ? 0
                : 1);
  }
  int status = 1;
  return child > 0 && ::waitpid(child, &status, 0) == child && status == 0;
}

/// Empty where containers can be run here as this user.
inline std::string what_is_missing(uid_t uid) {
  const ContainerRuntimes runtimes = find_container_runtimes("auto");
  if (!runtimes.lack.empty()) return runtimes.lack;
  if (runtimes.podman.empty()) return "podman is not installed";
  if (!std::filesystem::exists(image_folder() / "etc/cleave-test")) {
    std::ifstream why(image_folder().parent_path() / "missing");
    const std::string said((std::istreambuf_iterator<char>(why)), {});
    return said.empty() ? "tools/containers.sh has made no image" : said;
  }
  if (!may_make_namespaces(uid)) return "users may make no namespaces here";
  return {};
}

}  // namespace cleave::contained
