#include "manual/command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <concepts>
#include <sstream>

#include "base/format.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "manual/help_text.hpp"
#include "manual/wrong_line.hpp"

namespace cleave {

namespace {

/// A check with a description, which help shows behind the value's type.
CLI::Validator described(std::string description, std::function<std::string(std::string&)> wrong) {
  return {std::move(wrong), std::move(description), ""};
}

template <typename T>
struct Value {
  using type = T;
};
template <typename T>
struct Value<std::optional<T>> {
  using type = T;
};
template <typename T>
struct Value<std::vector<T>> {
  using type = T;
};

/// What is wrong with a word that must be a T: CLI11 itself lets -5 wrap around and reads 010 as 8.
template <typename T>
std::string unreadable(const std::string& word) {
  constexpr std::string_view expected = std::floating_point<T>      ? "a number"
                                        : std::unsigned_integral<T> ? "a whole number of at least 0"
                                                                    : "a whole number";
  T number{};
  const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (failure == std::errc::result_out_of_range)
    return fmt::format("{} is too large or too small", shown(word));
  bool right = failure == std::errc() && end == word.data() + word.size();
  if constexpr (std::integral<T>) right = right && fmt::format("{}", number) == word;
  return right ? std::string() : fmt::format("expected {}, found '{}'", expected, shown(word));
}

}  // namespace

Check::Check(std::function<std::string(const std::string&)> wrong)
    : Check(CLI::Validator(
          [wrong = std::move(wrong)](const std::string& word) { return wrong(word); }, "", "")) {}

Check::Check(CLI::Validator validator)
    : validator_(std::make_shared<const CLI::Validator>(std::move(validator))) {}

Check Check::one_of(const std::vector<std::string>& choices) {
  return Check(
      described(fmt::format("{{{}}}", fmt::join(choices, ",")), [choices](const std::string& word) {
        return std::ranges::find(choices, word) != choices.end()
                   ? std::string()
                   : fmt::format("expected {}, found '{}'", any_of(choices), shown(word));
      }));
}

Check Check::range(std::int64_t low, std::int64_t high) {
  return Check(described(fmt::format("{} to {}", low, high), [low, high](const std::string& word) {
    const auto number = parse_integer(word);
    return number && *number >= low && *number <= high
               ? std::string()
               : fmt::format("expected a whole number from {} to {}, found '{}'", low, high,
                             shown(word));
  }));
}

Check Check::range(double low, double high) {
  return Check(described(fmt::format("{} to {}", low, high), [low, high](const std::string& word) {
    const auto number = parse_number(word);
    return number && *number >= low && *number <= high
               ? std::string()
               : fmt::format("expected a number from {} to {}, found '{}'", low, high, shown(word));
  }));
}

Option* Option::required() {
  given_->required();
  return this;
}

Option* Option::check(const Check& check) {
  given_->check(*check.validator_);
  return this;
}

Option* Option::default_str(const std::string& otherwise) {
  given_->default_str(otherwise);
  return this;
}

Option* Option::excludes(Option* other) {
  given_->excludes(other->given_);
  return this;
}

Option* Option::excludes(const std::string& other) {
  given_->excludes(other);
  return this;
}

Option* Option::needs(Option* other) {
  given_->needs(other->given_);
  return this;
}

Option* Option::needs(const std::string& other) {
  given_->needs(other);
  return this;
}

Option* Option::delimiter(char between) {
  given_->delimiter(between);
  return this;
}

Option* Option::type_name(const std::string& name) {
  given_->type_name(name);
  return this;
}

Option* Option::expected(int least, int most) {
  given_->expected(least, most);
  return this;
}

Option* Option::one_each_time() {
  given_->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  return this;
}

std::size_t Option::count() const {
  return given_->count();
}

std::string Option::name() const {
  return given_->get_name();
}

CommandLine::CommandLine(const std::string& what, const std::string& name)
    : owned_(std::make_unique<CLI::App>(what, name)), given_(owned_.get()) {
  given_->get_formatter()->label("Positionals", "Arguments");
  given_->get_formatter()->label("SUBCOMMAND", "COMMAND");
}

CommandLine::CommandLine(CLI::App& given) : given_(&given) {}

CommandLine::~CommandLine() = default;

CommandLine* CommandLine::add_subcommand(const std::string& name, const std::string& what) {
  commands_.push_back(
      std::unique_ptr<CommandLine>(new CommandLine(*given_->add_subcommand(name, what))));
  commands_.back()->given_->group("Commands");
  return commands_.back().get();
}

void CommandLine::require_subcommand() {
  given_->require_subcommand(1);
}

Option* CommandLine::keep(CLI::Option& option) {
  options_.push_back(std::make_unique<Option>(option));
  return options_.back().get();
}

template <typename T>
Option* CommandLine::add_option(const std::string& name, T& variable, const std::string& what) {
  CLI::Option& option = *given_->add_option(name, variable, what);
  using Kind = typename Value<T>::type;
  if constexpr (!std::same_as<Kind, std::string>) numbers_.emplace_back(&option, unreadable<Kind>);
  return keep(option);
}

template Option* CommandLine::add_option(const std::string&, std::string&, const std::string&);
template Option* CommandLine::add_option(const std::string&, int&, const std::string&);
template Option* CommandLine::add_option(const std::string&, unsigned&, const std::string&);
template Option* CommandLine::add_option(const std::string&, std::int64_t&, const std::string&);
template Option* CommandLine::add_option(const std::string&, std::uint64_t&, const std::string&);
template Option* CommandLine::add_option(const std::string&, double&, const std::string&);
template Option* CommandLine::add_option(const std::string&, std::optional<std::string>&,
                                         const std::string&);
template Option* CommandLine::add_option(const std::string&, std::optional<int>&,
                                         const std::string&);
template Option* CommandLine::add_option(const std::string&, std::optional<unsigned>&,
                                         const std::string&);
template Option* CommandLine::add_option(const std::string&, std::optional<std::int64_t>&,
                                         const std::string&);
template Option* CommandLine::add_option(const std::string&, std::optional<std::uint64_t>&,
                                         const std::string&);
template Option* CommandLine::add_option(const std::string&, std::optional<double>&,
                                         const std::string&);
template Option* CommandLine::add_option(const std::string&, std::vector<std::string>&,
                                         const std::string&);
template Option* CommandLine::add_option(const std::string&, std::vector<std::size_t>&,
                                         const std::string&);

Option* CommandLine::add_flag(const std::string& name, bool& variable, const std::string& what) {
  return keep(*given_->add_flag(name, variable, what));
}

void CommandLine::version_flag(const std::string& name, const std::string& version) {
  given_->set_version_flag(name, version);
}

void CommandLine::help_all_flag(const std::string& name, const std::string& what) {
  given_->set_help_all_flag(name, what);
}

void CommandLine::footer(const std::string& text) {
  given_->footer(text);
}

void CommandLine::callback(std::function<void()> act) {
  given_->callback(std::move(act));
}

void CommandLine::check_numbers() {
  for (const auto& [option, wrong] : numbers_) option->check(CLI::Validator(wrong, "", ""));
  numbers_.clear();
  for (const auto& command : commands_) command->check_numbers();
}

std::optional<LineEnd> CommandLine::parse(int argc, const char* const* argv) {
  check_numbers();
  try {
    given_->parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError& stop) {
    if (stop.get_exit_code() != 0) return LineEnd{wrong_line(*given_, stop)};
    std::ostringstream asked_for, errors;
    given_->exit(stop, asked_for, errors);
    fmt::print("{}", fitted_help(asked_for.str(), terminal_width()));
    return LineEnd{};
  }
}

std::size_t CommandLine::count(const std::string& option) const {
  return given_->count(option);
}

std::string CommandLine::version() const {
  return given_->version();
}

}  // namespace cleave
