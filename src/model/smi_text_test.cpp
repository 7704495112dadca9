// Listings of nvidia-smi as several drivers print them and as people save them, and every way in
// which they can be wrong.

#include "model/smi_text.hpp"

#include <gtest/gtest.h>

#include "model/smi_node.hpp"

namespace cleave {
namespace {

// Driver 450: names in ten columns, compute instances without a placement.
constexpr std::string_view old_driver = R"(+----------------------------------------------------+
| GPU instances:                                     |
| GPU   Name          Profile  Instance   Placement  |
|                       ID       ID       Start:Size |
|====================================================|
|   0  MIG 1g.5gb       19       13          6:1     |
+----------------------------------------------------+
|   0  MIG 2g.10gb      14        5          4:2     |
+----------------------------------------------------+
|   0  MIG 4g.20gb       5        1          0:4     |
+----------------------------------------------------+
+-------------------------------------------------------+
| Compute instances:                                    |
| GPU     GPU       Name             Profile   Instance |
|       Instance                       ID        ID     |
|         ID                                            |
|=======================================================|
|   0     13       MIG 1g.5gb           0         0     |
+-------------------------------------------------------+
|   0      5       MIG 1c.2g.10gb       0         1     |
+-------------------------------------------------------+
|   0      5       MIG 1c.2g.10gb       0         0     |
+-------------------------------------------------------+
)";

// Drivers 470 to 535, two GPUs, with room for "+me".
constexpr std::string_view two_gpus = R"(+-------------------------------------------------------+
| GPU instances:                                        |
| GPU   Name             Profile  Instance   Placement  |
|                          ID       ID       Start:Size |
|=======================================================|
|   0  MIG 1g.10gb          19        9          3:1     |
+-------------------------------------------------------+
|   0  MIG 3g.40gb           9        1          4:4     |
+-------------------------------------------------------+
|   7  MIG 1g.10gb+me       20       14          1:1     |
+-------------------------------------------------------+
|   7  MIG 1g.20gb          15        6          6:2     |
+-------------------------------------------------------+
)";

// Drivers 550 to 580: wider again; the attributes of the RTX PRO 6000.
constexpr std::string_view attributes =
    R"(+---------------------------------------------------------+
| GPU instances:                                          |
| GPU   Name               Profile  Instance   Placement  |
|                            ID       ID       Start:Size |
|=========================================================|
|   0  MIG 1g.24gb-me         67        5          9:3     |
+---------------------------------------------------------+
|   0  MIG 1g.24gb+me.all     65        6          6:3     |
+---------------------------------------------------------+
|   1  MIG 2g.48gb+gfx        35        1          0:6     |
+---------------------------------------------------------+
+--------------------------------------------------------------------+
| Compute instances:                                                 |
| GPU     GPU       Name             Profile   Instance   Placement  |
|       Instance                       ID        ID       Start:Size |
|         ID                                                         |
|====================================================================|
|   0      6       MIG 1g.24gb+me.all   0         0          0:1     |
+--------------------------------------------------------------------+
|   1      1       MIG 1c.2g.48gb+gfx   0         0          0:1     |
+--------------------------------------------------------------------+
)";

constexpr std::string_view head = R"(+-------------------------------------------------------+
| GPU instances:                                        |
| GPU   Name             Profile  Instance   Placement  |
|                          ID       ID       Start:Size |
|=======================================================|
)";
constexpr std::string_view border = "+-------------------------------------------------------+\n";

SmiListing listing_of(std::string_view text) {
  auto listing = parse_smi(text, "smi.txt");
  EXPECT_TRUE(listing) << listing.error().text() << "\n" << text;
  return listing ? std::move(*listing) : SmiListing{};
}

std::string text_error(std::string_view text) {
  const auto listing = parse_smi(text, "smi.txt");
  return listing ? "none" : listing.error().text();
}

Geometry whole(std::string_view model) {
  const GpuModel& found = **find_gpu_model(model);
  return {found, ProfileChoice().on(found)};
}

