#include "simulate/generate/taming_applications.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "model/gpu_model.hpp"
#include "physics/slice_law.hpp"

namespace cleave {

namespace {

constexpr int instances = 7;
constexpr MiB whole_1g{11264};
constexpr std::string_view fits_1g = "fits 1g.12gb; not stated more closely, so all of it";
constexpr std::string_view below_1_gb = "within 1 GB, IV-B";

TamingScaling first_class(double least) {
  return {{least, 1}, 1, "the text says that its speed follows the size of a slice (same paper)"};
}

TamingScaling second_class(double nekrs) {
  return {
      {nekrs, 0.66, 1}, 1, "not stated; its scaling is between that of NekRS and the first class"};
}

std::vector<TamingApplication> numeric() {
  const double nekrs = bound_of_gain(nekrs_shared / nekrs_alone);
  return {
      {.name = "qiskit",
       .title = "Qiskit",
       .input = "Quantum Volume, 30 qubits",
       .pipelines = "FP32",
       .scaling = first_class(0.9),
       .memory = MiB{9216},
       .memory_from = "8 GiB of state vector, III-B; a gibibyte for the rest is assumed",
       .occupancy = 0.62,
       .larger = TamingLarger{"Quantum Volume, 31 qubits", MiB{16384}, "16 GB, VI-A"}},
      {.name = "faiss",
       .title = "FAISS",
       .input = "sift1M, IVF4096,PQ64",
       .pipelines = "FP32, FP16",
       .scaling = {{0, nekrs, 1}, 1, "not stated; NekRS is in the same class of scaling"},
       .memory = whole_1g,
       .memory_from = fits_1g,
       .occupancy = 0.1,
       .larger = TamingLarger{"sift1M, IVF16384", MiB{13312},
                              "above 12 GB for a short time, III-B; 13 GiB is assumed"}},
      {.name = "nekrs",
       .title = "NekRS",
       .input = "turbPipePeriodic",
       .pipelines = "FP64, FP32",
       .scaling = {{nekrs, bound_of_gain(nekrs_shared / nekrs_alone_too)},
                   0,
                   "from SM occupancy, 12 or 13.5 % alone and 25 % shared (same paper)"},
       .memory = whole_1g,
       .memory_from = fits_1g,
       .occupancy = nekrs_alone / 100},
      {.name = "lammps",
       .title = "LAMMPS",
       .input = "ReaxFF",
       .pipelines = "FP64",
       .scaling = first_class(0.8),
       .memory = whole_1g,
       .memory_from = fits_1g,
       .occupancy = 0.4},
  };
}

std::vector<TamingApplication> others() {
  const double nekrs = bound_of_gain(nekrs_shared / nekrs_alone);
  return {
      {.name = "autodock-3er5",
       .title = "AutoDock-GPU",
       .input = "3er5",
       .pipelines = "FP32",
       .scaling = second_class(nekrs),
       .memory = MiB{1024},
       .memory_from = below_1_gb},
      {.name = "autodock-2vaa",
       .title = "AutoDock-GPU",
       .input = "2vaa",
       .pipelines = "FP32",
       .scaling = second_class(nekrs),
       .memory = MiB{1024},
       .memory_from = below_1_gb},
      {.name = "llmc-tinystories",
       .title = "LLM training, GPT2",
       .input = "tinystories",
       .pipelines = "HMMA, FP32",
       .scaling = first_class(0.8),
       .memory = whole_1g,
       .memory_from = fits_1g},
      {.name = "llmc-shakespeare",
       .title = "LLM training, GPT2",
       .input = "shakespeare",
       .pipelines = "HMMA, FP32",
       .scaling = first_class(0.8),
       .memory = whole_1g,
       .memory_from = fits_1g},
      {.name = "llama3",
       .title = "LLM inference, Llama3",
       .input = "Llama 3 8B Q8",
       .pipelines = "HMMA, IMMA, FP32, FP16",
       .scaling = second_class(nekrs),
       .memory = MiB{9216},
       .memory_from = "8 billion weights of a byte; a gibibyte for the rest is assumed",
       .larger = TamingLarger{"Llama 3 8B FP16", MiB{16384}, "within 16 GB, IV-B"}},
      {.name = "hotspot",
       .title = "Rodinia hotspot",
       .input = "1024 x 1024, 1M iterations",
       .pipelines = "FP64, FP32",
       .scaling = first_class(0.9),
       .memory = MiB{1024},
       .memory_from = "very low, IV-B; a gibibyte is assumed",
       .occupancy = 0.61},
      {.name = "stream-nvlink",
       .title = "STREAM-Nvlink",
       .input = "512 MB array",
       .pipelines = "FP64",
       .scaling = {{0}, 0, "kernels on 1g read host memory at 0.6 of the link's rate, table IV"},
       .memory = MiB{512},
       .memory_from = "its arrays are in host memory; half a gibibyte is assumed",
       .transfer_share = 1},
      {.name = "stream-gpu",
       .title = "STREAM-GPU",
       .input = "512 MB array",
       .pipelines = "FP64",
       .scaling = {{1}, 0, "its bandwidth is that of its profile, table II"},
       .memory = MiB{2048},
       .memory_from = "three arrays of 512 MB, and what a context takes"},
  };
}

}  // namespace

double bound_part(double ratio) {
  return ratio / (1 + ratio);
}

double bound_of_gain(double gain) {
  const GpuModel& gpu = **find_gpu_model(taming_gpu);
  const double h = gpu_bound_time(gpu, *gpu.find("1g.12gb"));
  const double q = std::pow(instances / gain, job_overlap);
  return bound_part(std::pow((q - 1) / (std::pow(h, job_overlap) - q), 1 / job_overlap));
}

std::span<const TamingApplication> taming_applications() {
  static const std::vector<TamingApplication> all = [] {
    std::vector<TamingApplication> rows = numeric();
    std::ranges::move(others(), std::back_inserter(rows));
    return rows;
  }();
  return all;
}

const TamingApplication& taming_application(std::string_view name) {
  const auto rows = taming_applications();
  const auto found = std::ranges::find(rows, name, &TamingApplication::name);
  assert(found != rows.end());
  return *found;
}

}  // namespace cleave
