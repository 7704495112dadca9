// The plugin against a kubelet: a client that speaks as it does.

#include "kubelet/kubelet_plugin.hpp"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <kubelet_protocol/dra.grpc.pb.h>
#include <kubelet_protocol/health.grpc.pb.h>
#include <kubelet_protocol/registration.grpc.pb.h>

#include <atomic>
#include <thread>

#include "base/temporary_folder_test.hpp"

namespace cleave {
namespace {

namespace dra = k8s::io::kubelet::pkg::apis::dra::v1;

std::shared_ptr<grpc::Channel> channel_to(const std::filesystem::path& socket,
                                          const std::string& authority = "localhost") {
  grpc::ChannelArguments arguments;
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, authority);
  return grpc::CreateCustomChannel("unix://" + socket.string(), grpc::InsecureChannelCredentials(),
                                   arguments);
}

/// Claims whose name begins with "bad" cannot be had; slow ones wait until five calls are there.
struct Plugin {
  TemporaryFolder folder;
  std::atomic<int> calls = 0;
  std::vector<std::string> unprepared;
  std::string status;
  std::optional<KubeletPlugin> plugin;

  Plugin() {
    KubeletCalls answers;
    answers.prepare = [this](const KubeName& name,
                             const std::string& uid) -> Result<std::vector<PreparedDevice>> {
      ++calls;
      if (name.name.starts_with("bad"))
        return fail(ErrorKind::infeasible, "claim " + name.space + "/" + name.name, "no room");
      const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
      while (name.name.starts_with("slow") && calls < 5) {
        if (std::chrono::steady_clock::now() > until)
          return fail(ErrorKind::infeasible, "", "the other calls do not come");
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
      return std::vector<PreparedDevice>{{"gpu", "node-0", "gpu0-1g", "cleave.gpu/claim=" + uid}};
    };
    answers.unprepare = [this](const std::string& uid) -> Result<void> {
      if (uid == "ff") return fail(ErrorKind::infeasible, "", "the daemon does not answer");
      unprepared.push_back(uid);
      return {};
    };
    answers.registered = [this](bool taken, const std::string& why) {
      status = taken ? "taken" : why;
    };
    auto started = KubeletPlugin::start(folder.path(), std::move(answers));
    if (started) plugin.emplace(std::move(*started));
  }
};

void add(dra::NodePrepareResourcesRequest& request, const std::string& name,
         const std::string& uid) {
  dra::Claim* claim = request.add_claims();
  claim->set_namespace_("team");
  claim->set_name(name);
  claim->set_uid(uid);
}

TEST(KubeletPlugin, RegistersAsTheKubeletWantsIt) {
  Plugin here;
  ASSERT_TRUE(here.plugin);
  const auto stub = pluginregistration::Registration::NewStub(
      channel_to(KubeletPlugin::registry_socket_below(here.folder.path())));
  grpc::ClientContext first, second, third;
  pluginregistration::PluginInfo info;
  ASSERT_TRUE(stub->GetInfo(&first, {}, &info).ok());
  EXPECT_EQ(info.type(), "DRAPlugin");
  EXPECT_EQ(info.name(), "cleave.gpu");
  EXPECT_EQ(info.endpoint(), KubeletPlugin::socket_below(here.folder.path()));
  ASSERT_EQ(info.supported_versions_size(), 1);
  EXPECT_EQ(info.supported_versions(0), "v1.DRAPlugin");
  pluginregistration::RegistrationStatus status;
  pluginregistration::RegistrationStatusResponse response;
  status.set_error("name taken");
  ASSERT_TRUE(stub->NotifyRegistrationStatus(&second, status, &response).ok());
  EXPECT_EQ(here.status, "name taken");
  status.set_plugin_registered(true);
  ASSERT_TRUE(stub->NotifyRegistrationStatus(&third, status, &response).ok());
  EXPECT_EQ(here.status, "taken");
}

TEST(KubeletPlugin, AnswersEachClaimOfABatch) {
  Plugin here;
  ASSERT_TRUE(here.plugin);
  const auto stub = dra::DRAPlugin::NewStub(
      channel_to(KubeletPlugin::socket_below(here.folder.path()),
                 "%2Fvar%2Flib%2Fkubelet%2Fplugins"));  // as some kubelets send it
  grpc::ClientContext context;
  dra::NodePrepareResourcesRequest request;
  dra::NodePrepareResourcesResponse response;
  add(request, "good", "01");
  add(request, "bad", "02");
  add(request, "other", "03");
  ASSERT_TRUE(stub->NodePrepareResources(&context, request, &response).ok());
  ASSERT_EQ(response.claims_size(), 3);
  const dra::Device& device = response.claims().at("01").devices(0);
  EXPECT_EQ(device.request_names(0), "gpu");
  EXPECT_EQ(device.pool_name(), "node-0");
  EXPECT_EQ(device.device_name(), "gpu0-1g");
  EXPECT_EQ(device.cdi_device_ids(0), "cleave.gpu/claim=01");
  EXPECT_EQ(response.claims().at("02").error(), "claim team/bad: no room");
  EXPECT_EQ(response.claims().at("02").devices_size(), 0);
  EXPECT_EQ(response.claims().at("03").error(), "");
}

TEST(KubeletPlugin, GivesBackAndSaysWhatItCouldNot) {
  Plugin here;
  ASSERT_TRUE(here.plugin);
  const auto stub =
      dra::DRAPlugin::NewStub(channel_to(KubeletPlugin::socket_below(here.folder.path())));
  grpc::ClientContext context;
  dra::NodeUnprepareResourcesRequest request;
  dra::NodeUnprepareResourcesResponse response;
  for (const char* uid : {"01", "ff"}) request.add_claims()->set_uid(uid);
  ASSERT_TRUE(stub->NodeUnprepareResources(&context, request, &response).ok());
  EXPECT_EQ(response.claims().at("01").error(), "");
  EXPECT_EQ(response.claims().at("ff").error(), "the daemon does not answer");
  EXPECT_EQ(here.unprepared, std::vector<std::string>{"01"});
}

TEST(KubeletPlugin, KeepsTheStreamOfHealthOpenUntilItEnds) {
  Plugin here;
  ASSERT_TRUE(here.plugin);
  const auto stub = v1alpha1::DRAResourceHealth::NewStub(
      channel_to(KubeletPlugin::socket_below(here.folder.path())));
  grpc::ClientContext context;
  const auto stream = stub->NodeWatchResources(&context, {});
  std::atomic<bool> ended = false;
  std::thread reader([&] {
    v1alpha1::NodeWatchResourcesResponse news;
    EXPECT_FALSE(stream->Read(&news));
    ended = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_FALSE(ended);
  here.plugin.reset();
  reader.join();
  EXPECT_NE(stream->Finish().error_code(), grpc::StatusCode::UNIMPLEMENTED);
}

TEST(KubeletPlugin, ServesPodsSideBySide) {
  Plugin here;
  ASSERT_TRUE(here.plugin);
  std::vector<std::thread> pods;
  for (int i = 0; i < 5; ++i)
    pods.emplace_back([&, i] {
      const auto stub =
          dra::DRAPlugin::NewStub(channel_to(KubeletPlugin::socket_below(here.folder.path())));
      grpc::ClientContext context;
      dra::NodePrepareResourcesRequest request;
      dra::NodePrepareResourcesResponse response;
      const std::string uid = "0" + std::to_string(i);
      add(request, "slow", uid);
      EXPECT_TRUE(stub->NodePrepareResources(&context, request, &response).ok());
      EXPECT_EQ(response.claims().at(uid).error(), "");
    });
  for (std::thread& each : pods) each.join();
  EXPECT_EQ(here.calls, 5);
}

TEST(KubeletPlugin, TakesThePlaceOfOneThatWasKilled) {
  TemporaryFolder folder;
  const auto socket = KubeletPlugin::socket_below(folder.path());
  std::filesystem::create_directories(socket.parent_path());
  std::filesystem::create_symlink("/nowhere", socket);  // anything under the name
  const auto started = KubeletPlugin::start(
      folder.path(),
      {[](const KubeName&, const std::string&) {
         return Result<std::vector<PreparedDevice>>(std::vector<PreparedDevice>{});
       },
       [](const std::string&) { return Result<void>{}; }, [](bool, const std::string&) {}});
  EXPECT_TRUE(started);
  const auto too_long = KubeletPlugin::start(folder.path() / std::string(120, 'x'), KubeletCalls{});
  EXPECT_FALSE(too_long);
}

}  // namespace
}  // namespace cleave
