#include "kubelet/kubelet_plugin.hpp"

#include <grpcpp/grpcpp.h>
#include <kubelet_protocol/dra.grpc.pb.h>
#include <kubelet_protocol/health.grpc.pb.h>
#include <kubelet_protocol/registration.grpc.pb.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <chrono>
#include <thread>

#include "base/format.hpp"

namespace cleave {

namespace {

namespace fs = std::filesystem;
namespace dra = k8s::io::kubelet::pkg::apis::dra::v1;
using grpc::ServerContext;

constexpr const char* served_version = "v1.DRAPlugin";

std::string text_of(const Error& error) {
  return error.text();
}

/// Every claim of a batch is answered, each with its own error.
class DraService final : public dra::DRAPlugin::Service {
 public:
  explicit DraService(const KubeletCalls& calls) : calls_(calls) {}

  grpc::Status NodePrepareResources(ServerContext*, const dra::NodePrepareResourcesRequest* request,
                                    dra::NodePrepareResourcesResponse* response) override {
    for (const dra::Claim& claim : request->claims()) {
      auto& answer = (*response->mutable_claims())[claim.uid()];
      const auto devices = calls_.prepare({claim.namespace_(), claim.name()}, claim.uid());
      if (!devices) {
        answer.set_error(text_of(devices.error()));
        continue;
      }
      for (const PreparedDevice& each : *devices) {
        dra::Device* device = answer.add_devices();
        device->add_request_names(each.request);
        device->set_pool_name(each.pool);
        device->set_device_name(each.device);
        device->add_cdi_device_ids(each.cdi_id);
      }
    }
    return grpc::Status::OK;
  }

  grpc::Status NodeUnprepareResources(ServerContext*,
                                      const dra::NodeUnprepareResourcesRequest* request,
                                      dra::NodeUnprepareResourcesResponse* response) override {
    for (const dra::Claim& claim : request->claims()) {
      auto& answer = (*response->mutable_claims())[claim.uid()];
      if (const auto done = calls_.unprepare(claim.uid()); !done)
        answer.set_error(text_of(done.error()));
    }
    return grpc::Status::OK;
  }

 private:
  const KubeletCalls& calls_;
};

/// Has no news: taints say what is wrong with a device. But a kubelet that finds no such stream
/// asks for it every five seconds, and writes that into its log.
class HealthService final : public v1alpha1::DRAResourceHealth::Service {
 public:
  grpc::Status NodeWatchResources(
      ServerContext* context, const v1alpha1::NodeWatchResourcesRequest*,
      grpc::ServerWriter<v1alpha1::NodeWatchResourcesResponse>*) override {
    constexpr std::chrono::milliseconds pause{200};
    while (!context->IsCancelled()) std::this_thread::sleep_for(pause);
    return grpc::Status::OK;
  }
};

/// Says where the other one is.
class RegistrationService final : public pluginregistration::Registration::Service {
 public:
  RegistrationService(const KubeletCalls& calls, std::string endpoint)
      : calls_(calls), endpoint_(std::move(endpoint)) {}

  grpc::Status GetInfo(ServerContext*, const pluginregistration::InfoRequest*,
                       pluginregistration::PluginInfo* info) override {
    info->set_type("DRAPlugin");
    info->set_name(std::string(kube_driver));
    info->set_endpoint(endpoint_);
    info->add_supported_versions(served_version);
    return grpc::Status::OK;
  }
  grpc::Status NotifyRegistrationStatus(ServerContext*,
                                        const pluginregistration::RegistrationStatus* status,
                                        pluginregistration::RegistrationStatusResponse*) override {
    calls_.registered(status->plugin_registered(), status->error());
    return grpc::Status::OK;
  }

 private:
  const KubeletCalls& calls_;
  const std::string endpoint_;
};

/// Root's alone, as the kubelet's folders are.
Result<std::unique_ptr<grpc::Server>> listen(const fs::path& socket,
                                             const std::vector<grpc::Service*>& services) {
  const auto wrong = [&](const std::string& what) {
    return fail(ErrorKind::infeasible, socket.string(), what,
                "name the kubelet's folder with --kubelet-root");
  };
  if (socket.string().size() >= sizeof(sockaddr_un{}.sun_path))
    return wrong("the path is too long for a socket");
  std::error_code failed;
  fs::create_directories(socket.parent_path(), failed);
  if (failed) return wrong(failed.message());
  fs::remove(socket, failed);  // of a plugin before this one
  const mode_t before = ::umask(0177);
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix://" + socket.string(), grpc::InsecureServerCredentials());
  for (grpc::Service* each : services) builder.RegisterService(each);
  auto server = builder.BuildAndStart();
  ::umask(before);
  if (!server) return wrong("it cannot be listened on");
  return server;
}

}  // namespace

struct KubeletPlugin::Servers {
  Servers(KubeletCalls given, const std::string& endpoint)
      : calls(std::move(given)), plugin(calls), registration(calls, endpoint) {}
  KubeletCalls calls;
  DraService plugin;
  HealthService health;
  RegistrationService registration;
  std::unique_ptr<grpc::Server> plugin_server, registration_server;
};

fs::path KubeletPlugin::socket_below(const fs::path& root) {
  return root / "plugins" / kube_driver / "dra.sock";
}

fs::path KubeletPlugin::registry_socket_below(const fs::path& root) {
  return root / "plugins_registry" / fmt::format("{}-reg.sock", kube_driver);
}

Result<KubeletPlugin> KubeletPlugin::start(const fs::path& root, KubeletCalls calls) {
  const fs::path absolute = fs::absolute(root);
  const fs::path endpoint = socket_below(absolute);
  auto servers = std::make_unique<Servers>(std::move(calls), endpoint.string());
  auto plugin = listen(endpoint, {&servers->plugin, &servers->health});
  if (!plugin) return std::unexpected(plugin.error());
  servers->plugin_server = std::move(*plugin);
  // Last: as soon as it is there the kubelet calls.
  auto registration = listen(registry_socket_below(absolute), {&servers->registration});
  if (!registration) return std::unexpected(registration.error());
  servers->registration_server = std::move(*registration);
  return KubeletPlugin(std::move(servers));
}

KubeletPlugin::KubeletPlugin(std::unique_ptr<Servers> servers) : servers_(std::move(servers)) {}
KubeletPlugin::KubeletPlugin(KubeletPlugin&&) noexcept = default;
KubeletPlugin::~KubeletPlugin() {
  constexpr std::chrono::seconds patience{1};
  if (!servers_) return;
  // Streams of health end only by this.
  for (auto* server : {&servers_->registration_server, &servers_->plugin_server})
    if (*server) (*server)->Shutdown(std::chrono::system_clock::now() + patience);
}

}  // namespace cleave