/// A table with these rows, which are on every second line from line 6 on.
std::string table(std::initializer_list<std::string_view> rows) {
  std::string text(head);
  for (const std::string_view row : rows)
    text += "| " + std::string(row) + " |\n" + std::string(border);
  return text;
}

std::string node_error(const std::string& text, std::string_view model = "A100-40GB",
                       std::optional<int> gpus = {}) {
  const auto listing = parse_smi(text, "smi.txt");
  if (!listing) return listing.error().text();
  const auto node = smi_gpus(*listing, whole(model), gpus);
  return node ? "none" : node.error().text();
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string answer(text);
  std::size_t at = answer.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  for (; at != std::string::npos; at = answer.find(from, at + to.size()))
    answer.replace(at, from.size(), to);
  return answer;
}

std::vector<std::string> layouts(const std::vector<SmiGpu>& gpus, const Geometry& geometry) {
  std::vector<std::string> texts;
  for (const SmiGpu& gpu : gpus) {
    PlacementSet state;
    for (const SmiGpuInstance& instance : gpu.instances) state.insert(instance.placement);
    texts.push_back(std::to_string(gpu.index) + " " + layout_text(geometry, state));
  }
  return texts;
}

TEST(SmiText, OldDriversHaveNarrowTablesAndNoPlacementOfComputeInstances) {
  const SmiListing listing = listing_of(old_driver);
  ASSERT_EQ(listing.instances.size(), 3U);
  const SmiInstance& first = listing.instances[0];
  EXPECT_EQ(first.place, "smi.txt: line 6");
  EXPECT_EQ(first.table, "smi.txt: line 2");
  EXPECT_EQ(first.profile, "1g.5gb");
  EXPECT_EQ(first.profile_id, 19);
  EXPECT_EQ(first.id, 13);
  EXPECT_EQ(first.placement.start, 6);
  EXPECT_EQ(first.placement.size, 1);
  ASSERT_EQ(listing.computes.size(), 3U);
  EXPECT_EQ(listing.computes[1].name, "1c.2g.10gb");
  EXPECT_EQ(listing.computes[1].gpu_instance, 5);
  EXPECT_EQ(listing.computes[1].id, 1);
  EXPECT_FALSE(listing.computes[1].placement);
  const Geometry geometry = whole("A100-40GB");
  const auto gpus = smi_gpus(listing, geometry, {});
  ASSERT_TRUE(gpus) << gpus.error().text();
  EXPECT_EQ(layouts(*gpus, geometry), (std::vector<std::string>{"0 4g.20gb@0,2g.10gb@4,1g.5gb@6"}));
  EXPECT_EQ((*gpus)[0].instances[1].computes,
            (std::map<int, std::string>{{0, "1c.2g.10gb"}, {1, "1c.2g.10gb"}}));
  EXPECT_EQ((*gpus)[0].instances[1].id, 5);
  EXPECT_TRUE((*gpus)[0].instances[0].computes.empty());
}

TEST(SmiText, SeveralGpusAndAttributes) {
  const Geometry hopper = whole("H100-80GB-SXM5");
  const auto gpus = smi_gpus(listing_of(two_gpus), hopper, {});
  ASSERT_TRUE(gpus) << gpus.error().text();
  EXPECT_EQ(layouts(*gpus, hopper),
            (std::vector<std::string>{"0 1g.10gb@3,3g.40gb@4", "7 1g.10gb+me@1,1g.20gb@6"}));
  const Geometry blackwell = whole("NVIDIA RTX PRO 6000 Blackwell Server Edition");
  const SmiListing listing = listing_of(attributes);
  EXPECT_TRUE(listing.lists_computes);
  EXPECT_EQ(listing.computes[0].placement->size, 1);
  const auto pro = smi_gpus(listing, blackwell, {});
  ASSERT_TRUE(pro) << pro.error().text();
  EXPECT_EQ(layouts(*pro, blackwell),
            (std::vector<std::string>{"0 1g.24gb+me.all@6,1g.24gb-me@9", "1 2g.48gb+gfx@0"}));
}

