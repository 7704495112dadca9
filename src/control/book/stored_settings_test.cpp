#include "control/book/stored_settings.hpp"

#include <gtest/gtest.h>

namespace cleave {
namespace {

TEST(StoredSettings, NothingIsSetInAnEmptyStore) {
  const StoredSettings none = parse_settings({});
  EXPECT_FALSE(none.paused);
  EXPECT_TRUE(none.drained.empty());
  EXPECT_TRUE(none.needs.empty());
  EXPECT_FALSE(none.boot);
  EXPECT_FALSE(none.scheduler);
}

TEST(StoredSettings, KeysComeBackAsWhatTheyStandFor) {
  const StoredSettings all = parse_settings({{paused_key, "yes"},
                                             {boot_key, "boot 7"},
                                             {scheduler_key, "scheme-b"},
                                             {drained_key("GPU-1"), "yes"},
                                             {drained_key("GPU-2"), "yes"},
                                             {need_key({1000, "my model"}), "4000"},
                                             {need_key({1001, "my model"}), "5000"},
                                             {"unknown", "7"}});
  EXPECT_TRUE(all.paused);
  EXPECT_EQ(all.boot, "boot 7");
  EXPECT_EQ(all.scheduler, "scheme-b");
  EXPECT_EQ(all.drained, (std::set<std::string>{"GPU-1", "GPU-2"}));
  EXPECT_EQ(all.needs,
            (ApplicationNeeds{{{1000, "my model"}, MiB{4000}}, {{1001, "my model"}, MiB{5000}}}));
}

TEST(StoredSettings, KeysStayAsEarlierVersionsWroteThem) {
  EXPECT_EQ(drained_key("GPU-1"), "drained GPU-1");
  EXPECT_EQ(need_key({1000, "resnet"}), "need 1000 resnet");
  EXPECT_STREQ(paused_key, "paused");
  EXPECT_STREQ(boot_key, "boot");
  EXPECT_STREQ(scheduler_key, "scheduler");
}

TEST(StoredSettings, AMeterIsReadAsItWasWritten) {
  const MeterReading reading{
      std::uint64_t{1} << 63, Instant{Duration{1'700'000'000'000'000'001}}, {}};
  EXPECT_EQ(meter_key("GPU-1"), "meter GPU-1");
  EXPECT_EQ(meter_text(reading), "9223372036854775808 1700000000000000001");
  MeterReading none = reading;
  none.millijoules.reset();
  const StoredSettings all = parse_settings({{meter_key("GPU-1"), meter_text(reading)},
                                             {meter_key("GPU-2"), meter_text(none)},
                                             {meter_key("GPU-3"), "12"},
                                             {meter_key("GPU-4"), "-12 5"},
                                             {meter_key("GPU-5"), "12 soon"},
                                             {meter_key("GPU-6"), "1e3 5"}});
  EXPECT_EQ(all.meters, (std::map<std::string, MeterReading>{{"GPU-1", reading}, {"GPU-2", none}}));
}

TEST(StoredSettings, WhatIsNotANeedIsLeftOut) {
  const StoredSettings none = parse_settings({{"need 1000 resnet", "much"},
                                              {"need resnet", "7"},
                                              {"need -1 resnet", "7"},
                                              {"need 4294967296 resnet", "7"},
                                              {"need", "7"}});
  EXPECT_TRUE(none.needs.empty());
}

}  // namespace
}  // namespace cleave
