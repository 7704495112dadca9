// `cleave-cases FILE...`: computes reference cases with the library and compares the answers.
// Prints a line for each difference, one for each unknown operation, and at the end how many cases
// passed.

#include <cstdio>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "base/read_text.hpp"
#include "base/text.hpp"
#include "case_file.hpp"
#include "compare.hpp"
#include "input.hpp"
#include "manual/command_line.hpp"
#include "operations.hpp"

namespace cleave::cases {

namespace {

struct Tally {
  int passed = 0, failed = 0, skipped = 0;
  std::map<std::pair<std::string, std::string>, int>
      unknown;  // skipped cases by module and operation
};

/// The differences, a line each; empty if the answer is as expected.
std::vector<std::string> complaints(const Operation& operation, const Case& one) {
  std::optional<Error> error;
  JsonReader in(one.input, "input", error);
  refuse_null(one.input, in);
  const Json answer = operation.answer(in);
  if (error) return {error->text()};
  std::vector<std::string> lines;
  for (const Difference& difference : differences(one.expected, answer))
    lines.push_back(fmt::format("{}: expected {}, got {}", difference.path, difference.expected,
                                difference.got));
  return lines;
}

void run(const CaseFile& file, Tally& tally) {
  for (const Case& one : file.cases) {
    const Operation* operation = find_operation(file.module, one.op);
    if (operation == nullptr || (operation->beyond != nullptr && operation->beyond(one.input))) {
      ++tally.skipped;
      ++tally.unknown[{file.module, one.op}];
      continue;
    }
    const std::vector<std::string> lines = complaints(*operation, one);
    for (const std::string& line : lines) fmt::print("{}: {}\n", shown(one.id), line);
    ++(lines.empty() ? tally.passed : tally.failed);
  }
}

int report(const Error& error) {
  fmt::print(stderr, "cleave-cases: {}\n", error.text());
  return exit_code(error.kind);
}

int run_program(int argc, char** argv) {
  CommandLine program(
      "Computes reference cases with the library and compares every key that they expect.\n"
      "Prints a line for each difference and ends with: N passed, N failed, N skipped\n"
      "Exit status: 0 when none failed, 1 when one did, 2 when a file could not be read.",
      "cleave-cases");
  std::vector<std::string> paths;
  program
      .add_option("FILE", paths,
                  "Case files, {\"module\": M, \"cases\": [...]}; - is standard input")
      ->required();
  if (const auto end = program.parse(argc, argv)) return end->error ? report(*end->error) : 0;
  // Every file is read before any case is run, so that counts always cover all files.
  std::vector<CaseFile> files;
  for (const std::string& path : paths) {
    const auto text = read_text(path);
    if (!text) return report(text.error());
    auto file = parse_cases(*text, path == "-" ? "standard input" : shown(path, 200));
    if (!file) return report(file.error());
    files.push_back(std::move(*file));
  }
  Tally tally;
  for (const CaseFile& file : files) run(file, tally);
  for (const auto& [operation, count] : tally.unknown)
    fmt::print("skipped: {} {}: {} {}\n", shown(operation.first), shown(operation.second), count,
               count == 1 ? "case" : "cases");
  fmt::print("{} passed, {} failed, {} skipped\n", tally.passed, tally.failed, tally.skipped);
  return tally.failed > 0 ? 1 : 0;
}

}  // namespace

}  // namespace cleave::cases

int main(int argc, char** argv) {
  try {
    return cleave::cases::run_program(argc, argv);
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "cleave-cases: %s\n", exception.what());
    return 2;
  }
}