TEST(SmiText, GpusWithoutARowAreThereOnlyWhenTheirNumberIsSaid) {
  const Geometry geometry = whole("H100-80GB-SXM5");
  const SmiListing listing = listing_of(two_gpus);
  const auto eight = smi_gpus(listing, geometry, 8);
  ASSERT_TRUE(eight);
  EXPECT_EQ(eight->size(), 8U);
  EXPECT_TRUE((*eight)[3].instances.empty());
  EXPECT_EQ(node_error(std::string(two_gpus), "H100-80GB-SXM5", 4),
            "smi.txt: line 10: expected a GPU below 4, found 7; numbers begin at 0: the node has "
            "at least 8 GPUs");
}

TEST(SmiText, WhatHappensToTextOnTheWay) {
  const std::string plain(old_driver);
  const auto same = [&](const std::string& text) {
    const SmiListing listing = listing_of(text);
    EXPECT_EQ(listing.instances.size(), 3U) << text;
    EXPECT_EQ(listing.computes.size(), 3U) << text;
  };
  same(replaced(plain, "\n", "\r\n"));
  same(replaced(plain, "\n", "\n\n"));
  same(replaced(plain, "\n", "  \n    "));
  same("\xef\xbb\xbf" + plain);
  same(plain.substr(0, plain.size() - 1));
  same(replaced(plain, "  ", " "));
  same(replaced(plain, "\n|", "\n||"));
  same("root@n0:~# nvidia-smi mig -lgi; nvidia-smi mig -lci\n" + plain + "root@n0:~# exit\n");
  same(replaced(plain, "+\n+", "+\n$ nvidia-smi mig -lci\n+"));
  same(R"(GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-5d5ba0d6-0000-0000-0000-000000000000)
  MIG 3g.20gb     Device  0: (UUID: MIG-1c2b1bd2-0000-0000-0000-000000000000)
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 470.82.01    Driver Version: 470.82.01    CUDA Version: 11.4     |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
|===============================+======================+======================|
|   0  NVIDIA A100-SXM...  On   | 00000000:07:00.0 Off |                   On |
+-------------------------------+----------------------+----------------------+
+-----------------------------------------------------------------------------+
| MIG devices:                                                                |
| GPU  GI  CI  MIG |         Memory-Usage |        Vol|         Shared        |
|==================+======================+===========+=======================|
|  0    1   0   0  |     11MiB / 20096MiB | 42      0 |  3   0    2    0    0 |
+-----------------------------------------------------------------------------+
| GPU instance profiles:                                                      |
|=============================================================================|
|   0  MIG 3g.20gb           9     0/2        19.62      No     42     2     0 |
+-----------------------------------------------------------------------------+
)" + plain +
       "GPU  0 Profile ID 14 Placements: {0,2,4}:2\n");
}

TEST(SmiText, NothingListedIsAnAnswer) {
  EXPECT_TRUE(listing_of("No GPU instances found: Not Found\n").instances.empty());
  EXPECT_TRUE(listing_of("No GPU instances found.\n").instances.empty());
  EXPECT_TRUE(
      listing_of("$ nvidia-smi mig -lci\nNo compute instances found: Not Found\n").lists_computes);
  EXPECT_TRUE(listing_of("No MIG-enabled devices found.\n").mig_is_off);
  EXPECT_TRUE(listing_of(table({}) + std::string(border)).instances.empty());
  const auto gpus = smi_gpus(listing_of("No GPU instances found\n"), whole("A30-24GB"), 2);
  ASSERT_TRUE(gpus);
  EXPECT_EQ(gpus->size(), 2U);
}

TEST(SmiText, AFailedCommandIsNoListing) {
  EXPECT_EQ(
      text_error("Failed to display GPU instances: Insufficient Permissions\n"
                 "No GPU instances found: Insufficient Permissions\n"),
      "smi.txt: line 1: expected a listing, found that nvidia-smi failed: 'Failed to display GPU "
      "instances: Insufficient Permissions'; run `nvidia-smi mig -lgi` as root and save what it "
      "prints");
  EXPECT_NE(text_error("\nNo GPU instances found: Insufficient Permissions")
                .find("line 2: expected a listing"),
            std::string::npos);
  EXPECT_NE(
      text_error("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.")
          .find("nvidia-smi failed"),
      std::string::npos);
}

