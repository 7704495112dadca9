#include "runner/user_files.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <vector>

#include "base/format.hpp"

namespace cleave {

namespace {

constexpr std::size_t most_files = 2;
// What is said of each file that is sent.
constexpr char for_output = 'o', for_errors = 'e', for_both = 'b';

/// Room for the descriptors of a message.
union Control {
  std::array<char, CMSG_SPACE(sizeof(int) * most_files)> bytes;
  cmsghdr aligned;
};

/// Those on the way to the file that are missing.
void make_folders(const std::string& file) {
  for (std::size_t slash = file.find('/', 1); slash != file.npos; slash = file.find('/', slash + 1))
    if (::mkdir(file.substr(0, slash).c_str(), 0777) != 0 && errno != EEXIST) return;
}

bool is_null_device(const struct stat& facts) {
  return S_ISCHR(facts.st_mode) && facts.st_rdev == ::makedev(1, 3);
}

/// Empty where nothing need be written.
Result<Descriptor> open_file(const std::string& path, bool anew) {
  // Opening a pipe or a terminal must neither wait nor do anything.
  constexpr int how = O_WRONLY | O_CREAT | O_APPEND | O_NOCTTY | O_NONBLOCK | O_CLOEXEC;
  Descriptor file(::open(path.c_str(), how, 0666));
  if (!file && errno == ENOENT) {
    make_folders(path);
    file = Descriptor(::open(path.c_str(), how, 0666));
  }
  if (!file) return system_error_at(path, "cannot be opened for the job's output");
  struct stat facts {};
  if (::fstat(file.number(), &facts) != 0) return system_error_at(path, "cannot be examined");
  if (is_null_device(facts)) return Descriptor();
  errno = EINVAL;
  if (!S_ISREG(facts.st_mode))
    return fail(ErrorKind::infeasible, path, "the job's output goes to regular files only");
  if (anew && ::ftruncate(file.number(), 0) != 0) return system_error_at(path, "cannot be emptied");
  return file;
}

Result<void> send_files(int end, std::string& said, const std::vector<Descriptor>& files) {
  if (files.empty()) return {};
  Control control{};
  iovec text{said.data(), said.size()};
  msghdr message{};
  message.msg_iov = &text;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = CMSG_SPACE(sizeof(int) * files.size());
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int) * files.size());
  std::vector<int> numbers;
  for (const Descriptor& each : files) numbers.push_back(each.number());
  std::memcpy(CMSG_DATA(header), numbers.data(), sizeof(int) * numbers.size());
  if (::sendmsg(end, &message, MSG_NOSIGNAL) < 0)
    return system_error_at("output", "the files cannot be handed over");
  return {};
}

}  // namespace

Result<FileHandover> make_file_handover() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return system_error_at("output", "no connection can be made");
  return FileHandover{Descriptor(ends[0]), Descriptor(ends[1])};
}

Result<void> hand_over_files(const Launch& launch, int end) {
  const std::string& out = launch.output_file;
  const std::string& err = launch.error_file;
  const bool both = !out.empty() && (err.empty() || err == out);
  std::string said;
  std::vector<Descriptor> files;
  const auto add = [&](const std::string& path, char use) -> Result<void> {
    if (path.empty()) return {};
    auto file = open_file(path, launch.key.attempt == 1);
    if (!file) return std::unexpected(file.error());
    if (!*file) return {};
    said += use;
    files.push_back(std::move(*file));
    return {};
  };
  if (const auto added = add(out, both ? for_both : for_output); !added) return added;
  if (!both)
    if (const auto added = add(err, for_errors); !added) return added;
  return send_files(end, said, files);
}

UserFiles take_files(int end) {
  std::array<char, most_files> said{};
  Control control{};
  iovec text{said.data(), said.size()};
  msghdr message{};
  message.msg_iov = &text;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  UserFiles taken;
  const ssize_t got = ::recvmsg(end, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got <= 0) return taken;
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return taken;
  std::array<int, most_files> numbers{};
  const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  std::memcpy(numbers.data(), CMSG_DATA(header), sizeof(int) * std::min(count, most_files));
  for (std::size_t i = 0; i < std::min(count, most_files); ++i) {
    auto file = std::make_shared<UserFile>(Descriptor(numbers[i]));
    const char use = static_cast<std::size_t>(got) > i ? said[i] : '\0';
    if (use == for_output || use == for_both) taken.out = file;
    if (use == for_errors || use == for_both) taken.err = file;
  }
  return taken;
}

void UserFile::append(std::string_view bytes) {
  if (refused_ > 0) {
    const std::string line = fmt::format("\n[cleave: {} bytes could not be written here: {}]\n",
                                         refused_, std::generic_category().message(refusal_));
    if (write(line) == 0) refused_ = 0;
  }
  refused_ += static_cast<std::int64_t>(refused_ > 0 ? bytes.size() : write(bytes));
}

std::size_t UserFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_.number(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      refusal_ = errno;
      break;
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return bytes.size();
}

}  // namespace cleave
