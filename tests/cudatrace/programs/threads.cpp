// Eight threads that come and go with memory, and hold 4 MiB each at one moment.

#include <atomic>
#include <barrier>
#include <thread>
#include <vector>

#include "cuda_runtime.h"

STUB_KERNEL(work, "_Z4worki")

int main() {
  constexpr int count = 8;
  std::barrier together(count);
  std::atomic<bool> failed = false;
  const auto run = [&] {
    for (int round = 0; round < 200; ++round) {
      void* some = nullptr;
      if (cudaMalloc(&some, 4096) != cudaSuccess || cudaFree(some) != cudaSuccess) failed = true;
    }
    together.arrive_and_wait();
    void* most = nullptr;
    if (cudaMalloc(&most, 4 << 20) != cudaSuccess) failed = true;
    together.arrive_and_wait();
    for (int i = 0; i < 50; ++i)
      if (stub_launch(work, 7, 96) != cudaSuccess) failed = true;
    if (cudaFree(most) != cudaSuccess) failed = true;
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(run);
  for (std::thread& each : threads) each.join();
  return failed ? 1 : 0;
}