TEST(SmiText, TextsOfOtherCommandsAreNamed) {
  const auto is = [](std::string_view text, const std::string& line, const std::string& what) {
    EXPECT_EQ(text_error(text), "smi.txt: line " + line +
                                    ": expected the table 'GPU instances:', found " + what +
                                    "; save what `nvidia-smi mig -lgi` prints, as root");
  };
  is("", "1", "nothing");
  is("\n\n", "1", "nothing");
  is("hello\nworld\n", "2", "other text");
  is("{\"gpus\": []}", "1", "JSON");
  is("$ nvidia-smi -L\nGPU 0: NVIDIA A30 (UUID: GPU-1)\n", "2", "the devices of `nvidia-smi -L`");
  is("GPU  0 Profile ID 14 Placements: {0,2,4}:2\n", "1",
     "the possible placements of `nvidia-smi mig -lgipp`");
  is("+---+\n| GPU instance profiles:  |\n|===|\n|   0  MIG 1g.5gb 19 7/7 4.75 No 14 0 0 "
     "|\n+---+\n",
     "2", "the profiles of `nvidia-smi mig -lgip`");
  is("+---+\n| NVIDIA-SMI 535.54   Driver Version: 535.54 |\n+---+\n", "2",
     "the summary of `nvidia-smi`");
  EXPECT_EQ(text_error(std::string_view("+\0-\n", 4)),
            "smi.txt: line 1: expected text, found a zero byte; save it as UTF-8 text");
}

constexpr const char* again =
    "; save the whole output of `nvidia-smi mig -lgi` (and `-lci`) again, unshortened";

TEST(SmiText, RowsAreReadToTheirEnd) {
  const auto is = [](std::string_view row, const std::string& wrong) {
    EXPECT_EQ(text_error(table({"0 MIG 1g.5gb 19 9 6:1", row})),
              "smi.txt: line 8: " + wrong + again);
  };
  is("0 MIG 3g.20gb 9 1 4", "expected 'start:size' such as 4:2, found '4'");
  is("0 MIG 3g.20gb 9 1 4:", "expected 'start:size' such as 4:2, found '4:'");
  is("0 MIG 3g.20gb 9 1 4:0", "expected 'start:size' such as 4:2, found '4:0'");
  is("0 MIG 3g.20gb 9 1 -4:4", "expected 'start:size' such as 4:2, found '-4:4'");
  is("0 MIG 3g.20gb 9 1", "expected 'start:size' such as 4:2, found the end of the row");
  is("0 MIG 3g.20gb 9", "expected an instance ID such as 1, found the end of the row");
  is("0 MIG 3g.20gb 9 one 4:4", "expected an instance ID such as 1, found 'one'");
  is("0 MIG 3g.20gb 0/2 1 4:4", "expected a profile ID such as 9, found '0/2'");
  is("0 MIG whole 9 1 4:4", "expected a profile such as 3g.20gb, found 'whole'");
  is("0 3g.20gb 9 1 4:4", "expected 'MIG' and a profile such as 3g.20gb, found '3g.20gb'");
  is("MIG 3g.20gb 9 1 4:4", "expected the number of a GPU, found 'MIG'");
  is("99999 MIG 3g.20gb 9 1 4:4", "expected the number of a GPU, found '99999'");
  is("0 MIG 3g.20gb 9 1 4:4 yes", "expected the end of the row, found 'yes'");
  is("", "expected the number of a GPU, found the end of the row");
  is("0 MIG 3g.20gb 9 1 4:4\n", "expected '|' at the end of the line, found '20gb 9 1 4:4'");
}

TEST(SmiText, ComputeRowsAreReadToTheirEnd) {
  const std::string text(old_driver);
  EXPECT_EQ(text_error(replaced(text, "MIG 1g.5gb           0         0     |",
                                "MIG 1g.5gb           0   |")),
            "smi.txt: line 18: expected an instance ID such as 0, found the end of the row" +
                std::string(again));
  EXPECT_EQ(
      text_error(replaced(text, "|   0     13  ", "|   0  ")),
      "smi.txt: line 18: expected a GPU instance ID such as 1, found 'MIG'" + std::string(again));
  EXPECT_EQ(text_error(replaced(attributes, "0:1     |", "        |")),
            "smi.txt: line 18: expected 'start:size' such as 4:2, found the end of the row" +
                std::string(again));
}

