// The program `cleave-smi`, which is `nvidia-smi` in the driver root of simulated nodes: shows what
// NVML says about GPUs, in the forms that scripts expect of nvidia-smi. Errors go to the output, as
// there, and exit codes are NVML's numbers.

#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <memory>
#include <thread>

#include "base/format.hpp"
#include "device/nvml_door.hpp"
#include "smi/arguments.hpp"
#include "smi/listing.hpp"
#include "smi/log.hpp"

namespace cleave::smi {

namespace {

using Kind = Request::Kind;

/// The GPUs that can have instances.
std::vector<std::uint32_t> with_mig_on(Door& door, std::vector<std::uint32_t> gpus) {
  std::erase_if(gpus, [&](std::uint32_t gpu) {
    const auto mode = door.mig_mode(GpuIndex{gpu});
    return !mode || !mode->current;
  });
  return gpus;
}

std::string shown_once(const Request& request, const NodeReading& node, bool first) {
  switch (request.kind) {
    case Kind::list:
      return device_list(node);
    case Kind::query:
      return answer(request.query, node, first && request.query.header);
    case Kind::log:
      return text_log(node, request.displays);
    case Kind::xml:
      return xml_log(node);
    default:
      return summary(node);
  }
}

std::string versions(const DriverFacts& driver) {
  return fmt::format("{:<20}: {}\n{:<20}: {}\n{:<20}: {}\n", "NVML version",
                     driver.nvml_version.value_or("N/A"), "DRIVER version", driver.driver_version,
                     "CUDA Version", version_text(driver.cuda_version));
}

int show(const Request& request, Door& door, const nvml::EveryFunction& nvml,
         const std::vector<std::uint32_t>& gpus, std::ostream& out) {
  if (gpus.empty()) {
    out << "No devices were found\n";
    return static_cast<int>(nvml::Return::not_found);
  }
  for (bool first = true;; first = false) {
    out << shown_once(request, read_node(door, nvml, gpus), first) << std::flush;
    if (!request.every || !out) return out ? 0 : 1;
    std::this_thread::sleep_for(*request.every);
  }
}

Outcome changed(const Request& request, Door& door, const nvml::EveryFunction& nvml,
                std::vector<std::uint32_t> gpus) {
  if (request.kind == Kind::set_mig) return set_mig(door, request.mig_on, gpus);
  gpus = with_mig_on(door, std::move(gpus));
  if (gpus.empty())
    return {static_cast<int>(nvml::Return::not_found), "No MIG-enabled devices found.\n"};
  return carry_out(door, nvml, request.mig, gpus);
}

int with_driver(const Request& request, std::ostream& out) {
  const auto door = NvmlDoor::open();
  if (!door) {
    const Error& error = door.error();
    out << fmt::format("Failed to initialize NVML: {}: {}\n", error.place, error.message);
    const bool no_library = error.message.starts_with("cannot be opened");
    return static_cast<int>(no_library ? nvml::Return::library_not_found
                                       : nvml::Return::driver_not_loaded);
  }
  const DriverFacts driver = (*door)->driver();
  if (request.kind == Kind::version) {
    out << versions(driver);
    return 0;
  }
  const nvml::EveryFunction nvml = functions_of(driver.library);
  const auto gpus = find_gpus(**door, nvml, request.gpus);
  if (!gpus) {
    out << gpus.error().text;
    return gpus.error().code;
  }
  if (request.kind != Kind::mig && request.kind != Kind::set_mig)
    return show(request, **door, nvml, *gpus, out);
  const Outcome outcome = changed(request, **door, nvml, *gpus);
  out << outcome.text;
  return outcome.code;
}

int run(std::span<const std::string_view> words) {
  const auto request = parse_arguments(words);
  if (!request) {
    std::cout << request.error().text;
    return request.error().code;
  }
  std::ofstream file;
  if (!request->file.empty()) {
    file.open(request->file);
    if (!file) {
      std::cout << "Failed to open " << request->file << " for writing\n";
      return 2;
    }
  }
  std::ostream& out = request->file.empty() ? std::cout : file;
  if (request->kind == Kind::help)
    out << help();
  else if (request->kind == Kind::fields)
    out << list_of_fields(request->query.of);
  else
    return with_driver(*request, out);
  return 0;
}

}  // namespace

}  // namespace cleave::smi

int main(int argc, char** argv) {
  try {
    const std::vector<std::string_view> words(argv + 1, argv + argc);
    const int code = cleave::smi::run(words);
    std::cout.flush();
    return code;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "nvidia-smi: internal error: %s\n", error.what());
    return 1;
  }
}
