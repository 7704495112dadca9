// A node between an API server, a daemon and a kubelet, all in memory.

#include "kubenode/kube_node_test.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "base/temporary_folder_test.hpp"
#include "kubenode/daemon_door.hpp"
#include "kubenode/host_door.hpp"
#include "kubenode/kube_doctor.hpp"
#include "kubenode/kube_node.hpp"

namespace cleave {
namespace {

std::vector<KubeGpu> gpus_of(int count) {
  const GpuModel& model = **find_gpu_model("A100-40GB");
  std::vector<KubeGpu> gpus;
  for (int i = 0; i < count; ++i)
    gpus.push_back(
        {"GPU-000" + std::to_string(i), i, Geometry(model, ProfileChoice().on(model)), {}, true});
  return gpus;
}

/// A node called n1, with all around it.
struct Stand {
  TemporaryFolder folder;
  KubeDouble kube;
  NodeDaemonDouble daemon;
  HostDouble host;
  std::vector<std::string> said;
  std::unique_ptr<KubeNode> node;

  explicit Stand(int gpus = 1) : daemon(gpus_of(gpus)) { begin(); }
  /// As after a restart of the program.
  void begin() {
    KubeNodeSettings settings;
    settings.node = "n1";
    settings.node_uid = "99";
    settings.patience = std::chrono::seconds(60);  // no test waits for its end
    settings.tidy_every = {};
    node = std::make_unique<KubeNode>(settings, kube, daemon, host, CdiFolder(folder.path()),
                                      [this](const std::string& line) { said.push_back(line); });
    std::vector<Json> slices;
    if (const auto there = kube.list(slices_target)) slices = there->items;
    node->slice_listener().replaced(slices);
    node->pod_listener().replaced({});
  }
  void round() {
    const auto done = node->round();
    EXPECT_TRUE(done) << done.error().text();
  }
  /// The slice changed behind the node's back, and it is told.
  void show_slices() { node->slice_listener().replaced(kube.list(slices_target)->items); }

  std::vector<Json> devices() {
    const Json slice = kube.slice("01-cleave-n1");
    return slice.is_null() ? std::vector<Json>()
                           : slice["spec"]["devices"].get<std::vector<Json>>();
  }
  std::string first_of(const std::string& profile) {
    for (const Json& each : devices())
      if (each["attributes"]["profile"]["string"].get<std::string>() == profile)
        return each["name"].get<std::string>();
    return {};
  }
  bool publishes(const std::string& device) {
    for (const Json& each : devices())
      if (each["name"].get<std::string>() == device) return true;
    return false;
  }
  bool is_tainted(const std::string& device) {
    for (const Json& each : devices())
      if (each["name"].get<std::string>() == device) return each.contains("taints");
    return false;
  }
  /// As the scheduler does it; and the pod that is bound to the node then.
  void allocate(const std::string& uid, const std::string& device, bool owned = false) {
    const std::string name = "claim-" + uid;
    kube.objects[claim_target({"t", name})] =
        Json::parse(R"({"metadata":{"namespace":"t","name":")" + name + R"(","uid":")" + uid +
                    R"(","resourceVersion":"1"},"status":{"allocation":{"devices":{"results":[
        {"driver":"cleave.gpu","pool":"n1","request":"gpu","device":")" +
                    device + R"("}]}}}})");
    show_pod(uid, "Pending", owned);
  }
  void show_pod(const std::string& uid, const std::string& phase, bool owned = false,
                bool gone = false) {
    node->pod_listener().changed(
        Json::parse(R"({"metadata":{"namespace":"t","name":"pod-)" + uid + R"(","uid":"p)" + uid +
                    R"(","ownerReferences":[{"controller":)" + (owned ? "true" : "false") +
                    R"(}]},"spec":{"resourceClaims":[{"name":"a","resourceClaimName":"claim-)" +
                    uid + R"("}]},"status":{"phase":")" + phase + R"("}})"),
        gone);
  }
  void deallocate(const std::string& uid) {
    kube.objects.erase(claim_target({"t", "claim-" + uid}));
    show_pod(uid, "Succeeded", false, true);
  }
};

TEST(KubeNode, PublishesOnceAndAgainOnlyWhenSomethingIsDifferent) {
  Stand stand;
  stand.round();
  EXPECT_EQ(stand.kube.writes(), 2U);
  EXPECT_EQ(stand.kube.slice("00-cleave-n1")["spec"]["sharedCounters"].size(), 1U);
  EXPECT_EQ(stand.kube.slice("00-cleave-n1")["metadata"]["ownerReferences"][0]["uid"], "99");
  stand.round();
  EXPECT_EQ(stand.kube.writes(), 2U);
}

