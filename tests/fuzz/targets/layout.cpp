// Layouts as text.

#include "fuzz.hpp"
#include "model/layout_text.hpp"

namespace cleave::fuzz::layout_target {
namespace {

/// Of one GPU model.
const Geometry& geometry() {
  static const Geometry one(**find_gpu_model("A100-40GB"),
                            ProfileChoice().on(**find_gpu_model("A100-40GB")));
  return one;
}

std::optional<Error> read_input(const std::string& text) {
  const auto layout = parse_layout(text, geometry());
  require(!layout || geometry().judge(*layout).illegal || layout->size() <= 8,
          "a legal layout has room");
  return error_of(layout);
}

}  // namespace
}  // namespace cleave::fuzz::layout_target

CLEAVE_FUZZ_TARGET(layout, judged)
