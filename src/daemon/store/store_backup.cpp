#include "daemon/store/store_backup.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/format.hpp"
#include "base/text.hpp"
#include "daemon/store/store_file.hpp"

namespace cleave {

namespace fs = std::filesystem;

namespace {

constexpr int most_copies = 5;

fs::path witness_of(const fs::path& file) {
  return file.string() + ".witness";
}

/// A folder beside the file, of this user only, in which the copy grows; it goes with the object.
class Workshop {
 public:
  static Result<Workshop> make(const fs::path& file) {
    std::string name = file.string() + ".part-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) return system_failure(file, "cannot be made");
    return Workshop(name);
  }
  ~Workshop() {
    std::error_code failed;
    if (!folder_.empty()) fs::remove_all(folder_, failed);
  }
  Workshop(Workshop&& other) noexcept : folder_(std::exchange(other.folder_, {})) {}
  Workshop& operator=(Workshop&&) = delete;
  [[nodiscard]] const fs::path& folder() const { return folder_; }

 private:
  explicit Workshop(fs::path folder) : folder_(std::move(folder)) {}
  fs::path folder_;
};

Result<void> check_free(const fs::path& file) {
  for (const fs::path& each : {file, witness_of(file)}) {
    struct stat facts = {};
    if (::lstat(each.c_str(), &facts) == 0)
      return fail(ErrorKind::bad_usage, shown(each.string(), 200), "it is there already",
                  "name another file");
    if (errno != ENOENT) return system_failure(each, "cannot be made");
  }
  return {};
}

/// An empty file of this user only, which is then written by another.
Result<void> make_closed(const fs::path& file) {
  const auto made = FileHandle::open(file, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW);
  if (!made) return std::unexpected(made.error());
  if (::fchmod(made->descriptor(), 0600) != 0)
    return system_failure(file, "cannot be closed to other users");
  return {};
}

Result<void> sync_file(const fs::path& file) {
  const auto opened = FileHandle::open(file, O_RDWR | O_NOFOLLOW);
  if (!opened) return std::unexpected(opened.error());
  return opened->sync(file);
}

Result<void> write_witness(const fs::path& file, const StoreProgress& progress) {
  const auto made = FileHandle::open(file, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW);
  if (!made) return std::unexpected(made.error());
  if (::fchmod(made->descriptor(), 0600) != 0)
    return system_failure(file, "cannot be closed to other users");
  if (const auto written = made->write_whole(witness_text(progress), file); !written)
    return written;
  return made->sync(file);
}

/// Under the name that the store has in a state directory, so that it is read like one.
Result<void> copy_into(const fs::path& file, StoreReader& reader) {
  if (const auto made = make_closed(file); !made) return made;
  auto copy = SqliteConnection::open(file);
  if (!copy) return std::unexpected(copy.error());
  // Nothing is to be undone in a copy: it is kept or removed whole.
  if (const auto set = copy->run("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF"); !set)
    return set;
  return reader.connection().copy_to(*copy);
}

/// What one reader saw.
struct Copied {
  bool overtaken = false;
  WitnessText witness;
};
Result<Copied> copy_once(const fs::path& state_directory, const fs::path& file) {
  auto reader = StoreReader::open(state_directory);
  if (!reader) return std::unexpected(reader.error());
  const auto copied = copy_into(file, *reader);
  const bool overtaken = reader->overtaken();
  if (!copied && !overtaken) return std::unexpected(copied.error());
  return Copied{overtaken, reader->witness()};
}

Result<WitnessText> copy_database(const fs::path& state_directory, const fs::path& file) {
  for (int tries = 0; tries < most_copies; ++tries) {
    const auto copied = copy_once(state_directory, file);
    if (!copied) return std::unexpected(copied.error());
    if (!copied->overtaken) return copied->witness;
    std::error_code failed;
    fs::remove(file, failed);
  }
  return fail(ErrorKind::infeasible, shown(state_directory.string(), 200),
              "the daemon writes more than can be copied meanwhile",
              "try again when less is submitted");
}

/// Refuses the copy where anything is wrong with it, or where it lacks what had been on the disk.
Result<StoreFindings> check_copy(const fs::path& state_directory, const fs::path& folder,
                                 const WitnessText& witness) {
  auto reader = StoreReader::open(folder);
  if (!reader) return std::unexpected(reader.error());
  auto found = check_database(*reader, false);
  if (!found) return found;
  std::string wrong = found->faults.empty() ? "" : found->faults.front().message;
  if (wrong.empty() && witness.seen) wrong = missing_batches(*witness.seen, found->progress);
  if (wrong.empty()) return found;
  return fail(ErrorKind::bad_input, shown((state_directory / store_name).string(), 200),
              wrong + "; no backup was made", "'cleaved check' says all that is wrong");
}

/// Never over another file that came meanwhile.
Result<void> give_name(const fs::path& from, const fs::path& to) {
  if (::link(from.c_str(), to.c_str()) == 0) return {};
  // Some file systems know one name for a file only.
  if (errno != EEXIST &&
      ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0)
    return {};
  return system_failure(to, "cannot be made");
}

}  // namespace

Result<StoreFindings> back_up_store(const fs::path& state_directory, const fs::path& file) {
  if (const auto free = check_free(file); !free) return std::unexpected(free.error());
  const auto workshop = Workshop::make(file);
  if (!workshop) return std::unexpected(workshop.error());
  const fs::path database = workshop->folder() / store_name;
  const fs::path witness = workshop->folder() / witness_name;
  const auto copied = copy_database(state_directory, database);
  if (!copied) return std::unexpected(copied.error());
  auto found = check_copy(state_directory, workshop->folder(), *copied);
  if (!found) return found;
  Result<void> done = sync_file(database);
  if (done) done = write_witness(witness, found->progress);
  // The witness first: a backup that has its name is complete.
  if (done) done = give_name(witness, witness_of(file));
  if (!done) return std::unexpected(done.error());
  done = give_name(database, file);
  if (done) done = sync_directory(fs::absolute(file).parent_path());
  if (done) return found;
  std::error_code failed;
  fs::remove(witness_of(file), failed);
  return std::unexpected(done.error());
}

}  // namespace cleave
