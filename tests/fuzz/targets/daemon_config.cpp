// The configuration of the daemon.

#include "daemon/config.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz::daemon_config_target {
namespace {

std::optional<Error> read_input(const std::string& text) {
  return error_of(parse_config(text, "cleaved.toml"));
}

}  // namespace
}  // namespace cleave::fuzz::daemon_config_target

CLEAVE_FUZZ_TARGET(daemon_config, judged)
