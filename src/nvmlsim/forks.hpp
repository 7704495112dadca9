#pragma once
// The mutexes of a program's own data. A fork takes them all, in this order, so that in the child
// they are free and what they guard is consistent. Code that holds several takes them in this order
// too.
//
// Locks of the node are not included: in the child they belong to the parent.

#include <mutex>

namespace cleave::sim {

extern constinit std::mutex session_mutex, boards_mutex, presences_mutex, events_mutex,
    samples_mutex;

}  // namespace cleave::sim
