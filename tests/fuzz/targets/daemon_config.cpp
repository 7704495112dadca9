// The configuration of the daemon.

#include "daemon/config.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz {
namespace {

std::optional<Error> read_input(const std::string& text) {
  return error_of(parse_config(text, "cleaved.toml"));
}

}  // namespace
}  // namespace cleave::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return cleave::fuzz::judged(cleave::fuzz::read_input(cleave::fuzz::text_of(data, size)));
}
