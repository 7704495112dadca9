#include "device/nvml_library.hpp"

#include <dlfcn.h>

#include "base/format.hpp"
#include "device/door.hpp"

namespace cleave {

namespace nvml {

const std::vector<std::string_view>& optional_functions() {
#define CLEAVE_NVML_NAME(name, parameters) #name,
  static const std::vector<std::string_view> names = {CLEAVE_NVML_OPTIONAL(CLEAVE_NVML_NAME)};
#undef CLEAVE_NVML_NAME
  return names;
}

}  // namespace nvml

namespace {

/// The file that the loader opened, if known; it searches many places for a name without a folder.
std::string file_of(void* symbol, const std::string& asked) {
  Dl_info info{};
  return dladdr(symbol, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : asked;
}

/// `dlerror` of the last call, which can be read once; without the file and the operation, which
/// the error names itself.
std::string loader_message(const std::string& file) {
  const char* message = dlerror();
  if (message == nullptr) return "the loader does not say why";
  std::string_view why = message;
  for (const std::string& known : {file + ": ", std::string("cannot open shared object file: ")})
    if (why.starts_with(known)) why.remove_prefix(known.size());
  return std::string(why);
}

}  // namespace

void NvmlLibrary::Closing::operator()(void* handle) const {
  dlclose(handle);
}

Result<std::unique_ptr<NvmlLibrary>> NvmlLibrary::open(const std::string& file) {
  Handle handle(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (!handle) {
    const bool by_default = file == nvml::library_name;
    return fail(
        ErrorKind::infeasible, file, fmt::format("cannot be opened: {}", loader_message(file)),
        by_default ? "install NVIDIA's driver, or name a library with --nvml FILE"
                   : "name the file of an NVML library, such as Cleave's own libnvidia-ml.so.1");
  }
  std::unique_ptr<NvmlLibrary> library(new NvmlLibrary(std::move(handle), file));
  if (const auto found = library->resolve(); !found) return std::unexpected(found.error());
  if (const auto ready = library->initialise(); !ready) return std::unexpected(ready.error());
  return library;
}

Result<void> NvmlLibrary::resolve() {
  std::vector<std::string_view> needed;
  const auto take = [&](auto& pointer, const char* name) {
    void* symbol = dlsym(handle_.get(), name);
    pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(symbol);
    return symbol != nullptr;
  };
#define CLEAVE_NVML_TAKE_NEEDED(name, parameters) \
  if (!take(functions_.name, #name)) needed.emplace_back(#name);
#define CLEAVE_NVML_TAKE_OPTIONAL(name, parameters) \
  if (!take(functions_.name, #name)) missing_.emplace_back(#name);
#define CLEAVE_NVML_TAKE_FALLBACK(name, parameters) take(functions_.name, #name);
  CLEAVE_NVML_NEEDED(CLEAVE_NVML_TAKE_NEEDED)
  CLEAVE_NVML_OPTIONAL(CLEAVE_NVML_TAKE_OPTIONAL)
  CLEAVE_NVML_FALLBACKS(CLEAVE_NVML_TAKE_FALLBACK)
#undef CLEAVE_NVML_TAKE_NEEDED
#undef CLEAVE_NVML_TAKE_OPTIONAL
#undef CLEAVE_NVML_TAKE_FALLBACK
  if (!needed.empty())
    return fail(ErrorKind::infeasible, file_, fmt::format("has no {}", fmt::join(needed, ", ")),
                "it is not an NVML library, or one of a driver before MIG; install a newer driver");
  file_ = file_of(reinterpret_cast<void*>(functions_.nvmlInit_v2), file_);
  return {};
}

Result<void> NvmlLibrary::initialise() {
  const nvml::Return answer = functions_.nvmlInit_v2();
  initialised_ = answer == nvml::Return::success;
  if (!initialised_) return std::unexpected(error_of({answer, "nvmlInit_v2"}, file_));
  return {};
}

NvmlLibrary::~NvmlLibrary() {
  if (initialised_) functions_.nvmlShutdown();
}

}  // namespace cleave
