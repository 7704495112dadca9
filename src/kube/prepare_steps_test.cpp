// Claims and pods as the API server writes them; CDI files; and a claim that is prepared and
// unprepared with a crash between any two steps.

#include "kube/prepare_steps.hpp"

#include <gtest/gtest.h>

#include <map>

#include "base/json.hpp"

namespace cleave {
namespace {

constexpr const char* uid = "0a1b2c3d-0000-1111-2222-333344445555";

std::vector<KubeGpu> one_gpu() {
  const GpuModel& model = **find_gpu_model("A100-40GB");
  return {{"GPU-0011", 0, Geometry(model, ProfileChoice().on(model)), {}, true}};
}

Json claim_json(const std::string& results) {
  return Json::parse(R"({"metadata":{"namespace":"team","name":"p-gpu-x2","uid":")" +
                     std::string(uid) +
                     R"(","resourceVersion":"7"},"spec":{},"status":{"reservedFor":[],
                     "allocation":{"devices":{"results":)" +
                     results + "}}}}");
}

constexpr const char* two_here = R"([
  {"driver":"cleave.gpu","pool":"n1","request":"a","device":"gpu0011-1g-5gb-0"},
  {"driver":"other.example","pool":"n1","request":"b","device":"x"},
  {"driver":"cleave.gpu","pool":"n1","request":"c/small","device":"gpu0011-3g-20gb-4"}])";

TEST(KubeClaim, IsReadAsFarAsItIsOurs) {
  const auto claim = read_kube_claim(claim_json(two_here), "n1");
  ASSERT_TRUE(claim) << claim.error().text();
  EXPECT_EQ(claim->uid, uid);
  EXPECT_EQ(claim->at, (KubeName{"team", "p-gpu-x2"}));
  ASSERT_EQ(claim->grants.size(), 2U);
  EXPECT_EQ(claim->grants[1], (KubeGrant{"c/small", "gpu0011-3g-20gb-4"}));
  EXPECT_TRUE(read_kube_claim(claim_json(two_here), "n2")->grants.empty());
  EXPECT_TRUE(read_kube_claim(Json::parse(R"({"metadata":{"name":"a","uid":"12"}})"), "n1"));
}

TEST(KubeClaim, WhatIsNoClaimIsRefused) {
  for (const char* text :
       {R"({})", R"([])", R"({"metadata":{"name":"a"}})",
        R"({"metadata":{"name":"a","uid":"../x"}})", R"({"metadata":{"name":7,"uid":"12"}})"})
    EXPECT_FALSE(read_kube_claim(Json::parse(text), "n1")) << text;
  EXPECT_FALSE(
      read_kube_claim(claim_json(R"([{"driver":"cleave.gpu","pool":"n1","request":"a","device":"d",
                      "adminAccess":true}])"),
                      "n1"));
}

TEST(KubePod, NamesItsClaimsOnceTheyAreMade) {
  const auto pod = read_kube_pod(Json::parse(R"({"metadata":{"namespace":"t","name":"p","uid":"1"},
    "spec":{"resourceClaims":[{"name":"a","resourceClaimName":"mine"},
                              {"name":"b","resourceClaimTemplateName":"one"}]},
    "status":{"phase":"Pending","resourceClaimStatuses":[{"name":"b","resourceClaimName":"p-b-1"}],
              "extendedResourceClaimStatus":{"resourceClaimName":"p-ext-9"}}})"));
  ASSERT_TRUE(pod) << pod.error().text();
  EXPECT_EQ(pod->claims, (std::vector<std::string>{"mine", "p-b-1", "p-ext-9"}));
  EXPECT_TRUE(pod->starts);
  const auto gone = read_kube_pod(Json::parse(R"({"metadata":{"namespace":"t","name":"p","uid":"1",
    "deletionTimestamp":"2026-01-01T00:00:00Z"},"status":{"phase":"Pending"}})"));
  EXPECT_FALSE(gone->starts);
  EXPECT_FALSE(gone->over);
}

TEST(KubeClaim, IsAskedOfTheDaemonPlaceByPlace) {
  const auto gpus = one_gpu();
  const auto claim = *read_kube_claim(claim_json(two_here), "n1");
  const auto order = order_for(claim, gpus);
  ASSERT_TRUE(order) << order.error().text();
  ASSERT_EQ(order->asks.size(), 2U);
  EXPECT_EQ(order->asks[1].profile, "3g.20gb");
  EXPECT_EQ(order->asks[1].gpu, 0);
  EXPECT_EQ(order->asks[1].start, 4);
  EXPECT_EQ(order->holder, "claim team/p-gpu-x2");
  KubeClaim strange = claim;
  strange.grants[0].device = "gpu0011-1g-5gb-17";
  EXPECT_FALSE(order_for(strange, gpus));
  EXPECT_EQ(devices_of(strange, gpus).size(), 1U);
}

