#pragma once
// What `cleave submit` was told, made into what the daemon is sent: the environment, the folder,
// signals by name, a model sized from its file.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/documents.hpp"
#include "cli/command.hpp"

namespace cleave::cli {

struct SubmitArguments {
  std::string profile, memory, model, precision;
  std::optional<std::int64_t> compute_slices, batch, context, out_of_memory_code;
  bool train = false;
  std::string name, cwd, application, checkpoint_signal;
  std::int64_t priority = 0, retries = 0;
  std::optional<double> deadline, checkpoint_grace, stop_grace, expected;
  std::vector<std::string> environment;  // --env
  bool clean_environment = false, restartable = false, movable = false;

  void add(CommandLine& command);
};

/// The command's environment: of `all` ("NAME=value") everything, or with `clean` what names the
/// user and the language; then what `given` sets or, without "=", passes on. What says on which GPU
/// a program runs, or of which job it is, is the daemon's to say and left out, and so is what is
/// not UTF-8, which JSON cannot carry; the names of these are put into `left_out`.
[[nodiscard]] Result<std::vector<std::string>> environment_of(std::span<const std::string> all,
                                                              std::span<const std::string> given,
                                                              bool clean,
                                                              std::vector<std::string>& left_out);

/// "USR1", "SIGUSR1" or "10"
[[nodiscard]] Result<int> signal_of(const std::string& text);

/// Reads and sizes the model, if there is one. `left_out` as above.
[[nodiscard]] Result<ApiSubmission> submission_of(const SubmitArguments& given,
                                                  const std::vector<std::string>& command,
                                                  std::vector<std::string>& left_out);

/// An error of the daemon's about a key of the submission, said of the option that the key came
/// from.
[[nodiscard]] Error of_its_option(Error error);

}  // namespace cleave::cli
