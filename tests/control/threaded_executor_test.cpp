// The executor with their threads: GPUs side by side, a driver that hangs, one that goes and comes
// back.

#include "daemon/threaded_executor.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "device/faulty_door_test.hpp"
#include "simulated_stand.hpp"

namespace cleave::trial {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

ThreadedExecutorSettings settings(const SimulatedStand& stand) {
  ThreadedExecutorSettings wanted;
  wanted.worker.state_directory = stand.state();
  wanted.worker.patience.at_most = milliseconds(100);
  return wanted;
}

std::unique_ptr<ThreadedExecutor> open(const SimulatedStand& stand) {
  auto executor = ThreadedExecutor::open(simulated_library(), {"all"}, settings(stand));
  EXPECT_TRUE(executor) << executor.error().text();
  return std::move(*executor);
}

/// This many news, or those that came within the time; in order.
std::vector<GpuNews> wait_for(ThreadedExecutor& executor, std::size_t count,
                              milliseconds at_most = seconds(60)) {
  std::vector<GpuNews> all;
  const auto end = Clock::now() + at_most;
  while (all.size() < count) {
    const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now());
    if (left.count() <= 0) break;
    pollfd wake{executor.wake_fd(), POLLIN, 0};
    if (::poll(&wake, 1, static_cast<int>(left.count())) <= 0) continue;
    for (GpuNews& news : executor.poll()) all.push_back(std::move(news));
  }
  return all;
}

TEST(ThreadedExecutor, TellsWhatCameOfEachActInOrder) {
  const SimulatedStand stand("4xA100-40GB");
  const auto executor = open(stand);
  ASSERT_EQ(executor->gpus().size(), 4U);
  EXPECT_TRUE(executor->poll().empty());
  std::uint64_t number = 0;
  for (std::uint32_t gpu = 0; gpu < 4; ++gpu) {
    executor->ask({++number, GpuId{gpu}, LookAtGpu{}});
    for (const int start : {0, 2, 4})
      executor->ask(
          {++number, GpuId{gpu}, CreateOnGpu{placement(executor->gpus()[gpu], "2g.10gb", start)}});
  }
  const auto all = wait_for(*executor, 16);
  ASSERT_EQ(all.size(), 16U);
  std::map<GpuId, std::uint64_t> last;
  std::map<GpuId, std::size_t> seen;
  for (const GpuNews& news : all) {
    EXPECT_TRUE(news.done) << news.done.error().text();
    EXPECT_LT(last[news.gpu], news.number);
    last[news.gpu] = news.number;
    ASSERT_TRUE(news.observation);
    EXPECT_EQ(news.observation->instances.size(), seen[news.gpu]++);
  }
  EXPECT_TRUE(executor->poll().empty());
  pollfd wake{executor->wake_fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&wake, 1, 0), 0) << "nothing is left to hear";
  EXPECT_EQ(stand.flaw(), "");
}

TEST(ThreadedExecutor, GpusAreChangedSideBySide) {
  const SimulatedStand stand("4xA100-40GB", false);
  const auto executor = open(stand);
  for (std::uint32_t gpu = 0; gpu < 4; ++gpu) executor->ask({gpu, GpuId{gpu}, LookAtGpu{}});
  ASSERT_EQ(wait_for(*executor, 4).size(), 4U);
  const auto time_of = [&](std::uint32_t gpus, std::uint32_t start) {
    const auto begun = Clock::now();
    for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) {
      stand.fault(static_cast<int>(gpu), "slow-create", 1);
      executor->ask(
          {gpu, GpuId{gpu}, CreateOnGpu{placement(executor->gpus()[gpu], "1g.5gb", start)}});
    }
    const auto news = wait_for(*executor, gpus);
    EXPECT_EQ(news.size(), gpus);
    for (const GpuNews& each : news) EXPECT_TRUE(each.done);
    return Clock::now() - begun;
  };
  const auto one = time_of(1, 0);
  EXPECT_GT(one, milliseconds(500)) << "it is slow";
  // A busy machine may hold up a round, but not each of them.
  auto four = time_of(4, 1);
  for (std::uint32_t start = 2; start < 5 && four >= 2 * one; ++start) four = time_of(4, start);
  EXPECT_LT(four, 2 * one);
}

/// Holds every thread that comes until it is opened.
class Gate {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
    --waiting_;
    changed_.notify_all();
  }
  void wait_until_held() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_ > 0; });
  }
  void open() {
    std::unique_lock lock(mutex_);
    open_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return waiting_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_ = 0;
  bool open_ = false;
};

/// A door that keeps its library open, and waits at the gate before every call.
class GatedDoor {
 public:
  static Result<std::unique_ptr<Door>> open(const std::shared_ptr<Gate>& gate,
                                            const std::shared_ptr<NvmlDoor>& door) {
    DoorFaults faults;
    faults.delay = 1;
    faults.sleep = [gate, door](milliseconds) { gate->pass(); };
    return std::make_unique<FaultyDoor>(*door, faults);
  }
};

