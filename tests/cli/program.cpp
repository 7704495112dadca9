#include "program.hpp"

#include <stdlib.h>
#include <sys/wait.h>

#include <fstream>
#include <sstream>

#include "base/places_test.hpp"

namespace cleave::testing_program {

std::string text_of(const std::filesystem::path& file) {
  std::stringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

Outcome shell(const std::string& command) {
  const Scratch scratch;
  const std::string whole = "cd '" + source_dir() + "' && PATH='" + binary_dir() +
                            "/bin':\"$PATH\" && { " + command + "\n} >'" + scratch.path("out") +
                            "' 2>'" + scratch.path("err") + "' </dev/null";
  const int status = ::system(whole.c_str());
  Outcome outcome;
  outcome.command = command;
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  outcome.out = text_of(scratch.path("out"));
  outcome.err = text_of(scratch.path("err"));
  return outcome;
}

std::string Scratch::write(const std::string& name, const std::string& text) const {
  std::ofstream(path(name), std::ios::binary) << text;
  return path(name);
}

}  // namespace cleave::testing_program
