#pragma once
// `online`: the arrival steps of *An Online Fragmentation-Aware Scheduler*, IV-C. A job goes where the policy
// says, on an idle instance or on one made for it; what fits nowhere queues, first come first served, and a
// new arrival never overtakes the queue (reading F9). A job that ends leaves its instance idle for reuse;
// idle instances are destroyed only when a new one needs their place (F15). Migration on departure is not
// done here.

#include "engine/scheduler.hpp"

namespace cleave {

std::span<const OptionRow> online_options();
Result<std::unique_ptr<Scheduler>> make_online(const SchedulerSetup& setup, const OptionTexts& options);

}  // namespace cleave
