// What a container has of the host, as submissions name it.

#include "fuzz.hpp"
#include "model/container_image.hpp"

namespace cleave::fuzz::container_mount_target {
namespace {

bool read_input(const std::string& text) {
  const auto bind = parse_bind(text);
  if (!bind) return false;
  require(is_mountable(bind->from) && is_mountable(bind->to), "both can be mounted");
  const std::string again =
      bind->from + ":" + bind->to + (bind->read_only ? std::string(":ro") : std::string());
  require(parse_bind(again) == bind, "what is written reads");
  return true;
}

}  // namespace
}  // namespace cleave::fuzz::container_mount_target

CLEAVE_FUZZ_TARGET(container_mount, counted)
