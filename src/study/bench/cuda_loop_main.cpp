// Allocates and frees memory of the GPU, and prints how long each stretch of twenty calls took, in
// nanoseconds. CUDA is whatever was loaded before it. Stretches are short, so that few of them are
// interrupted by other programs.

#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

int main(int count, char** words) {
  using Clock = std::chrono::steady_clock;
  auto* const allocate =
      reinterpret_cast<int (*)(void**, std::size_t)>(::dlsym(RTLD_DEFAULT, "cudaMalloc"));
  auto* const release = reinterpret_cast<int (*)(void*)>(::dlsym(RTLD_DEFAULT, "cudaFree"));
  if (allocate == nullptr || release == nullptr || count != 2) {
    std::fprintf(stderr, "cleave-cuda-loop: there is no CUDA before it\n");
    return 2;
  }
  constexpr int stretch = 10;  // pairs
  const int pairs = std::atoi(words[1]);
  for (int done = 0; done < pairs; done += stretch) {
    const auto begin = Clock::now();
    for (int i = 0; i < stretch; ++i) {
      void* at = nullptr;
      if (allocate(&at, 1 << 20) != 0 || release(at) != 0) return 1;
    }
    const auto took = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin);
    std::printf("%lld\n", static_cast<long long>(took.count()));
  }
  return 0;
}
