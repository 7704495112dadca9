#include "manual/command_line.hpp"

#include <CLI/CLI.hpp>

namespace cleave {

Check::Check(std::function<std::string(const std::string&)> wrong)
    : Check(CLI::Validator(
          [wrong = std::move(wrong)](const std::string& word) { return wrong(word); }, "", "")) {}

Check::Check(CLI::Validator validator)
    : validator_(std::make_shared<const CLI::Validator>(std::move(validator))) {}

Check Check::one_of(const std::vector<std::string>& choices) {
  return Check(CLI::IsMember(choices));
}

Check Check::range(std::int64_t low, std::int64_t high) {
  return Check(CLI::Range(low, high));
}

Check Check::range(double low, double high) {
  return Check(CLI::Range(low, high));
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
    : owned_(std::make_unique<CLI::App>(what, name)), given_(owned_.get()) {}

CommandLine::CommandLine(CLI::App& given) : given_(&given) {}

CommandLine::~CommandLine() = default;

CommandLine* CommandLine::add_subcommand(const std::string& name, const std::string& what) {
  commands_.push_back(
      std::unique_ptr<CommandLine>(new CommandLine(*given_->add_subcommand(name, what))));
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
  return keep(*given_->add_option(name, variable, what));
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

std::optional<LineEnd> CommandLine::parse(int argc, const char* const* argv) {
  try {
    given_->parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError& stop) {
    LineEnd end{stop.get_exit_code(), stop.what(), given_->get_name()};
    if (end.code == 0) given_->exit(stop);  // prints what was asked for
    for (const CLI::App* at = given_; !at->get_subcommands().empty();) {
      at = at->get_subcommands().front();
      end.command += " " + at->get_name();
    }
    return end;
  }
}

std::size_t CommandLine::count(const std::string& option) const {
  return given_->count(option);
}

std::string CommandLine::version() const {
  return given_->version();
}

}  // namespace cleave
