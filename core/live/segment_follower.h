#pragma once

#include "core/base/descriptor.h"
#include "core/base/result.h"
#include "core/live/stream_target.h"

#include <sys/types.h>

#include <chrono>
#include <compare>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace bubblescope::live {

/// Reads trace files in folders, and below them, while they are written, and feeds them to an analyzer or to a sender.
/// Files may appear late, be replaced, go on in a next one, or be removed: what was written to them before is read.
/// Writers never notice.
///
/// The kernel reports changes, and folders are listed every second besides, since other hosts write to shared file
/// systems unseen. Where a file's process runs on this machine its end is noticed at once. One thread at a time.
class SegmentFollower {
public:
    /// Folders that do not exist yet are waited for. Error: Run, in the system's words.
    [[nodiscard]] static Result<SegmentFollower> open(std::vector<std::filesystem::path> folders);

    /// Reads what there is, a bounded part of it at a time; true if there is more at once. `now` as the target has it.
    bool read(StreamTarget& target, TimeNs now);

    /// Becomes readable when read() may have something to do. It need not for files of other hosts: call that every
    /// second at least.
    [[nodiscard]] int descriptor() const { return events_.get(); }

    [[nodiscard]] std::size_t files() const { return files_.size(); }
    /// Files that could not be opened or read at the last look, in the system's words.
    [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

private:
    /// In this order files are read: a rank's one after the other.
    struct Place {
        std::filesystem::path rank; ///< what the names of its files begin with
        int segment = 0;
        std::filesystem::path path;

        friend auto operator<=>(const Place&, const Place&) = default;
    };
    struct File {
        std::filesystem::path path;
        Descriptor descriptor;
        ino_t inode = 0;
        std::int64_t offset = 0; ///< how far it was read
        StreamTarget::Stream stream = 0;
        bool finished = false; ///< read to its end, and nothing will follow
        bool seen = false;     ///< at the present look at the folders
        std::int64_t pid = 0;  ///< whose end is waited for; 0 = not known yet, negative = nobody's
    };

    SegmentFollower() = default;
    void takeEvents();
    void look(StreamTarget& target, TimeNs now);
    void lookAt(const std::filesystem::path& path, StreamTarget& target, TimeNs now);
    [[nodiscard]] static Place placeOf(const std::filesystem::path& path);
    void openFile(File& file);
    enum class Reached : std::uint8_t { End, More, NoRoom };
    Reached readFile(File& file, StreamTarget& target, TimeNs now);
    bool readToEnd(File& file, StreamTarget& target, TimeNs now);
    void watchWriter(File& file, const StreamTarget& target);
    void reportGone(StreamTarget& target, TimeNs now);
    void watchFolder(const std::filesystem::path& folder);

    std::vector<std::filesystem::path> folders_;
    Descriptor changes_; ///< inotify
    Descriptor events_;  ///< epoll, of `changes_` and the writers
    std::map<std::filesystem::path, int> watched_;
    std::map<Place, File> files_;
    std::map<std::int64_t, Descriptor> writers_; ///< by process id
    std::vector<std::int64_t> ended_;            ///< processes that have ended, not yet reported
    std::string own_clock_;
    std::string own_pids_;
    std::vector<char> buffer_;
    std::vector<std::string> problems_;
    bool look_due_ = true;
    TimeNs looked_{0};
};

} // namespace bubblescope::live
