#include "runner/container/container_runtimes.hpp"

#include <unistd.h>

#include <array>

#include "base/format.hpp"
#include "base/text.hpp"
#include "runner/system_file.hpp"

namespace cleave {

namespace fs = std::filesystem;

namespace {

constexpr std::array<std::string_view, 3> folders = {"usr/local/bin", "usr/bin", "bin"};
/// What podman executes to make the container; both are in Debian.
constexpr std::array<std::string_view, 2> makers = {"crun", "runc"};

bool can_be_run(const fs::path& file) {
  std::error_code failed;
  return fs::is_regular_file(file, failed) && ::access(file.c_str(), X_OK) == 0;
}

std::string find_program(const fs::path& root, std::string_view name) {
  for (const std::string_view folder : folders)
    if (const fs::path file = root / folder / name; can_be_run(file)) return file.string();
  return {};
}

/// A setting of the kernel's that keeps users from making namespaces.
struct KernelSetting {
  const char* file;
  std::string_view forbids;
  std::string_view remedy;
};
constexpr std::array<KernelSetting, 3> kernel_settings = {
    KernelSetting{"proc/sys/kernel/unprivileged_userns_clone", "0",
                  "sysctl kernel.unprivileged_userns_clone=1"},
    KernelSetting{"proc/sys/user/max_user_namespaces", "0",
                  "sysctl user.max_user_namespaces=15000"},
    KernelSetting{"proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1",
                  "sysctl kernel.apparmor_restrict_unprivileged_userns=0"},
};

std::string what_forbids(const fs::path& root) {
  for (const KernelSetting& each : kernel_settings) {
    std::string value = read_system_file((root / each.file).string());
    while (!value.empty() && (value.back() == '\n' || value.back() == ' ')) value.pop_back();
    if (value == each.forbids)
      return fmt::format("users may make no namespaces (/{} is {}; an administrator can set {})",
                         each.file, value, each.remedy);
  }
  return {};
}

/// By its file; `lack` says what it is not.
ContainerRuntimes the_one(const std::string& file) {
  ContainerRuntimes found;
  const std::string name = fs::path(file).filename().string();
  if (!can_be_run(file) || !is_mountable(file))
    found.lack = fmt::format("container_runtime, {}, is not a program", shown(file, 200));
  else if (name.contains("podman"))
    found.podman = file;
  else if (name.contains("apptainer") || name.contains("singularity"))
    found.apptainer = file;
  else
    found.lack = fmt::format("container_runtime, {}, is neither podman nor apptainer by its name",
                             shown(file, 200));
  return found;
}

}  // namespace

Result<ChosenRuntime> runtime_for(const ContainerRuntimes& runtimes, std::string_view image) {
  if (!runtimes.lack.empty())
    return fail(ErrorKind::infeasible, "image",
                fmt::format("this daemon runs no containers: {}", runtimes.lack),
                "see `cleave doctor`");
  const ImageKind kind = image_kind(image);
  if (!runtimes.podman.empty() && kind != ImageKind::archive)
    return ChosenRuntime{ContainerProgram::podman, runtimes.podman};
  if (!runtimes.apptainer.empty() && kind != ImageKind::name)
    return ChosenRuntime{ContainerProgram::apptainer, runtimes.apptainer};
  return fail(ErrorKind::infeasible, "image",
              kind == ImageKind::archive ? "only apptainer runs .sif files, and it is not there"
                                         : "only podman runs images by name, and it is not there",
              "name the folder of a root file system, or have an administrator install it");
}

ContainerRuntimes find_container_runtimes(const std::string& wanted, const fs::path& root) {
  ContainerRuntimes found;
  if (wanted == "none") {
    found.lack = "container_runtime is none";
    return found;
  }
  if (wanted != "auto") {
    found = the_one(wanted);
  } else {
    found.podman = find_program(root, "podman");
    found.apptainer = find_program(root, "apptainer");
    if (found.podman.empty() && found.apptainer.empty())
      found.lack = "neither podman nor apptainer is installed";
  }
  if (!found.lack.empty()) return found;
  found.lack = what_forbids(root);
  bool made = false;
  for (const std::string_view each : makers) made |= !find_program(root, each).empty();
  if (!found.podman.empty() && !made) {
    found.podman.clear();
    if (found.apptainer.empty() && found.lack.empty())
      found.lack = "podman needs crun, which is not installed";
  }
  return found;
}

std::string in_words(const ContainerRuntimes& runtimes) {
  std::string text;
  for (const auto& [by, file] : {std::pair(ContainerProgram::podman, runtimes.podman),
                                 std::pair(ContainerProgram::apptainer, runtimes.apptainer)})
    if (!file.empty())
      text += fmt::format("{}{} ({})", text.empty() ? "" : " and ", name(by), file);
  return text;
}

}  // namespace cleave
