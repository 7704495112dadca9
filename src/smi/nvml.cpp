#include "smi/nvml.hpp"

#include <dlfcn.h>

namespace cleave::smi {

nvml::EveryFunction functions_of(const std::string& file) {
  nvml::EveryFunction functions;
  // Never closed: it is the door's, which has it open.
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return functions;
#define CLEAVE_SMI_TAKE(name, parameters) \
  functions.name = reinterpret_cast<decltype(functions.name)>(dlsym(library, #name));
  CLEAVE_NVML_NEEDED(CLEAVE_SMI_TAKE)
  CLEAVE_NVML_OPTIONAL(CLEAVE_SMI_TAKE)
  CLEAVE_NVML_OTHERS(CLEAVE_SMI_TAKE)
  CLEAVE_NVML_MONITORS(CLEAVE_SMI_TAKE)
#undef CLEAVE_SMI_TAKE
  return functions;
}

}  // namespace cleave::smi
