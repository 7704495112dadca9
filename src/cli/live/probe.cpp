// `cleave probe`: measures what a GPU or GPU instance really has, by a CUDA program that this
// command compiles and runs where it can.

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/read_text.hpp"
#include "base/text.hpp"
#include "base/work_folder.hpp"
#include "cli/child_program.hpp"
#include "cli/command.hpp"
#include "cli/live/probe_source.hpp"

namespace cleave::cli {

namespace {

namespace fs = std::filesystem;

struct ProbeCommandOptions {
  std::string compiler, source;
  bool json = false;
};

/// What the probe prints; rates in GiB/s.
struct Measured {
  std::string name;
  double sms = 0, sms_reported = 0, memory_mib = 0, local = 0, engines_to_device = 0,
         engines_to_host = 0, direct_to_device = 0, direct_to_host = 0;
};

struct ProbeRow {
  std::string_view key, title;
  double Measured::*value;
  int digits;
};
constexpr std::array<ProbeRow, 8> rows = {
    {{"sms", "SMs, measured", &Measured::sms, 0},
     {"sms_reported", "SMs, reported", &Measured::sms_reported, 0},
     {"memory_mib", "memory, MiB", &Measured::memory_mib, 0},
     {"local", "memory, GiB/s", &Measured::local, 1},
     {"engines_to_device", "from the host by copy engines, GiB/s", &Measured::engines_to_device, 1},
     {"engines_to_host", "to the host by copy engines, GiB/s", &Measured::engines_to_host, 1},
     {"direct_to_device", "from the host by kernels, GiB/s", &Measured::direct_to_device, 1},
     {"direct_to_host", "to the host by kernels, GiB/s", &Measured::direct_to_host, 1}}};

/// A program in PATH, or in bin/ of CUDA_HOME; empty if there is none.
std::string find_program(const std::string& name) {
  std::vector<std::string> folders;
  if (const char* home = std::getenv("CUDA_HOME"); home != nullptr)
    folders.push_back((fs::path(home) / "bin").string());
  if (const char* path = std::getenv("PATH"); path != nullptr)
    for (const std::string_view folder : split(path, ':')) folders.emplace_back(folder);
  for (const std::string& folder : folders) {
    const fs::path program = fs::path(folder) / name;
    if (!folder.empty() && ::access(program.c_str(), X_OK) == 0) return program.string();
  }
  return "";
}

/// Runs a program; what it prints goes to files. Its exit code, or 127 if it did not run to its
/// end.
int run_program(const std::vector<std::string>& words, const fs::path& out, const fs::path& err) {
  constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
  const int to_out = ::open(out.c_str(), flags, 0600), to_err = ::open(err.c_str(), flags, 0600);
  const auto child = start_child(words, to_out, to_err);
  for (const int file : {to_out, to_err})
    if (file >= 0) ::close(file);
  if (!child) return 127;
  const int status = wait_for_child(*child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 127;
}

/// The compiler's command line for the probe.
Result<std::vector<std::string>> compile_words(const ProbeCommandOptions& options,
                                               const fs::path& source, const fs::path& program) {
  std::string compiler = options.compiler;
  if (compiler.empty()) compiler = find_program("nvcc");
  if (!compiler.empty())
    return std::vector<std::string>{compiler, "-O2", source.string(), "-o", program.string()};
  compiler = find_program("clang++");
  const char* home = std::getenv("CUDA_HOME");
  if (compiler.empty() || home == nullptr) {
    const bool gpu = ::access("/dev/nvidiactl", F_OK) == 0;
    return fail(ErrorKind::bad_input, "nvcc",
                fmt::format("it is neither in PATH nor in CUDA_HOME, and there is no clang++ with "
                            "CUDA_HOME set{}",
                            gpu ? "" : "; nor is there an NVIDIA driver (/dev/nvidiactl)"),
                "install the CUDA toolkit, name a compiler with --compiler, or compile the source "
                "that --source FILE writes on the machine with the GPU");
  }
  return std::vector<std::string>{compiler,
                                  "-O2",
                                  "-x",
                                  "cuda",
                                  "--offload-arch=native",
                                  fmt::format("--cuda-path={}", home),
                                  source.string(),
                                  "-o",
                                  program.string(),
                                  fmt::format("-L{}/lib64", home),
                                  "-lcudart"};
}

/// The last line that a program wrote.
std::string last_line(const fs::path& file) {
  const auto text = read_text(file.string());
  if (!text) return "";
  std::string last;
  for (const std::string_view line : split(*text, '\n'))
    if (!line.empty()) last = line;
  return shown(last, 300);
}

Result<Measured> read_measured(const std::string& text) {
  const auto json = parse_json(text, "the probe's answer");
  if (!json) return std::unexpected(json.error());
  const auto wrong = [](std::string_view key) {
    return fail(ErrorKind::bad_input, fmt::format("the probe's answer: {}", key),
                "it is missing or not what it should be", "compile the source of this version");
  };
  Measured measured;
  if (!json->is_object() || !json->contains("name") || !(*json)["name"].is_string())
    return wrong("name");
  measured.name = (*json)["name"];
  for (const ProbeRow& row : rows) {
    const std::string key(row.key);
    if (!json->contains(key) || !(*json)[key].is_number() || (*json)[key].get<double>() < 0)
      return wrong(row.key);
    measured.*row.value = (*json)[key];
  }
  return measured;
}

Result<Measured> compile_and_run(const ProbeCommandOptions& options) {
  const auto folder = WorkFolder::make(fs::temp_directory_path(), "probe");
  if (!folder) return std::unexpected(folder.error());
  const fs::path source = folder->path() / "gpu_probe.cu", program = folder->path() / "gpu_probe",
                 out = folder->path() / "out", err = folder->path() / "err";
  const auto compile = compile_words(options, source, program);
  if (!compile) return std::unexpected(compile.error());
  if (const auto written = write_whole(source.string(), std::string(gpu_probe_source())); !written)
    return std::unexpected(written.error());
  if (run_program(*compile, out, err) != 0)
    return fail(ErrorKind::bad_input, compile->front(),
                fmt::format("it cannot compile the probe: {}", last_line(err)),
                "try another compiler with --compiler");
  if (run_program({program.string()}, out, err) != 0)
    return fail(ErrorKind::bad_input, "the probe",
                fmt::format("it was compiled and cannot run here: {}", last_line(err)),
                "run it where an NVIDIA GPU is; CUDA_VISIBLE_DEVICES chooses the instance");
  const auto text = read_text(out.string());
  if (!text) return std::unexpected(text.error());
  return read_measured(*text);
}

Result<int> probe(const ProbeCommandOptions& options) {
  if (!options.source.empty()) {
    const auto written = write_whole(options.source, std::string(gpu_probe_source()));
    if (!written) return std::unexpected(written.error());
    return 0;
  }
  const auto measured = compile_and_run(options);
  if (!measured) return std::unexpected(measured.error());
  if (options.json) {
    Json json{{"name", measured->name}};
    for (const ProbeRow& row : rows) json[std::string(row.key)] = *measured.*row.value;
    print(json);
    return 0;
  }
  fmt::print("{}\n\n", shown(measured->name));
  for (const ProbeRow& row : rows)
    fmt::print("{:<38}{:>10.{}f}\n", row.title, *measured.*row.value, row.digits);
  return 0;
}

}  // namespace

void add_probe(CommandLine& program, Run& run) {
  const auto [command, options] = add_command(program, run, "probe",
                                              "Measure the SMs, memory bandwidth and host link of "
                                              "a GPU or an instance, with a CUDA program",
                                              "cleave probe --json", probe);
  command
      ->add_option("--compiler", options.compiler,
                   "CUDA compiler, called as nvcc is (nvcc, or clang++ with CUDA_HOME)")
      ->check(not_empty());
  command
      ->add_option("--source", options.source, "Write the program's source to this file, and stop")
      ->check(not_empty());
  add_json(*command, options.json);
}

}  // namespace cleave::cli
