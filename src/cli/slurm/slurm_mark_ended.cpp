// `cleave slurm mark-ended`: tells Slurm that a job has ended whose end it has forgotten. No tool
// of Slurm's says that, so this is the one place where its library is used: found at run time, in a
// program of its own, since the library ends the program where it finds no configuration.

#include <dlfcn.h>

#include "base/format.hpp"
#include "cli/slurm/slurm_commands.hpp"

namespace cleave::cli {

namespace {

/// The numbers of the library from Slurm 20.11 to 25.05.
constexpr int oldest_library = 36, newest_library = 43;

Result<void*> load_slurm() {
  for (int number = newest_library; number >= oldest_library; --number)
    if (void* const library = ::dlopen(fmt::format("libslurm.so.{}", number).c_str(),
                                       RTLD_NOW | RTLD_GLOBAL);  // for its plugins
        library != nullptr)
      return library;
  return fail(ErrorKind::infeasible, "libslurm", "Slurm's library is not where programs find it",
              "install libslurm, which Slurm's own tools use");
}

struct MarkEndedOptions {
  std::int64_t job = 0, status = 0;
};

Result<int> mark_ended(const MarkEndedOptions& options) {
  const auto library = load_slurm();
  if (!library) return std::unexpected(library.error());
  const auto init = reinterpret_cast<void (*)(const char*)>(::dlsym(*library, "slurm_init"));
  const auto complete = reinterpret_cast<int (*)(std::uint32_t, std::uint32_t)>(
      ::dlsym(*library, "slurm_complete_job"));
  if (complete == nullptr)
    return fail(ErrorKind::infeasible, "libslurm", "it has no slurm_complete_job");
  if (init != nullptr) init(nullptr);  // releases before 21.08 have none
  if (complete(static_cast<std::uint32_t>(options.job),
               static_cast<std::uint32_t>(options.status)) != 0)
    return fail(ErrorKind::infeasible, fmt::format("job {}", options.job),
                "Slurm did not take it as ended",
                "run this as Slurm's administrator, while slurmctld runs");
  return 0;
}

}  // namespace

void add_slurm_mark_ended(CommandLine& group, Run& run) {
  const auto [command, options] = add_command(
      group, run, "mark-ended",
      "Tell Slurm that a job has ended whose end it forgot when slurmctld was killed; the "
      "controller does so by itself",
      "cleave slurm mark-ended 1234 0", mark_ended);
  command->add_option("JOB", options.job, "The job's number")->required()->check(whole_number(1));
  command
      ->add_option("STATUS", options.status,
                   "As waitpid has it: 0, 256 times an exit code, a signal")
      ->required()
      ->check(whole_number(0));
}

}  // namespace cleave::cli
