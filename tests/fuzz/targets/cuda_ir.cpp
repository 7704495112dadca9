// Intermediate code of CUDA sources.

#include "forecast/source/cuda_ir.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz::cuda_ir_target {
namespace {

std::optional<Error> read_input(const std::string& text) {
  auto module = read_cuda_ir(text, "a.cu");
  if (!module) return module.error();
  std::vector<SourceModule> modules = {*module, std::move(*module)};
  keep_what_main_reaches(modules);
  for (const SourceFunction& function : modules.front().functions)
    for (const SourceAllocation& each : function.allocations)
      require(each.bytes.value_or(0) >= 0, "no allocation is negative");
  return std::nullopt;
}

}  // namespace
}  // namespace cleave::fuzz::cuda_ir_target

CLEAVE_FUZZ_TARGET(cuda_ir, judged)
