// How programs get the driver's functions without the linker: cuGetProcAddress names them without
// version and stream.

#include <dlfcn.h>

#include <cstdio>
#include <string_view>

#include "cudatrace/dry/pretended.hpp"

using namespace cleave::cuda;

namespace {

/// This library, however it was loaded.
void* self() {
  static void* const handle = [] {
    Dl_info own{};
    return ::dladdr(reinterpret_cast<const void*>(&pretended_gpu), &own) == 0
               ? nullptr
               : ::dlopen(own.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  }();
  return handle;
}

}  // namespace

CLEAVE_CUDA_EXPORT Status cuGetProcAddress(const char* name, void** at, int version,
                                           unsigned long long flags) {
  if (name == nullptr || at == nullptr) return invalid_value;
  constexpr unsigned long long own_stream = 2;
  // The one that asks for entry points has another parameter from 12.0 on; of all others the newest
  // is right, since sizes have had 64 bits from 3.2 on.
  constexpr int with_result = 12000;
  const bool itself = std::string_view(name) == "cuGetProcAddress";
  for (const char* const suffix : {"_ptsz", "_v2", ""}) {
    if (suffix[1] == 'p' && (flags & own_stream) == 0) continue;
    if (itself && suffix[0] != 0 && version < with_result) continue;
    char symbol[96];
    std::snprintf(symbol, sizeof(symbol), "%s%s", name, suffix);
    if (void* const found = ::dlsym(self(), symbol)) {
      *at = found;
      return success;
    }
  }
  *at = nullptr;
  if (name[0] != 0) (void)unanswered(name);  // the runtime of CUDA 13 asks for a nameless one
  return not_found;
}

CLEAVE_CUDA_EXPORT Status cuGetProcAddress_v2(const char* name, void** at, int version,
                                              unsigned long long flags, int* result) {
  const Status status = cuGetProcAddress(name, at, version, flags);
  if (result != nullptr) *result = status == success ? 0 : 1;
  return status;
}
