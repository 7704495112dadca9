#include "forecast/memory/usual_workspace.hpp"

#include <gtest/gtest.h>

namespace cleave {
namespace {

TEST(UsualWorkspace, IsAssumedUntilAReportSaysBetter) {
  const MemoryReport open{1, {}, MiB{50}, MiB{40}, MiB{600}};
  EXPECT_EQ(with_usual_workspace(open, Architecture::ampere).workspace, MiB{9}) << "8.125";
  EXPECT_EQ(with_usual_workspace(open, {}).workspace, MiB{9});
  EXPECT_EQ(with_usual_workspace(open, Architecture::hopper).workspace, MiB{32});
  EXPECT_EQ(with_usual_workspace(open, Architecture::hopper).held(), MiB{672});
  MemoryReport said = open;
  said.workspace = MiB{0};
  EXPECT_EQ(with_usual_workspace(said, Architecture::hopper), said);
  const MemoryReport older{1, {}, MiB{50}, MiB{640}};
  EXPECT_EQ(with_usual_workspace(older, Architecture::hopper), older) << "it counts everything";
}

}  // namespace
}  // namespace cleave
