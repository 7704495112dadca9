#pragma once
// Handling the kinds of a variant so that a forgotten one does not compile:
//
//   std::visit(Overload{[](const Arrived& event) { ... }, [](const Ended& event) { ... }}, event);

namespace cleave {

/// One function object made of several, one for each kind.
template <class... Functions>
struct Overload : Functions... {
  using Functions::operator()...;
};

}  // namespace cleave
