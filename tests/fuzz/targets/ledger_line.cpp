// Lines of the ledger of instances; they are written again.

#include "device/ledger.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz::ledger_line_target {
namespace {

bool read_input(const std::string& text) {
  const auto line = parse_ledger_line(text, "ledger");
  if (!line) return false;
  const std::string written = ledger_text(*line);
  const auto again = parse_ledger_line(written, "again");
  require(again && ledger_text(*again) == written, "what is read is written again");
  return true;
}

}  // namespace
}  // namespace cleave::fuzz::ledger_line_target

CLEAVE_FUZZ_TARGET(ledger_line, counted)
