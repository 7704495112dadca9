#include "runner/device_rules.hpp"

#include <algorithm>
#include <map>

#include "base/format.hpp"
#include "base/text.hpp"
#include "runner/system_file.hpp"

namespace cleave {

namespace fs = std::filesystem;

namespace {

constexpr std::uint32_t control_minor = 255;           // of /dev/nvidiactl
constexpr std::uint32_t most_number = (1U << 20) - 1;  // of a minor

/// "195 nvidia" of the character devices in /proc/devices; a major may have several names.
std::multimap<std::uint32_t, std::string> character_devices(std::string_view text) {
  std::multimap<std::uint32_t, std::string> found;
  bool character = false;
  for (const std::string_view line : split(text, '\n')) {
    if (line.ends_with(':')) character = line.starts_with("Character");
    const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
    const std::size_t space = line.find(' ', begin);
    if (!character || space == std::string_view::npos) continue;
    const auto major = parse_integer(line.substr(begin, space - begin));
    if (major && *major >= 0 && *major <= most_number)
      found.emplace(static_cast<std::uint32_t>(*major), line.substr(space + 1));
  }
  return found;
}

/// "DeviceFileMinor: 12" among lines.
std::optional<std::uint32_t> minor_in(std::string_view text) {
  constexpr std::string_view name = "DeviceFileMinor:";
  for (const std::string_view line : split(text, '\n')) {
    if (!line.starts_with(name)) continue;
    const std::string_view rest = line.substr(name.size());
    const auto number =
        parse_integer(rest.substr(std::min(rest.find_first_not_of(' '), rest.size())));
    if (number && *number >= 0 && *number <= most_number)
      return static_cast<std::uint32_t>(*number);
  }
  return std::nullopt;
}

void put_in_order(auto& values) {
  std::ranges::sort(values);
  values.erase(std::ranges::unique(values).begin(), values.end());
}

}  // namespace

bool DeviceRules::admits(const DeviceNumber& device) const {
  return std::ranges::find(fenced, device.major) == fenced.end() ||
         std::ranges::find(admitted, device) != admitted.end();
}

std::vector<std::uint32_t> majors_of_character_devices(std::string_view text) {
  std::vector<std::uint32_t> majors;
  for (const auto& [major, name] : character_devices(text)) majors.push_back(major);
  put_in_order(majors);
  return majors;
}

std::optional<DriverNodes> DriverNodes::read(const fs::path& root) {
  DriverNodes nodes;
  nodes.root_ = root;
  bool there = false;
  for (const auto& [major, name] : character_devices(read_system_file(root / "proc/devices"))) {
    if (name == "nvidia-caps") nodes.capabilities_ = major;
    // Its name has changed over the versions.
    if (name != "nvidia" && name != "nvidia-frontend" && name != "nvidiactl") continue;
    nodes.gpus_ = major;
    there = true;
  }
  return there ? std::optional(nodes) : std::nullopt;
}

Result<DeviceRules> DriverNodes::rules_for(std::span<const JobDevice> devices) const {
  if (devices.empty())
    return fail(ErrorKind::infeasible, "device nodes",
                "the driver has not said which are those of its instance",
                "see whether nvmlDeviceGetMinorNumber works on this machine");
  DeviceRules rules;
  rules.fenced.push_back(gpus_);
  if (capabilities_) rules.fenced.push_back(*capabilities_);
  rules.admitted.push_back({gpus_, control_minor});
  for (const auto& [gpu, instance] : devices) {
    rules.admitted.push_back({gpus_, gpu});
    if (!instance) continue;
    const fs::path of_gpu_instance =
        root_ /
        fmt::format("proc/driver/nvidia/capabilities/gpu{}/mig/gi{}", gpu, instance->gpu_instance);
    for (const fs::path& folder :
         {of_gpu_instance, of_gpu_instance / fmt::format("ci{}", instance->compute_instance)}) {
      const auto minor = minor_in(read_system_file(folder / "access"));
      if (!capabilities_ || !minor)
        return fail(ErrorKind::infeasible, (folder / "access").string(),
                    "the driver does not say which device node is the instance's",
                    "see whether the nodes of /dev/nvidia-caps are there, or set device_fences = "
                    "false to run jobs without a fence");
      rules.admitted.push_back({*capabilities_, *minor});
    }
  }
  put_in_order(rules.fenced);
  put_in_order(rules.admitted);
  return rules;
}

Result<std::vector<DriverNode>> DriverNodes::nodes_for(std::span<const JobDevice> devices) const {
  const auto rules = rules_for(devices);
  if (!rules) return std::unexpected(rules.error());
  std::vector<DriverNode> nodes;
  const auto add = [&](const std::string& usual) {
    nodes.push_back({(root_ / usual.substr(1)).string(), usual});
  };
  for (const auto& [major, minor] : rules->admitted)
    add(major != gpus_           ? fmt::format("/dev/nvidia-caps/nvidia-cap{}", minor)
        : minor == control_minor ? std::string("/dev/nvidiactl")
                                 : fmt::format("/dev/nvidia{}", minor));
  for (const char* each : {"/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"}) {
    std::error_code failed;
    if (fs::exists(root_ / (each + 1), failed)) add(each);
  }
  return nodes;
}

}  // namespace cleave
