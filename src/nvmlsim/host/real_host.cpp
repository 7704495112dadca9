// What of this machine shows through in the host of a node, and the driver root.

#include <dlfcn.h>
#include <link.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/format.hpp"
#include "nvmlsim/driver_facts.hpp"
#include "nvmlsim/sim_host.hpp"
#include "nvmlsim/sim_node.hpp"

namespace cleave {

namespace fs = std::filesystem;

using sim::driver_version;

namespace {

std::optional<std::string> text_of(const char* file) {
  std::ifstream in(file);
  if (!in) return {};
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// The shared library with this beginning of its name that this program has loaded, if any.
std::string loaded_library(std::string_view name) {
  struct Search {
    std::string_view name;
    std::string found;
  } search{name, {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        Search& looks = *static_cast<Search*>(data);
        const std::string_view path = info->dlpi_name;
        if (path.substr(path.rfind('/') + 1).starts_with(looks.name)) looks.found = path;
        return 0;
      },
      &search);
  return search.found;
}

}  // namespace

#if defined(__aarch64__)
const char* const driver_libraries = "usr/lib/aarch64-linux-gnu";
#else
const char* const driver_libraries = "usr/lib/x86_64-linux-gnu";
#endif

RealHost real_host() {
  std::error_code failed;
  return {text_of("/proc/devices").value_or(""), text_of("/proc/modules"),
          fs::exists("/sys/devices/system/node/node0", failed),
          static_cast<std::uint32_t>(std::max(1, get_nprocs_conf()))};
}

Result<HostTree> driver_root() {
  const fs::path library = simulated_library();
  const fs::path command = library.parent_path() / "cleave-smi";
  for (const fs::path& each : {library, command}) {
    std::error_code failed;
    if (!fs::exists(each, failed))
      return fail(ErrorKind::infeasible, each.string(), "it is missing beside this program",
                  "install Cleave whole, or build the target `cleave`");
  }
  const std::string libraries = fmt::format("{}/", driver_libraries);
  const std::string versioned = fmt::format("libnvidia-ml.so.{}", driver_version);
  HostTree tree;
  tree[libraries + versioned] = {HostFile::Kind::copy, library.string()};
  tree[libraries + "libnvidia-ml.so.1"] = {HostFile::Kind::link, versioned};
  // Of NVIDIA's installer. Slurm loads the library by this name.
  tree[libraries + "libnvidia-ml.so"] = {HostFile::Kind::link, "libnvidia-ml.so.1"};
  // By its name tools tell the driver's version. It is empty: there is no CUDA.
  tree[libraries + fmt::format("libcuda.so.{}", driver_version)] = {HostFile::Kind::text, {}};
  tree[fmt::format("{}/nvidia-smi", driver_programs)] = {HostFile::Kind::copy, command.string()};
  // Systems of another age have another one, or none.
  if (const std::string fmt_library = loaded_library("libfmt.so"); !fmt_library.empty())
    tree[libraries + fs::path(fmt_library).filename().string()] = {HostFile::Kind::copy,
                                                                   fmt_library};
  return tree;
}

}  // namespace cleave
