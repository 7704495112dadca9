// The witness beside the store.

#include "daemon/store/store_witness.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz::store_witness_target {
namespace {

bool read_input(const std::string& text) {
  const WitnessText found = parse_witness(text);
  require(found.next_line == 0 || found.next_line == 1, "there are two lines");
  require(found.damaged == (!text.empty() && !found.seen), "what cannot be read is damaged");
  if (!found.seen) return text.empty();
  require(found.seen->batch >= 0, "batches are counted from 0");
  const WitnessText again = parse_witness(witness_text(*found.seen));
  require(again.seen == found.seen && !again.damaged, "it is written again");
  require(missing_batches(*found.seen, *found.seen).empty(), "a store that has all lacks nothing");
  return true;
}

}  // namespace
}  // namespace cleave::fuzz::store_witness_target

CLEAVE_FUZZ_TARGET(store_witness, counted)
