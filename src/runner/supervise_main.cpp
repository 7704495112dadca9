// The program `cleave-supervise`: stays with one attempt of a job from its beginning to its end, whatever
// becomes of the daemon that started it. Not for people; the daemon starts it with two descriptors.

#include <exception>

#include "runner/supervise.hpp"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    return cleave::supervise(argv[1]);
  } catch (const std::exception&) {
    return 1;  // out of memory: the job dies with it, and the daemon sees that it is gone without an outcome
  }
}