TEST(KubeNode, MakesAheadPreparesAndGivesBack) {
  Stand stand;
  stand.round();
  const std::string device = stand.first_of("1g.5gb");
  stand.allocate("a1", device);
  stand.round();
  EXPECT_EQ(stand.daemon.makes, 1);  // nobody has asked yet
  EXPECT_TRUE(stand.publishes(device));
  const auto devices = stand.node->prepare({"t", "claim-a1"}, "a1");
  ASSERT_TRUE(devices) << devices.error().text();
  ASSERT_EQ(devices->size(), 1U);
  EXPECT_EQ((*devices)[0].device, device);
  EXPECT_EQ((*devices)[0].cdi_id, "cleave.gpu/claim=a1-0");
  EXPECT_EQ(stand.daemon.makes, 1);
  const CdiFolder files(stand.folder.path());
  const auto text = files.read("a1");
  ASSERT_TRUE(text);
  EXPECT_NE(text->find("CUDA_VISIBLE_DEVICES=MIG-a1"), std::string::npos);
  EXPECT_NE(text->find("nvidia-cap1"), std::string::npos);
  EXPECT_TRUE(stand.node->prepare({"t", "claim-a1"}, "a1"));  // again
  EXPECT_TRUE(stand.node->unprepare("a1"));
  EXPECT_TRUE(stand.node->unprepare("a1"));
  EXPECT_FALSE(files.read("a1"));
  EXPECT_TRUE(stand.daemon.claims.empty());
  stand.round();
  EXPECT_EQ(stand.daemon.makes, 1);  // its pod has not gone yet, and still it is not made again
  EXPECT_TRUE(stand.publishes(device));
  EXPECT_FALSE(stand.node->unprepare("../x"));
}

TEST(KubeNode, AClaimThatIsNotThereOrAnotherIsRefused) {
  Stand stand;
  stand.round();
  EXPECT_FALSE(stand.node->prepare({"t", "none"}, "a1"));
  stand.allocate("a1", stand.first_of("1g.5gb"));
  EXPECT_FALSE(stand.node->prepare({"t", "claim-a1"}, "b2"));
  EXPECT_TRUE(stand.daemon.claims.empty());
}

TEST(KubeNode, ComesBackAfterARestartWithWhatIsThere) {
  Stand stand;
  stand.round();
  const std::string device = stand.first_of("3g.20gb");
  stand.allocate("a1", device);
  ASSERT_TRUE(stand.node->prepare({"t", "claim-a1"}, "a1"));
  stand.begin();
  stand.round();
  EXPECT_TRUE(stand.publishes(device));
  EXPECT_EQ(stand.daemon.claims.size(), 1U);
  EXPECT_TRUE(stand.node->prepare({"t", "claim-a1"}, "a1"));
  EXPECT_EQ(stand.daemon.makes, 1);
}

TEST(KubeNode, PublishesAgainAfterTheKubeletHasRemovedTheSlices) {
  Stand stand;
  stand.round();
  const auto before = stand.kube.slice("01-cleave-n1")["spec"];
  for (const char* name : {"00-cleave-n1", "01-cleave-n1"})
    stand.kube.objects.erase(slice_target(name));
  stand.show_slices();
  stand.round();
  EXPECT_EQ(stand.kube.slice("01-cleave-n1")["spec"], before);
  // Or without being told: the write finds nothing.
  stand.kube.objects.erase(slice_target("01-cleave-n1"));
  stand.allocate("a1", stand.first_of("1g.5gb"));
  stand.allocate("a2", device_name(gpus_of(1)[0], 3));
  stand.round();
  EXPECT_FALSE(stand.kube.slice("01-cleave-n1").is_null());
}

TEST(KubeNode, AConflictIsReadAndWrittenOver) {
  Stand stand;
  stand.round();
  Json changed = stand.kube.slice("01-cleave-n1");
  const std::string removed = changed["spec"]["devices"][0]["name"].get<std::string>();
  changed["spec"]["devices"].erase(0);
  ASSERT_EQ(stand.kube.ask("PUT", slice_target("01-cleave-n1"), &changed)->status, 200);
  EXPECT_FALSE(stand.publishes(removed));
  stand.allocate("a1", stand.first_of("4g.20gb"));
  stand.round();
  EXPECT_TRUE(stand.publishes(removed));
}

