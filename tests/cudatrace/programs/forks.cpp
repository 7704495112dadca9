// A child that holds memory beside its parent and ends without freeing it, and one that is killed.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <initializer_list>

#include "cuda_runtime.h"

STUB_KERNEL(step, "_Z4stepv")

static void* allocate(std::size_t mib) {
  void* at = nullptr;
  return cudaMalloc(&at, mib << 20U) == cudaSuccess ? at : nullptr;
}

int main() {
  void* const own = allocate(8);
  if (own == nullptr) return 1;
  for (const bool killed : {false, true}) {
    const pid_t child = ::fork();
    if (child == 0) {
      const bool fine = allocate(16) != nullptr && stub_launch(step, 2, 32) == cudaSuccess;
      if (killed) ::kill(::getpid(), SIGKILL);
      ::_exit(fine ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    if (!killed && status != 0) return 1;
  }
  // A third process notices that the others are gone.
  const pid_t last = ::fork();
  if (last == 0) ::_exit(allocate(12) != nullptr ? 0 : 1);
  int status = 0;
  ::waitpid(last, &status, 0);
  if (status != 0) return 1;
  return cudaFree(own);
}
