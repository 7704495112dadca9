#include "kube/claim_book.hpp"

#include <gtest/gtest.h>

#include "kube/offered_window.hpp"

namespace cleave {
namespace {

using std::chrono::seconds;

KubePod pod_of(const std::string& uid, std::vector<std::string> claims) {
  KubePod pod;
  pod.uid = uid;
  pod.at = {"t", "pod-" + uid};
  pod.claims = std::move(claims);
  pod.starts = true;
  return pod;
}
KubeClaim claim_of(const std::string& uid, const std::string& name, bool here = true) {
  KubeClaim claim{uid, {"t", name}, {}};
  if (here) claim.grants.push_back({"a", "gpu0011-1g-5gb-0"});
  return claim;
}

TEST(ClaimBook, ReadsWhatPodsNameAndMakesItAhead) {
  ClaimBook book;
  book.pod_is(pod_of("1", {"x"}));
  EXPECT_EQ(book.take_unread(), (std::vector<KubeName>{{"t", "x"}}));
  book.pod_is(pod_of("1", {"x"}));
  EXPECT_TRUE(book.take_unread().empty());  // nothing new
  EXPECT_TRUE(book.to_make().empty());      // not read yet
  book.claim_is(claim_of("c1", "x"));
  ASSERT_EQ(book.to_make().size(), 1U);
  book.unprepared("c1");
  EXPECT_TRUE(book.to_make().empty());
  EXPECT_EQ(book.take_unread().size(), 1U);
  EXPECT_EQ(book.claims().size(), 1U);  // until it is known not to be allocated
  book.claim_is(claim_of("c1", "x", false));
  EXPECT_TRUE(book.claims().empty());
}

TEST(ClaimBook, KeepsAClaimAfterItsPodUntilItIsRead) {
  ClaimBook book;
  book.pod_is(pod_of("1", {"x"}));
  (void)book.take_unread();
  book.claim_is(claim_of("c1", "x"));
  EXPECT_TRUE(book.without_pod().empty());
  book.pod_gone("1");
  EXPECT_EQ(book.without_pod().size(), 1U);
  EXPECT_EQ(book.take_unread().size(), 1U);
  EXPECT_TRUE(book.take_unread().empty());
  book.read_again({"t", "x"});
  EXPECT_EQ(book.take_unread().size(), 1U);
  EXPECT_EQ(book.claims().size(), 1U);
  book.claim_gone({"t", "x"});
  EXPECT_TRUE(book.claims().empty());
}

TEST(ClaimBook, AGapInTheWatchForgetsNothing) {
  ClaimBook book;
  book.pod_is(pod_of("1", {"x"}));
  book.claim_is(claim_of("c1", "x"));
  (void)book.take_unread();
  book.pods_are({});
  EXPECT_EQ(book.claims().size(), 1U);
  EXPECT_EQ(book.take_unread().size(), 1U);
}

TEST(ClaimBook, AnotherClaimOfTheSameNameTakesItsPlace) {
  ClaimBook book;
  book.claim_is(claim_of("c1", "x"));
  book.claim_is(claim_of("c2", "x"));
  ASSERT_EQ(book.claims().size(), 1U);
  EXPECT_TRUE(book.claims().contains("c2"));
}

TEST(OfferedWindow, LastsAMomentAfterTheNextOffer) {
  OfferedWindow window(seconds(5));
  window.offer({{0, 1}}, seconds(0));
  EXPECT_EQ(window.offered(seconds(100)).size(), 1U);  // the latest stays
  window.offer({{0, 2}}, seconds(100));
  EXPECT_TRUE(window.shrinks());
  EXPECT_EQ(window.offered(seconds(104)).size(), 2U);
  EXPECT_EQ(window.offered(seconds(105)), (KubeDevices{{0, 2}}));
  EXPECT_FALSE(window.shrinks());
}

}  // namespace
}  // namespace cleave
