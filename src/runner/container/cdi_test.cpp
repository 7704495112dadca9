// What CDI's schema and its own library demand of a specification, version 0.6.0.
#include "runner/container/cdi.hpp"

#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "base/json.hpp"

namespace cleave {
namespace {

std::set<std::string> keys_of(const Json& object) {
  std::set<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.insert(key);
  return keys;
}

ContainerEdits some_edits() {
  return {{{"/dev/nvidiactl", "/dev/nvidiactl"}, {"/elsewhere/dev/nvidia0", "/dev/nvidia0"}},
          {{"/usr/lib/libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1", true},
           {"/node", "/node", false}},
          {"CUDA_VISIBLE_DEVICES=MIG-1"}};
}

TEST(Cdi, HasWhatTheSchemaDemandsAndNothingElse) {
  const Json cdi = Json::parse(cdi_text(some_edits(), "12.1"));
  EXPECT_EQ(keys_of(cdi), (std::set<std::string>{"cdiVersion", "kind", "devices"}));
  EXPECT_EQ(cdi["cdiVersion"], "0.6.0");
  // vendor/class; the vendor may have dots.
  EXPECT_TRUE(
      std::regex_match(std::string(cdi["kind"]),
                       std::regex("[A-Za-z][A-Za-z0-9_.-]*[A-Za-z0-9]/[A-Za-z][A-Za-z0-9_-]*"
                                  "[A-Za-z0-9]")));
  ASSERT_EQ(cdi["devices"].size(), 1U);
  const Json& device = cdi["devices"][0];
  EXPECT_EQ(keys_of(device), (std::set<std::string>{"name", "containerEdits"}));
  EXPECT_TRUE(std::regex_match(std::string(device["name"]),
                               std::regex("[A-Za-z0-9][A-Za-z0-9_.:-]*[A-Za-z0-9]")));
  const Json& edits = device["containerEdits"];
  EXPECT_EQ(keys_of(edits), (std::set<std::string>{"env", "deviceNodes", "mounts"}));
  for (const Json& each : edits["env"]) EXPECT_TRUE(std::string(each).contains('='));
  for (const Json& each : edits["deviceNodes"]) {
    EXPECT_EQ(keys_of(each), (std::set<std::string>{"path", "hostPath", "permissions"}));
    EXPECT_TRUE(std::regex_match(std::string(each["permissions"]), std::regex("[rwm]+")));
  }
  for (const Json& each : edits["mounts"])
    EXPECT_EQ(keys_of(each), (std::set<std::string>{"hostPath", "containerPath", "options"}));
}

TEST(Cdi, SaysWhatTheContainerHas) {
  const Json edits = Json::parse(cdi_text(some_edits(), "12.1"))["devices"][0]["containerEdits"];
  EXPECT_EQ(edits["deviceNodes"][1]["path"], "/dev/nvidia0");
  EXPECT_EQ(edits["deviceNodes"][1]["hostPath"], "/elsewhere/dev/nvidia0");
  EXPECT_EQ(edits["mounts"][0]["options"], Json::array({"bind", "ro", "nosuid", "nodev"}));
  EXPECT_EQ(edits["mounts"][1]["options"], Json::array({"bind", "rw", "nosuid", "nodev"}));
  EXPECT_EQ(edits["env"][0], "CUDA_VISIBLE_DEVICES=MIG-1");
}

/// Empty lists are refused by the schema.
TEST(Cdi, LeavesOutWhatThereIsNot) {
  const Json edits =
      Json::parse(cdi_text({{}, {}, {"A=b"}}, "1.1"))["devices"][0]["containerEdits"];
  EXPECT_EQ(keys_of(edits), (std::set<std::string>{"env"}));
}

}  // namespace
}  // namespace cleave
