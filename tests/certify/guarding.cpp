// A library in front of the simulated NVML in which every function that changes something writes
// its name to the file that CLEAVE_GUARD_LOG names, and refuses. All other functions are found in
// the simulated library, on which this one depends.

#include <cstdio>
#include <cstdlib>

#include "changing_functions.hpp"

namespace {

int refused(const char* function) {
  const char* const file = std::getenv("CLEAVE_GUARD_LOG");
  if (std::FILE* log = file != nullptr ? std::fopen(file, "a") : nullptr; log != nullptr) {
    std::fprintf(log, "%s\n", function);
    std::fclose(log);
  }
  return 999;
}

}  // namespace

#define CLEAVE_GUARD(name)                                       \
  extern "C" __attribute__((visibility("default"))) int name() { \
    return refused(#name);                                       \
  }
CLEAVE_CHANGING_FUNCTIONS(CLEAVE_GUARD)
