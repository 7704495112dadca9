#pragma once
// What containers have for a claim, as a specification of the Container Device Interface: a file
// for each claim, cleave.gpu-claim_UID.json, with one device for each instance,
// cleave.gpu/claim=UID-N. Nodes belong to the instance. The environment is the claim's as a whole:
// containers of one claim see all its instances, since of several values for one variable only one
// would count.

#include <string>
#include <vector>

#include "kube/kube_claim.hpp"

namespace cleave {

/// A file or folder of the host that containers have.
struct KubeMount {
  std::string from, to;
  bool read_only = true;
};

/// What a container is given, beside the variables that follow from the instances.
struct KubeGifts {
  std::vector<std::string> environment;  // "NAME=value"
  std::vector<KubeMount> mounts;
};

/// An instance of the claim, in the order of its grants.
struct KubeInstance {
  KubeGrant grant;
  std::string uuid;                // MIG UUID
  std::vector<std::string> nodes;  // device nodes of the host, at the same path inside
};

[[nodiscard]] std::string cdi_file_name(const std::string& uid);
/// Of a name that cdi_file_name makes; nothing for files of others.
[[nodiscard]] std::optional<std::string> uid_of_cdi_file(std::string_view name);
/// "cleave.gpu/claim=UID-N": what the kubelet is told.
[[nodiscard]] std::string cdi_device_id(const std::string& uid, std::size_t number);
[[nodiscard]] std::string claim_cdi_text(const KubeClaim& claim,
                                         const std::vector<KubeInstance>& instances,
                                         const KubeGifts& gifts);

}  // namespace cleave
