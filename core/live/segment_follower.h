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

/// Checks that a run may record into these folders, now or later: a run creates its folder, but not the parents.
/// Errors: Input if neither a folder nor its parent exists.
[[nodiscard]] Status checkFolders(const std::vector<std::filesystem::path>& folders);

/// Raises this process's limit of open files as far as the system allows, because large runs have one file per rank.
void allowManyFiles();

/// Reads trace files in folders and their subfolders while they are written, and feeds them to an analyzer or to a
/// sender. Files may appear late, be replaced, continue in another file, or be removed; what was written to them before
/// is still read. Writers are not affected.
///
/// The kernel reports changes, and folders are also listed every second, because changes by other hosts on shared file
/// systems are not reported. The exit of a file's process is detected at once if it runs on this machine. Not
/// thread-safe.
class SegmentFollower {
public:
    static constexpr std::string_view kExtension = ".pftrace"; ///< extension of the files to read

    /// Folders may be created later. Error: Run, in the system's words.
    [[nodiscard]] static Result<SegmentFollower> open(std::vector<std::filesystem::path> folders);

    /// Reads the available data, a bounded part at a time; true if more is available. `now` is on the target's clock.
    /// Files whose steps are behind are read first if they have much unread data, because assembling steps only holds a
    /// bounded number of them. `control` may stop it between files.
    bool read(StreamTarget& target, TimeNs now, const JobControl& control = {});

    /// Becomes readable when read() has something to do. Does not react to files of other hosts, so call read() at
    /// least every second.
    [[nodiscard]] int descriptor() const { return events_.get(); }

    [[nodiscard]] std::size_t files() const { return files_.size(); }
    /// Total unread bytes in the files.
    [[nodiscard]] std::uint64_t unread() const;
    /// Files that do not identify their rank, because they are empty or damaged at their beginning.
    [[nodiscard]] std::vector<std::filesystem::path> unstated(const StreamTarget& target) const;
    /// Files that could not be opened or read at the last attempt, in the system's words.
    [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

private:
    /// The order in which files are read: those of a rank one after another.
    struct Place {
        std::filesystem::path rank; ///< the common beginning of its file names
        int segment = 0;
        std::filesystem::path path;

        friend auto operator<=>(const Place&, const Place&) = default;
    };
    struct File {
        std::filesystem::path path;
        Descriptor descriptor;
        ino_t inode = 0;
        std::int64_t offset = 0; ///< bytes read so far
        StreamTarget::Stream stream = 0;
        bool finished = false;            ///< read to its end, and no more data will follow
        bool more = false;                ///< the last read did not reach its end
        bool at_end = false;              ///< this call of read() did
        bool seen = false;                ///< in the current listing of the folders
        std::optional<TimeNs> removed_at; ///< when it was first missing there
        std::int64_t pid = 0;             ///< the process whose exit is waited for; 0 = not known yet, negative = none
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
    Descriptor events_;  ///< epoll, for `changes_` and the writers
    std::map<std::filesystem::path, int> watched_;
    std::map<Place, File> files_;
    std::map<std::int64_t, Descriptor> writers_; ///< by process id
    std::vector<std::int64_t> ended_;            ///< processes that have exited, in order, not reported yet
    std::string own_clock_;
    std::string own_pids_;
    std::vector<char> buffer_;
    std::vector<std::string> problems_;
    std::filesystem::path turn_; ///< the rank whose files are read first
    bool look_due_ = true;
    TimeNs looked_{0};
};

} // namespace bubblescope::live
