// Events: Xids and memory errors, of a GPU or an instance, changes of MIG instances, and that a GPU
// is unavailable.

#include "nvmlsim/event_sets.hpp"
#include "nvmlsim/exports/exported.hpp"

namespace cleave::nvml {

using namespace cleave::sim;
using enum Return;

namespace {

/// The kinds that may be registered for. Of Hopper: measured on an H100 80GB HBM3, driver
/// 580.159.04; the simulated GPU reports some of them.
std::uint64_t supported_events(const Board& board) {
  constexpr std::uint64_t of_hopper = 0xff9f;
  static_assert((reported_events & ~of_hopper) == 0);
  return board.model->architecture == Architecture::hopper ? of_hopper : reported_events;
}

}  // namespace

Return nvmlDeviceGetSupportedEventTypes(Device device, std::uint64_t* types) {
  return on_gpu(device, [&](const Call&, GpuAccess& access, std::uint32_t) {
    return put(types, supported_events(access.board()));
  });
}

Return nvmlEventSetCreate(EventSet* set) {
  const Call call;
  if (call.status() != success) return call.status();
  if (set == nullptr) return invalid_argument;
  const std::uint64_t number = make_event_set();
  if (number == 0) return memory;
  *set = make_handle<EventSet>(HandleKind::event_set, 0, number);
  return success;
}

Return nvmlDeviceRegisterEvents(Device device, std::uint64_t types, EventSet set) {
  return on_gpu(device, [&](const Call& call, GpuAccess& access, std::uint32_t gpu) {
    const HandleParts parts = parts_of(set);
    if (parts.kind != HandleKind::event_set || !has_event_set(parts.serial))
      return invalid_argument;
    if ((types & ~supported_events(access.board())) != 0) return not_supported;
    return register_events(call.node(), parts.serial, gpu, types) ? success : invalid_argument;
  });
}

Return nvmlEventSetWait_v2(EventSet set, EventData* data, std::uint32_t timeout_ms) {
  const Call call;
  if (call.status() != success) return call.status();
  const HandleParts parts = parts_of(set);
  if (parts.kind != HandleKind::event_set || data == nullptr) return invalid_argument;
  SeenEvent event{};
  const Return answer = wait_for_event(call.node(), parts.serial, timeout_ms, event);
  if (answer == success)
    *data = {gpu_handle(event.gpu), event.type, event.data, event.gpu_instance,
             event.compute_instance};
  return answer;
}
Return nvmlEventSetWait(EventSet set, EventData* data, std::uint32_t timeout_ms) {
  return nvmlEventSetWait_v2(set, data, timeout_ms);
}

Return nvmlEventSetFree(EventSet set) {
  const Call call;
  if (call.status() == uninitialized) return uninitialized;
  const HandleParts parts = parts_of(set);
  return parts.kind == HandleKind::event_set && free_event_set(parts.serial) ? success
                                                                             : invalid_argument;
}

}  // namespace cleave::nvml
