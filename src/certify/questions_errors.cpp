// Which functions a library has, and which error comes first. Only functions that read are called,
// with arguments that are right, zero or missing: no invented handle, no function that sets, makes,
// resets or removes anything.

#include <dlfcn.h>

#include <bit>

#include "base/format.hpp"
#include "certify/questions.hpp"
#include "certify/reading_functions.hpp"

namespace cleave::certify {

using nvml::FunctionRow;
using nvml::FunctionState;

namespace {

using Arguments = std::array<std::uint64_t, nvml::most_arguments>;

;

/// All arguments as they should be: handles are the GPU's, pointers lead to zeros.
Arguments right(const FunctionRow& row, nvml::Device device, nvml::ArgumentRooms& rooms) {
  Arguments arguments{};
  for (std::size_t i = 0; i < row.shape.size(); ++i) {
    if (nvml::is_gpu(row.shape[i])) arguments[i] = std::bit_cast<std::uint64_t>(device);
    if (row.shape[i] == 'P' || row.shape[i] == 'o') arguments[i] = rooms.at(i);
  }
  return arguments;
}

/// Calls a function with numbers and pointers as they would be in registers.
Told call(void* function, const Arguments& a) {
  using Function = nvml::Return (*)(std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t,
                                    std::uint64_t, std::uint64_t);
  const nvml::Return code =
      reinterpret_cast<Function>(function)(a[0], a[1], a[2], a[3], a[4], a[5]);
  return {code, {}};
}

void probe(Asking& asking, void* library, Topic topic, const FunctionRow& row,
           const std::string& about, const Arguments& arguments) {
  void* const function = ::dlsym(library, row.name.c_str());
  if (function == nullptr) return;  // Topic::functions says so
  asking.ask(topic, row.name.c_str(), true, about, [&] { return call(function, arguments); });
}

}  // namespace

void ask_functions(Asking& asking, void* library) {
  for (const FunctionRow& row : nvml::function_rows()) {
    Answer answer{Topic::functions, row.name, "", Outcome::absent, {}, {}, {}};
    if (::dlsym(library, row.name.c_str()) != nullptr) answer.outcome = Outcome::answered;
    asking.tell(answer);
  }
}

void ask_closed(Asking& asking, void* library) {
  nvml::ArgumentRooms rooms;
  for (const FunctionRow& row : reading_functions())
    probe(asking, library, Topic::errors, row, "before nvmlInit", right(row, nullptr, rooms));
}

void ask_errors(Asking& asking, void* library, const Subject& subject) {
  nvml::ArgumentRooms rooms;
  for (const FunctionRow& row : reading_functions()) {
    const bool simulated = row.state == FunctionState::real;
    if (nvml::is_gpu(row.shape.front()))
      probe(asking, library, Topic::errors, row, "without a GPU", right(row, nullptr, rooms));
    for (std::size_t i = 0; simulated && i < row.shape.size(); ++i) {
      if (row.shape[i] != 'P' || row.shape.find_first_of("GCES") != std::string::npos) continue;
      Arguments arguments = right(row, subject.device, rooms);
      arguments[i] = 0;
      probe(asking, library, Topic::errors, row, fmt::format("without argument {}", i + 1),
            arguments);
    }
    if (!simulated && may_be_called_blindly(row))
      probe(asking, library, Topic::unsupported, row, "", right(row, subject.device, rooms));
  }
}

}  // namespace cleave::certify
