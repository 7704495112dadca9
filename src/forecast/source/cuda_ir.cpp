#include "forecast/source/cuda_ir.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "base/demangle.hpp"
#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

/// How a call's arguments give its size: the product of `factors` of them from `first` on.
struct AllocationRow {
  std::string_view call, shown;
  SourceMemory memory;
  std::size_t first, factors;  // no factor: the size is behind a pointer
  bool pitched = false;        // rows begin at multiples of the pitch
};

// The runtime passes extents and formats in memory; Cleave's own header passes their numbers.
constexpr AllocationRow allocation_rows[] = {
    {"cudaMalloc", "cudaMalloc", SourceMemory::device, 1, 1},
    {"cudaMallocManaged", "cudaMallocManaged", SourceMemory::managed, 1, 1},
    {"cudaMallocHost", "cudaMallocHost", SourceMemory::pinned, 1, 1},
    {"cudaHostAlloc", "cudaHostAlloc", SourceMemory::pinned, 1, 1},
    {"cudaMallocPitch", "cudaMallocPitch", SourceMemory::device, 2, 2, true},
    {"cudaMalloc3D", "cudaMalloc3D", SourceMemory::device, 0, 0},
    {"cleave_cudaMalloc3D", "cudaMalloc3D", SourceMemory::device, 1, 3, true},
    {"cudaMallocArray", "cudaMallocArray", SourceMemory::array, 0, 0},
    {"cleave_cudaMallocArray", "cudaMallocArray", SourceMemory::array, 1, 3},
    {"cudaMalloc3DArray", "cudaMalloc3DArray", SourceMemory::array, 0, 0},
    {"cleave_cudaMalloc3DArray", "cudaMalloc3DArray", SourceMemory::array, 1, 4},
    {"cudaMallocAsync", "cudaMallocAsync", SourceMemory::device, 1, 1},
    {"cudaMallocFromPoolAsync", "cudaMallocFromPoolAsync", SourceMemory::device, 1, 1},
    {"cuMemAlloc_v2", "cuMemAlloc", SourceMemory::device, 1, 1},
    {"cuMemAllocPitch_v2", "cuMemAllocPitch", SourceMemory::device, 2, 2, true},
    {"cuMemAllocManaged", "cuMemAllocManaged", SourceMemory::managed, 1, 1},
    {"cuMemAllocHost_v2", "cuMemAllocHost", SourceMemory::pinned, 1, 1},
    {"cuMemHostAlloc", "cuMemHostAlloc", SourceMemory::pinned, 1, 1},
    {"cuMemAllocAsync", "cuMemAllocAsync", SourceMemory::device, 1, 1},
    {"cuMemAllocFromPoolAsync", "cuMemAllocFromPoolAsync", SourceMemory::device, 1, 1},
    {"cuMemCreate", "cuMemCreate", SourceMemory::device, 1, 1},
    {"cuArrayCreate_v2", "cuArrayCreate", SourceMemory::array, 0, 0},
    {"cuArray3DCreate_v2", "cuArray3DCreate", SourceMemory::array, 0, 0}};

constexpr std::string_view free_calls[] = {"cudaFree",       "cudaFreeHost", "cudaFreeArray",
                                           "cudaFreeAsync",  "cuMemFree_v2", "cuMemFreeHost",
                                           "cuMemFreeAsync", "cuMemRelease", "cuArrayDestroy"};

constexpr std::string_view stub_mark = "__device_stub__";

/// A call in one line of IR.
struct Call {
  std::string_view callee;
  std::vector<std::string_view> arguments;  // with their types
};

bool is_of_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '$' || c == '-';
}

/// The name behind the '@' at `at`, without quotes; `at` then is behind it.
std::string_view name_behind(std::string_view line, std::size_t& at) {
  ++at;
  if (at < line.size() && line[at] == '"') {
    const std::size_t begin = at + 1, end = std::min(line.find('"', begin), line.size());
    at = std::min(end + 1, line.size());
    return line.substr(begin, end - begin);
  }
  const std::size_t begin = at;
  while (at < line.size() && is_of_name(line[at])) ++at;
  return line.substr(begin, at - begin);
}

/// Calls `use(name, behind it)` for each global name of the line, until it returns false.
template <class Use>
void each_name(std::string_view line, Use use) {
  for (std::size_t at = 0; at < line.size();) {
    if (line[at] == '"') {
      const std::size_t end = line.find('"', at + 1);
      if (end == std::string_view::npos) return;
      at = end + 1;
    } else if (line[at] != '@') {
      ++at;
    } else {
      const std::string_view found = name_behind(line, at);
      if (!found.empty() && !use(found, at)) return;
    }
  }
}

