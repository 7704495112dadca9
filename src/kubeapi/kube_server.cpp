#include "kubeapi/kube_server.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

constexpr const char* account_folder = "var/run/secrets/kubernetes.io/serviceaccount";

/// "https://HOST[:PORT][/]"; a host of IPv6 stands in brackets.
Result<KubeServer> server_at(const std::string& url) {
  constexpr std::string_view scheme = "https://";
  const auto wrong = [&](std::string_view what) {
    return fail(ErrorKind::bad_usage, "--server", fmt::format("{}: {}", url, what),
                "write https://HOST:PORT");
  };
  if (!url.starts_with(scheme)) return wrong("only https is spoken");
  std::string_view rest = std::string_view(url).substr(scheme.size());
  if (rest.ends_with('/')) rest.remove_suffix(1);
  if (rest.empty() || rest.find('/') != std::string_view::npos)
    return wrong("this is not an address");
  KubeServer server;
  const std::size_t bracket = rest.find(']'), colon = rest.rfind(':');
  const bool has_port =
      colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket);
  if (has_port) server.port = rest.substr(colon + 1);
  const auto port = parse_integer(server.port);
  if (!port || *port < 1 || *port > 65535) return wrong("this is not a port");
  std::string_view host = rest.substr(0, has_port ? colon : rest.size());
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host.empty()) return wrong("there is no host");
  server.host = host;
  return server;
}

}  // namespace

Result<KubeServer> find_kube_server(
    const KubeServerOptions& options,
    const std::function<std::optional<std::string>(const char*)>& variable,
    const std::filesystem::path& root) {
  KubeServer server;
  if (!options.url.empty()) {
    auto given = server_at(options.url);
    if (!given) return given;
    server = std::move(*given);
  } else {
    const auto host = variable("KUBERNETES_SERVICE_HOST");
    if (!host || host->empty())
      return fail(ErrorKind::bad_usage, "--server", "this is no pod, and no API server is named",
                  "write --server https://HOST:PORT --ca FILE --token FILE");
    server.host = *host;
    server.port = variable("KUBERNETES_SERVICE_PORT").value_or("443");
  }
  const std::filesystem::path account = root / account_folder;
  server.ca = options.ca.empty() ? account / "ca.crt" : std::filesystem::path(options.ca);
  server.token = options.token.empty() ? account / "token" : std::filesystem::path(options.token);
  return server;
}

}  // namespace cleave
