#include "nvmlsim/host_writer.hpp"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <system_error>

#include "base/format.hpp"

namespace cleave {

namespace fs = std::filesystem;

namespace {

constexpr const char* staged_name = ".new";

std::unexpected<Error> cannot(const fs::path& path, const char* what) {
  return fail(ErrorKind::infeasible, path.string(),
              fmt::format("it cannot be {}: {}", what, std::generic_category().message(errno)));
}

bool is_within(std::string_view path, std::string_view folder) {
  return folder.empty() ||
         (path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/'));
}

}  // namespace

HostWriter::HostWriter(fs::path root, std::vector<std::string> folders, DeviceFiles devices)
    : root_(std::move(root)), folders_(std::move(folders)), devices_(devices) {}

Result<void> HostWriter::write_one(const fs::path& path, const HostFile& file) const {
  std::error_code failed;
  fs::create_directories(path.parent_path(), failed);
  if (failed) return cannot(path.parent_path(), "made");
  switch (file.kind) {
    case HostFile::Kind::link:
      if (::symlink(file.content.c_str(), path.c_str()) != 0) return cannot(path, "made");
      return {};
    case HostFile::Kind::copy:
      fs::copy_file(file.content, path, fs::copy_options::overwrite_existing, failed);
      if (failed) return cannot(path, "written");
      return {};
    case HostFile::Kind::device:
    case HostFile::Kind::text:
      break;
  }
  std::ofstream out(path, std::ios::binary);
  out << (file.kind == HostFile::Kind::text ? file.content : std::string());
  out.close();
  if (!out) return cannot(path, "written");
  if (file.kind != HostFile::Kind::device) return {};
  ::chmod(path.c_str(), 0666);
  if (devices_ == DeviceFiles::null_device &&
      ::mount("/dev/null", path.c_str(), nullptr, MS_BIND, nullptr) != 0)
    return cannot(path, "made a device");
  return {};
}

std::optional<std::string> HostWriter::folder_of(std::string_view path) const {
  for (const std::string& folder : folders_)
    if (is_within(path, folder)) return folder;
  return {};
}

std::string HostWriter::unit_of(const std::string& path, std::string_view folder) const {
  // The highest folder above the file that is not there yet, or the file.
  std::size_t end = folder.empty() ? 0 : folder.size() + 1;
  for (;;) {
    end = path.find('/', end);
    if (end == std::string::npos) return path;
    std::error_code failed;
    if (!fs::exists(root_ / path.substr(0, end), failed)) return path.substr(0, end);
    ++end;
  }
}

Result<void> HostWriter::add(const std::string& unit, const std::string& folder,
                             HostTree::const_iterator begin, HostTree::const_iterator end) const {
  // What is mounted cannot be renamed.
  if (begin->first == unit && begin->second.kind == HostFile::Kind::device)
    return write_one(root_ / unit, begin->second);
  const fs::path staged = root_ / folder / staged_name;
  std::error_code failed;
  fs::remove_all(staged, failed);
  for (auto each = begin; each != end; ++each) {
    const std::string_view inside = std::string_view(each->first).substr(unit.size());
    if (const auto done = write_one(staged.string() + std::string(inside), each->second); !done)
      return done;
  }
  if (::rename(staged.c_str(), (root_ / unit).c_str()) != 0) return cannot(root_ / unit, "made");
  return {};
}

void HostWriter::remove(const std::string& path, const HostTree& left) const {
  const fs::path file = root_ / path;
  if (devices_ == DeviceFiles::null_device) ::umount2(file.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW);
  ::unlink(file.c_str());
  // And the folders that held nothing else of the tree.
  const auto folder = folder_of(path);
  for (fs::path above = fs::path(path).parent_path(); folder && above != *folder && !above.empty();
       above = above.parent_path()) {
    const auto next = left.lower_bound(above.string() + "/");
    if (next != left.end() && is_within(next->first, above.string())) return;
    ::rmdir((root_ / above).c_str());
  }
}

Result<void> HostWriter::update(const HostTree& wanted) {
  HostTree mine, added;
  for (const auto& [path, file] : wanted)
    if (folder_of(path)) mine.emplace(path, file);
  // Described first gone, described last there: no description is without its device.
  for (auto each = written_.rbegin(); each != written_.rend(); ++each)
    if (const auto now = mine.find(each->first); now == mine.end() || now->second != each->second)
      remove(each->first, mine);
  for (const auto& [path, file] : mine)
    if (const auto before = written_.find(path); before == written_.end() || before->second != file)
      added.emplace(path, file);
  written_ = mine;
  for (auto each = added.begin(); each != added.end();) {
    const std::string folder = *folder_of(each->first);
    const std::string unit = unit_of(each->first, folder);
    const auto begin = each;
    while (each != added.end() && is_within(each->first, unit)) ++each;
    if (const auto done = add(unit, folder, begin, each); !done) return done;
  }
  return {};
}

}  // namespace cleave
