// Listings of many nodes in one text, in the forms of the tools that write them.

#include "model/smi_nodes.hpp"

#include <gtest/gtest.h>

#include "base/format.hpp"
#include "base/text.hpp"
#include "model/host_list.hpp"

namespace cleave {
namespace {

/// A listing of -lgi with one instance of 1g.5gb.
std::string table(int gpu, int start) {
  return fmt::format(
      "+-------------------------------------------------------+\n"
      "| GPU instances:                                        |\n"
      "| GPU   Name             Profile  Instance   Placement  |\n"
      "|                          ID       ID       Start:Size |\n"
      "|=======================================================|\n"
      "|   {}  MIG 1g.5gb           19       11          {}:1    |\n"
      "+-------------------------------------------------------+\n",
      gpu, start);
}

std::string prefixed(const std::string& node, const std::string& text) {
  std::string lines;
  for (const std::string_view line : split(text, '\n'))
    if (!line.empty()) lines += fmt::format("{}: {}\n", node, line);
  return lines;
}

/// "n0 0@6; n1 1@2": nodes with the GPU and start of each instance.
std::string read(const std::string& text) {
  const auto nodes = parse_smi_nodes(text, "smi.txt");
  if (!nodes) return nodes.error().text();
  std::string said;
  for (const SmiNodeListing& node : *nodes) {
    said += said.empty() ? node.node : fmt::format("; {}", node.node);
    for (const SmiInstance& row : node.listing.instances)
      said += fmt::format(" {}@{}", row.gpu, row.placement.start);
  }
  return said;
}

TEST(SmiNodes, AreReadInEveryForm) {
  const std::string dashes = "----------------\n";
  EXPECT_EQ(read(table(0, 6)), " 0@6") << "of one node, which is not named";
  EXPECT_EQ(read(prefixed("n0", table(0, 6)) + prefixed("n1.site", table(1, 2))),
            "n0 0@6; n1.site 1@2");
  EXPECT_EQ(read("==> n0 <==\n" + table(0, 6) + "\n==> n1 <==\n" + table(1, 2)), "n0 0@6; n1 1@2");
  EXPECT_EQ(read(dashes + "n0\n" + dashes + table(0, 6) + dashes + "n[08-10] (3)\n" + dashes +
                 table(1, 2)),
            "n0 0@6; n08 1@2; n09 1@2; n10 1@2");
  // pdsh does not keep the nodes apart.
  std::string mixed;
  const std::string of_n0 = table(0, 6), of_n1 = table(1, 2);
  const auto a = split(of_n0, '\n'), b = split(of_n1, '\n');
  for (std::size_t i = 0; i + 1 < a.size(); ++i)
    mixed += fmt::format("n0: {}\r\nn1: {}\r\n", a[i], b[i]);
  EXPECT_EQ(read(mixed), "n0 0@6; n1 1@2");
}

TEST(SmiNodes, TheListOfGpusIsReadToo) {
  const std::string list =
      "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-1)\n  MIG 1g.5gb Device 0: (UUID: MIG-2)\n"
      "GPU 1: NVIDIA A100-SXM4-40GB (UUID: GPU-3)\n";
  const auto nodes = parse_smi_nodes(prefixed("n0", list + table(0, 6)), "smi.txt");
  ASSERT_TRUE(nodes) << nodes.error().text();
  EXPECT_EQ(nodes->front().gpu_name, "NVIDIA A100-SXM4-40GB");
  EXPECT_EQ(nodes->front().gpus, 2);
  EXPECT_EQ(read("GPU 0: NVIDIA A30 (UUID: GPU-1)\nGPU 1: NVIDIA L4 (UUID: GPU-3)\n" + table(0, 6)),
            "smi.txt: line 2: this GPU is a 'NVIDIA L4', the ones before it 'NVIDIA A30'; nodes "
            "with GPUs of several models are not imported");
}

TEST(SmiNodes, ErrorsNameTheLineOfTheWholeText) {
  std::string torn = table(0, 6);
  torn.replace(torn.find("6:1"), 3, "six");
  EXPECT_EQ(read("==> n0 <==\n" + table(0, 6) + "==> n1 <==\n" + torn).substr(0, 17),
            "smi.txt: line 15:");
  const auto rows = parse_smi_nodes("==> n0 <==\n" + table(0, 6), "smi.txt");
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->front().listing.instances[0].place, "smi.txt: line 7");
  EXPECT_EQ(read(prefixed("n0", table(0, 6)) + "|   1  MIG 1g.5gb 19 11 0:1 |\n").substr(0, 46),
            "smi.txt: line 8: this line of a table names no");
  EXPECT_NE(read("==> n[3-1] <==\n" + table(0, 6)).find("is not a list of nodes"),
            std::string::npos);
}

TEST(HostList, ExpandsRangesAndKeepsZeros) {
  const auto hosts = [](std::string_view text) {
    const auto names = expand_hosts(text, "x");
    return names ? fmt::format("{}", fmt::join(*names, " ")) : names.error().message;
  };
  EXPECT_EQ(hosts("n0"), "n0");
  EXPECT_EQ(hosts("n[01-03,7]-ib,login"), "n01-ib n02-ib n03-ib n7-ib login");
  for (const char* wrong : {"", "n[", "n[a-b]", "n[3-1]", "n[0-99999]", "n 0", "a,,b", "n[0-1]]"})
    EXPECT_NE(hosts(wrong).find("is not a list of nodes"), std::string::npos) << wrong;
}

}  // namespace
}  // namespace cleave
