#include "model/job_spec.hpp"

#include <algorithm>
#include <cctype>
#include <csignal>

#include "base/format.hpp"
#include "base/human_size.hpp"
#include "base/text.hpp"
#include "model/container_image.hpp"
#include "model/speed_table.hpp"

namespace cleave {

namespace {}  // namespace

JobKind kind_of(const JobSpec& spec) {
  if (spec.service) return JobKind::service;
  return spec.lease ? JobKind::lease : JobKind::batch;
}

HostAsk host_ask(const JobSpec& spec) {
  HostAsk ask;
  if (spec.cpus) ask.millicpus = millicpus(*spec.cpus);
  ask.memory = spec.host_memory;
  return ask;
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

bool is_told_to_save(const JobSpec& spec) {
  return spec.checkpoint_signal != 0 || !spec.checkpoint_command.empty();
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
          "{} with {}", human(*size.memory),
          counted(static_cast<std::size_t>(size.compute_slices->value), "compute slice"));
    if (size.memory) return human(*size.memory);
    if (size.model)
      return fmt::format("{}: {}", size.model->name.empty() ? "model" : size.model->name,
                         human(size.model->memory));
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

std::optional<WrongValue> wrong_shell_command(std::string_view command) {
  if (command.contains('\0')) return WrongValue{"it has a zero byte", {}};
  if (!command.empty() && command.find_first_not_of(" \t\n") == std::string_view::npos)
    return WrongValue{"it is blank", "give a command of the shell, or leave it out"};
  return std::nullopt;
}

std::optional<WrongValue> wrong_image(std::string_view image) {
  if (image.empty()) return std::nullopt;
  if (image_kind(image) != ImageKind::name) {
    if (is_mountable(image)) return std::nullopt;
    return WrongValue{fmt::format("'{}' cannot be given to a container program", shown(image)),
                      "the path has no colon, comma, quote or .., and no control characters"};
  }
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("._-/:@").contains(static_cast<char>(c));
  };
  if (std::isalnum(static_cast<unsigned char>(image.front())) != 0 &&
      std::ranges::all_of(image, is_plain))
    return std::nullopt;
  return WrongValue{
      fmt::format("'{}' is neither an absolute path nor the name of an image", shown(image)),
      "such as /images/train or localhost/train:2"};
}

std::optional<WrongValue> wrong_bind(std::string_view bind) {
  if (parse_bind(bind)) return std::nullopt;
  return WrongValue{fmt::format("'{}' cannot be mounted", shown(bind)),
                    "write HOST, HOST:INSIDE, or either with :ro; both are absolute paths without "
                    "colon, comma, quote or .., and INSIDE is no folder of the system's such as "
                    "/usr"};
}

}  // namespace cleave
