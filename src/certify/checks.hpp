#pragma once
// How each answer is compared and what a difference means, as a table. Topics stand in the order of
// their weight.

#include "certify/answers.hpp"

namespace cleave::certify {

/// What must agree.
enum class Rule : std::uint8_t {
  same,     // code and value, but for the members that vary
  alike,    // code, and the kind of value: another board or moment has another value
  in_time,  // numbers are times in ms, which may be half or twice as long
};

/// A row: for all functions of the topic whose names begin so. The first that fits counts.
struct CheckRow {
  Topic topic;
  std::string_view function;
  Rule rule;
  std::string_view varying;  // members that are not compared, with spaces between
  std::string_view means;    // what a difference means for Cleave, and what to change
};

/// The row for a question; there is one for each topic.
const CheckRow& row_of(Topic topic, std::string_view function);

/// Whether the member is one that varies.
bool varies(const CheckRow& row, std::string_view member);

}  // namespace cleave::certify
