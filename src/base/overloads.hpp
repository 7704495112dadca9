#pragma once
// Functions as one set, for std::visit: a kind of value that none of them takes does not compile.

namespace cleave {

/// `std::visit(Overloads{[](const A&) {...}, [](const B&) {...}}, a_or_b)`.
template <class... Functions>
struct Overloads : Functions... {
  using Functions::operator()...;
};

}  // namespace cleave
