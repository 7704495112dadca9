// The executor of simulations, and through them what a worker leaves when its program dies at any
// point.

#include "delayed_executor.hpp"

#include <gtest/gtest.h>

#include <set>

#include "base/format.hpp"
#include "simulated_stand.hpp"

namespace cleave::trial {
namespace {

using std::chrono::milliseconds;

const GpuModel* model() {
  return *find_gpu_model("A100-40GB");
}

ExecutorDelays quick() {
  ExecutorDelays delays;
  delays.until_done = delays.until_told = {};
  return delays;
}

/// Everything that was asked for, or what is told of it.
std::vector<GpuNews> all_news(DelayedExecutor& executor) {
  while (const auto at = executor.next()) executor.advance_to(*at);
  return executor.poll();
}

GpuNews ask(DelayedExecutor& executor, std::uint32_t gpu, GpuOperation operation) {
  executor.ask({1, GpuId{gpu}, std::move(operation)});
  auto news = all_news(executor);
  EXPECT_EQ(news.size(), 1U);
  return news.at(0);
}

std::string text_of(const GpuNews& news) {
  std::string text = fmt::format("{} gpu {} {}", news.number, index(news.gpu),
                                 news.done ? "done" : news.done.error().text());
  if (!news.observation) return text + " unseen";
  if (news.observation->lost) return text + " lost";
  for (const ObservedInstance& each : news.observation->instances)
    text += fmt::format(" {}@{} {}", each.device, each.placement ? int{*each.placement} : -1,
                        name(each.owner));
  return text;
}

TEST(DelayedExecutor, TellsLaterInOrder) {
  Machine machine({model(), model()});
  DelayedExecutor executor(machine, ExecutorDelays{}, milliseconds(1000));
  ASSERT_EQ(executor.gpus().size(), 2U);
  EXPECT_NE(executor.gpus()[0].uuid, executor.gpus()[1].uuid);
  EXPECT_FALSE(executor.next());
  for (std::uint64_t number = 1; number <= 6; ++number)
    executor.ask({number, GpuId{static_cast<std::uint32_t>(number % 2)}, LookAtGpu{}});
  EXPECT_EQ(executor.open_operations(), 6U);
  EXPECT_TRUE(executor.poll().empty());
  ASSERT_TRUE(executor.next());
  EXPECT_GE(*executor.next(), milliseconds(1000));
  std::vector<std::uint64_t> even, odd;
  for (const GpuNews& news : all_news(executor))
    (news.number % 2 == 0 ? even : odd).push_back(news.number);
  EXPECT_EQ(even, (std::vector<std::uint64_t>{2, 4, 6}));
  EXPECT_EQ(odd, (std::vector<std::uint64_t>{1, 3, 5}));
  EXPECT_EQ(executor.open_operations(), 0U);
}

TEST(DelayedExecutor, DevicesAreNamedOnceAndForAll) {
  Machine machine({model(), model()});
  std::set<std::string> devices;
  for (int life = 0; life < 3; ++life) {
    DelayedExecutor executor(machine, quick());
    for (std::uint32_t gpu = 0; gpu < 2; ++gpu) {
      const GpuNews made =
          ask(executor, gpu, CreateOnGpu{placement(executor.gpus()[gpu], "3g.20gb", 0)});
      ASSERT_TRUE(made.done) << text_of(made);
      EXPECT_TRUE(machine.exists(made.made));
      EXPECT_TRUE(devices.insert(made.made).second);
      ASSERT_TRUE(machine.start_process(made.made, 77));
      EXPECT_EQ(machine.processes_on(made.made), std::vector<std::uint32_t>{77});
      EXPECT_FALSE(ask(executor, gpu, DestroyOnGpu{made.made}).done) << "it is used";
      machine.end_process(77);
      EXPECT_TRUE(ask(executor, gpu, DestroyOnGpu{made.made}).done);
    }
  }
}

TEST(DelayedExecutor, AGpuGoesAndComesBackEmpty) {
  Machine machine({model(), model()});
  DelayedExecutor executor(machine, quick());
  const GpuNews made = ask(executor, 1, CreateOnGpu{placement(executor.gpus()[1], "3g.20gb", 0)});
  ASSERT_TRUE(machine.start_process(made.made, 5));
  EXPECT_EQ(machine.lose(1), std::vector<std::uint32_t>{5});
  const GpuNews lost = ask(executor, 1, LookAtGpu{});
  ASSERT_TRUE(lost.observation);
  EXPECT_TRUE(lost.observation->lost);
  EXPECT_FALSE(machine.start_process(made.made, 6));
  EXPECT_TRUE(ask(executor, 0, LookAtGpu{}).done);
  machine.give_back(1);
  const GpuNews back = ask(executor, 1, LookAtGpu{});
  ASSERT_TRUE(back.done) << text_of(back);
  EXPECT_TRUE(back.observation->instances.empty());
}

TEST(DelayedExecutor, AHangingDriverAnswersWhenItDoes) {
  Machine machine({model(), model()});
  DelayedExecutor executor(machine, quick());
  machine.hang(0, true);
  executor.ask({1, GpuId{0}, LookAtGpu{}});
  executor.ask({2, GpuId{1}, LookAtGpu{}});
  auto news = all_news(executor);
  ASSERT_EQ(news.size(), 1U);
  EXPECT_EQ(news[0].number, 2U);
  executor.advance_to(milliseconds(5000));
  machine.hang(0, false);
  EXPECT_EQ(executor.next(), Duration(milliseconds(5000)));
  news = all_news(executor);
  ASSERT_EQ(news.size(), 1U);
  EXPECT_EQ(news[0].number, 1U);
}

/// A run of executors with everything that can go wrong; what was told, in one text.
std::string restless(std::uint64_t seed) {
  Machine machine({model(), model(), model()});
  ExecutorDelays delays;
  delays.seed = seed;
  delays.never = 0.01;
  delays.faults.refuse = delays.faults.lose = 0.02;
  DelayedExecutor executor(machine, delays);
  Random random(seed);
  std::string text;
  std::vector<std::string> devices;
  for (std::uint64_t number = 1; number <= 120; ++number) {
    const GpuId gpu{static_cast<std::uint32_t>(random.below(3))};
    const Geometry& geometry = executor.gpus()[index(gpu)].geometry->geometry();
    GpuOperation operation = LookAtGpu{};
    const std::uint64_t what = random.below(3);
    if (what == 1)
      operation = CreateOnGpu{
          static_cast<PlacementId>(random.below(static_cast<std::uint64_t>(geometry.size())))};
    if (what == 2 && !devices.empty())
      operation = DestroyOnGpu{devices[random.below(devices.size())]};
    executor.ask({number, gpu, std::move(operation)});
    executor.advance_to(milliseconds(100 * number));
    for (const GpuNews& news : executor.poll()) {
      text += fmt::format("{}\n", text_of(news));
      if (!news.made.empty()) devices.push_back(news.made);
    }
  }
  return text;
}

TEST(DelayedExecutor, TheSameSeedTellsTheSame) {
  std::set<std::string> different;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const std::string once = restless(seed);
    EXPECT_EQ(once, restless(seed)) << seed;
    different.insert(once);
  }
  EXPECT_EQ(different.size(), 5U);
}

struct Dies {};

/// The program dies at each point of a life in turn. The next one finds all that is ours, can take
/// it away, leaves the rest, and no intent stays open.
TEST(DelayedExecutor, AProgramThatDiesAnywhereLeavesWhatTheNextCanGoOnFrom) {
  std::set<std::string> points;
  bool lived = false;
  for (std::size_t death = 0; !lived; ++death) {
    SCOPED_TRACE(death);
    ASSERT_LT(death, 200U);
    Machine machine({model()});
    const auto foreign = machine.make_foreign(0, "1g.5gb");
    ASSERT_TRUE(foreign);
    std::size_t reached = 0;
    machine.at = [&](std::string_view point) {
      if (reached++ != death) return;
      points.emplace(point);
      throw Dies{};
    };
    try {
      DelayedExecutor executor(machine, quick());
      const GpuNews made =
          ask(executor, 0, CreateOnGpu{placement(executor.gpus()[0], "3g.20gb", 0)});
      EXPECT_TRUE(made.done) << text_of(made);
      (void)ask(executor, 0, DestroyOnGpu{made.made});
      (void)ask(executor, 0, CreateOnGpu{placement(executor.gpus()[0], "2g.10gb", 2)});
      lived = true;
    } catch (const Dies&) {
    }
    machine.at = {};
    DelayedExecutor next(machine, quick());
    const GpuNews look = ask(next, 0, LookAtGpu{});
    ASSERT_TRUE(look.done) << text_of(look);
    for (const ObservedInstance& each : look.observation->instances) {
      if (each.device == *foreign) continue;
      EXPECT_EQ(each.owner, Ownership::ours) << text_of(look);
      EXPECT_FALSE(each.device.empty());
      EXPECT_TRUE(ask(next, 0, DestroyOnGpu{each.device}).done);
    }
    const GpuNews last = ask(next, 0, LookAtGpu{});
    ASSERT_EQ(last.observation->instances.size(), 1U) << text_of(last);
    EXPECT_EQ(last.observation->instances[0].device, *foreign);
    EXPECT_EQ(last.observation->instances[0].owner, Ownership::foreign);
    EXPECT_TRUE(Ledger::open(machine.state_directory(), "test").value().state().open().empty());
  }
  for (const char* what : {"create_gpu_instance", "create_compute_instance",
                           "destroy_compute_instance", "destroy_gpu_instance", "act"})
    for (const char* when : {"before", "after"})
      EXPECT_TRUE(points.contains(fmt::format("gpu 0: {} {}", when, what))) << when << ' ' << what;
}

}  // namespace
}  // namespace cleave::trial
