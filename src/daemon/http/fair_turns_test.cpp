#include "daemon/http/fair_turns.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>

namespace cleave {
namespace {

struct Turns {
  std::deque<std::function<void()>> posted;
  std::string log;
  std::unique_ptr<FairTurns> fair = std::make_unique<FairTurns>(
      [this](std::function<void()> call) { posted.push_back(std::move(call)); });

  void add(std::uint32_t uid, char letter, int pieces) {
    fair->add(uid, [this, letter, left = std::make_shared<int>(pieces)] {
      log += letter;
      return --*left > 0;
    });
  }
  void run() {
    while (!posted.empty()) {
      const auto call = std::move(posted.front());
      posted.pop_front();
      call();
      log += '.';
    }
  }
};

TEST(FairTurns, OnePieceATurnAndUsersOneAfterTheOther) {
  Turns turns;
  turns.add(1, 'a', 3);
  turns.add(1, 'A', 1);
  turns.add(2, 'b', 2);
  EXPECT_EQ(turns.log, "") << "nothing is done at once";
  EXPECT_EQ(turns.posted.size(), 1U);
  EXPECT_EQ(turns.fair->waiting(), 3U);
  turns.run();
  EXPECT_EQ(turns.log, "a.b.a.b.a.A.");
  EXPECT_EQ(turns.fair->waiting(), 0U);
  turns.add(2, 'c', 1);
  turns.run();
  EXPECT_EQ(turns.log, "a.b.a.b.a.A.c.");
}

TEST(FairTurns, APieceMayAddAndItsOwnerMayGo) {
  Turns turns;
  turns.fair->add(1, [&] {
    turns.log += 'x';
    turns.add(1, 'y', 1);
    turns.add(2, 'z', 1);
    return false;
  });
  turns.run();
  EXPECT_TRUE(turns.log == "x.y.z." || turns.log == "x.z.y.") << turns.log;
  turns.add(1, 'n', 1);
  turns.fair.reset();
  turns.run();
  EXPECT_EQ(turns.log.find('n'), std::string::npos);
}

}  // namespace
}  // namespace cleave
