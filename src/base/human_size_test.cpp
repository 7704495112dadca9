#include "base/human_size.hpp"

#include <gtest/gtest.h>

namespace cleave {
namespace {

TEST(HumanSize, OfOneSize) {
  EXPECT_EQ(human(MiB{0}), "0 MiB");
  EXPECT_EQ(human(MiB{1023}), "1023 MiB");
  EXPECT_EQ(human(MiB{4096}), "4 GiB");
  EXPECT_EQ(human(MiB{9985}), "9.8 GiB");
}

TEST(HumanSize, OfThoseInAText) {
  EXPECT_EQ(with_human_sizes("4096 MiB, found to need 9985 MiB"), "4 GiB, found to need 9.8 GiB");
  EXPECT_EQ(with_human_sizes("3 x 512 MiB"), "3 x 512 MiB");
  EXPECT_EQ(with_human_sizes("9000 MiB, of which 4096 MiB may stay on the host"),
            "8.8 GiB, of which 4 GiB may stay on the host");
  for (const char* same : {"", "2g.10gb", "MiB", " MiB", "x2048 MiB", "1.5 MiB", "2,048 MiB",
                           "99999999999999999999 MiB"})
    EXPECT_EQ(with_human_sizes(same), same);
}

}  // namespace
}  // namespace cleave
