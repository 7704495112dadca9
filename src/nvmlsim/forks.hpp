#pragma once
// The mutexes of what is this program's own: a fork takes them all, in this order, so that its
// child finds them free and what they guard whole. A program that holds several takes them in this
// order too.
//
// Locks of the node are not among them: in the child they are the parent's.

#include <mutex>

namespace cleave::sim {

extern constinit std::mutex session_mutex, boards_mutex, presences_mutex, events_mutex;

}  // namespace cleave::sim
