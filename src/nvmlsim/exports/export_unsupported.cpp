// The functions that answer NOT_SUPPORTED, whatever they are called with.

#include "model/nvml_abi.hpp"
#include "nvmlsim/exports/unsupported.hpp"

namespace cleave::nvml {

#define CLEAVE_NVML_STUB(name)                                      \
  extern "C" __attribute__((visibility("default"))) Return name() { \
    return Return::not_supported;                                   \
  }
CLEAVE_NVML_UNSUPPORTED(CLEAVE_NVML_STUB)
#undef CLEAVE_NVML_STUB

}  // namespace cleave::nvml
