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
/// Folders that jobs do not need: the first that there is has the files of this attempt in its
/// place in the container program's namespace. Everybody can reach it, as podman wants of all
/// folders above its own, and it is short: podman's may have 50 characters.
constexpr std::array<const char*, 3> places_to_cover = {"/boot", "/media", "/srv"};

Result<void> make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return system_error_at(path, "cannot be made");
  return {};
}

Result<void> write_file(int folder, const std::string& path, std::string_view text) {
  const Descriptor file(
      ::openat(folder, path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
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

/// This user becomes number 0 of a namespace that has no other numbers. The working directory is
/// the folder then, which may not be reachable by its path.
Result<void> enter_namespaces(std::uint32_t uid, std::uint32_t gid, int folder) {
  if (::fchdir(folder) != 0) return system_error_at("container", "its folder cannot be entered");
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

std::vector<RootPoint> points_in(const Container& container, const std::string& working_directory,
                                 const std::string& report) {
  std::vector<RootPoint> points(points_of_podman().begin(), points_of_podman().end());
  for (const BindMount& each : mounts_of(container, working_directory, report)) {
    struct stat facts {};
    const bool is_folder = ::stat(each.from.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode);
    points.push_back({each.to, is_folder});
  }
  points.push_back({working_directory});
  return points;
}

Result<std::string> place_to_cover() {
  for (const char* each : places_to_cover) {
    struct stat facts {};
    if (::stat(each, &facts) == 0 && S_ISDIR(facts.st_mode)) return each;
  }
  errno = ENOENT;
  return fail(ErrorKind::infeasible, "container", "there is no folder for the files of podman",
              fmt::format("make {}, which may be empty", places_to_cover.front()));
}

/// What is mounted at the place in this namespace is in memory, with the working directory, the
/// user's folder, in it.
Result<void> cover(const std::string& place, const std::string& users) {
  const Descriptor kept(
      ::open_tree(AT_FDCWD, ".", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE));
  if (!kept) return system_error_at(users, "cannot be taken over");
  if (::mount("tmpfs", place.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "mode=711") != 0)
    return system_error_at(place, "cannot be covered");
  if (const auto made = make_folder(users); !made) return made;
  if (::move_mount(kept.number(), "", AT_FDCWD, users.c_str(), MOVE_MOUNT_F_EMPTY_PATH) != 0 ||
      ::chdir("/") != 0)
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
    if (const auto written = write_file(AT_FDCWD, fmt::format("{}/{}", places.state, file), text);
        !written)
      return written;
  return {};
}

/// Instances' mounts that the job's user cannot reach are not there for its other jobs either.
void leave_out_unreachable(std::vector<BindMount>& mounts) {
  std::erase_if(mounts,
                [](const BindMount& each) { return ::access(each.from.c_str(), F_OK) != 0; });
}

Result<ContainerPlaces> enter_for_podman(const Launch& launch, const Container& container,
                                         int folder) {
  const auto place = place_to_cover();
  if (!place) return std::unexpected(place.error());
  const std::string state = fmt::format("{}/container", *place),
                    users = fmt::format("{}/{}", *place, user_folder);
  const ContainerPlaces places{state, fmt::format("{}/fs", state),
                               fmt::format("{}/{}", users, report_socket),
                               fmt::format("{}/{}", users, container_began_file)};
  if (const auto in = enter_namespaces(launch.uid, launch.gid, folder); !in)
    return std::unexpected(in.error());
  if (const auto hidden = hide_control_groups(launch.uid == 0); !hidden)
    return std::unexpected(hidden.error());
  if (const auto covered = cover(*place, users); !covered) return std::unexpected(covered.error());
  if (const auto made = make_state(places); !made) return std::unexpected(made.error());
  if (image_kind(container.image) == ImageKind::name) return places;
  const std::string image = fmt::format("{}/image", places.state);
  if (const auto mounted = mount_read_only(container.image, image); !mounted)
    return std::unexpected(mounted.error());
  if (const auto made = make_root(image, places.root,
                                  points_in(container, launch.working_directory, places.report));
      !made)
    return std::unexpected(made.error());
  return places;
}

/// Apptainer makes its own namespaces, and finds the socket for reports by its path.
Result<ContainerPlaces> places_for_apptainer(int folder, const std::string& path) {
  if (leads_to(path, folder))
    return ContainerPlaces{{}, {}, fmt::format("{}/{}", path, report_socket), {}};
  errno = EACCES;
  return fail(ErrorKind::infeasible, path, "the job's user cannot reach it by its path",
              "let others pass through the folders of the state directory (mode 0711)");
}

}  // namespace

Result<ContainerCommand> enter_container(const Launch& launch, int folder, const std::string& path,
                                         const std::vector<std::string>& environment) {
  Container container = *launch.container;
  leave_out_unreachable(container.instance.mounts);
  if (const auto written = write_file(folder, container_specification,
                                      cdi_text(container.instance, directory_name(launch.key)));
      !written)
    return std::unexpected(written.error());
  // A user who has no images has no store of them either.
  const bool by_podman = container.by == ContainerProgram::podman;
  if (by_podman && ::access(image_store(container.home).c_str(), X_OK) != 0) container.home.clear();
  const auto places =
      by_podman ? enter_for_podman(launch, container, folder) : places_for_apptainer(folder, path);
  if (!places) return std::unexpected(places.error());
  return container_command(
      container, {launch.argv, environment, launch.working_directory, launch.uid, launch.gid},
      *places);
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
