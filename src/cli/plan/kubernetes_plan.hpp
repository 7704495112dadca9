#pragma once
// `cleave plan compact --kubernetes`: a plan of evictions, which another program makes, since only
// it speaks with Kubernetes.

#include <string>

#include "cli/command.hpp"

namespace cleave::cli {

/// What is handed on to cleave-kube.
struct KubernetesPlanOptions {
  bool asked = false;
  std::string server, ca, token, room_for;
};

void add_kubernetes(CommandLine& command, KubernetesPlanOptions& options);

/// Becomes that program; returns only where it cannot be started.
[[nodiscard]] Error become_kubernetes_plan(const KubernetesPlanOptions& options, bool json);

}  // namespace cleave::cli
