// The program `cleave-supervise`: watches one attempt of a job from its start to its end, whatever
// happens to the daemon. Not for people: the daemon starts it, with two descriptors.

#include <cstdio>
#include <exception>

#include "base/text.hpp"
#include "runner/supervisor/supervise.hpp"

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    std::fputs(
        "cleave-supervise: cleaved starts this program for each attempt of a job; to run a job, "
        "use `cleave submit`\n",
        stderr);
    return 2;
  }
  try {
    const auto descriptors = argc == 3 ? cleave::parse_integer(argv[2]) : 0;
    if (!descriptors || *descriptors < 0) return 2;
    return cleave::supervise(argv[1], static_cast<std::uint64_t>(*descriptors));
  } catch (const std::exception&) {
    // Out of memory: the job dies with it, and the daemon sees that there is no outcome.
    return 1;
  }
}
