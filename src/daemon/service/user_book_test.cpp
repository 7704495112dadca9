#include "daemon/service/user_book.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace cleave {
namespace {

TEST(UserBook, OwnersAreAsTheSystemKnowsThemNow) {
  UserBook book;
  const auto gone = book.owner_now({3'999'999, 5, {5, 6}, "eve"}, {});
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().message, "the user who submitted it, uid 3999999, no longer exists here");
  const auto own = book.user(1, {});
  if (!own) GTEST_SKIP() << "this system has no user 1";
  const auto there = book.owner_now({1, 4711, {4711, 4712}, "ada"}, {});
  ASSERT_TRUE(there) << there.error().text();
  EXPECT_EQ(there->gid, own->gid);
  EXPECT_EQ(there->groups, own->groups) << "not the groups of the record";
  EXPECT_EQ(there->user, "ada");
}

}  // namespace
}  // namespace cleave
