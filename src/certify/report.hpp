#pragma once
// A certification for people, and as JSON.

#include "certify/bundle.hpp"

namespace cleave::certify {

/// What was compared, how many checks ended how, the differences by weight, and what was not asked.
std::string report(const Facts& facts, const std::vector<Check>& checks);
Json report_json(const Facts& facts, const std::vector<Check>& checks);

}  // namespace cleave::certify
