#pragma once
// Looks for a way in a given number of waves by trying everything: for problems small enough, what shows that
// there is none shorter.

#include "planner/move_state.hpp"

namespace cleave {

struct MoveSearch {
  bool found = false;  // then `moves` is such a way, with the fewest temporary places among those looked at
  bool complete = false;  // everything was looked at
  Moves moves;
};

MoveSearch search_moves(const MoveState& start, int waves);

}  // namespace cleave
