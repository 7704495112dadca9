// Creating and destroying one by one takes the time of the law for all at once, in whatever order a
// program makes its calls.

#include "nvmlsim/command_time.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.hpp"
#include "model/gpu_model.hpp"
#include "nvmlsim/board.hpp"
#include "physics/reconfiguration.hpp"

namespace cleave::sim {
namespace {

using std::chrono::milliseconds;

class Command : public testing::Test {
 protected:
  Command() : geometry_(board_of(**find_gpu_model("A100-40GB")).geometry) {}

  /// The total time of these calls, with this pause between them.
  Duration run(CommandTime::Law law, const std::vector<PlacementId>& calls,
               Duration pause = milliseconds(1)) {
    Duration all{};
    for (const PlacementId each : calls) {
      const Duration one = time_.of(law, geometry_, each, now_);
      now_ += one;
      time_.over(now_);
      now_ += pause;
      all += one;
    }
    return all;
  }
  /// The placement of a 1g.5gb at `start`.
  PlacementId small(int start) {
    const auto found = geometry_.find("1g.5gb", start);
    return *found;
  }

  const Geometry& geometry_;
  CommandTime time_;
  CommandTime::Moment now_{std::chrono::hours(1)};
};

TEST_F(Command, OfSeveralCallsTakesWhatTheWholeTakes) {
  Random random(5);
  for (int round = 0; round < 500; ++round) {
    std::vector<PlacementId> calls = {small(0), small(1), small(2), small(3),
                                      small(4), small(5), small(6)};
    for (std::size_t i = calls.size(); i > 1; --i) std::swap(calls[i - 1], calls[random.below(i)]);
    calls.resize(1 + random.below(calls.size()));
    PlacementSet all;
    for (const PlacementId each : calls) all.insert(each);
    for (const auto law : {&create_time, &destroy_time}) {
      EXPECT_EQ(run(law, calls), law(geometry_, all));
      now_ += std::chrono::seconds(1);
    }
  }
}

TEST_F(Command, EndsWithAPauseOrACallOfTheOtherKind) {
  const Duration alone = create_time(geometry_, PlacementSet::of(small(0)));
  EXPECT_EQ(run(create_time, {small(0), small(1)}, milliseconds(51)), 2 * alone);
  now_ += milliseconds(60);
  EXPECT_EQ(run(create_time, {small(0)}), alone);
  EXPECT_EQ(run(destroy_time, {small(0)}), destroy_time(geometry_, PlacementSet::of(small(0))));
  EXPECT_EQ(run(create_time, {small(0)}), alone);
}

TEST_F(Command, MakesAnInstanceOnce) {
  const Duration alone = create_time(geometry_, PlacementSet::of(small(0)));
  EXPECT_EQ(run(create_time, {small(0), small(0)}), 2 * alone);
}

}  // namespace
}  // namespace cleave::sim
