// Bundles of `cleave certify`: what was accepted is written again, reads as the same, and can be
// reported.

#include "certify/bundle.hpp"
#include "certify/report.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz::certified_target {
namespace {

int read_input(const std::string& text) {
  const auto bundle = certify::parse_bundle(text, "bundle");
  if (!bundle) return judged(error_of(bundle));
  const auto checks = certify::compare(bundle->gpu, bundle->simulated);
  require(!certify::report(bundle->facts, checks).empty(), "a bundle has a report");
  const std::string again = certify::text_of(*bundle, checks);
  const auto second = certify::parse_bundle(again, "again");
  require(second.has_value(), "a bundle that was written is read");
  require(certify::text_of(*second, certify::compare(second->gpu, second->simulated)) == again,
          "it is read as it was written");
  return judged(std::nullopt);
}

}  // namespace
}  // namespace cleave::fuzz::certified_target

CLEAVE_FUZZ_TARGET(certified, answered)