TEST(SmiText, TornTablesAreRefused) {
  const std::string text = table({"  0  MIG 3g.20gb          9        1          4:4    "});
  const std::string missing = "expected the table's closing border, a line '+---+', found ";
  const auto is = [](const std::string& torn, const std::string& wrong) {
    EXPECT_EQ(text_error(torn), "smi.txt: line " + wrong + again) << torn;
  };
  const std::string open = text.substr(0, text.size() - border.size());
  is(open, "6: " + missing + "the end of the text");
  is(open + "\n$ exit\n", "8: " + missing + "'$ exit'");
  is(open + text.substr(border.size()), "7: " + missing + "'GPU instances:'");
  is(open + "+----", "7: expected a whole row from '|' to '|', or a border, found '+----'");
  is(text + " 0 MIG 3g.20gb 9 2 0:4 |\n",
     "8: expected a whole row from '|' to '|', or a border, found '0 MIG 3g.20gb 9 2 0:4 |'");
  is(text + ".20gb 9 2 0:4 |\n",
     "8: expected a whole row from '|' to '|', or a border, found '.20gb 9 2 0:4 |'");
  is(open.substr(0, open.size() - 9),
     "6: expected '|' at the end of the line, found '1          4'");
  is(std::string(head.substr(0, head.find("|="))),
     "4: expected the line '|===|' under the table's head, found the end of the text");
  is(std::string(head.substr(0, head.find("|="))) + std::string(border),
     "5: expected the line '|===|' under the table's head, found '+-------------------...'");
  is(replaced(text, "|=======================================================|\n", ""),
     "5: expected the line '|===|' under the table's head, found the row '0  MIG 3g.20gb          "
     "9        1 "
     "   "
     "      4:4'");
  is(text.substr(text.find("|   0") - 1),
     "2: expected the table's head before its rows, found the row '0  MIG 3g.20gb          9       "
     " 1        "
     "  "
     "4:4'");
  is(replaced(text, "Start:Size", "          "),
     "5: expected a column 'Start:Size' in the table's head, found 'GPU Name Profile Instance "
     "Placement ID "
     "ID'");
  is(replaced(text, "Profile", "Profil_"),
     "5: expected a column 'Profile' in the table's head, found 'GPU Name Profil_ Instance "
     "Placement ID ID "
     "Start:Size'");
}

TEST(SmiText, EveryCutOfATextIsRefusedOrWhole) {
  for (const std::string_view text : {old_driver, two_gpus, attributes}) {
    const auto whole_text = listing_of(text);
    for (std::size_t length = 0; length < text.size(); ++length) {
      const auto listing = parse_smi(text.substr(0, length), "smi.txt");
      if (!listing) {
        EXPECT_NE(listing.error().place.find(": line "), std::string::npos);
        continue;
      }
      // Accepted only if the text ends with a border; that more should follow cannot be seen.
      const std::string_view rest = text.substr(0, text.find_last_not_of(" \n", length - 1) + 1);
      EXPECT_EQ(rest.back(), '+') << rest;
      EXPECT_LE(listing->instances.size(), whole_text.instances.size());
    }
  }
}

