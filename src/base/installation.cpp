#include "base/installation.hpp"

#include <dlfcn.h>

#include "base/text.hpp"

namespace cleave {

namespace fs = std::filesystem;

namespace {

constexpr const char* system_prefixes[] = {"/usr/local", "/usr"};

fs::path library_below(const fs::path& prefix, const std::string& library) {
  return prefix / "lib" / "cleave" / library;
}

/// The library beside this program; where there is none, that of the system.
fs::path find_library(const std::string& library) {
  std::error_code failed;
  fs::path own = library_below(installation_prefix(), library);
  if (fs::exists(own, failed)) return own;
  for (const char* prefix : system_prefixes)
    if (fs::path file = library_below(prefix, library); fs::exists(file, failed)) return file;
  return own;
}

}  // namespace

fs::path prefix_of(const fs::path& program) {
  const fs::path folder = program.parent_path(), above = folder.parent_path();
  const bool helper = folder.filename() == "cleave" && above.filename() == "libexec";
  return helper ? above.parent_path() : above;
}

fs::path installation_prefix() {
  std::error_code failed;
  return prefix_of(fs::read_symlink("/proc/self/exe", failed));
}

fs::path installed_program(const std::string& name, const fs::path& prefix) {
  std::error_code failed;
  fs::path helper = prefix / "libexec" / "cleave" / name;
  return fs::exists(helper, failed) ? helper : prefix / "bin" / name;
}

fs::path installed_program(const std::string& name) {
  return installed_program(name, installation_prefix());
}

Result<void*> installed_function(const std::string& library, const char* function) {
  const fs::path file = find_library(library);
  void* const loaded = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  void* const found = loaded == nullptr ? nullptr : ::dlsym(loaded, function);
  if (found != nullptr) return found;
  const char* const why = ::dlerror();
  return fail(ErrorKind::infeasible, file.string(),
              "cannot be loaded: " + shown(why == nullptr ? "no reason given" : why, 300),
              "install all of Cleave, with the packages that it depends on");
}

}  // namespace cleave
