// The rules of compaction, as options and settings say them.

#include "model/compaction_rules.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz::compaction_rules_target {
namespace {

/// What was read is written such that it is read again.
bool read_input(const std::string& given) {
  const auto rules = parse_compaction(given);
  if (!rules || !*rules) return rules.has_value();
  const auto again = parse_compaction(text(**rules));
  require(again.has_value() && *again == *rules, "rules are not read as they were written");
  return true;
}

}  // namespace
}  // namespace cleave::fuzz::compaction_rules_target

CLEAVE_FUZZ_TARGET(compaction_rules, counted)
