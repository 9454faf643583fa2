#pragma once

#include "core/base/descriptor.h"
#include "core/base/job.h"
#include "core/base/result.h"
#include "core/live/record_stream.h"

#include <sys/types.h>

#include <chrono>
#include <compare>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope::live {

/// Checks that a run can record into these folders, now or later: a run creates the folder itself, but not its parents.
/// Errors: Input if neither the folder nor its parent exists.
[[nodiscard]] Status checkFolders(const std::vector<std::filesystem::path>& folders);

/// Raises this process's limit on open files as far as the system permits, because large runs have one file per rank.
void allowManyFiles();

/// Reads trace files in folders and their subfolders while the files are being written, and passes their contents to an
/// analyzer or to a sender. Files may appear late, be replaced, continue in another file, or be removed; data written
/// before that is still read. The writers of the files are not affected.
///
/// The kernel reports changes. In addition, folders are listed every second, because changes made by other hosts on
/// shared file systems are not reported. The exit of a process that writes a file is detected immediately if the
/// process runs on this machine. Not thread-safe.
class SegmentFollower {
public:
    static constexpr std::string_view kExtension = ".pftrace"; ///< extension of the files to be read

    /// The folders may be created later. Error: Run, with the system's message.
    [[nodiscard]] static Result<SegmentFollower> open(std::vector<std::filesystem::path> folders);

    /// Reads a bounded part of the available data; returns true if more is available. `now` is on the target's clock.
    /// Among files with much unread data, those whose steps are the oldest are read first, because only a bounded
    /// number of incomplete steps can be kept. `control` may stop the function between files.
    bool read(StreamTarget& target, TimeNs now, const JobControl& control = {});

    /// Becomes readable when read() should be called. Does not react to changes by other hosts, so read() must be
    /// called at least every second.
    [[nodiscard]] int descriptor() const { return events_.get(); }

    [[nodiscard]] std::size_t files() const { return files_.size(); }
    /// Total number of unread bytes in the files.
    [[nodiscard]] std::uint64_t unread() const;
    /// Files that do not identify their rank, because they are empty or corrupt at the start.
    [[nodiscard]] std::vector<std::filesystem::path> unstated(const StreamTarget& target) const;
    /// Files that could not be opened or read at the last attempt, with the system's messages.
    [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

private:
    /// Sort key for reading: the files of a rank are read one after another.
    struct Place {
        std::filesystem::path rank; ///< common prefix of the names of the rank's files
        int segment = 0;
        std::filesystem::path path;

        friend auto operator<=>(const Place&, const Place&) = default;
    };
    struct File {
        std::filesystem::path path;
        Descriptor descriptor;
        ino_t inode = 0;
        std::int64_t offset = 0; ///< number of bytes read so far
        StreamTarget::Stream stream = 0;
        bool finished = false;            ///< true if the end was read and no more data will follow
        bool more = false;                ///< true if the last read did not reach the end
        bool at_end = false;              ///< true if the current call to read() reached the end
        bool seen = false;                ///< true if the file is in the current listing of the folders
        std::optional<TimeNs> removed_at; ///< time when the file was first missing from the listing
        std::int64_t pid = 0;             ///< the process whose exit is awaited; 0 = not known yet, negative = none
    };

    SegmentFollower() = default;
    void takeEvents();
    void look(StreamTarget& target, TimeNs now);
    [[nodiscard]] std::int64_t slowestStep(const StreamTarget& target) const;
    [[nodiscard]] bool keepsRemoved(File& file, StreamTarget& target, TimeNs now);
    void visit(const std::filesystem::path& path, StreamTarget& target, TimeNs now);
    [[nodiscard]] static Place placeOf(const std::filesystem::path& path);
    void openFile(File& file);
    enum class Reached : std::uint8_t { End, More, NoRoom };
    Reached readFile(File& file, StreamTarget& target, TimeNs now);
    bool readToEnd(File& file, StreamTarget& target, TimeNs now);
    void watchWriter(File& file, const StreamTarget& target);
    void reportGone(const std::vector<std::int64_t>& ended, StreamTarget& target);
    void watchFolder(const std::filesystem::path& folder);

    std::vector<std::filesystem::path> folders_;
    Descriptor changes_; ///< inotify
    Descriptor events_;  ///< epoll descriptor for `changes_` and the writers
    std::map<std::filesystem::path, int> watched_;
    std::map<Place, File> files_;
    std::map<std::int64_t, Descriptor> writers_; ///< by process id
    std::vector<std::int64_t> ended_;            ///< processes whose exit has not been reported yet, in order of exit
    std::string own_clock_;
    std::string own_pids_;
    std::vector<char> buffer_;
    std::vector<std::string> problems_;
    std::filesystem::path turn_; ///< rank whose files are read first
    bool look_due_ = true;
    TimeNs looked_{0};
};

} // namespace bubblescope::live
