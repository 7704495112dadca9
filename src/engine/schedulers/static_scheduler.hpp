#pragma once
// `static`: instances that are made once and never changed - the StaCon of *Dyna-P* (section 4;
// Figure 7 (i)) and the static configurations of *An Online Fragmentation-Aware Scheduler* (V-C).
// Jobs start first come first served on a free instance, and nobody overtakes; what no instance of
// the layout holds is rejected. A GPU that was lost gets its layout again.
//
// A job that is adopted runs on as on the layout where its instance is part of that. Otherwise its
// instance stays until it ends; what of the layout can stand beside it is made at once, and the
// rest then.

#include "engine/scheduler.hpp"

namespace cleave {

std::span<const OptionRow> static_options();
Result<std::unique_ptr<Scheduler>> make_static(const SchedulerSetup& setup,
                                               const OptionTexts& options);

}  // namespace cleave
