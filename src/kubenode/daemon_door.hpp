#pragma once
// The daemon behind its socket, for claims of Kubernetes.

#include <vector>

#include "api/documents.hpp"
#include "api/socket_place.hpp"
#include "kubenode/kube_doors.hpp"

namespace cleave {

/// Asks over a connection of its own each time: the socket is the machine's.
class SocketDaemon : public DaemonDoor {
 public:
  explicit SocketDaemon(std::vector<SocketPlace> places) : places_(std::move(places)) {}

  [[nodiscard]] Result<DaemonView> look() override;
  [[nodiscard]] Result<DaemonClaim> make(const std::string& key, const ClaimOrder& order) override;
  [[nodiscard]] Result<std::optional<DaemonClaim>> find(const std::string& key) override;
  [[nodiscard]] Result<void> release(const std::string& key) override;

 private:
  std::vector<SocketPlace> places_;
};

/// A GPU as the daemon shows it, with what others than Kubernetes have there; nothing where its
/// model is not in the tables. Idle instances of the daemon's own are nobody's.
[[nodiscard]] std::optional<KubeGpu> kube_gpu_of(const ApiGpu& gpu);

}  // namespace cleave
