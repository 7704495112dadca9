#include "model/health_facts.hpp"

#include <algorithm>
#include <array>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

using enum HealthSign;
using enum HealthReaction;
using Cure = HealthCure;

constexpr std::string_view catalog = "catalog", memory = "memory", nvml_api = "nvml";

/// The program's own error: its attempt ends as it would without the Xid.
constexpr HealthFact own(std::uint32_t number, std::string_view what,
                         std::string_view source = catalog) {
  return {
      xid,   number, ignore, ignore, false, false, Cure::nothing, what, "the program's own error",
      source};
}
/// Logged, and nothing has to follow.
constexpr HealthFact logged(std::uint32_t number, std::string_view what, std::string_view why) {
  return {xid, number, ignore, ignore, false, false, Cure::nothing, what, why, catalog};
}
/// An engine of the GPU failed, and the program with it.
constexpr HealthFact engine(std::uint32_t number, std::string_view what) {
  return {
      xid,           number, requeue_job,
      requeue_job,   false,  false,
      Cure::nothing, what,   "the program has to be started again, and the GPU need not be reset",
      catalog};
}
constexpr HealthFact reset(std::uint32_t number, std::string_view what, std::string_view why,
                           std::string_view source = catalog) {
  return {xid, number, drain_gpu, drain_gpu, false, false, Cure::reset, what, why, source};
}
/// The catalog has a procedure, which goes by the recovery action where the driver gives one.
constexpr HealthFact by_action(std::uint32_t number, std::string_view what, std::string_view why) {
  return {xid, number, drain_gpu, drain_gpu, true, false, Cure::reset, what, why, catalog};
}
constexpr HealthFact action(std::uint32_t number, std::string_view what, std::string_view why,
                            std::string_view source = memory) {
  return {recovery_action, number,      drain_gpu, drain_gpu, false,
          false,           Cure::state, what,      why,       source};
}

constexpr std::string_view needs_reset = "the GPU has to be reset";
constexpr std::string_view link_says = "the recovery action decides; without one, it needs a reset";
constexpr std::string_view nvlink_error = "NVLink error";
constexpr std::string_view copy_error = "copy engine exception";

constexpr auto facts = std::to_array<HealthFact>({
    engine(8, "GPU stopped processing"),
    own(11, "invalid or corrupted push buffer stream"),
    own(13, "graphics engine exception"),
    own(25, "invalid or illegal push buffer stream"),
    own(31, "GPU memory page fault"),
    engine(32, "corrupted push buffer stream: a fault of the DMA controller"),
    logged(37, "driver firmware error", "nothing has to be done at once"),
    logged(38, "driver firmware error", "nothing has to be done at once"),
    engine(39, copy_error),
    engine(40, copy_error),
    engine(41, copy_error),
    logged(43, "GPU stopped processing", "the program's own error; the GPU stays healthy"),
    logged(44, "graphics engine fault during context switch", "nothing has to be done at once"),
    logged(45, "preemptive cleanup", "follows the end of a program, or another Xid"),
    reset(46, "GPU stopped processing", needs_reset),
    by_action(48, "double-bit ECC error", link_says),
    {xid, 54, drain_gpu, drain_gpu, false, false, Cure::operators, "auxiliary power not connected",
     "its power cables have to be checked", catalog},
    engine(60, "video processor exception"),
    reset(62, "internal micro-controller halt", needs_reset),
    logged(63, "row remapping recorded", "the memory repairs itself at the next reset"),
    {xid, 64, drain_gpu, drain_gpu, false, false, Cure::operators, "row remapping failure",
     "the GPU has to be reset, and may have to be replaced", catalog},
    logged(66, "illegal access by driver", "nothing has to be done at once"),
    logged(67, "illegal access by driver", "nothing has to be done at once"),
    own(68, "NVDEC exception", "assumed"),
    own(69, "graphics engine class error"),
    engine(70, copy_error),
    engine(71, copy_error),
    engine(72, copy_error),
    by_action(74, nvlink_error, link_says),
    engine(75, copy_error),
    engine(76, copy_error),
    engine(77, copy_error),
    reset(79, "GPU has fallen off the bus", "the machine has to be started again"),
    engine(80, "corrupted data sent to GPU"),
    own(82, "NVJPG exception", "assumed"),
    own(83, "NVDEC exception", "assumed"),
    own(84, "NVDEC exception", "assumed"),
    engine(85, copy_error),
    own(86, "OFA exception", "assumed"),
    own(88, "NVDEC exception", "assumed"),
    own(89, "NVDEC exception", "assumed"),
    logged(92, "high single-bit ECC error rate", "the errors were corrected"),
    logged(93, "InfoROM wear limit", "does not concern programs"),
    {xid, 94, drain_instance, requeue_job, false, true, Cure::remake, "contained memory error",
     "only the program that met it has to be started again", catalog},
    {xid, 95, drain_gpu, drain_gpu, false, true, Cure::reset, "uncontained memory error",
     "it affects several programs, and the GPU has to be reset before others start", catalog},
    own(96, "NVDEC exception", "assumed"),
    own(97, "NVDEC exception", "assumed"),
    own(98, "NVDEC exception", "assumed"),
    own(99, "NVJPG exception", "assumed"),
    own(100, "NVJPG exception", "assumed"),
    own(101, "NVJPG exception", "assumed"),
    own(102, "NVJPG exception", "assumed"),
    own(103, "NVJPG exception", "assumed"),
    own(104, "NVJPG exception", "assumed"),
    own(105, "NVJPG exception", "assumed"),
    logged(106, "test message", "a test"),
    logged(107, "test message", "a test"),
    reset(109, "context switch timeout", needs_reset),
    reset(110, "security fault", "the machine has to be switched off and on"),
    reset(119, "GSP RPC timeout", needs_reset),
    reset(120, "GSP error", needs_reset),
    logged(121, "corrected error of the link to the processor", "the errors were corrected"),
    engine(126, copy_error),
    engine(127, copy_error),
    engine(128, copy_error),
    engine(129, copy_error),
    engine(130, copy_error),
    engine(131, copy_error),
    engine(132, copy_error),
    engine(133, copy_error),
    engine(134, copy_error),
    engine(135, copy_error),
    reset(136, "link training failed", needs_reset),
    logged(137, "NVLink privilege error", "mostly the program's own error"),
    own(139, "OFA exception", "assumed"),
    reset(140, "unrecovered ECC error", needs_reset),
    logged(141, "CUDA fast path error", "nothing has to be done at once"),
    reset(143, "GPU initialization error", needs_reset),
    by_action(144, nvlink_error, link_says),
    by_action(145, nvlink_error, link_says),
    by_action(146, nvlink_error, link_says),
    by_action(147, nvlink_error, link_says),
    by_action(148, nvlink_error, link_says),
    by_action(149, nvlink_error, link_says),
    by_action(150, nvlink_error, link_says),
    logged(154, "recovery action changed", "what the driver asks for is in rows of its own"),
    reset(155, nvlink_error, needs_reset),
    reset(156, "resource retirement", needs_reset),
    logged(157, "resource retirement failure", "programs can still run"),
    reset(158, "GPU fatal timeout", needs_reset),
    logged(160, "channel retirement", "nothing has to be done at once"),
    logged(161, "channel retirement failure", "nothing has to be done at once"),
    logged(171, "details of Xid 48", "Xid 48 comes with it"),
    logged(172, "details of Xid 48", "Xid 48 comes with it"),
    action(1, "GPU reset", "its processes have to end, and the GPU has to be reset"),
    action(2, "reboot", "the system may be inconsistent: the machine has to be started again"),
    action(3, "drain peer-to-peer traffic", "programs on several GPUs have to end"),
    action(4, "drain and reset", "what runs may end; new work should wait for a reset"),
    action(other_recovery_action, "another action", "versions of NVML differ on what it means",
           nvml_api),
    {rows_pending, 0, ignore, ignore, false, false, Cure::nothing, "row remapping pending",
     "programs run and start as before; the GPU should be reset when that is convenient", memory},
    {rows_failed, 0, drain_gpu, drain_gpu, false, false, Cure::operators, "row remapping failed",
     "the GPU may have to be replaced", memory},
    {memory_errors, 0, drain_instance, requeue_job, false, true, Cure::remake,
     "uncorrected memory errors", "the program that met them is not to go on", "assumed"},
});

