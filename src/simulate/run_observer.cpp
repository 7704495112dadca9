#include "simulate/run_observer.hpp"

namespace cleave {

std::string_view name(RunEvent::Kind kind) {
  switch (kind) {
    case RunEvent::Kind::submitted:
      return "submitted";
    case RunEvent::Kind::rejected:
      return "rejected";
    case RunEvent::Kind::destroyed:
      return "destroyed";
    case RunEvent::Kind::created:
      return "created";
    case RunEvent::Kind::started:
      return "started";
    case RunEvent::Kind::finished:
      return "finished";
    case RunEvent::Kind::failed:
      return "failed";
    case RunEvent::Kind::ran_out:
      return "out-of-memory";
    case RunEvent::Kind::stopped:
      return "stopped";
    case RunEvent::Kind::restarted_early:
      return "restarted-early";
    case RunEvent::Kind::checkpointed:
      return "checkpointed";
    case RunEvent::Kind::migrated:
      return "migrated";
    case RunEvent::Kind::gpu_lost:
      return "gpu-lost";
    case RunEvent::Kind::gpu_returned:
      return "gpu-returned";
    case RunEvent::Kind::evicted:
      return "evicted";
    case RunEvent::Kind::warned:
      return "memory-warning";
  }
  return "";
}

}  // namespace cleave