TEST(ThreadedExecutor, ADriverThatHangsHoldsUpNobodyElse) {
  const SimulatedStand stand("2xA100-40GB");
  const auto gate = std::make_shared<Gate>();
  auto gpus = find_managed_gpus(*stand.door(), {"all"});
  ASSERT_TRUE(gpus);
  ThreadedExecutorSettings wanted = settings(stand);
  wanted.farewell = milliseconds(200);
  // The first thread that opens its door gets the one that hangs.
  const auto opened = std::make_shared<std::atomic<int>>(0);
  const auto open_door = [&stand, gate, opened]() -> Result<std::unique_ptr<Door>> {
    if (opened->fetch_add(1) == 0) return GatedDoor::open(gate, stand.door());
    return stand.door();
  };
  auto executor = ThreadedExecutor::begin(std::move(*gpus), open_door, wanted);
  ASSERT_TRUE(executor);
  (*executor)->ask({1, GpuId{0}, LookAtGpu{}});
  gate->wait_until_held();
  (*executor)->ask({2, GpuId{0}, CreateOnGpu{placement((*executor)->gpus()[0], "3g.20gb", 0)}});
  for (std::uint64_t number = 3; number < 20; ++number)
    (*executor)->ask({number, GpuId{1}, LookAtGpu{}});
  const auto news = wait_for(**executor, 17);
  EXPECT_EQ(news.size(), 17U);
  for (const GpuNews& each : news) EXPECT_EQ(each.gpu, GpuId{1});
  EXPECT_FALSE(GpuLock::holder(stand.state(), (*executor)->gpus()[0].uuid));
  const auto begun = Clock::now();
  executor->reset();
  EXPECT_GE(Clock::now() - begun, milliseconds(150));
  EXPECT_LT(Clock::now() - begun, seconds(5));
  // When the driver answers after all, the thread ends without the operation that was never begun.
  gate->open();
  const auto gone_by = Clock::now() + seconds(20);
  const auto looked = stand.door();
  while (GpuLock::holder(stand.state(), looked->gpu(GpuIndex{0})->uuid) && Clock::now() < gone_by)
    std::this_thread::sleep_for(milliseconds(10));
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_TRUE(stand.look(0).instances.empty());
}

TEST(ThreadedExecutor, WhatIsUnderWayIsFinishedAndTheRestDropped) {
  const SimulatedStand stand("1xA100-40GB", false);
  {
    const auto executor = open(stand);
    executor->ask({1, GpuId{0}, LookAtGpu{}});
    ASSERT_EQ(wait_for(*executor, 1).size(), 1U);
    stand.fault(0, "slow-create", 1);
    executor->ask({2, GpuId{0}, CreateOnGpu{placement(executor->gpus()[0], "1g.5gb", 0)}});
    executor->ask({3, GpuId{0}, CreateOnGpu{placement(executor->gpus()[0], "1g.5gb", 1)}});
    std::this_thread::sleep_for(milliseconds(200));
  }
  EXPECT_EQ(stand.look().instances.size(), 1U);
  EXPECT_TRUE(Ledger::open(stand.state(), "test").value().state().open().empty());
  const auto executor = open(stand);
  executor->ask({1, GpuId{0}, LookAtGpu{}});
  const auto news = wait_for(*executor, 1);
  ASSERT_EQ(news.size(), 1U);
  ASSERT_TRUE(news[0].done) << news[0].done.error().text();
  EXPECT_EQ(news[0].observation->instances.at(0).owner, Ownership::ours);
}

TEST(ThreadedExecutor, ALostGpuComesBack) {
  const SimulatedStand stand("2xA100-40GB");
  const auto executor = open(stand);
  const auto look = [&](std::uint32_t gpu) {
    executor->ask({1, GpuId{gpu}, LookAtGpu{}});
    auto news = wait_for(*executor, 1);
    EXPECT_EQ(news.size(), 1U);
    return news.at(0);
  };
  EXPECT_TRUE(look(0).done);
  EXPECT_TRUE(look(1).done);
  stand.fault(1, "lost");
  EXPECT_TRUE(look(0).done);
  for (int again = 0; again < 3; ++again) {
    const GpuNews lost = look(1);
    EXPECT_FALSE(lost.done);
    ASSERT_TRUE(lost.observation);
    EXPECT_TRUE(lost.observation->lost);
  }
  stand.fault(1, "none");
  const GpuNews back = look(1);
  EXPECT_TRUE(back.done) << back.done.error().text();
  EXPECT_FALSE(back.observation->lost);
}

TEST(ThreadedExecutor, SaysWhichGpusAreNotThere) {
  const SimulatedStand stand("2xA100-40GB");
  const auto none = ThreadedExecutor::open(simulated_library(), {"5"}, settings(stand));
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().text().find("there is no GPU '5'"), std::string::npos)
      << none.error().text();
  EXPECT_FALSE(ThreadedExecutor::open("/no/such/library.so", {"all"}, settings(stand)));
}

}  // namespace
}  // namespace cleave::trial
