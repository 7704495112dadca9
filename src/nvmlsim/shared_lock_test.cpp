#include "nvmlsim/shared_lock.hpp"

#include <sys/mman.h>

#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "base/random.hpp"
#include "nvmlsim/child_test.hpp"
#include "nvmlsim/library_test.hpp"

namespace cleave::sim {
namespace {

/// What processes share here.
struct LockedCounter {
  SharedLock lock;
  std::uint64_t first, second;  // always the same, but while the lock is held
};

class SharedLocks : public testing::Test {
 protected:
  SharedLocks()
      : shared_(new (::mmap(nullptr, sizeof(LockedCounter), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0)) LockedCounter{}) {}
  ~SharedLocks() override { ::munmap(shared_, sizeof(LockedCounter)); }
  LockedCounter* shared_;
};

TEST_F(SharedLocks, KeepProcessesAndThreadsApart) {
  constexpr int rounds = 20000;
  const auto count = [&] {
    for (int i = 0; i < rounds; ++i) {
      const Holding held(shared_->lock);
      if (shared_->first != shared_->second) return 1;
      ++shared_->first;
      if (i % 64 == 0) std::this_thread::yield();
      ++shared_->second;
    }
    return 0;
  };
  Child a(count), b(count);
  std::thread thread(count);
  EXPECT_EQ(count(), 0);
  thread.join();
  EXPECT_EQ(a.wait(), 0);
  EXPECT_EQ(b.wait(), 0);
  EXPECT_EQ(shared_->first, 4U * rounds);
}

// Who takes the lock again and again does not keep the others from it.
TEST_F(SharedLocks, ServeWaitersFirst) {
  Child hog([&] {
    while (true) {
      const Holding held(shared_->lock);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return 0;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) const Holding held(shared_->lock);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
}

TEST_F(SharedLocks, OutliveTheirHolders) {
  Signal holds;
  Child holder([&] {
    shared_->lock.lock();
    holds.send();
    ::pause();
    return 0;
  });
  holds.await();
  Child waiter([&] {  // dies as the next in line
    shared_->lock.lock();
    return 0;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ::kill(waiter.pid(), SIGKILL);  // both are zombies from now on
  ::kill(holder.pid(), SIGKILL);
  const auto begin = std::chrono::steady_clock::now();
  { const Holding held(shared_->lock); }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
}

TEST_F(SharedLocks, AreHadWhateverIsInThem) {
  Random random(1);
  for (int i = 0; i < 200; ++i) {
    std::uint64_t words[2] = {random.bits() >> random.below(64), random.bits() >> random.below(64)};
    if (i % 3 == 0) words[0] = static_cast<std::uint64_t>(::getppid());  // lives, but began at another time
    std::memcpy(static_cast<void*>(&shared_->lock), words, sizeof words);
    const Holding held(shared_->lock);
  }
}

TEST(Identities, TellProcessesApart) {
  const auto own = static_cast<std::uint32_t>(::getpid());
  EXPECT_EQ(identity_of(own), own_identity());
  EXPECT_EQ(pid_of(own_identity()), own);
  EXPECT_TRUE(alive(own_identity()));
  EXPECT_FALSE(alive(own_identity() ^ 1ULL << 40)) << "the same number, another time";
  EXPECT_FALSE(alive(0));
  EXPECT_FALSE(alive(~0ULL));
  EXPECT_EQ(identity_of(0), 0U);
  const Identity parents = own_identity();
  Child child([&] {
    return own_identity() != parents && identity_of(pid_of(own_identity())) == own_identity() ? 0 : 1;
  });
  const Identity childs = identity_of(static_cast<std::uint32_t>(child.pid()));
  EXPECT_EQ(child.wait(), 0);
  EXPECT_FALSE(alive(childs));
}

}  // namespace
}  // namespace cleave::sim
