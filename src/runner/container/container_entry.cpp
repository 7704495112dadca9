#include "runner/container/container_entry.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/format.hpp"
#include "base/text.hpp"
#include "runner/container/cdi.hpp"
#include "runner/container/container_root.hpp"
#include "runner/descriptor.hpp"
#include "runner/job_directory.hpp"
#include "runner/system_file.hpp"

namespace cleave {

namespace {

constexpr const char* control_groups = "/sys/fs/cgroup";

std::string folder_above(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

Result<void> make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return system_error_at(path, "cannot be made");
  return {};
}

Result<void> write_file(const std::string& path, std::string_view text) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file || !write_all(file.number(), text)) return system_error_at(path, "cannot be written");
  return {};
}

std::unexpected<Error> no_namespace() {
  const int code = errno;
  auto error = system_error_at("container", "no user namespace can be made");
  error.error().remedy =
      "allow users to make them: sysctl kernel.unprivileged_userns_clone=1 where there is such a "
      "setting, and user.max_user_namespaces above 0";
  // As it is used for the limit, and a disk has nothing to do with it.
  errno = code == ENOSPC ? EUSERS : code;
  return error;
}

/// This user becomes number 0 of a namespace that has no other numbers.
Result<void> enter_namespaces(std::uint32_t uid, std::uint32_t gid) {
  // The process has given up all that was the daemon's; a process that may not be inspected cannot
  // write the numbers of its namespace.
  if (::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0 || ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
    return no_namespace();
  const std::array<std::pair<const char*, std::string>, 3> maps = {
      std::pair("/proc/self/setgroups", std::string("deny")),
      std::pair("/proc/self/uid_map", fmt::format("0 {} 1", uid)),
      std::pair("/proc/self/gid_map", fmt::format("0 {} 1", gid))};
  for (const auto& [file, text] : maps)
    if (!write_system_file(file, text)) return no_namespace();
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0 ||
      ::mount(nullptr, "/", nullptr, MS_REC | MS_SHARED, nullptr) != 0)
    return system_error_at("container", "mounts cannot be kept from the host");
  return {};
}

/// Container programs make no groups then, and the attempt's are left alone: where there is not
/// just version 2, which some refuse to run with, and where they belong to this user.
Result<void> hide_control_groups(bool root) {
  struct statfs facts {};
  if (::statfs(control_groups, &facts) != 0) return {};
  if (facts.f_type == CGROUP2_SUPER_MAGIC && !root) return {};
  if (::mount("tmpfs", control_groups, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755") != 0)
    return system_error_at(control_groups, "cannot be hidden");
  return {};
}

/// Mounts the folder at the place, for reading only.
Result<void> mount_read_only(const std::string& folder, const std::string& place) {
  if (::mount(folder.c_str(), place.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0)
    return system_error_at(folder, "cannot be mounted");
  mount_attr read_only{};
  read_only.attr_set = MOUNT_ATTR_RDONLY;
  if (::mount_setattr(AT_FDCWD, place.c_str(), AT_RECURSIVE, &read_only, sizeof read_only) != 0)
    return system_error_at(folder, "cannot be mounted for reading only");
  return {};
}

std::vector<RootPoint> points_in(const Launch& launch, const std::string& report) {
  std::vector<RootPoint> points(points_of_podman().begin(), points_of_podman().end());
  for (const BindMount& each : mounts_of(*launch.container, launch.working_directory, report)) {
    struct stat facts {};
    const bool is_folder = ::stat(each.from.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode);
    points.push_back({each.to, is_folder});
  }
  points.push_back({launch.working_directory});
  return points;
}

/// Podman opens all folders above its own for everybody, which the attempt's must not be and this
/// user may not do: in this namespace another folder is in its place, in memory, with the user's
/// folder in it.
Result<void> cover_attempt(const std::string& attempt, const std::string& users) {
  const Descriptor kept(
      ::open_tree(AT_FDCWD, users.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE));
  if (!kept) return system_error_at(users, "cannot be taken over");
  if (::mount("tmpfs", attempt.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "mode=711") != 0)
    return system_error_at(attempt, "cannot be covered");
  if (const auto made = make_folder(users); !made) return made;
  if (::move_mount(kept.number(), "", AT_FDCWD, users.c_str(), MOVE_MOUNT_F_EMPTY_PATH) != 0)
    return system_error_at(users, "cannot be taken over");
  return {};
}

Result<void> make_state(const ContainerPlaces& places) {
  if (const auto made = make_folder(places.state); !made) return made;
  for (const char* each : {"home", "runtime", "root", "runroot", "tmpdir", "image", "fs"})
    if (const auto made = make_folder(fmt::format("{}/{}", places.state, each)); !made) return made;
  // What programs in the container see as their root.
  (void)::chmod(places.root.c_str(), 0755);
  for (const auto& [file, text] : {std::pair(podman_settings_file, std::string(podman_settings)),
                                   std::pair(podman_storage_file, podman_storage(places.state))})
    if (const auto written = write_file(fmt::format("{}/{}", places.state, file), text); !written)
      return written;
  return {};
}

Result<void> enter_for_podman(const Launch& launch, const std::string& users,
                              const ContainerPlaces& places) {
  const Container& container = *launch.container;
  if (const auto in = enter_namespaces(launch.uid, launch.gid); !in) return in;
  if (const auto hidden = hide_control_groups(launch.uid == 0); !hidden) return hidden;
  if (const auto covered = cover_attempt(folder_above(users), users); !covered) return covered;
  if (const auto made = make_state(places); !made) return made;
  if (image_kind(container.image) == ImageKind::name) return {};
  const std::string image = fmt::format("{}/image", places.state);
  if (const auto mounted = mount_read_only(container.image, image); !mounted) return mounted;
  return make_root(image, places.root, points_in(launch, places.report));
}

}  // namespace

Result<ContainerCommand> enter_container(const Launch& launch, int folder, const std::string& path,
                                         const std::vector<std::string>& environment) {
  Container container = *launch.container;
  const auto in_folder = [&](std::string_view name) { return fmt::format("{}/{}", path, name); };
  if (!leads_to(path, folder)) {
    errno = 0;
    return fail(ErrorKind::infeasible, path, "the job's user cannot reach it by its path",
                "let others pass through the folders of the state directory (mode 0711)");
  }
  const std::string state = fmt::format("{}/container", folder_above(path));
  const ContainerPlaces places{state, fmt::format("{}/fs", state), in_folder(report_socket),
                               in_folder(container_began_file)};
  if (const auto written = write_file(in_folder(container_specification),
                                      cdi_text(container.instance, directory_name(launch.key)));
      !written)
    return std::unexpected(written.error());
  // A user who has no images has no store of them either.
  if (container.by == ContainerProgram::podman) {
    if (::access(image_store(container.home).c_str(), X_OK) != 0) container.home.clear();
    if (const auto in = enter_for_podman(launch, path, places); !in)
      return std::unexpected(in.error());
  }
  return container_command(
      container, {launch.argv, environment, launch.working_directory, launch.uid, launch.gid},
      places);
}

pid_t began_in_container(int folder) {
  const Descriptor file(
      ::openat(folder, container_began_file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  char text[16] = {};
  if (!file || ::read(file.number(), text, sizeof text - 1) <= 0) return 0;
  const std::string_view whole(text);
  const auto number = parse_integer(whole.substr(0, whole.find_first_not_of("0123456789")));
  return number && *number > 1 && *number < (1 << 30) ? static_cast<pid_t>(*number) : 0;
}

void leave_container(int folder) {
  (void)::unlinkat(folder, container_began_file, 0);
}

}  // namespace cleave
