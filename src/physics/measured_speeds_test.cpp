// The carried-over figures against the files they come from, and against what any speed must be.

#include "physics/measured_speeds.hpp"
#include "base/places_test.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/csv.hpp"
#include "base/text.hpp"
#include "model/gpu_model.hpp"

namespace cleave {
namespace {

constexpr MeasuredSet all_sets[] = {MeasuredSet::miso, MeasuredSet::parvagpu, MeasuredSet::rodinia};

TEST(MeasuredSpeeds, ArePlausible) {
  for (const MeasuredSet set : all_sets) {
    std::set<std::pair<std::string_view, int>> seen;
    for (const MeasuredSpeed& row : measured_speeds(set)) {
      SCOPED_TRACE(std::string(row.application) + " " + std::to_string(row.batch));
      EXPECT_TRUE(seen.emplace(row.application, row.batch).second) << "stands twice";
      EXPECT_EQ(row.set, set);
      const GpuModel& model = **find_gpu_model(row.reference);
      ASSERT_TRUE(row.speeds.contains(model.largest().name));
      EXPECT_EQ(row.speeds.find(model.largest().name)->second, 1);
      EXPECT_GT(row.latency, Duration::zero());
      EXPECT_LT(row.latency, std::chrono::seconds{60});
      for (const auto& [profile, speed] : row.speeds) {
        EXPECT_NE(model.find(profile), nullptr) << profile;
        EXPECT_GT(speed, 0) << profile;
        // Rodinia's huffman is a single run of 0.3 s: 29 % quicker on the half than on the whole.
        EXPECT_LE(speed, set == MeasuredSet::rodinia ? 1.3 : 1.2) << profile;
      }
    }
  }
}

// What runs on a profile runs on every larger one, and no larger one is slower by more than noise.
TEST(MeasuredSpeeds, GrowWithTheProfile) {
  for (const MeasuredSet set : {MeasuredSet::miso, MeasuredSet::parvagpu})
    for (const MeasuredSpeed& row : measured_speeds(set)) {
      const GpuModel& model = **find_gpu_model(row.reference);
      double larger = 1;
      bool runs = true;
      for (const Profile& profile : model.profiles) {  // from large to small
        const auto entry = row.speeds.find(profile.name);
        if (profile.attribute != Attribute::none || profile.double_memory) continue;
        if (entry == row.speeds.end()) {
          runs = false;
          continue;
        }
        EXPECT_TRUE(runs) << row.application << " " << row.batch << " " << profile.name;
        EXPECT_LE(entry->second, larger * 1.16)
            << row.application << " " << row.batch << " " << profile.name;
        larger = entry->second;
      }
    }
}

TEST(MeasuredSpeeds, AreFoundByApplicationAndBatch) {
  const MeasuredSpeed* bert = find_measured(MeasuredSet::miso, "bert", 2);
  ASSERT_NE(bert, nullptr);
  EXPECT_FALSE(bert->speeds.contains("1g.5gb"));
  EXPECT_EQ(bert->speeds.find("2g.10gb")->second, 0.3891);
  EXPECT_EQ(find_measured(MeasuredSet::miso, "bert", 3), nullptr);
  EXPECT_EQ(find_measured(MeasuredSet::rodinia, "bert"), nullptr);
  EXPECT_NE(find_measured(MeasuredSet::rodinia, "gaussian"), nullptr);
}

/// A measured file, row by row by column name; empty when it is not here.
using Row = std::map<std::string, std::string>;
std::vector<Row> rows_of(const std::string& name) {
  const std::filesystem::path path = source_dir() + "/../shared/data/" + name;
  if (!std::filesystem::exists(path)) return {};
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  const std::string content = text.str();
  auto csv = CsvReader::open(content, name);
  std::vector<Row> rows;
  std::vector<std::string> cells;
  while (*csv->next(cells)) {
    Row& row = rows.emplace_back();
    for (std::size_t i = 0; i < cells.size(); ++i) row.emplace(csv->columns()[i], cells[i]);
  }
  return rows;
}

double number(const std::string& cell) {
  return cell.empty() ? 0 : *parse_number(cell);
}

/// 0 where it does not run or is not there.
double speed_of(const MeasuredSpeed* row, std::string_view profile) {
  if (row == nullptr) return 0;
  const auto entry = row->speeds.find(profile);
  return entry == row->speeds.end() ? 0 : entry->second;
}

constexpr const char* not_here = "the measured tables are not here";

TEST(MeasuredSpeeds, AgreeWithMiso) {
  const auto speeds = rows_of("mig-miso-a100-40gb/speed_per_profile.csv");
  if (speeds.empty()) GTEST_SKIP() << not_here;
  EXPECT_EQ(speeds.size(), measured_speeds(MeasuredSet::miso).size());
  for (const Row& row : speeds) {
    const auto* ours = find_measured(MeasuredSet::miso, row.at("model"),
                                     static_cast<int>(number(row.at("batch_size"))));
    for (const char* profile : {"1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"})
      EXPECT_EQ(speed_of(ours, profile), number(row.at(profile)))
          << row.at("model") << " " << profile;
  }
  std::size_t compared = 0;
  for (const Row& row : rows_of("mig-miso-a100-40gb/training_batch_time.csv")) {
    if (row.at("profile") != "7g.40gb") continue;
    const auto* ours = find_measured(MeasuredSet::miso, row.at("model"),
                                     static_cast<int>(number(row.at("batch_size"))));
    ASSERT_NE(ours, nullptr);
    EXPECT_DOUBLE_EQ(in_seconds(ours->latency), number(row.at("median_s"))) << row.at("model");
    ++compared;
  }
  EXPECT_EQ(compared, speeds.size());
}

TEST(MeasuredSpeeds, AgreeWithParvaGpu) {
  const auto rows = rows_of("mig-parvagpu-a100-80gb/inference_profiles.csv");
  if (rows.empty()) GTEST_SKIP() << not_here;
  const std::map<std::string, std::string> profiles = {
      {"1", "1g.10gb"}, {"2", "2g.20gb"}, {"3", "3g.40gb"}, {"4", "4g.40gb"}, {"7", "7g.80gb"}};
  std::map<std::pair<std::string, int>, double> whole;
  for (const Row& row : rows)
    if (row.at("mig_gpcs") == "7" && row.at("mps_processes") == "1" &&
        number(row.at("throughput_rps_per_process")) > 0)
      whole[{row.at("model"), static_cast<int>(number(row.at("batch_size")))}] =
          number(row.at("throughput_rps_per_process"));
  EXPECT_EQ(whole.size(), measured_speeds(MeasuredSet::parvagpu).size());
  for (const Row& row : rows) {
    if (row.at("mps_processes") != "1") continue;
    const int batch = static_cast<int>(number(row.at("batch_size")));
    const double throughput = number(row.at("throughput_rps_per_process"));
    const auto* ours = find_measured(MeasuredSet::parvagpu, row.at("model"), batch);
    if (!whole.contains({row.at("model"), batch})) {
      EXPECT_EQ(ours, nullptr) << "7g did not run";
      continue;
    }
    EXPECT_DOUBLE_EQ(speed_of(ours, profiles.at(row.at("mig_gpcs"))),
                     throughput / whole.at({row.at("model"), batch}))
        << row.at("model") << " " << batch;
    if (row.at("mig_gpcs") != "7") continue;
    const double latency = number(row.at("latency_s"));
    EXPECT_NEAR(in_seconds(ours->latency), latency, 0.0006 + 0.02 * latency)
        << "rounded to 1 ms there";
  }
}

TEST(MeasuredSpeeds, AgreeWithRodinia) {
  const auto rows = rows_of("mig-rodinia-a30/kernel_time_per_slice.csv");
  if (rows.empty()) GTEST_SKIP() << not_here;
  EXPECT_EQ(rows.size(), measured_speeds(MeasuredSet::rodinia).size());
  for (const Row& row : rows) {
    const auto* ours = find_measured(MeasuredSet::rodinia, row.at("kernel"));
    ASSERT_NE(ours, nullptr) << row.at("kernel");
    EXPECT_NEAR(in_seconds(ours->latency), number(row.at("4g.24gb_s")), 1e-9);
    for (const char* profile : {"1g.6gb", "2g.12gb", "4g.24gb"}) {
      const double seconds = number(row.at(std::string(profile) + "_s"));
      EXPECT_DOUBLE_EQ(speed_of(ours, profile),
                       seconds > 0 ? number(row.at("4g.24gb_s")) / seconds : 0)
          << row.at("kernel") << " " << profile;
    }
  }
}

}  // namespace
}  // namespace cleave
