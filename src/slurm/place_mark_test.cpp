#include "slurm/place_mark.hpp"

#include <gtest/gtest.h>

namespace cleave {
namespace {

const PlaceMark one{Instant(std::chrono::seconds(1764205000)), {{"n1", {{0, 4}, {2, 0}}}}, {}};

TEST(PlaceMark, StandsAtTheEndOfTheComment) {
  EXPECT_EQ(marked("my run", one), "my run cleave:1764205000:n1=0@4,2@0");
  EXPECT_EQ(marked("", one), "cleave:1764205000:n1=0@4,2@0");
  EXPECT_EQ(parse_mark(marked("my run", one)), one);
  EXPECT_EQ(unmarked(marked("my run", one)), "my run");
  EXPECT_EQ(marked(marked("my run", one), one), marked("my run", one));
}

TEST(PlaceMark, SeveralNodesAndThoseOfTheUser) {
  PlaceMark mark = one;
  mark.nodes.push_back({"n2", {{1, 0}}});
  mark.was = {"n[1-3,5]", "n4", "n1"};
  EXPECT_EQ(marked("", mark), "cleave:1764205000:n1=0@4,2@0;n2=1@0:was=n[1-3,5]!n4~n1");
  EXPECT_EQ(parse_mark(marked("", mark)), mark);
}

TEST(PlaceMark, AJobThatWaitsKeepsTheNodesOfItsUser) {
  const NodeWish wish{"n[1-3]", "", ""};
  EXPECT_EQ(asking_for("my run", wish), "my run cleave:was=n[1-3]");
  EXPECT_EQ(asked_nodes(asking_for("", wish)), wish);
  EXPECT_EQ(asking_for(marked("my run", one), {}), "my run");
  EXPECT_EQ(asking_for(asking_for("my run", wish), {"", "n2", ""}), "my run cleave:was=!n2");
  for (const NodeWish& each :
       {NodeWish{"", "", "n1"}, NodeWish{"", "n[2-3]", "n1,n4"}, NodeWish{"n1", "n2", ""}})
    EXPECT_EQ(parse_wish(wish_text(each)), each);
  EXPECT_FALSE(parse_mark("cleave:was=n2"));
  EXPECT_EQ(asked_nodes("cleave:was=n2 later"), NodeWish{});
  EXPECT_EQ(asked_nodes(marked("", one)), NodeWish{});
}

TEST(PlaceMark, OtherWordsAreNone) {
  for (const char* text : {"", "cleave", "cleave:", "cleave:x:n1=0@4", "cleave:1:n1=0", "cleave:1:",
                           "cleave:1:=0@4", "cleave:1:n1=-1@4", "cleave:1764205000:n1=0@4 later"})
    EXPECT_FALSE(parse_mark(text)) << text;
}

}  // namespace
}  // namespace cleave
