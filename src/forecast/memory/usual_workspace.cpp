#include "forecast/memory/usual_workspace.hpp"

#include "forecast/shape/model_memory.hpp"

namespace cleave {

MemoryReport with_usual_workspace(MemoryReport report, std::optional<Architecture> architecture) {
  if (report.context && !report.workspace)
    report.workspace = mib_that_hold(usual_workspace(architecture));
  return report;
}

}  // namespace cleave
