#pragma once
// Which functions of NVML only read, by their names, and which of them may be called with zeros.

#include "nvmlsim/function_rows.hpp"

namespace cleave::certify {

/// Whether a function with this name reads and changes nothing.
bool only_reads(std::string_view function);
/// All rows of functions that only read and that some library exports, by name.
std::vector<nvml::FunctionRow> reading_functions();
/// Whether the function can be asked about a GPU without knowing its structures: zeros in the place
/// of everything else are safe, and it answers at once.
bool may_be_called_blindly(const nvml::FunctionRow& row);

}  // namespace cleave::certify