TEST(ClaimKeys, AreThoseOfKubernetesAlone) {
  EXPECT_EQ(claim_key_of(uid), "kube:" + std::string(uid));
  EXPECT_EQ(uid_of_key("kube:12-ab"), "12-ab");
  for (const char* key : {"slurm:12", "kube:", "kube:../x", "12"}) EXPECT_FALSE(uid_of_key(key));
  EXPECT_FALSE(claim_key_of("a/b"));
  EXPECT_EQ(uid_of_cdi_file(cdi_file_name(uid)), uid);
  EXPECT_FALSE(uid_of_cdi_file("nvidia.yaml"));
}

TEST(ClaimCdi, HasADeviceForEachInstance) {
  const auto claim = *read_kube_claim(claim_json(two_here), "n1");
  const auto text = claim_cdi_text(
      claim,
      {{claim.grants[0], "MIG-a", {"/dev/nvidia0", "/dev/nvidia-caps/nvidia-cap12"}},
       {claim.grants[1], "MIG-b", {}}},
      {{"CLEAVE_SIM_NODE=/run/sim"}, {{"/usr/lib/libcuda.so.1", "/usr/lib/libcuda.so.1", true}}});
  const Json json = Json::parse(text);
  EXPECT_EQ(json["kind"], "cleave.gpu/claim");
  ASSERT_EQ(json["devices"].size(), 2U);
  EXPECT_EQ("cleave.gpu/claim=" + json["devices"][1]["name"].get<std::string>(),
            cdi_device_id(uid, 1));
  EXPECT_EQ(json["devices"][0]["containerEdits"]["deviceNodes"][1]["path"],
            "/dev/nvidia-caps/nvidia-cap12");
  EXPECT_FALSE(json["devices"][1]["containerEdits"].contains("deviceNodes"));
  EXPECT_EQ(json["containerEdits"]["env"][1], "CUDA_VISIBLE_DEVICES=MIG-a,MIG-b");
}

/// A daemon in memory. What it has written survives; the driver of the test crashes around it.
struct DaemonDouble {
  std::map<std::string, Claim> claims;
  std::map<std::string, std::string> files;
  int made = 0;

  void claim_it(const KubeClaim& claim, std::span<const KubeGpu> gpus) {
    Claim held;
    held.key = *claim_key_of(claim.uid);
    for (const KubeGrant& grant : claim.grants) {
      const auto device = find_device(gpus, grant.device);
      const Placement& at = gpus[device->gpu].geometry[device->placement];
      held.places.push_back(
          {gpus[device->gpu].uuid, std::string(at.profile->name), at.start, {}, {}});
    }
    claims[held.key] = held;
  }
  /// What it does by itself in the meantime.
  void work() {
    for (auto& [key, claim] : claims) {
      if (claim.state != ClaimState::making) continue;
      claim.state = ClaimState::held;
      for (ClaimPlace& place : claim.places) place.device = "MIG-" + std::to_string(++made);
    }
    std::erase_if(claims,
                  [](const auto& each) { return each.second.state == ClaimState::releasing; });
  }
};

PrepareView view_of(const DaemonDouble& daemon, const KubeClaim& claim,
                    std::span<const KubeGpu> gpus) {
  PrepareView view;
  const auto held = daemon.claims.find(*claim_key_of(claim.uid));
  if (const auto file = daemon.files.find(claim.uid); file != daemon.files.end())
    view.file = file->second;
  if (held == daemon.claims.end()) return view;
  view.at_daemon = held->second;
  view.same_places = holds_the_same(claim, held->second, gpus);
  if (const auto uuids = uuids_of(claim, held->second, gpus)) view.wanted_file = uuids->front();
  return view;
}

