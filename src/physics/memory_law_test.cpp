#include "physics/memory_law.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace cleave {
namespace {

constexpr MiB sizes[] = {{9'728}, {19'968}, {40'192}, {80'896}};

std::vector<MemoryTrial> trials_of(double base, double per_sample, int most_processes) {
  std::vector<MemoryTrial> trials;
  for (const MiB usable : sizes)
    for (double batch = 1; batch <= 256; batch *= 2)
      for (int n = 1; n <= most_processes; ++n)
        trials.push_back({batch, n, usable,
                          n * (base + per_sample * batch) <= static_cast<double>(usable.value)});
  return trials;
}

TEST(MemoryLaw, WhatMadeTheTrialsIsAmongWhatIsPossible) {
  Random random(1);
  for (int round = 0; round < 40; ++round) {
    const double base = 3000 * random.uniform(), per_sample = 500 * random.uniform();
    const MemoryLaw law(trials_of(base, per_sample, 3));
    EXPECT_EQ(law.contradicted(), 0U);
    EXPECT_LE(law.base().least, base + 1e-6);
    EXPECT_GE(law.base().most, base - 1e-6);
    EXPECT_LE(law.per_sample().least, per_sample + 1e-6);
    EXPECT_GE(law.per_sample().most, per_sample - 1e-6);
    int decided = 0, cases = 0;
    for (const MemoryTrial& trial : trials_of(base, per_sample, 7)) {
      const MemoryVerdict verdict = law.verdict(trial.batch, trial.processes, trial.usable);
      ++cases;
      if (verdict == MemoryVerdict::not_known) continue;
      ++decided;
      EXPECT_EQ(verdict == MemoryVerdict::fits, trial.fits)
          << base << " " << per_sample << ": " << trial.processes << " of batch " << trial.batch;
    }
    EXPECT_GT(decided, cases * 3 / 4);
  }
}

TEST(MemoryLaw, EveryTrialThatItWasGivenIsDecided) {
  const auto trials = trials_of(700, 120, 4);
  const MemoryLaw law(trials);
  for (const MemoryTrial& trial : trials)
    EXPECT_EQ(law.verdict(trial.batch, trial.processes, trial.usable),
              trial.fits ? MemoryVerdict::fits : MemoryVerdict::does_not_fit);
}

TEST(MemoryLaw, MoreMemoryNeverHurtsAndMoreWorkNeverHelps) {
  const MemoryLaw law(trials_of(700, 120, 2));
  for (double batch = 1; batch < 300; batch *= 1.5)
    for (int n = 1; n < 6; ++n)
      for (std::int64_t mib = 2000; mib < 90'000; mib += 7000) {
        if (law.verdict(batch, n, {mib}) != MemoryVerdict::fits) continue;
        EXPECT_EQ(law.verdict(batch, n, {mib + 5000}), MemoryVerdict::fits);
        EXPECT_EQ(law.verdict(batch / 1.2, n, {mib}), MemoryVerdict::fits);
        if (n > 1) {
          EXPECT_EQ(law.verdict(batch, n - 1, {mib}), MemoryVerdict::fits);
        }
      }
}

TEST(MemoryLaw, ATrialAgainstAllOthersIsContradicted) {
  auto trials = trials_of(700, 120, 3);
  for (MemoryTrial& trial : trials)
    if (trial.batch == 1 && trial.processes == 1 && trial.usable == sizes[3]) trial.fits = false;
  const MemoryLaw law(trials);
  EXPECT_EQ(law.contradicted(), 1U);
  EXPECT_EQ(law.verdict(1, 1, sizes[3]), MemoryVerdict::fits);
}

TEST(MemoryLaw, WithoutTrialsNothingIsKnown) {
  const MemoryLaw law({});
  EXPECT_EQ(law.contradicted(), 0U);
  EXPECT_EQ(law.verdict(8, 2, {40'192}), MemoryVerdict::not_known);
}

}  // namespace
}  // namespace cleave
