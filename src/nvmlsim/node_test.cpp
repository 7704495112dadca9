// Making and destroying nodes.

#include <gtest/gtest.h>

#include "nvmlsim/client.hpp"

namespace cleave {
namespace {

TEST(SimNode, Placeholder) {}

}  // namespace
}  // namespace cleave
