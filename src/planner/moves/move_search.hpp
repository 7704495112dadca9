#pragma once
// Looks for the fewest waves by trying everything, wave by wave: for problems small enough. What it
// has looked through without finding a way is a proof that there is none so short.

#include "planner/moves/move_state.hpp"

namespace cleave {

struct MoveSearch {
  bool found = false;  // then `moves` is a shortest way, with the fewest temporary places of those
  int bound = 0;       // no way has fewer waves
  Moves moves;
};

/// Ways of at most `longest` waves. Gives up, with what is known until then, when there is too much
/// to try.
MoveSearch search_moves(const PlanProblem& problem, const Target& target, int longest);

}  // namespace cleave
