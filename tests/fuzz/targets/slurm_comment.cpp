// The word in a job's comment that says where it is to run.

#include "fuzz.hpp"
#include "slurm/place_mark.hpp"

namespace cleave::fuzz::slurm_comment_target {
namespace {

int read_input(const std::string& text) {
  const auto mark = parse_mark(text);
  if (!mark) return counted(false);
  require(parse_mark(marked(text, *mark)) == mark, "what is written is read");
  require(parse_mark(marked("", *mark)) == mark, "what is written is read alone");
  return counted(true);
}

}  // namespace
}  // namespace cleave::fuzz::slurm_comment_target

CLEAVE_FUZZ_TARGET(slurm_comment, answered)
