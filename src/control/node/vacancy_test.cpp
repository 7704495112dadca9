#include "control/node/vacancy.hpp"

#include <gtest/gtest.h>

namespace cleave {
namespace {

using namespace std::chrono_literals;
using enum VacancyChange;

const std::vector<LiveProcess> nobody, somebody = {{4711, {}, {}, {}}};

TEST(Vacancies, AreSeenAfterTheLastJobLeftAndForAWhile) {
  Vacancy left{.since = 7, .seen_free = {}, .strangers = {}, .strangers_since = {}};
  EXPECT_FALSE(is_free(left, 1s, false)) << "nobody has looked";
  EXPECT_TRUE(is_worth_a_look(left, 1s));
  EXPECT_EQ(hear(left, 7, nobody, 1s), nothing);
  EXPECT_FALSE(is_free(left, 1s, false)) << "asked for before";
  EXPECT_EQ(hear(left, 8, nobody, 1s), nothing);
  EXPECT_TRUE(is_free(left, 1s, false));
  EXPECT_FALSE(is_free(left, 1s + 1ns, false)) << "somebody may have come since";
  EXPECT_TRUE(is_free(left, 1s + vacancy_holds, true)) << "others are looked at meanwhile";
  EXPECT_FALSE(is_free(left, 1s + vacancy_holds + 1ns, true));
}

TEST(Vacancies, AreSetAsideForProcessesThatStay) {
  Vacancy left;
  EXPECT_EQ(hear(left, 1, nobody, 1s), nothing);
  EXPECT_EQ(hear(left, 2, somebody, 2s), nothing) << "it may have just ended";
  EXPECT_FALSE(is_free(left, 2s, true));
  EXPECT_FALSE(is_worth_a_look(left, 2s));
  EXPECT_TRUE(is_worth_a_look(left, 2s + stranger_stays));
  EXPECT_EQ(hear(left, 3, somebody, 2s + stranger_stays), set_aside);
  EXPECT_TRUE(left.set_aside);
  EXPECT_EQ(strangers_text(left), "process 4711 is there, and no job");
  EXPECT_EQ(hear(left, 4, {{4711, {}, {}, {}}, {4712, {}, {}, {}}}, 3s), nothing) << "said once";
  EXPECT_EQ(strangers_text(left), "processes 4711, 4712 are there, and no job");
  EXPECT_EQ(hear(left, 5, nobody, 4s), free_again);
  EXPECT_TRUE(is_free(left, 4s, false));
}

TEST(Vacancies, AreNotSetAsideForProcessesThatComeAndGo) {
  Vacancy left;
  for (std::uint64_t i = 1; i < 20; i += 2) {
    const Duration now = std::chrono::milliseconds(200 * i);
    EXPECT_EQ(hear(left, i, somebody, now), nothing);
    EXPECT_EQ(hear(left, i + 1, nobody, now + 100ms), nothing);
  }
}

}  // namespace
}  // namespace cleave
