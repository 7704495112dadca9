#pragma once
// An instance made by another program that does not know Cleave: directly through NVML, in no
// ledger.

#include <gtest/gtest.h>

#include <string>

#include "device/live_instances.hpp"
#include "device/nvml_door.hpp"

namespace cleave::testing_program {

/// Its MIG UUID.
inline std::string make_foreign_instance(Door& door, const std::string& profile,
                                         std::uint32_t start, std::uint32_t gpu) {
  const auto found = find_driver_profile(door, GpuIndex{gpu}, profile);
  EXPECT_TRUE(found);
  const auto places = door.placements(GpuIndex{gpu}, found->id);
  const auto made = create_instance(door, GpuIndex{gpu}, *found, Span{start, places->front().size});
  EXPECT_TRUE(made) << (made ? "" : made.error().text());
  return made ? made->computes.front().uuid : std::string();
}

}  // namespace cleave::testing_program