constexpr auto sources = std::to_array<HealthSource>({
    {catalog, "NVIDIA: Analyzing Xid Errors with the Xid Catalog",
     "https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html"},
    {memory, "NVIDIA: GPU Memory Error Management, Error Recovery and Response Flags",
     "https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/"
     "error-recovery-and-response-flags.html"},
    {nvml_api, "NVIDIA: CUDA Python, DeviceGpuRecoveryAction of NVML",
     "https://nvidia.github.io/cuda-python/"},
    {"assumed", "Cleave's own choice, on the safe side; NVIDIA's pages do not settle it", ""},
});

struct SignName {
  HealthSign sign;
  std::string_view name;
  bool numbered;
};
constexpr auto sign_names = std::to_array<SignName>({
    {xid, "xid", true},
    {recovery_action, "recovery-action", true},
    {rows_pending, "rows-pending", false},
    {rows_failed, "rows-failed", false},
    {memory_errors, "memory-errors", false},
});

}  // namespace

std::span<const HealthFact> health_facts() {
  return facts;
}

std::span<const HealthSource> health_sources() {
  return sources;
}

std::string_view name(HealthReaction reaction) {
  constexpr std::array<std::string_view, 4> names = {"ignore", "requeue the job",
                                                     "drain the instance", "drain the GPU"};
  return names.at(static_cast<std::size_t>(reaction));
}

std::string_view in_words(HealthCure cure) {
  switch (cure) {
    case Cure::nothing:
      return "";
    case Cure::remake:
      return "the instance being destroyed";
    case Cure::reset:
      return "a reset of the GPU or a start of the machine";
    case Cure::state:
      return "the driver no longer asking for it";
    case Cure::operators:
      return "an operator who knows that the GPU is well";
  }
  return "";
}

const HealthFact* find_health_fact(HealthSign sign, std::uint32_t number) {
  if (sign == recovery_action) number = std::min(number, other_recovery_action);
  const auto found = std::ranges::find_if(
      facts, [&](const HealthFact& fact) { return fact.sign == sign && fact.number == number; });
  return found == facts.end() ? nullptr : &*found;
}

std::string name(const HealthFact& fact) {
  const auto row = std::ranges::find(sign_names, fact.sign, &SignName::sign);
  return row->numbered ? fmt::format("{}-{}", row->name, fact.number) : std::string(row->name);
}

const HealthFact* find_health_fact(std::string_view wanted) {
  const auto found =
      std::ranges::find_if(facts, [&](const HealthFact& fact) { return name(fact) == wanted; });
  return found == facts.end() ? nullptr : &*found;
}

std::string in_words(const HealthFact& fact) {
  switch (fact.sign) {
    case xid:
      return fmt::format("Xid {} ({})", fact.number, fact.what);
    case recovery_action:
      return fmt::format("recovery action {} ({})", fact.number, fact.what);
    case rows_pending:
    case rows_failed:
    case memory_errors:
      break;
  }
  return std::string(fact.what);
}

}  // namespace cleave