/// What stands between the parenthesis at `open` and its partner, split at its commas.
std::vector<std::string_view> arguments_at(std::string_view line, std::size_t open) {
  constexpr std::size_t most = 64;  // no call that is known has as many
  std::vector<std::string_view> all;
  std::size_t begin = open + 1;
  int depth = 0;
  for (std::size_t at = open; at < line.size() && all.size() < most; ++at) {
    const char c = line[at];
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (depth == 0 || (depth == 1 && c == ',')) {
      all.push_back(trimmed(line.substr(begin, at - begin)));
      begin = at + 1;
    }
    if (depth == 0) return all;
  }
  return {};  // it does not end
}

std::optional<Call> call_in(std::string_view line) {
  const std::string_view words = trimmed(line);
  std::size_t verb = std::string_view::npos;
  for (const std::string_view each : {"call ", "invoke "})
    if (const std::size_t at = words.find(each);
        at != std::string_view::npos && (at == 0 || words[at - 1] == ' '))
      verb = std::min(verb, at);
  if (verb == std::string_view::npos) return std::nullopt;
  std::optional<Call> call;
  each_name(words.substr(verb), [&](std::string_view callee, std::size_t behind) {
    const std::string_view rest = words.substr(verb);
    if (behind < rest.size() && rest[behind] == '(')
      call = Call{callee, arguments_at(rest, behind)};
    return false;
  });
  return call;
}

/// A constant in 64 bits as it lies in memory.
std::optional<std::uint64_t> constant(const Call& call, std::size_t index) {
  if (index >= call.arguments.size()) return std::nullopt;
  const std::string_view argument = call.arguments[index];
  if (!argument.starts_with('i')) return std::nullopt;
  const std::size_t space = argument.rfind(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const auto value = parse_integer(argument.substr(space + 1));
  return value ? std::optional(static_cast<std::uint64_t>(*value)) : std::nullopt;
}

/// A size in bytes, or another that the runtime would not accept: those are unknown.
std::optional<std::int64_t> size_at(const Call& call, std::size_t index) {
  const auto value = constant(call, index);
  if (!value || *value > static_cast<std::uint64_t>(INT64_MAX)) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

std::optional<std::int64_t> bytes_of(const Call& call, const AllocationRow& row) {
  constexpr std::int64_t pitch = 512;  // as the runtime aligns rows on these GPUs
  std::optional<std::int64_t> bytes;
  for (std::size_t i = 0; i < row.factors; ++i) {
    auto size = size_at(call, row.first + i);
    if (!size) return std::nullopt;
    if (row.pitched && i == 0) {
      if (*size > INT64_MAX - pitch) return std::nullopt;
      size = (*size + pitch - 1) / pitch * pitch;
    }
    // Arrays of fewer dimensions have zeros for the others.
    if (row.memory == SourceMemory::array) size = std::max<std::int64_t>(*size, 1);
    std::int64_t product = 0;
    if (__builtin_mul_overflow(bytes.value_or(1), *size, &product)) return std::nullopt;
    bytes = product;
  }
  return bytes;
}

/// A dim3 in two arguments: x and y in one, z behind it.
std::optional<SourceShape> shape_at(const Call& call, std::size_t index) {
  const auto xy = constant(call, index), z = constant(call, index + 1);
  if (!xy || !z) return std::nullopt;
  const SourceShape shape{static_cast<std::uint32_t>(*xy), static_cast<std::uint32_t>(*xy >> 32),
                          static_cast<std::uint32_t>(*z)};
  // An empty grid does not run.
  if (std::ranges::count(shape, 0U) > 0) return std::nullopt;
  return shape;
}

/// Three arguments.
std::optional<SourceShape> plain_shape_at(const Call& call, std::size_t index) {
  SourceShape shape{};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto size = constant(call, index + i);
    if (!size || static_cast<std::uint32_t>(*size) == 0) return std::nullopt;
    shape[i] = static_cast<std::uint32_t>(*size);
  }
  return shape;
}

/// The kernel whose host stub is called or named; empty if it is none.
std::string kernel_of(std::string_view text) {
  std::string kernel;
  each_name(text, [&](std::string_view found, std::size_t) {
    kernel = in_source(std::string(found));
    if (const std::size_t mark = kernel.find(stub_mark); mark != std::string::npos)
      kernel.erase(mark, stub_mark.size());
    return false;
  });
  return kernel;
}

/// Reads the lines of one function.
class FunctionReader {
 public:
  explicit FunctionReader(std::string_view name)
      : is_stub_(name.find(stub_mark) != std::string_view::npos) {
    function_.name = name;
  }

  void read(std::string_view line) {
    each_name(line, [&](std::string_view found, std::size_t) {
      references_.emplace(found);
      return true;
    });
    if (const auto call = call_in(line)) read(*call);
  }

  [[nodiscard]] SourceFunction finished() && {
    function_.references.assign(references_.begin(), references_.end());
    return std::move(function_);
  }

 private:
  void read(const Call& call) {
    std::string_view callee = call.callee;
    if (callee.ends_with("_ptsz")) callee.remove_suffix(5);
    const auto* const row = std::ranges::find(allocation_rows, callee, &AllocationRow::call);
    if (row != std::end(allocation_rows))
      function_.allocations.push_back({row->shown, row->memory, bytes_of(call, *row)});
    else if (std::ranges::count(free_calls, callee) > 0)
      ++function_.frees;
    else if (!is_stub_)  // where every launch of a kernel ends
      read_launch(call, callee);
  }

  void read_launch(const Call& call, std::string_view callee) {
    if (callee == "cudaConfigureCall" || callee == "__cudaPushCallConfiguration") {
      shape_ = {{}, shape_at(call, 0), shape_at(call, 2), size_at(call, 4)};
      ++waiting_;
    } else if (callee.find(stub_mark) != std::string_view::npos) {
      launch("@\"" + std::string(callee) + "\"", {});
    } else if (callee == "cudaLaunch" && !call.arguments.empty()) {
      launch(call.arguments[0], {});
    } else if (callee == "cudaLaunchKernel" || callee == "cudaLaunchCooperativeKernel") {
      if (call.arguments.empty()) return;
      launch(call.arguments[0], {{}, shape_at(call, 1), shape_at(call, 3), size_at(call, 6)});
    } else if (callee == "cudaLaunchKernelExC") {
      launch(call.arguments.size() > 1 ? call.arguments[1] : std::string_view(), {});
    } else if (callee == "cuLaunchKernel" || callee == "cuLaunchCooperativeKernel") {
      launch({}, {{}, plain_shape_at(call, 1), plain_shape_at(call, 4), size_at(call, 7)});
    }
  }

  /// With the configuration before it, or else with `own`. Where two are open, the compiler has
  /// moved code, and which one belongs here is not known.
  void launch(std::string_view kernel, const SourceLaunch& own) {
    SourceLaunch found = waiting_ == 0 ? own : waiting_ == 1 ? shape_ : SourceLaunch{};
    if (waiting_ > 0) --waiting_;
    if (waiting_ > 0) shape_ = {};
    found.kernel = kernel_of(kernel);
    function_.launches.push_back(std::move(found));
  }

  SourceFunction function_;
  std::set<std::string, std::less<>> references_;
  SourceLaunch shape_;
  std::size_t waiting_ = 0;  // configurations without their launch
  bool is_stub_;
};

}  // namespace