/// The laws of the whole: nothing before all claims are known, nothing given back unread.
TEST(KubeNode, WithoutAllClaimsNothingIsPublishedAndNothingGivenBack) {
  Stand stand;
  stand.kube.lists_fail = true;
  stand.round();
  EXPECT_EQ(stand.kube.writes(), 0U);
  stand.kube.lists_fail = false;
  stand.round();
  EXPECT_EQ(stand.kube.writes(), 2U);
  const std::string device = stand.first_of("2g.10gb");
  stand.allocate("a1", device);
  ASSERT_TRUE(stand.node->prepare({"t", "claim-a1"}, "a1"));
  stand.kube.lists_fail = true;
  stand.deallocate("a1");
  stand.round();
  EXPECT_EQ(stand.daemon.claims.size(), 1U);
  stand.kube.lists_fail = false;
  stand.round();
  EXPECT_TRUE(stand.daemon.claims.empty());
  EXPECT_FALSE(CdiFolder(stand.folder.path()).read("a1"));
}

TEST(KubeNode, WhatCannotBeMadeIsTaintedToldAndEvictedWhereItHasAnOwner) {
  Stand stand;
  stand.round();
  stand.daemon.refuses = true;
  const std::string device = stand.first_of("1g.5gb");
  stand.allocate("a1", device, true);
  stand.round();
  const auto refused = stand.node->prepare({"t", "claim-a1"}, "a1");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text().find("the driver refuses"), std::string::npos);
  stand.round();
  EXPECT_TRUE(stand.is_tainted(device));
  EXPECT_EQ(stand.kube.count("POST /api/v1/namespaces/t/events"), 1U);
  EXPECT_EQ(stand.kube.count("eviction"), 0U);
  EXPECT_FALSE(stand.node->prepare({"t", "claim-a1"}, "a1"));
  EXPECT_FALSE(stand.node->prepare({"t", "claim-a1"}, "a1"));
  EXPECT_EQ(stand.kube.count("pods/pod-a1/eviction"), 1U);
}

TEST(KubeNode, WhatSharesSlicesWithAKeptPlaceHasATaintUntilItIsKeptNoMore) {
  Stand stand;
  stand.round();
  const std::string kept = stand.first_of("3g.20gb");
  const std::int64_t far = 4'000'000'000;
  const auto notes = [&](std::vector<KeptRoom> rooms) {
    return Json{{"metadata", {{"name", notes_name}}},
                {"data", {{kept_room_key, kept_room_text(rooms)}}}};
  };
  const auto tainted = [&] {
    return std::ranges::count_if(stand.devices(),
                                 [](const Json& each) { return each.contains("taints"); });
  };
  stand.node->notes_listener().replaced({notes({{"n1", kept, far}, {"n2", "x", far}})});
  stand.round();
  EXPECT_FALSE(stand.is_tainted(kept));
  const Geometry geometry = gpus_of(1)[0].geometry;
  const auto device = find_device(gpus_of(1), kept);
  const auto overlaps = geometry.blocked(PlacementSet::of(device->placement));
  EXPECT_EQ(tainted(), static_cast<std::ptrdiff_t>(overlaps.size()) - 1);
  stand.node->notes_listener().changed(notes({{"n1", kept, 1000}}), false);  // long ago
  stand.round();
  EXPECT_EQ(tainted(), 0);
  stand.node->notes_listener().changed(notes({{"n1", kept, far}}), false);
  stand.round();
  EXPECT_GT(tainted(), 0);
  stand.node->notes_listener().changed(notes({}), true);
  stand.round();
  EXPECT_EQ(tainted(), 0);
  for (const char* text : {"", "[", "{}", R"([{"node":1}])"})
    EXPECT_TRUE(read_kept_room(Json{{"data", {{kept_room_key, text}}}}).empty()) << text;
}

TEST(KubeNode, SurvivesTheDaemonAndTheApiServer) {
  Stand stand;
  stand.round();
  stand.daemon.down = true;
  const std::string device = stand.first_of("1g.5gb");
  stand.allocate("a1", device);
  EXPECT_FALSE(stand.node->prepare({"t", "claim-a1"}, "a1"));
  EXPECT_FALSE(stand.node->unprepare("a1"));
  stand.round();
  EXPECT_FALSE(stand.is_tainted(device));
  stand.daemon.down = false;
  stand.kube.down = true;
  EXPECT_FALSE(stand.node->prepare({"t", "claim-a1"}, "a1"));
  (void)stand.node->round();
  stand.kube.down = false;
  stand.round();
  EXPECT_TRUE(stand.node->prepare({"t", "claim-a1"}, "a1"));
}

ApiInstance instance_at(const std::string& profile, std::int64_t start, const std::string& owner) {
  ApiInstance instance;
  instance.profile = profile;
  instance.start = start;
  instance.owner = owner;
  return instance;
}

