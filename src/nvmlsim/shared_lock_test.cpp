#include "nvmlsim/shared_lock.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "base/random.hpp"
#include "nvmlsim/child_test.hpp"
#include "nvmlsim/library_test.hpp"

namespace cleave::sim {
namespace {

/// What processes share here.
struct LockedCounter {
  SharedLock lock;
  std::uint64_t first, second;  // equal, except while the lock is held
};

class SharedLocks : public testing::Test {
 protected:
  SharedLocks()
      : shared_(new (::mmap(nullptr, sizeof(LockedCounter), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0)) LockedCounter{}) {}
  ~SharedLocks() override { ::munmap(shared_, sizeof(LockedCounter)); }
  LockedCounter* shared_;
  Presence presence_{::memfd_create("presence", MFD_CLOEXEC)};
};
using ThreadsAndSharedLocks = SharedLocks;

TEST_F(ThreadsAndSharedLocks, KeepProcessesAndThreadsApart) {
  constexpr int rounds = 20000;
  const auto count = [&] {
    for (int i = 0; i < rounds; ++i) {
      const Holding held(shared_->lock, presence_);
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

// A program that takes the lock repeatedly does not keep others from it.
TEST_F(SharedLocks, ServeWaitersFirst) {
  Child hog([&] {
    while (true) {
      const Holding held(shared_->lock, presence_);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return 0;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) const Holding held(shared_->lock, presence_);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
}

TEST_F(SharedLocks, OutliveTheirHolders) {
  Signal holds;
  Child holder([&] {
    shared_->lock.lock(presence_);
    holds.send();
    ::pause();
    return 0;
  });
  holds.await();
  Child waiter([&] {  // dies as the next waiter
    shared_->lock.lock(presence_);
    return 0;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ::kill(waiter.pid(), SIGKILL);  // both are zombies from now on
  ::kill(holder.pid(), SIGKILL);
  const auto begin = std::chrono::steady_clock::now();
  { const Holding held(shared_->lock, presence_); }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
}

TEST_F(SharedLocks, AreHadWhateverIsInThem) {
  Random random(1);
  for (int i = 0; i < 200; ++i) {
    std::uint64_t words[2] = {random.bits() >> random.below(64), random.bits() >> random.below(64)};
    if (i % 3 == 0)
      words[0] = static_cast<std::uint64_t>(::getppid());  // lives, but began at another time
    std::memcpy(static_cast<void*>(&shared_->lock), words, sizeof words);
    const Holding held(shared_->lock, presence_);
  }
}

// After exec the thread that held the lock no longer runs, whatever the process does.
TEST_F(SharedLocks, AreLetGoByExec) {
  Signal holds;
  Child holder([&] {
    shared_->lock.lock(presence_);
    holds.send();
    ::execl("/bin/sleep", "sleep", "30", nullptr);
    return 1;
  });
  holds.await();
  const auto begin = std::chrono::steady_clock::now();
  { const Holding held(shared_->lock, presence_); }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  EXPECT_EQ(::kill(holder.pid(), 0), 0) << "the holder's process must still run";
}

TEST_F(SharedLocks, AreLetGoByExecOfTheNextInLine) {
  shared_->lock.lock(presence_);
  Signal waits;
  Child next([&] {
    std::thread waiter([&] { shared_->lock.lock(presence_); });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    waits.send();
    ::execl("/bin/sleep", "sleep", "30", nullptr);
    return 1;
  });
  waits.await();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  shared_->lock.unlock();
  const auto begin = std::chrono::steady_clock::now();
  { const Holding held(shared_->lock, presence_); }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST_F(SharedLocks, AreNotAwaitedByCancelledThreads) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the address sanitizer ends itself where a thread is cancelled";
#endif
  shared_->lock.lock(presence_);
  std::thread waiter([&] { shared_->lock.lock(presence_); });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  ::pthread_cancel(waiter.native_handle());
  waiter.join();
  shared_->lock.unlock();
  Child other([&] {
    shared_->lock.lock(presence_);
    shared_->lock.unlock();
    return 0;
  });
  for (int i = 0; i < 500 && ::waitpid(other.pid(), nullptr, WNOHANG) == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_NE(::kill(other.pid(), 0), 0) << "it waits for a thread that is gone";
}

// A live holder keeps the lock even if its program cannot open files at the moment.
TEST_F(SharedLocks, OfHoldersWithoutDescriptorsAreTheirs) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the undefined-behaviour sanitizer looks at objects through descriptors";
#endif
  Signal holds;
  Child holder([&] {
    rlimit none{};
    ::getrlimit(RLIMIT_NOFILE, &none);
    none.rlim_cur = 0;
    ::setrlimit(RLIMIT_NOFILE, &none);
    const Presence here(-1);
    shared_->lock.lock(here);
    holds.send();
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    shared_->lock.unlock();
    return 0;
  });
  holds.await();
  const auto begin = std::chrono::steady_clock::now();
  { const Holding held(shared_->lock, presence_); }
  EXPECT_GT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(200));
  EXPECT_EQ(holder.wait(), 0);
}

TEST(Identities, TellProcessesApart) {
  const Identity own = identity_of(static_cast<std::uint32_t>(::getpid()));
  EXPECT_EQ(pid_of(own), static_cast<std::uint32_t>(::getpid()));
  EXPECT_TRUE(alive(own));
  EXPECT_FALSE(alive(own ^ 1ULL << 40)) << "the same number, another time";
  EXPECT_FALSE(alive(0));
  EXPECT_FALSE(alive(~0ULL));
  EXPECT_EQ(identity_of(0), 0U);
  Child child([] {
    ::pause();
    return 0;
  });
  const Identity childs = identity_of(static_cast<std::uint32_t>(child.pid()));
  EXPECT_TRUE(alive(childs));
  EXPECT_NE(childs, own);
  child.kill_it();
  EXPECT_FALSE(alive(childs));
}

TEST(Presences, EndWithTheProgram) {
  const TemporaryFolder directory;
  std::filesystem::create_directories(directory.path());
  const auto opened = [file = directory.path() / "state"] {
    return ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  };
  const Presence here(opened());
  Holder other = 0;
  {
    const Presence second(opened());  // like another copy of this code in the same program
    other = second.self();
    EXPECT_TRUE(here.alive(other));
    EXPECT_TRUE(second.alive(here.self()));
  }
  EXPECT_FALSE(here.alive(other));
  EXPECT_TRUE(here.alive(here.self()));
  EXPECT_FALSE(here.alive(0));
  EXPECT_FALSE(here.alive(~0ULL));
  Child child([&, parents = here.self()] {
    if (here.self() == parents || pid_of(here.self()) != static_cast<std::uint32_t>(::getpid()))
      return 1;
    return here.alive(parents) && here.alive(here.self()) ? 0 : 2;
  });
  EXPECT_EQ(child.wait(), 0);
}

// The child of a fork has its parent's descriptors, and outlives it.
TEST(Presences, EndThoughChildrenLive) {
  const TemporaryFolder directory;
  std::filesystem::create_directories(directory.path());
  const Presence here(
      ::open((directory.path() / "state").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  Signal end;
  Child parent([&] {
    const Holder self = here.self();
    if (::fork() == 0) {
      end.await();
      ::_exit(0);
    }
    return ::write(ends[1], &self, sizeof self) == sizeof self ? 0 : 1;
  });
  Holder parents = 0;
  ASSERT_EQ(::read(ends[0], &parents, sizeof parents), static_cast<ssize_t>(sizeof parents));
  EXPECT_EQ(parent.wait(), 0);
  EXPECT_FALSE(here.alive(parents));
  end.send();
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace cleave::sim
