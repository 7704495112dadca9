// Signs of a GPU's health, given on demand: what programs see of them through NVML.

#include <gtest/gtest.h>

#include "nvmlsim/library_test.hpp"

namespace cleave::sim {
namespace {

using enum nvml::Return;

constexpr std::uint32_t uncorrected = nvml::memory_error_uncorrected,
                        since_load = nvml::ecc_volatile, sram = nvml::memory_location_sram;

std::uint32_t recovery_action(nvml::Device device) {
  nvml::FieldValue value{};
  value.field = nvml::field_recovery_action;
  EXPECT_EQ(library().nvmlDeviceGetFieldValues(device, 1, &value), success);
  return value.answer == success ? static_cast<std::uint32_t>(value.value) : 999;
}

struct Rows {
  nvml::Return answer = unknown;
  std::uint32_t pending = 9, failed = 9;
};
Rows rows(nvml::Device device) {
  Rows told;
  std::uint32_t corrected = 0, others = 0;
  told.answer =
      library().nvmlDeviceGetRemappedRows(device, &corrected, &others, &told.pending, &told.failed);
  return told;
}

std::uint64_t errors_of(nvml::Device mig) {
  std::uint64_t count = 0;
  EXPECT_EQ(library().nvmlDeviceGetMemoryErrorCounter(mig, uncorrected, since_load, sram, &count),
            success);
  return count;
}

/// The GPU instance's number.
std::uint32_t number_of(const MadeInstance& made) {
  nvml::GpuInstanceInfo info{};
  EXPECT_EQ(library().nvmlGpuInstanceGetInfo(made.gpu_instance, &info), success);
  return info.id;
}

TEST(Signs, AnXidIsOfTheGpuOrOfAnInstance) {
  const OpenNode node("A100-40GB");
  const MadeInstance made = make_instance(node.gpu(), 2);
  nvml::EventSet set = nullptr;
  ASSERT_EQ(library().nvmlEventSetCreate(&set), success);
  ASSERT_EQ(library().nvmlDeviceRegisterEvents(node.gpu(), nvml::event_xid, set), success);
  ASSERT_TRUE(set_sim_fault(node.path(), 0, "xid-31"));
  ASSERT_TRUE(set_sim_fault(node.path(), 0, "xid-94", {}, number_of(made)));
  nvml::EventData event{};
  ASSERT_EQ(library().nvmlEventSetWait_v2(set, &event, 0), success);
  EXPECT_EQ(event.data, 31U);
  EXPECT_EQ(event.gpu_instance_id, nvml::no_instance);
  ASSERT_EQ(library().nvmlEventSetWait_v2(set, &event, 0), success);
  EXPECT_EQ(event.data, 94U);
  EXPECT_EQ(event.gpu_instance_id, number_of(made));
  EXPECT_EQ(event.compute_instance_id, 0U);
  EXPECT_EQ(library().nvmlEventSetWait_v2(set, &event, 0), timeout);
  EXPECT_EQ(library().nvmlEventSetFree(set), success);
}

TEST(Signs, ARecoveryActionIsToldUntilTheReset) {
  const OpenNode node("A100-40GB");
  nvml::EventSet set = nullptr;
  ASSERT_EQ(library().nvmlEventSetCreate(&set), success);
  ASSERT_EQ(library().nvmlDeviceRegisterEvents(node.gpu(), nvml::event_xid, set), success);
  EXPECT_EQ(recovery_action(node.gpu()), 0U);
  ASSERT_TRUE(set_sim_fault(node.path(), 0, "recovery-action-2"));
  EXPECT_EQ(recovery_action(node.gpu()), 2U);
  nvml::EventData event{};
  ASSERT_EQ(library().nvmlEventSetWait_v2(set, &event, 0), success);
  EXPECT_EQ(event.data, 154U);
  ASSERT_TRUE(set_sim_fault(node.path(), 0, "none"));
  EXPECT_EQ(recovery_action(node.gpu()), 0U);
  EXPECT_EQ(library().nvmlEventSetFree(set), success);
}

TEST(Signs, RowsAreToldWhileThereIsNoInstance) {
  const OpenNode node("A100-40GB");
  EXPECT_EQ(rows(node.gpu()).answer, success);
  EXPECT_EQ(rows(node.gpu()).failed, 0U);
  ASSERT_TRUE(set_sim_fault(node.path(), 0, "rows-failed"));
  EXPECT_EQ(rows(node.gpu()).failed, 1U);
  EXPECT_EQ(rows(node.gpu()).pending, 0U);
  ASSERT_TRUE(set_sim_fault(node.path(), 0, "rows-pending"));
  EXPECT_EQ(rows(node.gpu()).pending, 1U);
  const MadeInstance made = make_instance(node.gpu(), 2);
  EXPECT_EQ(rows(node.gpu()).answer, not_supported);
  EXPECT_EQ(library().nvmlDeviceGetRemappedRows(node.gpu(), nullptr, nullptr, nullptr, nullptr),
            invalid_argument);
}

TEST(Signs, MemoryErrorsAreCountedWhereTheyAre) {
  const OpenNode node("A100-40GB");
  const MadeInstance one = make_instance(node.gpu(), 2), other = make_instance(node.gpu(), 1);
  for (int i = 0; i < 2; ++i)
    ASSERT_TRUE(set_sim_fault(node.path(), 0, "memory-errors", {}, number_of(one)));
  EXPECT_EQ(errors_of(one.mig), 2U);
  EXPECT_EQ(errors_of(other.mig), 0U);
  std::uint64_t count = 0;
  EXPECT_EQ(library().nvmlDeviceGetTotalEccErrors(node.gpu(), uncorrected, since_load, &count),
            not_supported)
      << "with MIG on";
  EXPECT_EQ(library().nvmlDeviceGetMemoryErrorCounter(one.mig, uncorrected, since_load, 2, &count),
            not_supported)
      << "DRAM";
  EXPECT_EQ(library().nvmlDeviceGetMemoryErrorCounter(one.mig, 2, since_load, sram, &count),
            invalid_argument);
  ASSERT_TRUE(set_sim_fault(node.path(), 0, "none"));
  EXPECT_EQ(errors_of(one.mig), 0U);
}

TEST(Signs, WithMigOffTheWholeGpuCounts) {
  SimNodeSpec spec = node_spec("A100-40GB");
  spec.mig_enabled = false;
  const OpenNode node(spec);
  ASSERT_TRUE(set_sim_fault(node.path(), 0, "memory-errors"));
  std::uint64_t count = 0;
  EXPECT_EQ(library().nvmlDeviceGetTotalEccErrors(node.gpu(), uncorrected, since_load, &count),
            success);
  EXPECT_EQ(count, 1U);
}

TEST(Signs, AnOlderDriverTellsNone) {
  const OpenNode node("A100-40GB");
  const MadeInstance made = make_instance(node.gpu(), 2);
  ASSERT_TRUE(set_sim_fault(node.path(), 0, "silent-health"));
  EXPECT_EQ(recovery_action(node.gpu()), 999U);
  EXPECT_EQ(rows(node.gpu()).answer, not_supported);
  std::uint64_t count = 0;
  EXPECT_EQ(
      library().nvmlDeviceGetMemoryErrorCounter(made.mig, uncorrected, since_load, sram, &count),
      not_supported);
}

TEST(Signs, WhatMakesNoSenseIsRefused) {
  const OpenNode node("A100-40GB");
  EXPECT_FALSE(set_sim_fault(node.path(), 0, "xid-94", {}, 42)) << "there is no such instance";
  EXPECT_FALSE(set_sim_fault(node.path(), 0, "xid-94", 3)) << "not for a number of calls";
  EXPECT_FALSE(set_sim_fault(node.path(), 0, "xid-"));
  EXPECT_FALSE(set_sim_fault(node.path(), 0, "xid--1"));
  EXPECT_FALSE(set_sim_fault(node.path(), 0, "recovery-action-1", {}, 1));
  EXPECT_FALSE(set_sim_fault(node.path(), 0, "lost", {}, 1));
}

}  // namespace
}  // namespace cleave::sim
