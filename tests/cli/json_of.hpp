#pragma once
// The program's output as a JSON document.

#include <gtest/gtest.h>

#include "base/json.hpp"
#include "program.hpp"

namespace cleave::testing_program {

/// What the program printed, parsed; fails the test on another exit code or on output that is not
/// JSON.
inline Json json_of(const Outcome& outcome, int exit_code = 0) {
  EXPECT_EQ(outcome.exit_code, exit_code) << outcome.command << "\n" << outcome.err;
  const auto document = parse_json(outcome.out, "stdout");
  EXPECT_TRUE(document) << outcome.command << "\n" << outcome.out;
  return document ? *document : Json::object();
}

}  // namespace cleave::testing_program
