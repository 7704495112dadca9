#pragma once
// The comparison of two lists of answers, as a pure function.

#include <vector>

#include "certify/answers.hpp"

namespace cleave::certify {

/// How a check ended.
enum class Verdict : std::uint8_t {
  different,
  same,
  not_supported,  // by both
  not_asked,      // of one of them or of both; `why` says so
};
/// "different"
std::string_view name(Verdict verdict);

/// One question with both answers.
struct Check {
  Topic topic{};
  std::string function, about;
  Verdict verdict{};
  std::string gpu, simulated;  // what differs, as text; of times also where they agree
  std::string_view means;      // for Cleave, where it differs
  std::string why;             // it was not asked
};

/// In the order of topics and questions.
std::vector<Check> compare(const Answers& gpu, const Answers& simulated);

/// How many checks ended so.
std::size_t count(const std::vector<Check>& checks, Verdict verdict);

}  // namespace cleave::certify
