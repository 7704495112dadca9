#pragma once
// A look at the store as it stands at one moment, which changes nothing, also while a daemon has
// it. A daemon keeps SQLite's own locks all the time; instead of those the reader has a shared lock
// on the witness. While it is held the daemon leaves the database file alone and only adds to the
// log, of which SQLite reads as much as there was at first. A daemon goes on without regard to
// readers when the log has become very long (256 MiB), and a log that was brought in completely is
// begun again; the reader notices both.

#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <string>

#include "daemon/store/sqlite.hpp"
#include "daemon/store/store_witness.hpp"

namespace cleave {

/// The store and its witness.
class StoreReader {
 public:
  /// Refuses where there is no store, or where its files cannot be read. Whether the database is
  /// one of ours is not looked at yet. The witness is of no later time than the database.
  [[nodiscard]] static Result<StoreReader> open(const std::filesystem::path& state_directory);

  [[nodiscard]] SqliteConnection& connection() { return connection_; }
  [[nodiscard]] const WitnessText& witness() const { return witness_; }
  /// The database file, without a link in it.
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Whether the end of the database is missing.
  [[nodiscard]] bool torn() const { return torn_; }
  /// Whether what was read is not of one moment. Ask when all has been read.
  [[nodiscard]] bool overtaken() const;

 private:
  /// By what a change of the files is noticed.
  struct Files {
    std::int64_t size = 0, log_size = 0;
    ino_t inode = 0;
    timespec written{};
    std::string log_begins;
  };
  [[nodiscard]] static Result<Files> files_at(const std::filesystem::path& path);
  StoreReader(FileHandle lock, WitnessText witness, std::filesystem::path path, Files files,
              bool torn, SqliteConnection connection)
      : lock_(std::move(lock)),
        witness_(witness),
        path_(std::move(path)),
        files_(std::move(files)),
        torn_(torn),
        connection_(std::move(connection)) {}

  FileHandle lock_;
  WitnessText witness_;
  std::filesystem::path path_;
  Files files_;
  bool torn_;
  SqliteConnection connection_;
};

}  // namespace cleave
