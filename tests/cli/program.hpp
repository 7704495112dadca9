#pragma once
// Runs the real program as a user would and keeps its output.

#include <filesystem>
#include <string>

#include "base/temporary_folder_test.hpp"

namespace cleave::testing_program {

/// How a command ended.
struct Outcome {
  std::string command;
  int exit_code = -1;  // 128 + signal if a signal ended it
  std::string out, err;
};

/// `command` goes to the shell in the repository's root, with the built programs first on the path.
Outcome shell(const std::string& command);

/// The same for `cleave`, arguments as the shell reads them.
inline Outcome cleave(const std::string& arguments) {
  return shell("cleave " + arguments);
}

/// What a file has; nothing where there is none.
[[nodiscard]] std::string text_of(const std::filesystem::path& file);

/// A folder of its own for one test, removed at the end.
class Scratch {
 public:
  /// Writes a file and returns its path.
  std::string write(const std::string& name, const std::string& content) const;
  [[nodiscard]] std::string path(const std::string& name) const {
    return folder_.path().string() + "/" + name;
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace cleave::testing_program
