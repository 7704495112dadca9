#include "kubenode/host_door.hpp"

#include "base/format.hpp"
#include "base/read_text.hpp"
#include "base/text.hpp"
#include "nvmlsim/sim_node.hpp"

namespace cleave {

namespace fs = std::filesystem;

namespace {

/// What follows "NAME:" on its line.
std::string value_of(std::string_view text, std::string_view name) {
  for (const std::string_view line : split(text, '\n'))
    if (line.starts_with(name) && line.substr(name.size()).starts_with(':'))
      return std::string(trimmed(line.substr(name.size() + 1)));
  return {};
}

}  // namespace

std::optional<std::uint32_t> minor_number(const fs::path& root, const std::string& gpu_uuid) {
  std::error_code failed;
  for (const auto& each : fs::directory_iterator(root / "proc/driver/nvidia/gpus", failed)) {
    const auto text = read_text((each.path() / "information").string());
    if (!text || value_of(*text, "GPU UUID") != gpu_uuid) continue;
    const auto number = parse_integer(value_of(*text, "Device Minor"));
    if (number && *number >= 0) return static_cast<std::uint32_t>(*number);
  }
  return std::nullopt;
}

NodeHost::NodeHost(fs::path root, std::optional<fs::path> sim_node, const fs::path& library)
    : root_(std::move(root)),
      sim_node_(std::move(sim_node)),
      gifts_(container_gifts(root_, sim_node_, library)) {}

/// Container runtimes look from the host's root, and not from where this program sees it.
std::string NodeHost::on_host(const std::string& file) const {
  const std::string root = root_.lexically_normal().string();
  if (sim_node_ || root == "/" || !file.starts_with(root)) return file;
  const std::string below = file.substr(root.size());
  return below.starts_with('/') ? below : "/" + below;
}

KubeGifts NodeHost::gifts(const std::string& visible) {
  KubeGifts given;
  // What follows from the devices is the claim's to say.
  if (const auto edits = edits_for({std::nullopt, gifts_.mounts, gifts_.simulated}, {}, visible))
    for (const std::string& each : edits->environment)
      if (!each.starts_with("CUDA_VISIBLE_DEVICES=")) given.environment.push_back(each);
  if (sim_node_)
    given.environment.push_back(
        fmt::format("{}={}", sim_node_variable, fs::absolute(*sim_node_).string()));
  for (const BindMount& each : gifts_.mounts)
    given.mounts.push_back({on_host(each.from), each.to, each.read_only});
  return given;
}

Result<std::vector<std::string>> NodeHost::nodes(const std::string& gpu_uuid,
                                                 const DaemonClaim::Numbers& numbers) {
  std::vector<std::string> files;
  if (!gifts_.driver) return files;
  const auto minor = minor_number(root_, gpu_uuid);
  if (!minor)
    return fail(ErrorKind::infeasible, gpu_uuid, "the driver does not say which device node it has",
                "see proc/driver/nvidia/gpus below --driver-root");
  const JobDevice device{*minor,
                         JobDevice::Instance{numbers.gpu_instance, numbers.compute_instance}};
  const auto nodes = gifts_.driver->nodes_for(std::span(&device, 1));
  if (!nodes) return std::unexpected(nodes.error());
  for (const DriverNode& each : *nodes) files.push_back(each.usual);
  return files;
}

}  // namespace cleave
