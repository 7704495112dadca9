#pragma once
// The host's driver, or its simulated GPUs, for containers of Kubernetes.

#include <filesystem>
#include <optional>

#include "kubenode/kube_doors.hpp"
#include "runner/container/container_gifts.hpp"

namespace cleave {

/// Reads what there is once; the numbers of GPUs each time.
class NodeHost : public HostDoor {
 public:
  /// `root`: the folder in which the host's proc/ and dev/ lie. `sim_node`: of simulated GPUs.
  NodeHost(std::filesystem::path root, std::optional<std::filesystem::path> sim_node,
           const std::filesystem::path& library);

  [[nodiscard]] KubeGifts gifts(const std::string& visible) override;
  [[nodiscard]] Result<std::vector<std::string>> nodes(
      const std::string& gpu_uuid, const DaemonClaim::Numbers& numbers) override;

 private:
  [[nodiscard]] std::string on_host(const std::string& file) const;

  std::filesystem::path root_;
  std::optional<std::filesystem::path> sim_node_;
  ContainerGifts gifts_;
};

/// N of /dev/nvidiaN of the GPU with this UUID, as the driver has it in proc/; nothing where it
/// does not say so.
[[nodiscard]] std::optional<std::uint32_t> minor_number(const std::filesystem::path& root,
                                                        const std::string& gpu_uuid);

}  // namespace cleave
