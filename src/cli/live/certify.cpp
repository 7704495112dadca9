// `cleave certify`: compares a GPU with the simulated GPU of its model, and writes down everything
// that both answered.

#include "certify/certify.hpp"
#include "base/format.hpp"
#include "base/json.hpp"
#include "base/read_text.hpp"
#include "base/text.hpp"
#include "certify/report.hpp"
#include "cli/interrupts.hpp"
#include "cli/live/live.hpp"
#include "cli/output_files.hpp"
#include "cli/say.hpp"
#include "nvmlsim/sim_node.hpp"

namespace cleave::cli {

namespace {

struct CertifyCommandOptions : LiveOptions {
  std::string gpu, model, bundle, replay, log;
  std::vector<std::string> before_dashes;
  bool again = false, make_instances = false, yes = false;
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

/// What keeps an instance of a simulated GPU busy; empty where the program is missing.
std::vector<std::string> simulated_job() {
  std::error_code failed;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", failed);
  const auto job = program.parent_path() / "cleave-job";
  if (failed || !std::filesystem::exists(job, failed)) return {};
  return {job.string(), "--memory", "1GiB", "--seconds", "3600"};
}

bool interrupted() {
  return Interrupts::came() != 0;
}

Result<certify::Bundle> replayed(const CertifyCommandOptions& options) {
  const auto text = read_text(options.replay);
  if (!text) return std::unexpected(text.error());
  auto bundle = certify::parse_bundle(*text, options.replay);
  if (!bundle || !options.again) return bundle;
  const auto library = library_of_simulation();
  if (!library) return std::unexpected(library.error());
  if (!options.model.empty()) {
    const auto model = find_gpu_model(options.model);
    if (!model) return fail_at("--model", model.error());
    bundle->facts.model = std::string((*model)->key);
  }
  auto simulated = certify::ask_simulated(*bundle, *library, simulated_job(), interrupted);
  if (!simulated) return std::unexpected(simulated.error());
  bundle->simulated = std::move(*simulated);
  return bundle;
}

/// The GPU that is meant: the only one, if none is named. NVML is closed again afterwards.
Result<GpuIndex> chosen_gpu(const CertifyCommandOptions& options) {
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

Result<certify::Bundle> asked(const CertifyCommandOptions& options) {
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
  subjects.simulated_busy = simulated_job();
  subjects.enough = interrupted;
  if (options.make_instances) {
    const auto state = state_of(options, *library);
    if (!state) return std::unexpected(state.error());
    subjects.consent = certify::Consent{*state, command_words(), 3, interrupted};
    if (command_words().empty() && library->sim_node)
      subjects.consent->busy = subjects.simulated_busy;
  }
  std::ofstream log;
  if (!options.log.empty()) {
    log.open(options.log);
    if (!log)
      return fail(ErrorKind::bad_input, options.log, "it cannot be written",
                  "name a file in a folder that is there");
    subjects.log = [&](const std::string& line) { log << line << '\n' << std::flush; };
    if (subjects.consent) subjects.consent->log = subjects.log;
  }
  return certify::certify(subjects);
}

/// Instances are made only if that was said twice; a command only runs on them.
Result<void> is_consent(const CertifyCommandOptions& options) {
  if (options.make_instances && !options.yes)
    return fail(ErrorKind::bad_usage, "--make-instances",
                "making and destroying instances must be confirmed", "confirm it with --yes");
  if (!command_words().empty() && !options.make_instances)
    return fail(ErrorKind::bad_usage, "COMMAND", "it runs on an instance, and none is made",
                "allow that with --make-instances --yes");
  if (!options.before_dashes.empty())
    return fail(ErrorKind::bad_usage, "COMMAND",
                fmt::format("'{}' is not an option", shown(options.before_dashes.front())),
                "write the command after --");
  return {};
}

Result<int> certify_gpu(const CertifyCommandOptions& options) {
  const bool replay = !options.replay.empty();
  if (replay && !options.model.empty() && !options.again)
    return fail(ErrorKind::bad_usage, "--model",
                "a bundle has the answers of one simulated GPU already",
                "ask another one with --again");
  if (replay && !options.nvml.empty())
    return fail(ErrorKind::bad_usage, "--nvml", "a bundle is read without a library",
                "leave out --nvml or --replay");
  if (const auto consent = is_consent(options); !consent) return std::unexpected(consent.error());
  const OutputOption outputs[] = {{"--bundle", options.bundle}, {"--log", options.log}};
  if (const auto apart = written_once(outputs); !apart) return std::unexpected(apart.error());
  const Interrupts wait(Interrupts::Waiting::ends);
  auto bundle = replay ? replayed(options) : asked(options);
  if (!bundle) return std::unexpected(not_certified(bundle.error()));
  const auto checks = certify::compare(bundle->gpu, bundle->simulated);
  if (options.json)
    print(certify::report_json(bundle->facts, checks));
  else
    say("{}", certify::report(bundle->facts, checks));
  if (!options.bundle.empty())
    if (const auto written = write_whole(options.bundle, certify::text_of(*bundle, checks));
        !written)
      return std::unexpected(not_certified(written.error()));
  if (const auto* none = certify::find(bundle->gpu, certify::Topic::lifecycle, "create", "");
      options.make_instances && none != nullptr)
    return std::unexpected(not_certified({ErrorKind::infeasible, "--make-instances",
                                          fmt::format("no instance was made: {}", none->note),
                                          "the rest of the report stands"}));
  return certify::count(checks, certify::Verdict::different) == 0 ? 0 : 1;
}

}  // namespace

void add_certify(CommandLine& program, Run& run) {
  const auto [command, options] = add_command(
      program, run, "certify",
      "Compare a GPU with the simulated GPU of its model, by everything that NVML answers without "
      "changing anything; exits with 1 if they differ",
      "cleave certify --bundle h100.json", certify_gpu);
  Option* const gpu =
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
  Option* const log =
      command
          ->add_option("--log", options.log,
                       "Write each question about the GPU to this file before it is asked, and its "
                       "answer with the time that it took")
          ->check(not_empty());
  Option* const replay =
      command->add_option("--replay", options.replay, "Report from a bundle, without a GPU")
          ->check(not_empty())
          ->excludes(gpu)
          ->excludes(log);
  command
      ->add_flag("--again", options.again,
                 "With --replay: ask the simulated GPU again, as after its tables were mended")
      ->needs(replay);
  command
      ->add_flag("--make-instances", options.make_instances,
                 "Also make instances on the GPU and destroy them again, three times each profile: "
                 "only with MIG on, on a GPU on which nothing runs, and none of others are touched")
      ->excludes(replay);
  command->add_flag("--yes", options.yes, "Confirm --make-instances");
  command->add_option("COMMAND", options.before_dashes,
                      "After --: a command that keeps an instance busy, such as a CUDA program; on "
                      "simulated GPUs cleave-job by default");
  add_live(*command, options);
}

}  // namespace cleave::cli