/// One step; whether that was the last.
bool prepare_once(DaemonDouble& daemon, const KubeClaim& claim, std::span<const KubeGpu> gpus) {
  const PrepareView view = view_of(daemon, claim, gpus);
  switch (judge_prepare(claim, view, false).step) {
    case PrepareStep::claim_it:
      daemon.claim_it(claim, gpus);
      return false;
    case PrepareStep::give_back:
      daemon.claims.at(*claim_key_of(claim.uid)).state = ClaimState::releasing;
      return false;
    case PrepareStep::wait:
      daemon.work();
      return false;
    case PrepareStep::write:
      daemon.files[claim.uid] = *view.wanted_file;
      return false;
    case PrepareStep::done:
      return true;
    case PrepareStep::refuse:
      ADD_FAILURE();
      return true;
  }
  return true;
}

bool unprepare_once(DaemonDouble& daemon, const KubeClaim& claim, std::span<const KubeGpu> gpus) {
  switch (judge_unprepare(view_of(daemon, claim, gpus))) {
    case PrepareStep::write:
      daemon.files.erase(claim.uid);
      return false;
    case PrepareStep::give_back:
      daemon.claims.at(*claim_key_of(claim.uid)).state = ClaimState::releasing;
      return false;
    default:
      return true;
  }
}

/// A call that crashes after any number of steps, comes again, or is overtaken by its opposite,
/// leads where the last whole call leads; the file is never there without the instance.
TEST(PrepareSteps, GoOnAfterACrashAnywhere) {
  const auto gpus = one_gpu();
  const auto claim = *read_kube_claim(claim_json(two_here), "n1");
  for (int first = 0; first < 6; ++first)
    for (int second = 0; second < 4; ++second) {
      DaemonDouble daemon;
      for (int i = 0; i < first && !prepare_once(daemon, claim, gpus); ++i) {
      }
      for (int i = 0; i < second && !unprepare_once(daemon, claim, gpus); ++i)
        EXPECT_TRUE(daemon.files.empty() || !daemon.claims.empty());
      int steps = 0;
      while (!prepare_once(daemon, claim, gpus)) ASSERT_LT(++steps, 12);
      ASSERT_EQ(daemon.claims.size(), 1U);
      EXPECT_EQ(daemon.claims.begin()->second.state, ClaimState::held);
      EXPECT_EQ(daemon.files.at(uid), daemon.claims.begin()->second.places[0].device);
      while (!unprepare_once(daemon, claim, gpus)) ASSERT_LT(++steps, 20);
      daemon.work();
      EXPECT_TRUE(daemon.claims.empty());
      EXPECT_TRUE(daemon.files.empty());
      EXPECT_TRUE(unprepare_once(daemon, claim, gpus));  // an unknown one is as good as unprepared
    }
}

TEST(PrepareSteps, SomethingElseUnderTheKeyGoesFirst) {
  const auto gpus = one_gpu();
  auto claim = *read_kube_claim(claim_json(two_here), "n1");
  DaemonDouble daemon;
  KubeClaim before = claim;
  before.grants.pop_back();
  daemon.claim_it(before, gpus);
  int steps = 0;
  while (!prepare_once(daemon, claim, gpus)) ASSERT_LT(++steps, 12);
  EXPECT_EQ(daemon.claims.begin()->second.places.size(), 2U);
}

TEST(PrepareSteps, AFailureIsTriedOnceMoreAndThenTold) {
  const auto claim = *read_kube_claim(claim_json(two_here), "n1");
  PrepareView view;
  view.at_daemon = Claim{};
  view.at_daemon->state = ClaimState::failed;
  view.at_daemon->why = "the driver says no";
  EXPECT_EQ(judge_prepare(claim, view, false).step, PrepareStep::claim_it);
  EXPECT_EQ(judge_prepare(claim, view, true).why, "the driver says no");
  view.at_daemon->state = ClaimState::held;
  view.at_daemon->places.push_back({"GPU-0011", "1g.5gb", 0, "MIG-1", {}, true});
  EXPECT_EQ(judge_prepare(claim, view, false).step, PrepareStep::refuse);
  EXPECT_EQ(judge_prepare(KubeClaim{}, {}, false).step, PrepareStep::refuse);
}

TEST(PrepareSteps, NothingIsGivenBackUnread) {
  const std::vector<std::string> keys = {"kube:1a", "slurm:2", "kube:3c"};
  EXPECT_TRUE(keys_to_give_back(keys, std::nullopt).empty());
  EXPECT_EQ(keys_to_give_back(keys, std::set<std::string>{"1a"}),
            std::vector<std::string>{"kube:3c"});
  EXPECT_EQ(keys_to_give_back(keys, std::set<std::string>{}).size(), 2U);
}

}  // namespace
}  // namespace cleave
