// The window of a queue against the plain definition: the search sees the first jobs by rank.

#include "engine/schedulers/job_window.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace cleave {
namespace {

TEST(JobWindow, HoldsTheFirstByRank) {
  for (const std::size_t most : {std::size_t{1}, std::size_t{3}, std::size_t{16}, SIZE_MAX}) {
    Random random(most);
    int asked = 0, generation = 0;
    const auto plan = [&](JobId job) {
      ++asked;
      const auto number = static_cast<int>(index(job));
      return QueuedJob{job, (number + generation) % 3, 1.0 + number % 5, {number / 4, index(job)}};
    };
    JobWindow window(3, 4, most, plan);
    std::map<QueueRank, JobId> all;
    for (int round = 0; round < 2000; ++round) {
      if (all.empty() || random.below(2) == 0) {
        const auto job = static_cast<JobId>(random.below(200));
        const QueueRank rank{static_cast<int>(index(job)) / 4, index(job)};
        if (!all.emplace(rank, job).second) continue;
        window.insert(rank, job);
      } else {
        auto gone = all.begin();
        std::advance(gone, static_cast<int>(random.below(all.size())));
        window.erase(gone->first);
        all.erase(gone);
      }
      if (round % 100 == 99) {
        ++generation;
        window.plan_all_again();
      }
      std::size_t seen = 0;
      for (int kind = 0; kind < 3; ++kind)
        for (const QueuedJob& job : window.queue().jobs(kind)) {
          ++seen;
          ASSERT_LT(std::distance(all.begin(), all.find(job.rank)),
                    static_cast<std::ptrdiff_t>(std::min(most, all.size())));
        }
      ASSERT_EQ(seen, std::min(most, all.size()));
      ASSERT_EQ(window.first() == nullptr, all.empty());
      if (all.empty()) continue;
      ASSERT_EQ(window.first()->job, all.begin()->second);
    }
    EXPECT_GT(asked, 0);
  }
}

TEST(JobWindow, MakesPlansAgainOfThoseInIt) {
  int kind = 0, asked = 0;
  JobWindow window(2, 4, 1, [&](JobId job) {
    ++asked;
    return QueuedJob{job, kind, 1.0, {0, index(job)}};
  });
  window.insert({0, 7}, JobId{7});
  window.insert({0, 8}, JobId{8});
  EXPECT_EQ(asked, 1) << "the second is outside";
  kind = 1;
  window.plan_again({0, 8});
  EXPECT_EQ(asked, 1);
  window.plan_again({0, 7});
  EXPECT_EQ(window.queue().jobs(1).size(), 1U);
  EXPECT_EQ(window.queue().jobs(0).size(), 0U);
}

}  // namespace
}  // namespace cleave