std::string_view name(SourceMemory memory) {
  constexpr std::string_view names[] = {"device", "managed", "array", "pinned"};
  return names[static_cast<std::size_t>(memory)];
}

std::vector<std::string_view> known_allocation_calls() {
  std::vector<std::string_view> all;
  for (const AllocationRow& row : allocation_rows) all.push_back(row.call);
  return all;
}

Result<SourceModule> read_cuda_ir(std::string_view text, const std::string& place) {
  SourceModule module;
  std::optional<FunctionReader> reader;
  std::size_t number = 0;
  bool is_ir = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    ++number;
    if (line.starts_with("define ")) {
      if (reader)
        return fail(ErrorKind::bad_input, fmt::format("{}: line {}", place, number),
                    "a function begins within another", "compile the source again");
      each_name(line, [&](std::string_view found, std::size_t) {
        reader.emplace(found);
        return false;
      });
    } else if (reader && line.starts_with('}')) {
      module.functions.push_back(std::move(*reader).finished());
      reader.reset();
    } else if (reader) {
      reader->read(line);
    } else if (line.starts_with('@')) {
      each_name(line, [&](std::string_view found, std::size_t) {
        module.roots.emplace_back(found);
        return true;
      });
    }
    is_ir = is_ir || line.starts_with("source_filename = ");
  }
  if (reader)
    return fail(ErrorKind::bad_input, place, "the last function of the LLVM IR does not end",
                "compile the source again");
  if (!is_ir)
    return fail(ErrorKind::bad_input, place, "this is not LLVM IR in text",
                "have clang write it with -S -emit-llvm");
  return module;
}

void keep_what_main_reaches(std::vector<SourceModule>& modules) {
  std::multimap<std::string_view, const SourceFunction*> by_name;
  for (const SourceModule& module : modules)
    for (const SourceFunction& function : module.functions)
      by_name.emplace(function.name, &function);
  if (!by_name.contains("main")) return;
  std::set<std::string_view> reached{"main"};
  std::vector<std::string_view> next{"main"};
  const auto reach = [&](const std::string& found) {
    if (by_name.contains(found) && reached.insert(found).second) next.emplace_back(found);
  };
  for (const SourceModule& module : modules) std::ranges::for_each(module.roots, reach);
  while (!next.empty()) {
    const auto [begin, end] = by_name.equal_range(next.back());
    next.pop_back();
    for (auto each = begin; each != end; ++each)
      std::ranges::for_each(each->second->references, reach);
  }
  // The names lie in the functions, which go: first what stays, then the rest.
  std::set<std::string> kept(reached.begin(), reached.end());
  for (SourceModule& module : modules)
    std::erase_if(module.functions,
                  [&](const SourceFunction& function) { return !kept.contains(function.name); });
}

}  // namespace cleave