TEST(DaemonDoor, WhatOthersHaveIsTakenAndWhatIsIdleIsNot) {
  ApiGpu seen;
  seen.uuid = "GPU-1";
  seen.model = "A100-40GB";
  seen.managed = seen.mig = true;
  seen.instances = {instance_at("1g.5gb", 0, "ours"), instance_at("1g.5gb", 1, "foreign"),
                    instance_at("1g.5gb", 2, "ours"), instance_at("1g.5gb", 3, "ours"),
                    instance_at("1g.5gb", 4, "ours")};
  seen.instances[2].jobs = {7};
  seen.instances[3].claim = "slurm:7";
  seen.instances[4].claim = "kube:a1";
  const auto gpu = kube_gpu_of(seen);
  ASSERT_TRUE(gpu);
  EXPECT_TRUE(gpu->usable);
  EXPECT_EQ(layout_text(gpu->geometry, gpu->taken), "1g.5gb@1,1g.5gb@2,1g.5gb@3");
  seen.instances[0].profile = "9g.99gb";
  seen.instances[0].owner = "foreign";
  EXPECT_FALSE(kube_gpu_of(seen)->usable);  // in the way somewhere
  seen.instances.clear();
  seen.drained = true;
  EXPECT_FALSE(kube_gpu_of(seen)->usable);
  seen.model = "GeForce 256";
  EXPECT_FALSE(kube_gpu_of(seen));
}

TEST(NodeHost, FindsTheNumberOfAGpu) {
  TemporaryFolder root;
  const auto folder = root.path() / "proc/driver/nvidia/gpus/0000:01:00.0";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "information") << "Model: \t NVIDIA A100\nGPU UUID: \t GPU-77\n"
                                           "Device Minor: \t 3\n";
  EXPECT_EQ(minor_number(root.path(), "GPU-77"), 3U);
  EXPECT_FALSE(minor_number(root.path(), "GPU-78"));
  EXPECT_FALSE(minor_number(root.path() / "none", "GPU-77"));
}

std::string joined(const std::vector<DoctorFinding>& findings) {
  std::string text;
  for (const DoctorFinding& each : findings)
    text += std::to_string(static_cast<int>(each.kind)) + " " + each.text + "\n";
  return text;
}

TEST(KubeDoctor, SaysWhatIsMissing) {
  Stand stand;
  stand.kube.objects["/version"] = Json{{"major", "1"}, {"minor", "35+"}};
  stand.kube.objects["/api/v1/nodes/n1"] =
      Json::parse(R"({"status":{"capacity":{"nvidia.com/mig-1g.5gb":"7","cpu":"4"}}})");
  const std::string text = joined(findings_of(examine("n1", stand.kube, stand.daemon)));
  EXPECT_NE(text.find("2 Kubernetes 1.35: 1.36 is the oldest"), std::string::npos) << text;
  EXPECT_NE(text.find("2 a device plugin serves nvidia.com/mig-1g.5gb"), std::string::npos) << text;
  EXPECT_NE(text.find("2 there are no DeviceClasses"), std::string::npos) << text;
  EXPECT_NE(text.find("1 the node's devices are not published"), std::string::npos) << text;
  stand.round();
  EXPECT_NE(joined(findings_of(examine("n1", stand.kube, stand.daemon)))
                .find("0 the node's devices are published"),
            std::string::npos);
  stand.kube.down = stand.daemon.down = true;
  const std::string down = joined(findings_of(examine("n1", stand.kube, stand.daemon)));
  EXPECT_NE(down.find("2 the API server does not answer"), std::string::npos) << down;
  EXPECT_NE(down.find("2 no daemon answers"), std::string::npos) << down;
}

TEST(KubeDoctor, ReadsFeaturesFromMetrics) {
  const auto features = features_in(
      "# HELP x\nkubernetes_feature_enabled{name=\"DRADeviceTaints\",stage=\"BETA\"} 1\n"
      "kubernetes_feature_enabled{name=\"DRAPartitionableDevices\",stage=\"BETA\"} 0\nother 1\n");
  EXPECT_EQ(features.size(), 2U);
  EXPECT_TRUE(features.at("DRADeviceTaints"));
  DoctorView view;
  view.major = 1;
  view.minor = 36;
  view.features = features;
  const std::string text = joined(findings_of(view));
  EXPECT_NE(text.find("2 feature DRAPartitionableDevices is off"), std::string::npos) << text;
  EXPECT_EQ(text.find("2 feature DRADeviceTaints"), std::string::npos) << text;
  EXPECT_NE(text.find("1 neither DRADeviceBindingConditions"), std::string::npos) << text;
}

}  // namespace
}  // namespace cleave
