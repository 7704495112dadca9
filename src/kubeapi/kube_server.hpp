#pragma once
// Where the API server of Kubernetes is, and by what a program is known there.

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "base/result.hpp"

namespace cleave {

/// An API server over TLS.
struct KubeServer {
  std::string host, port = "443";
  std::filesystem::path ca;     // who signed its certificate, in PEM
  std::filesystem::path token;  // a file, read again for each request: tokens of pods expire
};

/// What a command line says of it; all empty in a pod.
struct KubeServerOptions {
  std::string url, ca, token;  // "https://10.0.0.1:6443"
};

/// By the options, or where they are empty by what a pod has: two variables, and the files of its
/// service account below `root`. `variable` is the environment.
[[nodiscard]] Result<KubeServer> find_kube_server(
    const KubeServerOptions& options,
    const std::function<std::optional<std::string>(const char*)>& variable,
    const std::filesystem::path& root = "/");

}  // namespace cleave
