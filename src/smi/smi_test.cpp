// Command lines, fields and tables, without a driver.

#include <gtest/gtest.h>

#include "model/smi_text.hpp"
#include "smi/arguments.hpp"
#include "smi/listing.hpp"
#include "smi/log.hpp"
#include "smi/mig_tables.hpp"

namespace cleave::smi {
namespace {

std::expected<Request, Outcome> parsed(std::vector<std::string_view> words) {
  return parse_arguments(words);
}

std::string refused(std::vector<std::string_view> words) {
  const auto request = parse_arguments(words);
  if (request) return "nothing is wrong";
  EXPECT_EQ(request.error().code, 2);
  return request.error().text;
}

NodeReading one_gpu() {
  GpuReading gpu;
  gpu.index = 3;
  gpu.name = "NVIDIA A100-SXM4-40GB";
  gpu.uuid = "GPU-1";
  gpu.memory = MemoryReading{40960ULL << 20, 640ULL << 20, 100ULL << 20, 40220ULL << 20};
  gpu.power.draw = 61'204;
  gpu.processes.push_back({77, 100ULL << 20, 2, 0, "train <1> & \"2\""});
  gpu.migs.push_back({0, 2, 0, "1c.3g.20gb", "MIG-1", {}, {}, {}, {}});
  return {"580.65.06", "2026/11/26 09:05:24.123", 13000, {gpu}, 4};
}

TEST(SmiArguments, TakeValuesAfterASpaceOrAnEqualsSign) {
  for (const auto& words : {std::vector<std::string_view>{"-i", "0,GPU-2", "-L"},
                            std::vector<std::string_view>{"--id=0,GPU-2", "--list-gpus"}}) {
    const auto request = parsed(words);
    ASSERT_TRUE(request);
    EXPECT_EQ(request->kind, Request::Kind::list);
    EXPECT_EQ(request->gpus, (std::vector<std::string>{"0", "GPU-2"}));
  }
  EXPECT_EQ(parsed({"-q", "-x"})->kind, Request::Kind::xml);
  EXPECT_EQ(parsed({"-x", "-q"})->kind, Request::Kind::xml);
  EXPECT_EQ(parsed({"-l"})->every, std::chrono::seconds(5));
  EXPECT_EQ(parsed({"-l", "2"})->every, std::chrono::seconds(2));
  EXPECT_EQ(parsed({"-lms", "20"})->every, std::chrono::milliseconds(20));
  EXPECT_EQ(parsed({})->kind, Request::Kind::summary);
}

TEST(SmiArguments, OfMig) {
  const auto created = parsed({"mig", "-cgi", "9, 3g.20gb:4", "-C", "-i", "1"});
  ASSERT_TRUE(created);
  EXPECT_EQ(created->mig.action, MigAction::create_gpu_instances);
  EXPECT_EQ(created->mig.profiles, (std::vector<std::string>{"9", "3g.20gb:4"}));
  EXPECT_TRUE(created->mig.with_compute);
  const auto inside = parsed({"mig", "-cci", "-gi", "1,2"});
  ASSERT_TRUE(inside);
  EXPECT_TRUE(inside->mig.profiles.empty());
  EXPECT_EQ(inside->mig.gpu_instances, (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(parsed({"mig", "-cci", "0,0", "-gi", "1"})->mig.profiles.size(), 2U);
}

TEST(SmiArguments, ThatAreWrongAreNamed) {
  EXPECT_EQ(refused({"--query-gpu=index,foo", "--format=csv"}),
            "Field \"foo\" is not a valid field to query.\n\n");
  EXPECT_EQ(refused({"--query-gpu="}), "Option --query-gpu needs a value\n");
  EXPECT_NE(refused({"--query-gpu=index,", "--format=csv"}).find("Field \"\""), std::string::npos);
  EXPECT_EQ(refused({"--frobnicate"}), "Invalid option: --frobnicate; --help lists all\n");
  EXPECT_EQ(refused({"-L=1"}), "Option -L takes no value\n");
  EXPECT_EQ(refused({"-lms", "0"}), "Invalid interval '0': expected a whole number from 1\n");
  EXPECT_EQ(refused({"-mig", "2"}), "Invalid MIG mode '2': expected 0 or 1\n");
  EXPECT_EQ(refused({"-d", "MEMORY"}), "-d goes with -q only\n");
  EXPECT_EQ(refused({"mig"}), "mig: expected an option, such as -lgi\n");
  EXPECT_NE(refused({"mig", "-gi", "x"}).find("'x'"), std::string::npos);
  EXPECT_NE(refused({"--query-gpu=index", "--format=xml"}).find("'xml'"), std::string::npos);
  EXPECT_NE(refused({"-q", "-d", "nothing"}).find("MEMORY"), std::string::npos);
  EXPECT_EQ(refused({""}), "Invalid option: an empty word\n");
}

TEST(SmiQuery, HasUnitsInTheHeadAndAtTheValues) {
  Query query{QueryOf::gpus, {"index", "memory.used", "power.draw", "utilization.gpu"}, true, true};
  EXPECT_EQ(answer(query, one_gpu(), true),
            "index, memory.used [MiB], power.draw [W], utilization.gpu [%]\n"
            "3, 100 MiB, 61.20 W, [N/A]\n");
  query.units = false;
  EXPECT_EQ(answer(query, one_gpu(), false), "3, 100, 61.20, [N/A]\n");
  const Query processes{QueryOf::processes, {"pid", "used_memory", "gpu_uuid"}, true, true};
  EXPECT_EQ(answer(processes, one_gpu(), true),
            "pid, used_gpu_memory [MiB], gpu_uuid\n77, 100 MiB, GPU-1\n");
}

TEST(SmiQuery, ListsWhatItKnows) {
  for (const QueryOf of : {QueryOf::gpus, QueryOf::processes}) {
    const std::string list = list_of_fields(of);
    Query query{of, {}, true, true};
    for (std::size_t at = 0; (at = list.find("\n\"", at)) != std::string::npos; ++at)
      query.fields.push_back(list.substr(at + 2, list.find('"', at + 2) - at - 2));
    EXPECT_GE(query.fields.size(), 7U);
    EXPECT_FALSE(unknown_field(query));
    EXPECT_EQ(answer(query, {}, true).find("[N/A]"), std::string::npos);
    EXPECT_FALSE(answer(query, one_gpu(), false).empty());
  }
}

TEST(SmiLog, EscapesWhatProcessesAreCalled) {
  const std::string xml = xml_log(one_gpu());
  EXPECT_NE(xml.find("<process_name>train &lt;1&gt; &amp; &quot;2&quot;</process_name>"),
            std::string::npos)
      << xml;
  EXPECT_NE(xml.find("<gpu_util>N/A</gpu_util>"), std::string::npos);
  const std::string memory = text_log(one_gpu(), {"MEMORY"});
  EXPECT_NE(memory.find("Total                                         : 40960 MiB"),
            std::string::npos)
      << memory;
  EXPECT_EQ(memory.find("Product Name"), std::string::npos) << memory;
}

TEST(SmiListing, NamesMigDevices) {
  EXPECT_EQ(device_list(one_gpu()),
            "GPU 3: NVIDIA A100-SXM4-40GB (UUID: GPU-1)\n"
            "  MIG 1c.3g.20gb  Device  0: (UUID: MIG-1)\n");
}

// Every line of a table is as long as its border, whatever stands in it.
void expect_straight(const std::string& table) {
  std::size_t width = 0;
  for (std::size_t at = 0, end = 0; (end = table.find('\n', at)) != std::string::npos;
       at = end + 1) {
    if (width == 0) width = end - at;
    EXPECT_EQ(end - at, width) << table.substr(at, end - at);
  }
}

TEST(SmiTables, AreStraight) {
  expect_straight(table({GpuProfileRow{63, "1g.24gb+me.all", 165, 7, 12, 24192, true, 188,
                                       Engines{12, 12, 12, 12, 12}}}));
  expect_straight(table({ComputeProfileRow{63, 14, "1c.2g.48gb+gfx", 10, 4, 12, true, 188,
                                           Engines{12, 12, 12, 12, 12}}}));
  const std::string text = table({GpuInstanceRow{63, "1g.24gb+me.all", 165, 14, {9, 3}}}) +
                           table({ComputeInstanceRow{63, 14, "1g.24gb+me.all", 10, 1, {0, 1}}});
  const auto listing = parse_smi(text, "smi.txt");
  ASSERT_TRUE(listing) << listing.error().text() << text;
  EXPECT_EQ(listing->instances.at(0).placement.start, 9);
  EXPECT_EQ(listing->computes.at(0).gpu_instance, 14);
  EXPECT_EQ(lines({PlacementsRow{0, 9, {{0, 4}, {4, 4}}}, PlacementsRow{0, 0, {{0, 8}}}}),
            "GPU  0 Profile ID  9 Placements: {0,4}:4\nGPU  0 Profile ID  0 Placement : {0}:8\n");
}

}  // namespace
}  // namespace cleave::smi
