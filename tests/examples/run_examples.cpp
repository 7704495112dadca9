// `cleave-examples [--update] FILE.md...`: runs what the documents show. In every fenced block
// marked `console`, a line that begins with "$ " is a command, and the lines up to the next one are
// its output (both streams). Without --update a difference is an error; with it the block is
// rewritten, so that documents show only real output. Commands run in the repository's root with
// the built programs first on the path.

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "../cli/program.hpp"

namespace {

struct Answer {
  std::string text;
  int differences = 0;
  int commands = 0;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::stringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The document with the present output of its commands.
Answer rerun(const std::string& name, const std::string& document) {
  Answer answer;
  bool console = false;
  const std::vector<std::string> lines = lines_of(document);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    answer.text += lines[i] + "\n";
    if (lines[i].starts_with("```")) console = lines[i] == "```console";
    if (!console || !lines[i].starts_with("$ ")) continue;
    ++answer.commands;
    std::string shown;
    std::size_t next = i + 1;
    for (; next < lines.size() && !lines[next].starts_with("$ ") && lines[next] != "```"; ++next)
      shown += lines[next] + "\n";
    const auto outcome = cleave::testing_program::shell("{ " + lines[i].substr(2) + "; } 2>&1");
    answer.text += outcome.out;
    if (outcome.out != shown) {
      ++answer.differences;
      std::fprintf(stderr, "%s:%zu: %s\n--- shown\n%s--- printed\n%s", name.c_str(), i + 1,
                   lines[i].c_str(), shown.c_str(), outcome.out.c_str());
    }
    i = next - 1;
  }
  return answer;
}

}  // namespace

int main(int argc, char** argv) {
  bool update = false;
  int differences = 0, commands = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--update") {
      update = true;
      continue;
    }
    std::stringstream document;
    std::ifstream file(name);
    if (!file) {
      std::fprintf(stderr, "%s: cannot be read\n", name.c_str());
      return 2;
    }
    document << file.rdbuf();
    const Answer answer = rerun(name, document.str());
    differences += answer.differences;
    commands += answer.commands;
    if (update && answer.differences > 0) std::ofstream(name) << answer.text;
  }
  std::printf("%d commands, %d %s\n", commands, differences, update ? "rewritten" : "differ");
  return differences > 0 && !update ? 1 : 0;
}
