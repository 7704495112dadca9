#include "runner/container/container_command.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/format.hpp"
#include "base/text.hpp"
#include "runner/reports/memory_report_line.hpp"

namespace cleave {

namespace {

constexpr std::string_view host_path =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
constexpr std::string_view library_path = "LD_LIBRARY_PATH";

/// Beginnings of names that container programs read themselves: a job's variable of such a name is
/// not in the environment of the container program.
constexpr std::array<std::string_view, 22> read_by_programs = {
    "PATH=",      "HOME=",     "TMPDIR=",     "LD_",      "XDG_",      "CONTAINER",
    "_CONTAINER", "PODMAN_",   "STORAGE_",    "BUILDAH_", "REGISTRY_", "GO",
    "NOTIFY_",    "LISTEN_",   "DBUS_",       "CRUN_",    "APPTAINER", "SINGULARITY",
    "_APPTAINER", "USERNS_FD", "REMOTEUSER=", "DOCKER_"};

bool is_read_by_programs(std::string_view variable) {
  return std::ranges::any_of(read_by_programs,
                             [&](std::string_view each) { return variable.starts_with(each); });
}

std::string_view name_of(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

void set(std::vector<std::string>& environment, const std::string& variable) {
  const auto same = [&](const std::string& each) { return name_of(each) == name_of(variable); };
  std::erase_if(environment, same);
  environment.push_back(variable);
}

/// Of the instance and then of the job, which is stronger, but for folders of libraries, of which
/// the instance's come last.
std::vector<std::string> environment_inside(const Container& container,
                                            const ContainedCommand& what) {
  std::vector<std::string> all = {"HOME=/tmp"};
  std::string libraries;
  for (const std::string& each : container.instance.environment) {
    if (name_of(each) == library_path) libraries = each.substr(library_path.size() + 1);
    set(all, each);
  }
  for (const std::string& each : what.environment) {
    const bool extends = name_of(each) == library_path && !libraries.empty();
    set(all, extends ? fmt::format("{}:{}", each, libraries) : each);
  }
  set(all, fmt::format("{}={}", report_variable, report_in_container));
  // What of the host's hooks would add devices of their own leaves this container alone.
  set(all, "NVIDIA_VISIBLE_DEVICES=void");
  return all;
}

std::string mount_text(const BindMount& mount) {
  return fmt::format("{}:{}:{}", mount.from, mount.to, mount.read_only ? "ro" : "rw");
}

/// Storage in the attempt's folder, with the user's images beside it.
void add_podman_storage(const Container& container, const ContainerPlaces& places,
                        std::vector<std::string>& argv) {
  for (const char* each : {"root", "runroot", "tmpdir"})
    argv.push_back(fmt::format("--{}={}/{}", each, places.state, each));
  const bool by_name = image_kind(container.image) == ImageKind::name;
  argv.push_back(fmt::format("--storage-driver={}", by_name ? "overlay" : "vfs"));
  if (by_name && !container.home.empty())
    argv.push_back(fmt::format("--storage-opt=overlay.imagestore={}", image_store(container.home)));
}

/// An image of podman's belongs to the user as a whole, who is number 0 in it; in a folder users
/// have their own numbers.
void add_podman_image(const Container& container, const ContainedCommand& what,
                      const ContainerPlaces& places, std::vector<std::string>& argv) {
  if (image_kind(container.image) == ImageKind::name) {
    argv.insert(argv.end(), {"--user=0:0", "--entrypoint=", "--", container.image});
    return;
  }
  argv.push_back(fmt::format("--uidmap={}:0:1", what.uid));
  argv.push_back(fmt::format("--gidmap={}:0:1", what.gid));
  argv.push_back(fmt::format("--user={}:{}", what.uid, what.gid));
  argv.insert(argv.end(), {"--rootfs", "--", places.root});
}

ContainerCommand podman_command(const Container& container, const ContainedCommand& what,
                                const ContainerPlaces& places) {
  ContainerCommand made;
  made.argv = {container.program, "--log-level=fatal", "--cgroup-manager=cgroupfs"};
  add_podman_storage(container, places, made.argv);
  made.argv.insert(
      made.argv.end(),
      {"run", "--pull=never", "--cgroups=no-conmon", "--network=host", "--pid=host", "--uts=host",
       "--ipc=private", "--cap-drop=all", "--security-opt=no-new-privileges",
       "--security-opt=label=disable", "--read-only", "--ulimit=host", "--systemd=false",
       "--log-driver=passthrough", fmt::format("--pidfile={}", places.began),
       fmt::format("--workdir={}", what.working_directory)});
  for (const BindMount& each : mounts_of(container, what.working_directory, places.report))
    made.argv.push_back(fmt::format("--volume={}", mount_text(each)));
  for (const ContainerNode& each : container.instance.nodes)
    made.argv.push_back(fmt::format("--device={}:{}", each.from, each.to));
  for (const std::string& each : environment_inside(container, what)) {
    // Others can read command lines; what is secret comes by its name only.
    made.argv.push_back(fmt::format("--env={}", is_read_by_programs(each) ? each : name_of(each)));
    if (!is_read_by_programs(each)) made.environment.push_back(each);
  }
  for (const auto& [name, value] : {std::pair("CONTAINERS_CONF", podman_settings_file),
                                    std::pair("CONTAINERS_STORAGE_CONF", podman_storage_file),
                                    std::pair("HOME", std::string_view("home")),
                                    std::pair("XDG_RUNTIME_DIR", std::string_view("runtime"))})
    made.environment.push_back(fmt::format("{}={}/{}", name, places.state, value));
  made.environment.push_back(fmt::format("PATH={}", host_path));
  // The namespace is there already, with this one user (container_entry.hpp).
  made.environment.emplace_back("_CONTAINERS_USERNS_CONFIGURED=done");
  made.environment.push_back(fmt::format("_CONTAINERS_ROOTLESS_UID={}", what.uid));
  made.environment.push_back(fmt::format("_CONTAINERS_ROOTLESS_GID={}", what.gid));
  add_podman_image(container, what, places, made.argv);
  made.argv.insert(made.argv.end(), what.argv.begin(), what.argv.end());
  return made;
}

ContainerCommand apptainer_command(const Container& container, const ContainedCommand& what,
                                   const ContainerPlaces& places) {
  ContainerCommand made;
  made.argv = {container.program,
               "--silent",
               "exec",
               "--userns",
               "--contain",
               "--cleanenv",
               "--no-privs",
               fmt::format("--pwd={}", what.working_directory)};
  for (const BindMount& each : mounts_of(container, what.working_directory, places.report))
    made.argv.push_back(fmt::format("--bind={}", mount_text(each)));
  for (const ContainerNode& each : container.instance.nodes)
    made.argv.push_back(fmt::format("--bind={}:{}", each.from, each.to));
  for (const std::string& each : environment_inside(container, what)) {
    if (name_of(each) != "HOME") made.environment.push_back(fmt::format("APPTAINERENV_{}", each));
    if (!is_read_by_programs(each)) made.environment.push_back(each);
  }
  made.environment.push_back(fmt::format("HOME={}", container.home));
  made.environment.push_back(fmt::format("PATH={}", host_path));
  made.argv.emplace_back(container.image);
  made.argv.insert(made.argv.end(), what.argv.begin(), what.argv.end());
  return made;
}

/// One row for each program.
struct ProgramRow {
  ContainerProgram program;
  ContainerCommand (*command)(const Container&, const ContainedCommand&, const ContainerPlaces&);
  std::string_view last_word;  // with which its error messages begin
  bool says_begin;             // whether it says when the job's program runs
  std::optional<int> failed;   // where it does not: its exit code when something went wrong
};
constexpr std::array<ProgramRow, 2> programs = {
    ProgramRow{ContainerProgram::podman, podman_command, "Error: ", true, {}},
    ProgramRow{ContainerProgram::apptainer, apptainer_command, "FATAL:", false, 255},
};

const ProgramRow& row_of(ContainerProgram program) {
  return *std::ranges::find(programs, program, &ProgramRow::program);
}

/// The system's words, as Go writes them.
struct SystemWords {
  std::string_view words;
  int code;
};
constexpr std::array<SystemWords, 8> system_words = {
    SystemWords{"resource temporarily unavailable", EAGAIN},
    SystemWords{"cannot allocate memory", ENOMEM},
    SystemWords{"no space left on device", ENOSPC},
    SystemWords{"disk quota exceeded", EDQUOT},
    SystemWords{"too many open files in system", ENFILE},
    SystemWords{"too many open files", EMFILE},
    SystemWords{"no buffer space available", ENOBUFS},
    SystemWords{"input/output error", EIO},
};

int code_said(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
  });
  for (const SystemWords& each : system_words)
    if (lower.contains(each.words)) return each.code;
  return 0;
}

}  // namespace

