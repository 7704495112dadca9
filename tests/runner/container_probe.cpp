// What a job in a container sees of its GPUs, by NVML, and a report as jobs send it. It needs
// nothing but the C library, so that it runs in small images.
//
//   container_probe nvml      prints "NAME UUID" of the MIG device that CUDA_VISIBLE_DEVICES names
//   container_probe list      prints "gpu UUID" of each GPU that NVML lists, and "mig UUID" of each
//                             of their MIG devices; then "named mig" if the UUID after it is found
//   container_probe report    sends a report of 100 MiB at iteration 3

#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

using Device = void*;

template <class Function>
Function* find(void* library, const char* name) {
  auto* found = reinterpret_cast<Function*>(::dlsym(library, name));
  if (found == nullptr) {
    std::printf("NVML lacks %s\n", name);
    std::exit(1);
  }
  return found;
}

int by_nvml() {
  void* const library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW);
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (library == nullptr || visible == nullptr) {
    std::printf("no NVML: %s\n", library == nullptr ? ::dlerror() : "no device is visible");
    return 1;
  }
  const int begun = find<int()>(library, "nvmlInit_v2")();
  Device device = nullptr;
  char uuid[96] = {}, device_name[96] = {};
  const int got =
      find<int(const char*, Device*)>(library, "nvmlDeviceGetHandleByUUID")(visible, &device);
  const int told =
      find<int(Device, char*, unsigned)>(library, "nvmlDeviceGetUUID")(device, uuid, sizeof uuid);
  const int named = find<int(Device, char*, unsigned)>(library, "nvmlDeviceGetName")(
      device, device_name, sizeof device_name);
  std::printf("%s %s\n", device_name, uuid);
  return begun == 0 && got == 0 && told == 0 && named == 0 && std::strcmp(uuid, visible) == 0 ? 0
                                                                                              : 1;
}

int list(const char* foreign) {
  void* const library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW);
  if (library == nullptr) return 1;
  if (find<int()>(library, "nvmlInit_v2")() != 0) return 1;
  unsigned gpus = 0;
  find<int(unsigned*)>(library, "nvmlDeviceGetCount_v2")(&gpus);
  const auto by_index = find<int(unsigned, Device*)>(library, "nvmlDeviceGetHandleByIndex_v2");
  const auto mig_by_index =
      find<int(Device, unsigned, Device*)>(library, "nvmlDeviceGetMigDeviceHandleByIndex");
  const auto uuid_of = find<int(Device, char*, unsigned)>(library, "nvmlDeviceGetUUID");
  char uuid[96] = {};
  Device gpu = nullptr, mig = nullptr;
  for (unsigned i = 0; i < gpus; ++i) {
    if (by_index(i, &gpu) != 0 || uuid_of(gpu, uuid, sizeof uuid) != 0) continue;
    std::printf("gpu %s\n", uuid);
    for (unsigned j = 0; j < 8; ++j)
      if (mig_by_index(gpu, j, &mig) == 0 && uuid_of(mig, uuid, sizeof uuid) == 0)
        std::printf("mig %s\n", uuid);
  }
  if (find<int(const char*, Device*)>(library, "nvmlDeviceGetHandleByUUID")(foreign, &mig) == 0)
    std::printf("named %s\n", foreign);
  return 0;
}

int report() {
  constexpr char line[] = R"({"iteration":3,"requested_bytes":1,"allocated_bytes":104857600})";
  const char* const path = std::getenv("CLEAVE_REPORT");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path == nullptr || std::strlen(path) >= sizeof address.sun_path) return 1;
  std::strcpy(address.sun_path, path);
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const auto sent = ::sendto(socket, line, sizeof line - 1, 0,
                             reinterpret_cast<const sockaddr*>(&address), sizeof address);
  if (sent < 0) std::perror(path);
  return sent == sizeof line - 1 ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  if (count == 2 && std::strcmp(arguments[1], "nvml") == 0) return by_nvml();
  if (count == 2 && std::strcmp(arguments[1], "report") == 0) return report();
  if (count == 3 && std::strcmp(arguments[1], "list") == 0) return list(arguments[2]);
  return 2;
}
