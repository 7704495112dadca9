// The tables of GPU models: consistent, and equal to the collected facts if those are there.

#include "model/gpu_model.hpp"
#include "base/places_test.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/json.hpp"
#include "model/geometry.hpp"

namespace cleave {
namespace {

template <class Quantity>
Json or_null(const std::optional<Quantity>& quantity) {
  return quantity ? Json(quantity->value) : Json(nullptr);
}

TEST(GpuModels, AreFoundByKeyAndByTheDriversName) {
  EXPECT_EQ((*find_gpu_model("a100-40gb"))->key, "A100-40GB");
  EXPECT_EQ((*find_gpu_model("NVIDIA A100-SXM4-40GB"))->key, "A100-40GB");
  EXPECT_EQ((*find_gpu_model("NVIDIA H100 80GB HBM3"))->key, "H100-80GB-SXM5");
  EXPECT_EQ((*find_gpu_model("NVIDIA A30 24GB"))->key, "A30-24GB");
  EXPECT_EQ(find_gpu_model("A100-40G").error().text(),
            "unknown GPU model 'A100-40G'; did you mean 'A100-40GB'?");
  const std::pair<std::string_view, std::string_view> meant[] = {
      {"H200", "did you mean 'H200-141GB'?"},
      {"a100", "did you mean 'A100-40GB' or 'A100-80GB'?"},
      {"NVIDIA A100-SXM4", "did you mean 'A100-40GB' or 'A100-80GB'?"},
      {"RTX", "did you mean 'RTX-PRO-6000-BW-96GB'?"},
      {"A100-44GB", "did you mean 'A100-40GB'?"},
  };
  for (const auto& [name, remedy] : meant)
    EXPECT_EQ(find_gpu_model(name).error().remedy, remedy) << name;
  EXPECT_TRUE(find_gpu_model("MI300X").error().remedy.starts_with("one of: A30-24GB, "));
  EXPECT_NE(find_gpu_model("Thor-iGPU").error().text().find("is not known"), std::string::npos);
}

TEST(GpuModels, NamesAreUnique) {
  std::set<std::string_view> names;
  for (const GpuModel& model : gpu_models()) {
    EXPECT_TRUE(names.insert(model.key).second) << model.key;
    for (const std::string_view name : model.driver_names)
      EXPECT_TRUE(names.insert(name).second) << name;
    std::set<std::string_view> profiles;
    for (const Profile& profile : model.profiles)
      EXPECT_TRUE(profiles.insert(profile.name).second) << profile.name;
  }
}

TEST(GpuModels, NameGb) {
  EXPECT_EQ((*find_gpu_model("H100-94GB-NVL"))->find("3g.47gb")->name_gb(), 47);
  EXPECT_EQ((*find_gpu_model("A100-40GB"))->find("1g.5gb+me")->name_gb(), 5);
}

class AgainstTheFacts : public testing::Test {
 protected:
  void SetUp() override {
    const std::filesystem::path path = source_dir() + "/../shared/facts/mig_geometry.json";
    if (!std::filesystem::exists(path))
      GTEST_SKIP() << "the collected facts (mig_geometry.json) are not here";
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    facts = *parse_json(text.str(), "mig_geometry.json");
  }
  Json facts;
};

void expect_profile(const Profile& ours, const Json& fact, const std::string& where) {
  EXPECT_EQ(ours.nvml_profile, fact["nvml_profile"]) << where;
  EXPECT_EQ(ours.id ? Json(*ours.id) : Json(nullptr), fact["smi_id"]) << where;
  EXPECT_EQ(ours.compute.value, fact["compute_slices"]) << where;
  EXPECT_EQ(ours.memory.value, fact["memory_slices"]) << where;
  EXPECT_EQ(or_null(ours.usable), fact["memory_mib"]) << where;
  EXPECT_EQ(or_null(ours.sms), fact["sm_count"]) << where;
  EXPECT_EQ(ours.max_instances, fact["max_instances"]) << where;
  EXPECT_EQ(ours.starts_inferred, fact["placements"].is_null()) << where;
  if (where == "H100-96GB-GH200 1g.24gb")
    EXPECT_EQ(ours.engines->copy, 2) << "the Taming paper, table II; the user guide says 1";
  else
    EXPECT_EQ(ours.engines ? Json(ours.engines->copy) : Json(nullptr), fact["ce"]) << where;
  EXPECT_EQ(ours.engines ? Json(ours.engines->decode) : Json(nullptr), fact["dec"]) << where;
  EXPECT_EQ(ours.engines ? Json(ours.engines->flow) : Json(nullptr), fact["ofa"]) << where;
  std::vector<int> starts;
  for (const Json& placement :
       ours.starts_inferred ? fact["placements_inferred"] : fact["placements"]) {
    starts.push_back(placement["start"]);
    EXPECT_EQ(ours.memory.value, placement["size"]) << where;
  }
  std::ranges::sort(starts);
  EXPECT_EQ(ours.starts.ascending(), starts) << where;
  const std::map<std::string, Attribute> attributes = {{"me", Attribute::media},
                                                       {"gfx", Attribute::graphics},
                                                       {"no-me", Attribute::no_media},
                                                       {"me.all", Attribute::all_media}};
  EXPECT_EQ(ours.attribute,
            fact["attributes"].empty() ? Attribute::none : attributes.at(fact["attributes"][0]))
      << where;
}

TEST_F(AgainstTheFacts, EveryModelWithKnownOrInferredPlacementsIsThereAndEqual) {
  std::size_t models = 0;
  for (const Json& fact : facts["gpus"]) {
    if (fact["placements_status"] == "unknown") {
      EXPECT_FALSE(find_gpu_model(fact["key"].get<std::string>()));
      continue;
    }
    ++models;
    const auto found = find_gpu_model(fact["key"].get<std::string>());
    ASSERT_TRUE(found) << fact["key"];
    const GpuModel& model = **found;
    EXPECT_EQ(or_null(model.memory), fact["memory_total_mib"]) << model.key;
    EXPECT_EQ(model.compute.value, fact["compute_slices"]) << model.key;
    EXPECT_EQ(model.memory_slices.value, fact["memory_slices"]) << model.key;
    EXPECT_EQ(or_null(model.sms), fact["sm_total"]) << model.key;
    EXPECT_EQ(or_null(model.sms_in_mig), fact["sm_usable_in_mig"]) << model.key;
    EXPECT_EQ(model.placements_inferred, fact["placements_status"] == "inferred") << model.key;
    ASSERT_EQ(model.profiles.size(), fact["profiles"].size()) << model.key;
    for (const Json& profile : fact["profiles"]) {
      const auto name = profile["name"].get<std::string>();
      ASSERT_NE(model.find(name), nullptr) << name;
      expect_profile(*model.find(name), profile, std::string(model.key) + " " + name);
    }
  }
  EXPECT_EQ(models, gpu_models().size());
}

}  // namespace
}  // namespace cleave
