// Allocates so many times so many MiB, with a pause of so many milliseconds after each; says so and
// ends with 3 when there is no more.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "cuda_runtime.h"

STUB_KERNEL(grow, "_Z4growv")

int main(int count, char** words) {
  if (count < 4) return 2;
  const int times = std::atoi(words[1]), pause = std::atoi(words[3]);
  const auto mib = static_cast<std::size_t>(std::atoi(words[2]));
  for (int i = 0; i < times; ++i) {
    void* at = nullptr;
    if (cudaMalloc(&at, mib << 20U) != cudaSuccess) {
      std::fprintf(stderr, "no more after %d\n", i);
      return 3;
    }
    stub_launch(grow, 1, 32);
    ::usleep(static_cast<unsigned>(pause) * 1000);
  }
  return 0;
}