const std::string_view podman_settings =
    "[engine]\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"none\"\nlock_type = \"file\"\n";

std::string podman_storage(const std::string& state) {
  // Of root's own jobs podman takes no folders from its command line alone.
  return fmt::format(
      "[storage]\ndriver = \"overlay\"\nrunroot = \"{0}/runroot\"\ngraphroot = \"{0}/root\"\n",
      state);
}

std::string image_store(const std::string& home) {
  return fmt::format("{}/.local/share/containers/storage", home);
}

std::vector<BindMount> mounts_of(const Container& container, const std::string& working_directory,
                                 const std::string& report) {
  std::vector<BindMount> all = {{"/dev/shm", "/dev/shm", false}};
  if (is_shared_folder(working_directory))
    all.push_back({working_directory, working_directory, false});
  const auto add = [&](const BindMount& mount) {
    std::erase_if(all, [&](const BindMount& each) { return each.to == mount.to; });
    all.push_back(mount);
  };
  for (const BindMount& each : container.instance.mounts) add(each);
  for (const BindMount& each : container.mounts) add(each);
  add({report, std::string(report_in_container), false});
  return all;
}

ContainerCommand container_command(const Container& container, const ContainedCommand& what,
                                   const ContainerPlaces& places) {
  return row_of(container.by).command(container, what, places);
}

bool is_last_word(ContainerProgram by, std::string_view line) {
  return line.starts_with(row_of(by).last_word);
}

std::optional<ContainerFailure> container_failure(ContainerProgram by, bool began, int exit_code,
                                                  std::string_view last_word) {
  const ProgramRow& row = row_of(by);
  if (row.says_begin ? began : exit_code != row.failed || !is_last_word(by, last_word))
    return std::nullopt;
  std::string_view why = last_word;
  if (is_last_word(by, why)) why.remove_prefix(row.last_word.size());
  why.remove_prefix(std::min(why.find_first_not_of(' '), why.size()));
  ContainerFailure failure{fmt::format("the container was not set up: {}: ", name(by)), 0};
  failure.reason +=
      why.empty() ? fmt::format("it ended with {} and said nothing", exit_code) : shown(why, 500);
  failure.code = code_said(why);
  return failure;
}

}  // namespace cleave
