// `cleave certify`: compares a GPU with the simulated GPU of its model, and writes down everything
// that both answered.

#include "certify/certify.hpp"
#include "base/format.hpp"
#include "base/json.hpp"
#include "base/read_text.hpp"
#include "base/text.hpp"
#include "certify/report.hpp"
#include "cli/live/live.hpp"
#include "nvmlsim/sim_node.hpp"

namespace cleave::cli {

namespace {

struct Options : LiveOptions {
  std::string gpu, model, bundle, replay;
  bool again = false;
};

/// Differences are 1, so that what keeps a GPU from being asked is 2.
Error not_certified(Error error) {
  if (error.kind == ErrorKind::infeasible) error.kind = ErrorKind::bad_input;
  return error;
}

Result<std::filesystem::path> library_of_simulation() {
  std::error_code failed;
  const auto library = simulated_library();
  if (std::filesystem::exists(library, failed)) return library;
  return fail(ErrorKind::bad_input, library.string(),
              "the simulated library, which the GPU is compared with, is missing",
              "it belongs in lib/cleave-nvmlsim beside the program's bin");
}

Result<certify::Bundle> replayed(const Options& options) {
  const auto text = read_text(options.replay);
  if (!text) return std::unexpected(text.error());
  auto bundle = certify::parse_bundle(*text, options.replay);
  if (!bundle || !options.again) return bundle;
  const auto library = library_of_simulation();
  if (!library) return std::unexpected(library.error());
  const bool everybody = bundle->facts.simulated;
  auto simulated = certify::ask_simulated(*bundle, *library, everybody);
  if (!simulated) return std::unexpected(simulated.error());
  bundle->simulated = std::move(*simulated);
  return bundle;
}

/// The GPU that is meant: the only one, if none is named. NVML is closed again afterwards.
Result<GpuIndex> chosen_gpu(const Options& options) {
  const auto node = open_node(options);
  if (!node) return std::unexpected(node.error());
  const auto gpus = all_gpus(*node->door);
  if (!gpus) return std::unexpected(gpus.error());
  if (!options.gpu.empty()) return find_gpu(*node->door, options.gpu);
  if (gpus->size() == 1) return GpuIndex{0};
  return fail(ErrorKind::bad_usage, "--gpu",
              gpus->empty() ? std::string("the driver shows no GPU")
                            : fmt::format("there are {} GPUs", gpus->size()),
              gpus->empty() ? "" : "name one");
}

Result<certify::Bundle> asked(const Options& options) {
  const auto library = choose_library(options);
  if (!library) return std::unexpected(library.error());
  const auto simulated = library_of_simulation();
  if (!simulated) return std::unexpected(simulated.error());
  const auto gpu = chosen_gpu(options);
  if (!gpu) return std::unexpected(gpu.error());
  certify::Subjects subjects;
  subjects.source = {library->file, library->sim_node};
  subjects.gpu = *gpu;
  subjects.simulated = *simulated;
  if (!options.model.empty()) {
    const auto model = find_gpu_model(options.model);
    if (!model) return fail_at("--model", model.error());
    subjects.model = *model;
  }
  if (library->sim_node) {
    const auto node = look_at_sim_node(*library->sim_node);
    if (!node) return std::unexpected(node.error());
    subjects.everybody_may_change = !node->check_root;
  }
  return certify::certify(subjects);
}

Result<int> certify_gpu(const Options& options) {
  const bool replay = !options.replay.empty();
  auto bundle = replay ? replayed(options) : asked(options);
  if (!bundle) return std::unexpected(not_certified(bundle.error()));
  const auto checks = certify::compare(bundle->gpu, bundle->simulated);
  if (!options.bundle.empty())
    if (const auto written = write_whole(options.bundle, certify::text_of(*bundle, checks));
        !written)
      return std::unexpected(not_certified(written.error()));
  if (options.json)
    print(certify::report_json(bundle->facts, checks));
  else
    fmt::print("{}", certify::report(bundle->facts, checks));
  return certify::count(checks, certify::Verdict::different) == 0 ? 0 : 1;
}

}  // namespace

void add_certify(CommandLine& program, Run& run) {
  const auto [command, options] = add_command(
      program, run, "certify",
      "Compare a GPU with the simulated GPU of its model, by everything that NVML answers without "
      "changing anything; exits with 1 if they differ",
      "cleave certify --bundle h100.json", certify_gpu);
  command->add_option("--gpu", options.gpu, "The GPU's index or UUID; by default the only one")
      ->check(not_empty());
  command
      ->add_option("--model", options.model,
                   "Compare with a simulated GPU of this model instead of the one that the driver "
                   "names")
      ->check(not_empty());
  command
      ->add_option("--bundle", options.bundle,
                   "Write all questions, answers and differences to this file")
      ->check(not_empty());
  Option* const replay =
      command->add_option("--replay", options.replay, "Report from a bundle, without a GPU")
          ->check(not_empty());
  command
      ->add_flag("--again", options.again,
                 "With --replay: ask the simulated GPU again, as after its tables were mended")
      ->needs(replay);
  add_live(*command, options);
}

}  // namespace cleave::cli
