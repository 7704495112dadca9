#pragma once
// Behind these doors lie the API server, the daemon and the host; tests put stand-ins there.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kube/claim_cdi.hpp"
#include "kubeapi/kube_follow.hpp"
#include "model/claim.hpp"

namespace cleave {

/// The API server. From several threads.
class KubeDoor {
 public:
  virtual ~KubeDoor() = default;
  [[nodiscard]] virtual Result<KubeAnswer> ask(std::string_view method, const std::string& target,
                                               const Json* body) = 0;
  [[nodiscard]] virtual Result<KubeList> list(const std::string& target) = 0;
};

/// A claim as the daemon has it, with the driver's numbers of each instance that is there.
struct DaemonClaim {
  struct Numbers {
    std::uint32_t gpu_instance = 0, compute_instance = 0;
  };
  Claim claim;
  std::vector<std::optional<Numbers>> numbers;  // by place
};

/// What the daemon has.
struct DaemonView {
  std::vector<KubeGpu> gpus;
  std::vector<DaemonClaim> claims;         // of Kubernetes
  std::vector<std::string> not_published;  // GPUs of models that are not known, in words
};

/// The daemon. From several threads.
class DaemonDoor {
 public:
  virtual ~DaemonDoor() = default;
  [[nodiscard]] virtual Result<DaemonView> look() = 0;
  /// The error's place is the daemon's word, such as no_room.
  [[nodiscard]] virtual Result<DaemonClaim> make(const std::string& key,
                                                 const ClaimOrder& order) = 0;
  [[nodiscard]] virtual Result<std::optional<DaemonClaim>> find(const std::string& key) = 0;
  /// An unknown one is as good as given back.
  [[nodiscard]] virtual Result<void> release(const std::string& key) = 0;
};

/// What the host has for containers.
class HostDoor {
 public:
  virtual ~HostDoor() = default;
  /// The same for all; `visible` are the MIG UUIDs of the claim.
  [[nodiscard]] virtual KubeGifts gifts(const std::string& visible) = 0;
  /// The device nodes of one instance.
  [[nodiscard]] virtual Result<std::vector<std::string>> nodes(
      const std::string& gpu_uuid, const DaemonClaim::Numbers& numbers) = 0;
};

}  // namespace cleave
