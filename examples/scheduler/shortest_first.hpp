#pragma once
// A scheduler to begin from: the shortest job first, each on an instance of the size that it asks
// for; what finds no room is passed by until it has waited for long. docs/extend.md explains it
// part by part.

#include "engine/scheduler.hpp"

namespace cleave {

extern const SchedulerRow shortest_first;

}  // namespace cleave