TEST(SmiNode, RowsAgainstTheModel) {
  EXPECT_EQ(node_error(table({"0 MIG 3g.40gb 9 1 4:4"})),
            "smi.txt: line 6: expected a profile of the A100-40GB, found '3g.40gb'; is the model "
            "right? A100-80GB, "
            "H100-80GB-SXM5 or H100-80GB-PCIe have it");
  EXPECT_EQ(node_error(table({"0 MIG 2g.01gb 14 1 4:2"})),
            "smi.txt: line 6: expected a profile of the A100-40GB, found '2g.01gb'; did you mean "
            "'2g.10gb'?");
  EXPECT_EQ(node_error(table({"0 MIG 1g.10gb 15 1 4:2"}), "A100-80GB"),
            "smi.txt: line 6: expected size 1 for 1g.10gb of the A100-80GB, found '4:2'; is the "
            "model right?");
  EXPECT_EQ(node_error(table({"0 MIG 2g.10gb 14 1 3:2"})),
            "smi.txt: line 6: 2g.10gb may start at 0, 2 or 4, not at 3");
  EXPECT_NE(node_error(table({"0 MIG 3g.71gb 9 1 2:4"}), "H200-141GB").find("please report it"),
            std::string::npos);
  const GpuModel& a100 = **find_gpu_model("A100-40GB");
  const Geometry four(a100, ProfileChoice::parse("four")->on(a100));
  const auto outside = smi_gpus(listing_of(table({"0 MIG 7g.40gb 0 0 0:8"})), four, {});
  ASSERT_FALSE(outside);
  EXPECT_EQ(outside.error().text(),
            "smi.txt: line 6: 7g.40gb is not among the chosen profiles; widen --profiles");
}

TEST(SmiNode, RowsAgainstEachOther) {
  EXPECT_EQ(node_error(table({"0 MIG 2g.10gb 14 3 4:2", "0 MIG 3g.20gb 9 1 4:4"})),
            "smi.txt: line 8: 3g.20gb at 4 overlaps 2g.10gb at 4 of smi.txt: line 6; two instances "
            "never share a "
            "memory slice: list the node again");
  EXPECT_EQ(node_error(table({"0 MIG 1g.5gb+me 20 3 4:1", "0 MIG 1g.5gb+me 20 4 5:1"})),
            "smi.txt: line 8: 1g.5gb+me at 5 cannot exist beside the instances before it on GPU 0, "
            "A100-40GB: " +
                std::string(name(Illegality::second_media)) + "; is the model right?");
  EXPECT_EQ(node_error(
                table({"0 MIG 1g.5gb 19 9 4:1", "1 MIG 1g.5gb 19 9 4:1", "0 MIG 1g.5gb 19 9 5:1"})),
            "smi.txt: line 10: GPU 0 has a second instance with ID 9, before in smi.txt: line 6; "
            "list the node "
            "again, `-lgi` and `-lci` at the same moment");
  const std::string one = table({"0 MIG 1g.5gb 19 9 4:1"});
  EXPECT_EQ(node_error(one + "$ nvidia-smi mig -lgi\n" + one),
            "smi.txt: line 14: GPU 0 is listed a second time, before in the table of smi.txt: line "
            "2; keep one "
            "listing of each GPU, the newest");
  EXPECT_EQ(node_error(one + replaced(one, "0 MIG", "1 MIG")), "none")
      << "-i 0 and -i 1, one after the other";
}

TEST(SmiNode, ComputeInstancesAgainstTheirGpuInstances) {
  const std::string text(old_driver);
  EXPECT_EQ(node_error(replaced(text, "|   0     13 ", "|   0     12 ")),
            "smi.txt: line 18: no `-lgi` lists the GPU instance 12 of GPU 0 that this compute "
            "instance is "
            "in; import "
            "what `nvidia-smi mig -lgi` prints together with it, of the same moment");
  EXPECT_NE(
      node_error(text.substr(text.find("| Compute"))).find("no `-lgi` lists the GPU instance 13"),
      std::string::npos);
  EXPECT_EQ(node_error(replaced(text, "MIG 1g.5gb           0", "MIG 3g.20gb          2")),
            "smi.txt: line 18: expected a compute instance of 1g.5gb, found '3g.20gb': GPU "
            "instance 13 of "
            "GPU 0; list "
            "the node again, `-lgi` and `-lci` at the same moment");
  EXPECT_EQ(node_error(replaced(text, "0         1     |", "0         0     |")),
            "smi.txt: line 22: the compute instance 0 of GPU instance 5 of GPU 0 is listed twice, "
            "before in "
            "smi.txt: "
            "line 20; keep one listing of each GPU, the newest");
}

}  // namespace
}  // namespace cleave
