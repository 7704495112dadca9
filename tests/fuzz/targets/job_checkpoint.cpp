// Checkpoints of simulated jobs, read from a file in memory.

#include "runner/job_checkpoint.hpp"

#include <sys/mman.h>

#include "base/format.hpp"
#include "fuzz.hpp"
#include "runner/descriptor.hpp"

namespace cleave::fuzz::job_checkpoint_target {
namespace {

constexpr std::int64_t iterations = 1000;

bool read_input(const std::string& text) {
  const Descriptor file(::memfd_create("checkpoint", MFD_CLOEXEC));
  if (!file || !write_all(file.number(), text)) return false;
  const auto read = read_checkpoint(fmt::format("/proc/self/fd/{}", file.number()), iterations);
  require(!read || (*read >= 0 && *read <= iterations), "no more is finished than there is");
  return read.has_value();
}

}  // namespace
}  // namespace cleave::fuzz::job_checkpoint_target

CLEAVE_FUZZ_TARGET(job_checkpoint, counted)
