#pragma once
// The options of `cleave submit` and the submission they become. Most follow from the rows of the
// submission's table (model/job_spec.hpp): name, help, bounds, usual value. What a command line
// gives in another way than the socket does is done here: the environment, the directory, sizes
// with units, signals by name, a model that is sized from its file.

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/documents.hpp"
#include "cli/command.hpp"

namespace cleave::cli {

/// What `cleave submit` was told about the job. Lives until the line has been parsed.
class SubmitOptions {
 public:
  void add(CommandLine& command);

  /// What "ok:train" or "any:12_1-5" means in numbers: "ok:12", "any:12-16".
  using Resolve = std::function<Result<std::vector<std::string>>(const std::string&)>;
  /// The submission as the daemon takes it, within the bounds of its table. Reads and sizes the
  /// model, if there is one; asks `resolve` of what the job comes after. `left_out`: as of
  /// environment_of.
  [[nodiscard]] Result<Json> document(const std::vector<std::string>& command,
                                      const Resolve& resolve,
                                      std::vector<std::string>& left_out) const;
  /// What the times that were given say of other profiles, for people; empty where none were.
  [[nodiscard]] std::string times_remark() const;

 private:
  static constexpr const auto& rows = field_infos<Submission>;

  Option* add_row(CommandLine& command, std::size_t row);
  void add_model_options(CommandLine& command, Option* model);
  void add_kind_options(CommandLine& command, Option* service, Option* lease);
  [[nodiscard]] const std::string& text_of(std::string_view key) const;
  [[nodiscard]] Result<void> put_model(Json& to) const;
  [[nodiscard]] Result<void> put_lease(Json& to) const;
  [[nodiscard]] Result<void> put_instances(Json& to, const std::string& text) const;
  [[nodiscard]] Result<void> put_row(Json& to, std::size_t row) const;
  [[nodiscard]] Result<void> put_after(Json& to, const Resolve& resolve) const;

  std::array<std::string, rows.size()> texts_;  // by row; empty: not given
  std::array<bool, rows.size()> flags_{};
  std::vector<std::string> environment_;  // --env
  std::vector<std::string> binds_;        // --bind
  bool clean_environment_ = false, train_ = false;
  std::string precision_;
  std::optional<std::int64_t> context_, replicas_;
  std::string starts_within_, idle_after_, then_, idle_memory_;  // of a lease
};

/// What is passed on of the caller's environment.
enum class PassedOn : std::uint8_t {
  all,
  user,       // what names the user and the language
  container,  // of these, what says nothing of this machine's files
};

/// The command's environment: of `all` ("NAME=value") what is `passed` on; then what `given` sets
/// or, without "=", passes on. Variables that the daemon sets for each run are left out, and so are
/// those that are not UTF-8, which JSON cannot carry; the names of the latter are put into
/// `left_out`.
[[nodiscard]] Result<std::vector<std::string>> environment_of(std::span<const std::string> all,
                                                              std::span<const std::string> given,
                                                              PassedOn passed,
                                                              std::vector<std::string>& left_out);

/// What --image names: a path is made absolute, and is there; anything else is a name.
[[nodiscard]] Result<std::string> image_of(const std::string& text);
/// What --bind says, with its path on this machine made absolute; it is there.
[[nodiscard]] Result<std::string> bind_of(const std::string& text);

/// "USR1", "SIGUSR1" or "10"
[[nodiscard]] Result<int> signal_of(const std::string& text);

/// An error about a key of the submission, from here or from the daemon, with the option that sets
/// the key as its place.
[[nodiscard]] Error of_its_option(Error error);

}  // namespace cleave::cli
