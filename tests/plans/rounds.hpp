#pragma once
// Shared by the tests of plans: how many random problems they try, and how a task is called in the
// names of tests.

#include <cstdlib>
#include <ostream>

#include "base/sanitized_test.hpp"
#include "scene.hpp"

namespace cleave::plans {

/// `usual` in a release build and a tenth of it under sanitizers; CLEAVE_PLAN_ROUNDS is a factor in
/// per cent.
inline int rounds(int usual) {
  if (sanitized) usual = usual / 10 + 1;
  const char* given = std::getenv("CLEAVE_PLAN_ROUNDS");
  return given == nullptr ? usual : usual * std::atoi(given) / 100;
}

inline void PrintTo(Task task, std::ostream* out) {
  *out << name(task);
}

}  // namespace cleave::plans
