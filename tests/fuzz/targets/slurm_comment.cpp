// The word in a job's comment that says where it is to run.

#include "fuzz.hpp"
#include "slurm/place_mark.hpp"

namespace cleave::fuzz {
namespace {

int read_input(const std::string& text) {
  const auto mark = parse_mark(text);
  if (!mark) return counted(false);
  require(parse_mark(marked(text, *mark)) == mark, "what is written is read");
  require(parse_mark(marked("", *mark)) == mark, "what is written is read alone");
  return counted(true);
}

}  // namespace
}  // namespace cleave::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return cleave::fuzz::read_input(cleave::fuzz::text_of(data, size));
}
