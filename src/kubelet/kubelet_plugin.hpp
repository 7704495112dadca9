#pragma once
// The kubelet's plugin: one socket on which the kubelet asks for instances of claims and gives them
// back (dra.v1), and one in its registry by which it learns of the first. The kubelet may be
// started again at any time; it then finds the registry's socket by itself.

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "kube/kube_claim.hpp"
#include "kubenode/kube_node.hpp"

namespace cleave {

/// What the kubelet asks for; called from several threads.
struct KubeletCalls {
  std::function<Result<std::vector<PreparedDevice>>(const KubeName&, const std::string& uid)>
      prepare;
  std::function<Result<void>(const std::string& uid)> unprepare;
  /// Whether the kubelet has taken the plugin, and why not.
  std::function<void(bool taken, const std::string& why)> registered;
};

/// Serves until it is destroyed.
class KubeletPlugin {
 public:
  /// `root`: the kubelet's folder, /var/lib/kubelet. Fails where a socket cannot be made.
  [[nodiscard]] static Result<KubeletPlugin> start(const std::filesystem::path& root,
                                                   KubeletCalls calls);
  ~KubeletPlugin();
  KubeletPlugin(KubeletPlugin&&) noexcept;
  KubeletPlugin& operator=(KubeletPlugin&&) = delete;

  /// ROOT/plugins/cleave.gpu/dra.sock and ROOT/plugins_registry/cleave.gpu-reg.sock
  [[nodiscard]] static std::filesystem::path socket_below(const std::filesystem::path& root);
  [[nodiscard]] static std::filesystem::path registry_socket_below(
      const std::filesystem::path& root);

 private:
  struct Servers;
  explicit KubeletPlugin(std::unique_ptr<Servers> servers);
  std::unique_ptr<Servers> servers_;
};

}  // namespace cleave
