// No runtime: the driver's library, loaded by the program and asked by dlsym.

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>

using Address = unsigned long long;

template <class F>
static F* entry(const char* name) {
  static void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  return driver == nullptr ? nullptr : reinterpret_cast<F*>(::dlsym(driver, name));
}

struct Properties {
  int type, handles, location, device;
  char rest[32];
};

/// The same name means functions with other parameters, by the version that is asked for.
static bool waits_by_each_version() {
  auto* const ask =
      entry<int(const char*, void**, int, unsigned long long, int*)>("cuGetProcAddress_v2");
  auto* const current = entry<int(void**)>("cuCtxGetCurrent");
  void *context = nullptr, *plain = nullptr, *of_context = nullptr, *later = nullptr;
  if (ask == nullptr || current == nullptr || current(&context) != 0 ||
      ask("cuCtxSynchronize", &plain, 12000, 0, nullptr) != 0 ||
      ask("cuCtxSynchronize", &of_context, 13000, 0, nullptr) != 0 ||
      ask("cuCtxSynchronize", &later, 14000, 0, nullptr) != 0)
    return false;
  return reinterpret_cast<int (*)()>(plain)() == 0 &&
         reinterpret_cast<int (*)(void*)>(of_context)(context) == 0 &&
         reinterpret_cast<int (*)(unsigned, void*)>(later)(1, context) == 0;
}

int main() {
  auto* const allocate = entry<int(Address*, std::size_t)>("cuMemAlloc_v2");
  auto* const release = entry<int(Address)>("cuMemFree_v2");
  auto* const create =
      entry<int(Address*, std::size_t, const Properties*, unsigned long long)>("cuMemCreate");
  auto* const destroy = entry<int(Address)>("cuMemRelease");
  auto* const load = entry<int(void**, const void*)>("cuModuleLoadData");
  auto* const function = entry<int(void**, void*, const char*)>("cuModuleGetFunction");
  auto* const launch = entry<int(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                 unsigned, void*, void**, void**)>("cuLaunchKernel");
  if (allocate == nullptr || release == nullptr || create == nullptr || destroy == nullptr ||
      load == nullptr || function == nullptr || launch == nullptr)
    return 1;
  Address block = 0, physical = 0;
  const Properties here{1, 0, 1, 0, {}};
  if (allocate(&block, 5 << 20) != 0 || create(&physical, 32 << 20, &here, 0) != 0) return 1;
  void *module = nullptr, *kernel = nullptr;
  if (load(&module, "") != 0 || function(&kernel, module, "scan") != 0) return 1;
  for (int i = 0; i < 4; ++i)
    if (launch(kernel, 128, 2, 1, 64, 4, 1, 512, nullptr, nullptr, nullptr) != 0) return 1;
  if (!waits_by_each_version()) return 1;
  return release(block) != 0 || destroy(physical) != 0 ? 1 : 0;
}
