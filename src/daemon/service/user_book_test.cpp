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
  const auto there = book.owner_now({1, 4711, {4711, 4712}, own->name}, {});
  ASSERT_TRUE(there) << there.error().text();
  EXPECT_EQ(there->gid, own->gid);
  EXPECT_EQ(there->groups, own->groups) << "not the groups of the record";
  EXPECT_EQ(there->user, own->name);
  EXPECT_TRUE(book.owner_now({1, 4711, {}, ""}, {})) << "no name was known when it was submitted";
}

/// What was submitted as one account does not run as the next that gets its uid.
TEST(UserBook, AUidThatAnotherAccountHasNowIsNotTheOwner) {
  UserBook book;
  const auto own = book.user(1, {});
  if (!own) GTEST_SKIP() << "this system has no user 1";
  const auto other = book.owner_now({1, own->gid, own->groups, "ada-who-left"}, {});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().message,
            "it was submitted by ada-who-left, and uid 1 is another account now, " + own->name);
  EXPECT_TRUE(book.owner_now({0, 0, {}, "toor"}, {})) << "root has several names";
}

}  // namespace
}  // namespace cleave
