// Which programs have NVIDIA's device files open, from /proc: if an instance is in use by a program
// that only watches, NVML does not say by which.

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "base/format.hpp"
#include "base/text.hpp"
#include "device/live_instances.hpp"
#include "device/program_name.hpp"

namespace cleave {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view capabilities = "/dev/nvidia-caps/";
constexpr std::string_view gpus = "/dev/nvidia";

bool is_of_gpu(std::string_view file, std::optional<std::uint32_t> minor) {
  if (file.starts_with(capabilities)) return true;
  if (!file.starts_with(gpus)) return false;
  const auto number =
      parse_integer(file.substr(gpus.size()));  // empty for /dev/nvidiactl and the like
  return number && (!minor || *number == *minor);
}

bool holds(const fs::path& process, std::optional<std::uint32_t> minor) {
  std::error_code ignored;  // ended meanwhile, or not visible to this user
  fs::directory_iterator files(process / "fd", ignored);
  for (; !ignored && files != fs::directory_iterator(); files.increment(ignored)) {
    const fs::path target = fs::read_symlink(files->path(), ignored);
    if (!ignored && is_of_gpu(target.native(), minor)) return true;
    ignored.clear();
  }
  return false;
}

}  // namespace

std::string program_of(std::uint32_t pid, const fs::path& proc) {
  std::ifstream file(proc / fmt::format("{}", pid) / "comm");
  std::string name;
  std::getline(file, name);
  return shown(name, 40);
}

std::vector<DeviceHolder> device_holders(std::optional<std::uint32_t> minor, const fs::path& proc) {
  std::vector<DeviceHolder> holders;
  std::error_code ignored;
  fs::directory_iterator processes(proc, ignored);
  for (; !ignored && processes != fs::directory_iterator(); processes.increment(ignored)) {
    const fs::path& process = processes->path();
    const auto pid = parse_integer(process.filename().native());
    if (!pid || *pid <= 0 || *pid == getpid() || !holds(process, minor)) continue;
    const auto number = static_cast<std::uint32_t>(*pid);
    holders.push_back({number, program_of(number, proc)});
  }
  std::ranges::sort(holders, {}, &DeviceHolder::pid);
  return holders;
}

}  // namespace cleave
