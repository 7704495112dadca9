// How large an instance is asked for by measurements: never smaller than the known peak, and the
// profile of the highest reward where the scheduler leaves that to us.

#include "control/verdicts/size_by_measurements.hpp"

#include <gtest/gtest.h>

#include "base/format.hpp"
#include "base/random.hpp"
#include "forecast/choice/profile_exports.hpp"

namespace cleave {
namespace {

class SizeTest : public testing::Test {
 protected:
  SizeTest() {
    spec.application = "resnet";
    spec.batch = 64;
  }
  static ProfileRecord record(const std::string& profile, double seconds, std::int64_t peak,
                              double occupancy = 0) {
    ProfileRecord record;
    record.key = {"resnet", "A100-40GB", 64, profile, false};
    record.time_s = seconds;
    record.peak_memory = MiB{peak};
    if (occupancy > 0) record.counters["sm_occupancy"] = occupancy;
    return record;
  }
  void give(std::vector<ProfileRecord> records) {
    ProfileRepository repository;
    for (ProfileRecord& each : records) repository.add(std::move(each), MergeRule::mean);
    applications.set_given(
        std::make_shared<const ApplicationTimes>(std::move(repository), std::nullopt));
  }
  [[nodiscard]] std::optional<MeasuredSize> size(bool by_profile = true,
                                                 std::uint32_t uid = 1000) const {
    return size_by_measurements(spec, uid, applications, {&geometry}, by_profile);
  }

  Geometry geometry{**find_gpu_model("A100-40GB"),
                    ProfileChoice().on(**find_gpu_model("A100-40GB"))};
  MeasuredApplications applications;
  JobSpec spec;
};

TEST_F(SizeTest, NothingKnownIsNothing) {
  EXPECT_FALSE(size());
  give({record("1g.5gb", 300, 4000)});
  spec.batch = 32;
  EXPECT_FALSE(size()) << "of another batch nothing follows";
  spec.application = "bert";
  spec.batch = 64;
  EXPECT_FALSE(size());
  spec.application.reset();
  EXPECT_FALSE(size());
}

TEST_F(SizeTest, MemoryIsThePeakAndATwentiethMore) {
  give({record("2g.10gb", 300, 4000)});
  EXPECT_EQ(size()->request, (Request{BySize{MiB{4200}, {}}, {}}));
  EXPECT_EQ(size()->asked, "resnet, batch 64: 4200 MiB, by measurements");
  static_cast<void>(applications.learn(1000, record("2g.10gb", 300, 5000), 10));
  EXPECT_EQ(text(size()->request), "5250 MiB") << "the larger of what both know";
  EXPECT_EQ(text(size(true, 1001)->request), "4200 MiB") << "another user did not teach it";
}

TEST_F(SizeTest, TheProfileIsTheOneThatIsRecommended) {
  std::vector<ProfileRecord> records = {
      record("1g.5gb", 310, 4300, 0.7), record("2g.10gb", 160, 4300, 0.65),
      record("3g.20gb", 120, 4300, 0.5), record("7g.40gb", 92, 4300, 0.2)};
  give(records);
  const auto question =
      reward_question(applications.given()->repository(), {"resnet", "A100-40GB", 64});
  ASSERT_TRUE(question);
  const auto best = recommend(question->question.instances, question->question.basis).best;
  ASSERT_TRUE(best);
  const std::string name = question->question.instances[*best].name;
  EXPECT_EQ(size()->request, (Request{ByProfile{name}, {}}));
  EXPECT_EQ(size()->asked, fmt::format("resnet, batch 64: {}, by measurements", name));
  EXPECT_EQ(text(size(false)->request), "4515 MiB")
      << "a scheduler that chooses itself is told the memory alone";
  const Geometry other{**find_gpu_model("A30-24GB"),
                       ProfileChoice().on(**find_gpu_model("A30-24GB"))};
  EXPECT_EQ(
      text(size_by_measurements(spec, 1000, applications, {&geometry, &other}, true)->request),
      "4515 MiB")
      << "one name does not do for two models";
}

TEST_F(SizeTest, NoInstanceIsTooSmallForThePeak) {
  Random random(11);
  const char* const names[] = {"1g.5gb", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"};
  int named = 0;
  for (int round = 0; round < 2000; ++round) {
    MeasuredApplications fresh;
    ProfileRepository repository;
    std::int64_t peak = 0;
    for (const char* name : names) {
      if (random.below(4) == 0) continue;
      const auto held = static_cast<std::int64_t>(1 + random.below(40'000));
      repository.add(record(name, 1 + 300 * random.uniform(), held, random.uniform()),
                     MergeRule::mean);
      peak = std::max(peak, held);
    }
    fresh.set_given(std::make_shared<const ApplicationTimes>(std::move(repository), std::nullopt));
    const auto asked = size_by_measurements(spec, 1, fresh, {&geometry}, random.below(2) == 0);
    ASSERT_EQ(asked.has_value(), peak > 0);
    if (!asked) continue;
    if (const auto* profile = std::get_if<ByProfile>(&asked->request.wanted)) {
      ++named;
      ASSERT_GE(geometry.model().find(profile->profile)->usable->value, peak);
    } else {
      ASSERT_GE(std::get<BySize>(asked->request.wanted).memory.value, peak);
    }
  }
  EXPECT_GT(named, 100);
}

TEST_F(SizeTest, TheMarginAloneMakesNoJobImpossible) {
  const MiB largest = *geometry.model().largest().usable;
  give({record("7g.40gb", 100, largest.value - 10)});
  EXPECT_EQ(size()->request, (Request{BySize{largest, {}}, {}}));
}

}  // namespace
}  // namespace cleave
