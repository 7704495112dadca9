#pragma once
// What documents and help show: scheduler specs, command lines and configurations, found in text.

#include <string>
#include <vector>

namespace cleave::testing_shown {

/// "NAME:key=value;key=value", as in `online:threshold=0.4`.
std::vector<std::string> specs_in(const std::string& text);

/// "key=value" in back quotes, as in `shares=equal`.
std::vector<std::string> options_in(const std::string& text);

/// The calls of our programs in lines that are to be typed: those in fenced blocks of Markdown, or
/// where `help` is true, indented ones. Each ends where the shell would end it or redirects it.
std::vector<std::string> calls_in(const std::string& text, bool help);

/// The calls of our programs within sentences, in back quotes.
std::vector<std::string> mentions_in(const std::string& text);

/// Long options that stand alone in back quotes: "--seeds" of `--seeds 20`.
std::vector<std::string> lone_options_in(const std::string& text);

/// The command words of a mention, once for each way to read "deploy|compact".
std::vector<std::string> commands_of(const std::string& mention);

/// The long options of a mention: "--fleet".
std::vector<std::string> long_options_of(const std::string& mention);

/// A sample configuration with its values in force: "#key = value" without the "#".
std::string with_values(const std::string& sample);

}  // namespace cleave::testing_shown
