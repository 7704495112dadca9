#include "cudatrace/live/real.hpp"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <cstdio>
#include <string_view>

namespace cleave::cuda {

thread_local constinit int Following::depth_ = 0;

namespace {

using Dlsym = void*(void*, const char*);

Dlsym* find_plain_dlsym() {
  // dlsym is one of the functions this library exports; by version, the C library's is found.
  for (const char* const version : {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17", "GLIBC_2.0"})
    if (void* const found = ::dlvsym(RTLD_NEXT, "dlsym", version))
      return reinterpret_cast<Dlsym*>(found);
  return nullptr;
}

/// The path of a loaded library whose name begins like that.
struct LoadedLibrary {
  std::string_view begins;
  std::array<char, 4096> path{};
};

int looks_like(dl_phdr_info* info, std::size_t, void* wanted) {
  auto* const library = static_cast<LoadedLibrary*>(wanted);
  const std::string_view path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  const std::string_view file = path.substr(path.rfind('/') + 1);
  if (!file.starts_with(library->begins) || path.size() >= library->path.size()) return 0;
  path.copy(library->path.data(), path.size());
  return 1;
}

void* in_loaded_runtime(const char* name) {
  LoadedLibrary runtime{"libcudart.so"};
  if (::dl_iterate_phdr(looks_like, &runtime) == 0) return nullptr;
  void* const handle = ::dlopen(runtime.path.data(), RTLD_LAZY | RTLD_NOLOAD);
  return handle == nullptr ? nullptr : plain_dlsym(handle, name);
}

void* in_driver(const char* name) {
  void* const handle = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  return handle == nullptr ? nullptr : plain_dlsym(handle, name);
}

const Wrapped* find_wrapped(const Wrapped* row, std::string_view symbol) {
  while (row->symbol != nullptr && row->symbol != symbol) ++row;
  return row->symbol == nullptr ? nullptr : row;
}

/// Names that mean a function with other parameters from that version of CUDA on.
struct NewMeaning {
  std::string_view name;
  int since;
  const char* symbol;
};
constexpr NewMeaning new_meanings[] = {{"cuGetProcAddress", 12000, "cuGetProcAddress_v2"},
                                       {"cuCtxSynchronize", 13000, "cuCtxSynchronize_v2"}};
constexpr int newest_known = 13000;

/// The row of what cuGetProcAddress gives for the name; null if that is not followed.
const Wrapped* find_entry(const char* name, int version, bool own_stream) {
  for (const NewMeaning& each : new_meanings)
    if (each.name == name)
      return find_wrapped(wrapped_driver, version < each.since ? name : each.symbol);
  char symbol[96];
  for (const char* const suffix : {own_stream ? "_ptsz" : "", "_v2", ""}) {
    std::snprintf(symbol, sizeof(symbol), "%s%s", name, suffix);
    if (const Wrapped* const row = find_wrapped(wrapped_driver, symbol)) return row;
  }
  return nullptr;
}

/// There is one driver, but a program may have loaded several runtimes: the wrapper stands before
/// the first. What another one allocates is seen where it calls the driver.
void* replaced(const Wrapped* row, void* found) {
  if (row == nullptr) return found;
  if (found == row->wrapper) return found;
  row->real->tell_next();
  row->real->tell(found);
  return row->real->stands_before(found) ? row->wrapper : found;
}

}  // namespace

void* plain_dlsym(void* handle, const char* name) {
  static Dlsym* const plain = find_plain_dlsym();
  return plain == nullptr ? nullptr : plain(handle, name);
}

void RealFunction::tell_next() {
  if (address_.load(std::memory_order_acquire) != nullptr) return;
  if (void* const next = plain_dlsym(RTLD_NEXT, name_)) tell(next);
}

void* RealFunction::find() {
  tell_next();
  if (void* const known = address_.load(std::memory_order_acquire)) return known;
  void* const found =
      interface_ == Interface::runtime ? in_loaded_runtime(name_) : in_driver(name_);
  if (found != nullptr) tell(found);
  return address_.load(std::memory_order_acquire);
}

void* in_place_of(const char* symbol, void* found) {
  if (found == nullptr) return found;
  const Wrapped* row = find_wrapped(wrapped_driver, symbol);
  if (row == nullptr) row = find_wrapped(wrapped_runtime, symbol);
  return replaced(row, found);
}

void* in_place_of_entry(const char* name, int version, bool own_stream, void* found) {
  // Before 3.2 sizes had 32 bits: those entry points are other functions.
  constexpr int of_64_bits = 3020;
  if (found == nullptr || version < of_64_bits) return found;
  const Wrapped* const row = find_entry(name, version, own_stream);
  if (row == nullptr) return found;
  // A version that is not known here may have given the name to a function with other parameters.
  if (version > newest_known && found != in_driver(row->symbol)) return found;
  return replaced(row, found);
}

}  // namespace cleave::cuda
