#include "model/job_spec.hpp"

#include <csignal>

#include "base/format.hpp"
#include "base/text.hpp"
#include "model/speed_table.hpp"

namespace cleave {

namespace {

std::string size_in_words(MiB memory) {
  if (memory.value % 1024 == 0) return fmt::format("{} GiB", memory.value / 1024);
  if (memory.value >= 1024)
    return fmt::format("{:.1f} GiB", static_cast<double>(memory.value) / 1024);
  return fmt::format("{} MiB", memory.value);
}

}  // namespace

JobKind kind_of(const JobSpec& spec) {
  if (spec.service) return JobKind::service;
  return spec.lease ? JobKind::lease : JobKind::batch;
}

bool may_be_restarted(const JobSpec& spec) {
  return spec.restartable || spec.progress == Keeps::stateless ||
         spec.progress == Keeps::checkpoint;
}

bool may_be_moved(const JobSpec& spec) {
  return spec.movable || spec.progress == Keeps::stateless || moves_by_checkpoint(spec);
}

bool moves_by_checkpoint(const JobSpec& spec) {
  return spec.progress == Keeps::checkpoint;
}

Request request_of(const AskedSize& size) {
  const auto of_one = [&]() -> Request {
    if (size.profile) return {ByProfile{*size.profile}, {}};
    if (size.memory)
      return {BySize{*size.memory, size.compute_slices.value_or(ComputeSlices{0})}, {}};
    if (size.model) return {BySize{size.model->memory, ComputeSlices{0}}, {}};
    return {Unknown{}, {}};
  };
  return request_of(size, of_one());
}

std::string in_words(const AskedSize& size) {
  const auto of_one = [&]() -> std::string {
    if (size.profile) return *size.profile;
    if (size.memory && size.compute_slices)
      return fmt::format(
          "{} with {}", size_in_words(*size.memory),
          counted(static_cast<std::size_t>(size.compute_slices->value), "compute slice"));
    if (size.memory) return size_in_words(*size.memory);
    if (size.model)
      return fmt::format("{}: {}", size.model->name.empty() ? "model" : size.model->name,
                         size_in_words(size.model->memory));
    return "nothing";
  };
  return in_words(size, of_one());
}

std::optional<WrongValue> wrong_job_name(std::string_view name) {
  if (name.empty()) return std::nullopt;
  if (!fit_for_a_name(name))
    return WrongValue{fmt::format("'{}' has control characters", shown(name)), ""};
  if (parse_integer(name))
    return WrongValue{fmt::format("'{}' is a number", shown(name)), "choose another name"};
  if (trimmed(name).empty()) return WrongValue{"it consists of blanks", "choose another name"};
  return std::nullopt;
}

std::optional<WrongValue> wrong_timed_profile(std::string_view name) {
  const auto known = check_column(name, "");
  if (known) return std::nullopt;
  return WrongValue{known.error().message, known.error().remedy};
}

std::optional<WrongValue> wrong_directory(std::string_view directory) {
  if (directory.starts_with('/')) return std::nullopt;
  return WrongValue{"expected an absolute path", ""};
}

std::optional<WrongValue> wrong_variable(std::string_view variable) {
  if (const auto equals = variable.find('='); equals != 0 && equals != std::string_view::npos)
    return std::nullopt;
  return WrongValue{fmt::format("'{}' is not NAME=value", shown(variable)), ""};
}

std::optional<WrongValue> wrong_checkpoint_signal(std::int64_t signal) {
  if (signal != SIGKILL && signal != SIGSTOP) return std::nullopt;
  return WrongValue{"no program can catch KILL or STOP", "USR1, which is 10, is the usual one"};
}

}  // namespace cleave
