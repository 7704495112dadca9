// A table of nodes becomes a fleet file that other commands read.

#include "model/node_list.hpp"

#include <gtest/gtest.h>

#include "model/fleet_file.hpp"

namespace cleave {
namespace {

constexpr const char* header = "gpu_model,gpu_capacity_num,cpu_num,node_name\n";

TEST(NodeList, BecomesAFleet) {
  const auto list = parse_node_list(
      std::string(header) + "A100-SXM4-80GB,8,128,0\nA10,1,64,1\nH800,8,192,rack7\nA10,2,64,3\n",
      "nodes.csv");
  ASSERT_TRUE(list) << list.error().text();
  EXPECT_EQ(list->gpus, 16U);
  EXPECT_EQ(list->left_out.at("A10").nodes, 2U);
  EXPECT_EQ(list->left_out.at("A10").gpus, 3U);
  const auto fleet = parse_fleet(fleet_text(*list), "fleet", {});
  ASSERT_TRUE(fleet) << fleet.error().text();
  ASSERT_EQ(fleet->gpus.size(), 16U);
  EXPECT_EQ(fleet->gpus[0].name, "n0/0");
  EXPECT_EQ(fleet->gpus[15].name, "rack7/7");
}

TEST(NodeList, RefusesWhatIsNotOne) {
  const auto refused = [](const std::string& rows) {
    const auto list = parse_node_list(header + rows, "nodes.csv");
    return list ? std::string("read") : list.error().text();
  };
  EXPECT_EQ(
      refused("A10,1,64,1\n"),
      "nodes.csv: no node has GPUs with MIG that are known here; `cleave gpu` lists the models");
  EXPECT_EQ(refused("H800,x,64,1\n").substr(0, 42), "nodes.csv:2: gpu_capacity_num is 'x', expe");
  EXPECT_EQ(refused("H800,8,64,1\nH800,8,64,1\n").substr(0, 45),
            "nodes.csv:3: there are two nodes named 'n1'; ");
  EXPECT_NE(refused("H800,8,64,a/b\n").find("is not a node's name"), std::string::npos);
  EXPECT_FALSE(parse_node_list("a,b\n1,2\n", "nodes.csv"));
}

}  // namespace
}  // namespace cleave
