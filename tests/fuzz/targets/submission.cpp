// Submissions to the daemon.

#include "api/documents.hpp"
#include "base/json.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz {
namespace {

bool read_input(const std::string& text) {
  const auto document = parse_json(text, "request");
  return document && read_submission(*document, "request");
}

}  // namespace
}  // namespace cleave::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return cleave::fuzz::counted(cleave::fuzz::read_input(cleave::fuzz::text_of(data, size)));
}
