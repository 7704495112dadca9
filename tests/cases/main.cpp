// `cleave-cases FILE...`: the library against reference cases. Prints a line for each difference and, last,
// how many cases passed, failed and were skipped (an operation that is not known here yet, named). Exit 1
// when any failed, 2 when a file cannot be read or is not a case file.

#include <cstdio>
#include <map>

#include "base/format.hpp"
#include "base/text.hpp"
#include "compare.hpp"
#include "operations.hpp"
#include "simulate/read_text.hpp"

namespace cleave::cases {

namespace {

struct Tally {
  std::size_t passed = 0, failed = 0, skipped = 0;
  std::map<std::string, std::size_t> unknown;  // operations, with the number of their cases
};

const Operation* find_operation(const std::string& module, const std::string& name) {
  for (const auto operations :
       {geometry_operations(), reachability_operations(), fragmentation_operations(), online_operations()})
    for (const Operation& operation : operations)
      if (operation.module == module && operation.name == name) return &operation;
  return nullptr;
}

/// The answer; whatever is wrong with a case's input becomes its error.
Result<Json> answer(const Operation& operation, const Json& input) {
  try {
    return operation.answer(input);
  } catch (const Json::exception& exception) {
    return fail(ErrorKind::bad_input, "input", exception.what());
  }
}

void run_case(const std::string& module, const Json& one, Tally& tally) {
  const std::string id = one.at("id").get<std::string>();
  const std::string name = one.at("op").get<std::string>();
  const Operation* operation = find_operation(module, name);
  // Cases that ask for a formula other than the default one are for other readings of the paper.
  const std::string formula = one.at("input").value("formula", "ratio");
  if (operation == nullptr || formula != "ratio") {
    ++tally.skipped;
    ++tally.unknown[module + " " + name + (operation == nullptr ? "" : " with formula " + formula)];
    return;
  }
  const auto got = answer(*operation, one.at("input"));
  std::vector<std::string> found;
  if (got) {
    found = differences(one.at("expected"), *got);
  } else {
    found.push_back(got.error().text());
  }
  ++(found.empty() ? tally.passed : tally.failed);
  for (const std::string& line : found) fmt::print("{} ({} {}): {}\n", shown(id), module, shown(name), line);
}

Result<void> run_file(const std::string& path, Tally& tally) {
  const auto text = read_text(path);
  if (!text) return std::unexpected(text.error());
  const auto document = parse_json(*text, path);
  if (!document) return std::unexpected(document.error());
  try {
    for (const Json& one : document->at("cases"))
      run_case(document->at("module").get<std::string>(), one, tally);
  } catch (const Json::exception& exception) {
    return fail(ErrorKind::bad_input, path, fmt::format("not a case file: {}", exception.what()));
  }
  return {};
}

int run(int argc, char** argv) {
  Tally tally;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--help") {
      fmt::print(
          "cleave-cases FILE...: compares the library's answers with the reference cases in the files\n");
      return 0;
    }
    if (const auto done = run_file(argv[i], tally); !done) {
      fmt::print(stderr, "cleave-cases: {}\n", done.error().text());
      return 2;
    }
  }
  if (argc < 2) {
    fmt::print(stderr, "cleave-cases: no file was named; write cleave-cases FILE...\n");
    return 2;
  }
  for (const auto& [operation, count] : tally.unknown)
    fmt::print("skipped: {} ({} cases)\n", operation, count);
  fmt::print("{} passed, {} failed, {} skipped\n", tally.passed, tally.failed, tally.skipped);
  return tally.failed == 0 ? 0 : 1;
}

}  // namespace

}  // namespace cleave::cases

int main(int argc, char** argv) {
  return cleave::cases::run(argc, argv);
}
