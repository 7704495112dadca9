// Writes the state file of a new node.

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <new>

#include "base/format.hpp"
#include "nvmlsim/energy.hpp"
#include "nvmlsim/node.hpp"
#include "nvmlsim/uuid.hpp"

namespace cleave::sim {

namespace {

/// Numbers of the UUIDs of GPUs are far above the serials of instances.
constexpr std::uint64_t gpu_uuids = 1ULL << 60;

void fill_cell(GpuCell& cell, const GpuModel& model, const SimNodeSpec& spec, std::size_t number) {
  model.key.copy(cell.model.data(), cell.model.size() - 1);
  cell.uuid = make_uuid(spec.seed, gpu_uuids + number);
  GpuRecord& record = cell.records[0];
  record.mig_enabled = record.mig_wanted = spec.mig_enabled ? 1 : 0;
  record.since_ns = now_ns();
  record.power_w = draw_watts(board_of(model), record);
}

void fill(std::byte* bytes, const SimNodeSpec& spec) {
  auto* header = new (bytes) NodeHeader{};
  header->magic = state_magic;
  header->version = state_version;
  header->gpus = static_cast<std::uint32_t>(spec.gpus.size());
  header->bytes = state_bytes(header->gpus);
  header->seed = spec.seed;
  header->instant = spec.instant ? 1 : 0;
  header->administrator = spec.administrator;
  header->numbering = static_cast<std::uint32_t>(spec.numbering);
  header->alive = 1;
  for (std::size_t i = 0; i < spec.gpus.size(); ++i)
    fill_cell(*new (bytes + cells_offset + i * cell_stride) GpuCell{}, *spec.gpus[i], spec, i);
}

std::unexpected<Error> cannot_write(const std::filesystem::path& file) {
  return fail(ErrorKind::bad_input, file.string(),
              fmt::format("cannot be written: {}", std::strerror(errno)));
}

}  // namespace

namespace {

struct UnfinishedFile {
  std::filesystem::path path;
  int handle = -1;
};

/// A file of this program alone, even if several create a node here at once or were killed doing
/// so.
UnfinishedFile new_file(const std::filesystem::path& directory) {
  for (int number = 0;; ++number) {
    UnfinishedFile file{directory / fmt::format("{}{}.{}", unfinished_prefix, ::getpid(), number)};
    file.handle = ::open(file.path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file.handle >= 0 || errno != EEXIST) return file;
  }
}

}  // namespace

Result<void> write_state(const std::filesystem::path& directory, const SimNodeSpec& spec) {
  const std::filesystem::path file = directory / state_file_name;
  const std::size_t size = state_bytes(static_cast<std::uint32_t>(spec.gpus.size()));
  const auto [unfinished, handle] = new_file(directory);
  if (handle < 0) return cannot_write(unfinished);
  // A node that distinguishes users must be usable by all of them.
  if (spec.administrator != Administrator::everybody) (void)::fchmod(handle, 0666);
  // Allocated, not only extended: otherwise programs would die later if the disk is full.
  const int allocated = ::posix_fallocate(handle, 0, static_cast<off_t>(size));
  void* bytes = allocated != 0
                    ? MAP_FAILED
                    : ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, handle, 0);
  if (allocated != 0) errno = allocated;
  const auto failed = cannot_write(unfinished);
  ::close(handle);
  if (bytes == MAP_FAILED) {
    ::unlink(unfinished.c_str());
    return failed;
  }
  fill(static_cast<std::byte*>(bytes), spec);
  ::munmap(bytes, size);
  // A link, not a rename: of two programs that create a node here only one succeeds, and its
  // clients keep their state.
  const int linked = ::link(unfinished.c_str(), file.c_str()) == 0 ? 0 : errno;
  ::unlink(unfinished.c_str());
  if (linked == EEXIST)
    return fail(ErrorKind::bad_input, directory.string(), "there is a simulated node already",
                "destroy it with `cleave sim-node destroy`, or choose another directory");
  errno = linked;
  if (linked != 0) return cannot_write(file);
  return {};
}

}  // namespace cleave::sim
