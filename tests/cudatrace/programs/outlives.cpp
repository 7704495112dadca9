// Launches on after a child that held memory was killed, without waiting for it.

#include <signal.h>
#include <unistd.h>

#include "cuda_runtime.h"

STUB_KERNEL(step, "_Z4stepv")

int main() {
  void* own = nullptr;
  if (cudaMalloc(&own, 8 << 20) != cudaSuccess) return 1;
  if (::fork() == 0) {
    void* at = nullptr;
    (void)cudaMalloc(&at, 16 << 20);
    ::kill(::getpid(), SIGKILL);
  }
  constexpr unsigned pause_us = 130'000;
  for (int i = 0; i < 6; ++i) {
    ::usleep(pause_us);
    if (stub_launch(step, 2, 32) != cudaSuccess) return 1;
  }
  return cudaFree(own);
}
