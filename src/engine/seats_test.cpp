#include "engine/seats.hpp"

#include <gtest/gtest.h>

#include "model/gpu_model.hpp"

namespace cleave {
namespace {

/// Seats and the simulator's World keep what stands side by side on a GPU by its start.
TEST(Seats, InstancesThatStartAtOneSliceNeverStandSideBySide) {
  for (const GpuModel& model : gpu_models()) {
    const Geometry geometry(model, ProfileChoice::parse("all")->on(model));
    for (const PlacementId a : geometry.all()) {
      ASSERT_LT(geometry[a].start, model.memory_slices.value);
      for (const PlacementId b : geometry.all()) {
        if (a == b || geometry[a].start != geometry[b].start) continue;
        ASSERT_TRUE(geometry[a].conflicts.contains(b))
            << model.key << " " << int{a} << " " << int{b};
      }
    }
  }
}

}  // namespace
}  // namespace cleave
