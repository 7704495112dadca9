// A plugin for SPANK: `sbatch --mig-memory=9G`, and so for srun and salloc. It only says what was
// asked for; the submit plugin chooses the smallest instance with as much. Slurm loads it into
// these three programs, of the release with whose headers it was built.

extern "C" {
#include <slurm/spank.h>
}

#include <cstring>
#include <string>

namespace {

/// The name that the submit plugin looks for.
constexpr const char* asked_variable = "CLEAVE_MIG_MEMORY";

std::string& asked() {
  static std::string memory;
  return memory;
}

/// "9G", "9GiB", "9000M", "9000": what the submit plugin reads too, and says it cannot.
int take(int, const char* text, int) {
  if (text == nullptr || *text == '\0' ||
      std::strspn(text, "0123456789.MGmgiIbB") != std::strlen(text)) {
    slurm_error("--mig-memory takes a size such as 9G or 9000M");
    return -1;
  }
  asked() = text;
  return 0;
}

// SPANK's structures have pointers to what it does not change.
char option_name[] = "mig-memory", option_value[] = "SIZE",
     option_help[] = "memory of the instance (MIG) that the job gets, such as 9G";

}  // namespace

extern "C" {

extern const char plugin_name[] = "cleave_mig_memory";
extern const char plugin_type[] = "spank";
extern const unsigned int plugin_version = SLURM_VERSION_NUMBER;
extern const unsigned int spank_plugin_version = 1;

int slurm_spank_init(spank_t spank, int, char**) {
  const spank_context_t context = spank_context();
  if (context != S_CTX_ALLOCATOR && context != S_CTX_LOCAL) return 0;
  spank_option option{option_name, option_value, option_help, 1, 0, take};
  return spank_option_register(spank, &option) == ESPANK_SUCCESS ? 0 : -1;
}

int slurm_spank_init_post_opt(spank_t spank, int, char**) {
  if (asked().empty()) return 0;
  return spank_job_control_setenv(spank, asked_variable, asked().c_str(), 1) == ESPANK_SUCCESS ? 0
                                                                                               : -1;
}

}  // extern "C"
