#include "core/live/segment_follower.h"

#include "core/base/process_info.h"
#include "core/base/text.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace bubblescope::live {
namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 18;
constexpr int kReadsInTurn = 16; ///< maximum number of reads per file, if the reads do not fill the buffer
constexpr std::int64_t kStepsAhead = 16;
constexpr TimeNs kLookEvery{std::chrono::seconds(1)};
constexpr int kDeepest = 3;
constexpr std::int64_t kElsewhere = -1; ///< a process that cannot be watched

Error systemError(std::string_view what) {
    return runError(fmt::format("{}: {}", what, std::strerror(errno)));
}

} // namespace

Status checkFolders(const std::vector<std::filesystem::path>& folders) {
    std::error_code code;
    for (const std::filesystem::path& folder : folders) {
        const std::filesystem::path path = std::filesystem::absolute(folder, code);
        if (std::filesystem::exists(path, code) && !std::filesystem::is_directory(path, code))
            return inputError(folder.string(), "is a file, not a folder",
                              "specify the folder that the run records into");
        if (std::filesystem::exists(path, code) || std::filesystem::exists(path.parent_path(), code)) continue;
        return inputError(folder.string(), "neither the folder nor its parent exists",
                          "specify the folder that the run records into");
    }
    return {};
}

void allowManyFiles() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

Result<SegmentFollower> SegmentFollower::open(std::vector<std::filesystem::path> folders) {
    SegmentFollower follower;
    follower.folders_ = std::move(folders);
    follower.changes_ = Descriptor(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
    follower.events_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
    if (!follower.events_.isOpen()) return systemError("cannot watch files");
    if (follower.changes_.isOpen()) { // if this fails, folders are listed every second
        epoll_event event{};
        event.events = EPOLLIN;
        ::epoll_ctl(follower.events_.get(), EPOLL_CTL_ADD, follower.changes_.get(), &event);
    }
    const ProcessInfo self = thisProcess();
    follower.own_clock_ = self.clock;
    follower.own_pids_ = self.pids;
    follower.buffer_.resize(kBuffer);
    return follower;
}

bool SegmentFollower::read(StreamTarget& target, TimeNs now, const JobControl& control) {
    takeEvents();
    if (look_due_ || now - looked_ >= kLookEvery) look(target, now);
    const std::vector<std::int64_t> ended =
        ended_; // these have finished writing; processes that exit from now on may have written more
    const std::int64_t slowest = slowestStep(target);
    bool more = false;
    std::filesystem::path next_turn;
    const auto readRanks = [&](auto at, auto end) {
        const std::filesystem::path* blocked = nullptr; // a rank with an unfinished earlier file
        for (; at != end && !control.stopRequested(); ++at) {
            File& file = at->second;
            file.at_end = false;
            if (file.finished || (blocked != nullptr && *blocked == at->first.rank)) continue;
            const bool ahead = file.more && target.stepOf(file.stream) > slowest + kStepsAhead;
            const std::int64_t before = file.offset;
            const Reached reached = ahead ? Reached::NoRoom : readFile(file, target, now);
            if (reached != Reached::NoRoom) file.more = reached == Reached::More;
            file.at_end = reached == Reached::End;
            more = more || ahead || reached == Reached::More;
            const auto next = std::next(at);
            if (file.offset != before) next_turn = next == files_.end() ? std::filesystem::path() : next->first.rank;
            if (file.pid == 0) watchWriter(file, target);
            if (next == files_.end() || next->first.rank != at->first.rank) continue;
            if (reached != Reached::End || !target.isThrough(file.stream)) {
                blocked = &at->first.rank;
                continue;
            }
            target.close(file.stream); // the file was full when the next one was started
            file.finished = true;
            file.descriptor = Descriptor();
        }
    };
    const auto first = files_.lower_bound({turn_, std::numeric_limits<int>::min(), {}});
    readRanks(first, files_.end());
    readRanks(files_.begin(), first);
    turn_ = std::move(next_turn); // the last one may find no room
    const bool ended_since = ended_.size() > ended.size();
    reportGone(ended, target);
    return more || ended_since;
}

/// The lowest step among the files that have more data and can be read.
std::int64_t SegmentFollower::slowestStep(const StreamTarget& target) const {
    std::int64_t slowest = std::numeric_limits<std::int64_t>::max() - kStepsAhead;
    for (const auto& [place, file] : files_) {
        if (file.more && !file.finished && target.room(file.stream) > 0)
            slowest = std::min(slowest, target.stepOf(file.stream));
    }
    return slowest;
}

std::uint64_t SegmentFollower::unread() const {
    std::uint64_t bytes = 0;
    for (const auto& [place, file] : files_) {
        struct stat status {};
        if (file.finished || !file.descriptor.isOpen() || ::fstat(file.descriptor.get(), &status) != 0) continue;
        bytes += static_cast<std::uint64_t>(std::max<std::int64_t>(status.st_size - file.offset, 0));
    }
    return bytes;
}

std::vector<std::filesystem::path> SegmentFollower::unstated(const StreamTarget& target) const {
    std::vector<std::filesystem::path> paths;
    for (const auto& [place, file] : files_) {
        if (!file.finished && !target.statementOf(file.stream)) paths.push_back(file.path);
    }
    return paths;
}

/// "rank3" and 2 from "rank3.2.pftrace".
SegmentFollower::Place SegmentFollower::placeOf(const std::filesystem::path& path) {
    const std::filesystem::path whole = path.parent_path() / path.stem();
    const std::string number = whole.extension().string();
    const auto segment = number.empty() ? std::nullopt : parseNumber<int>(std::string_view(number).substr(1));
    if (!segment) return {whole, 0, path};
    return {whole.parent_path() / whole.stem(), *segment, path};
}

void SegmentFollower::takeEvents() {
    std::array<epoll_event, 64> events{};
    const int count = ::epoll_wait(events_.get(), events.data(), static_cast<int>(events.size()), 0);
    for (int i = 0; i < count; ++i) {
        const auto pid = static_cast<std::int64_t>(events[static_cast<std::size_t>(i)].data.u64);
        if (pid == 0) continue;
        ended_.push_back(pid);
        writers_.erase(pid); // closed so that the exit is reported only once
    }
    alignas(inotify_event) std::array<char, 1 << 14> changes;
    for (ssize_t bytes; changes_.isOpen() && (bytes = ::read(changes_.get(), changes.data(), changes.size())) > 0;) {
        for (const char* at = changes.data(); at < changes.data() + bytes;) {
            inotify_event change{};
            std::memcpy(&change, at, sizeof change);
            at += sizeof change + change.len;
            if ((change.mask & IN_MODIFY) == 0) look_due_ = true;
        }
    }
}

void SegmentFollower::watchFolder(const std::filesystem::path& folder) {
    if (!changes_.isOpen() || watched_.contains(folder)) return;
    constexpr std::uint32_t kMask = IN_CREATE | IN_DELETE | IN_MODIFY | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE_SELF;
    const int watch = ::inotify_add_watch(changes_.get(), folder.c_str(), kMask);
    if (watch >= 0) watched_[folder] = watch;
}

void SegmentFollower::look(StreamTarget& target, TimeNs now) {
    look_due_ = false;
    looked_ = now;
    problems_.clear();
    for (auto& [place, file] : files_)
        file.seen = false;
    for (const std::filesystem::path& folder : folders_) {
        std::error_code code;
        const bool exists = std::filesystem::is_directory(folder, code);
        if (!exists) {
            watched_.erase(folder);
            continue;
        }
        watchFolder(folder);
        std::filesystem::recursive_directory_iterator at(folder, code);
        for (const std::filesystem::recursive_directory_iterator end; !code && at != end; at.increment(code)) {
            std::error_code ignored;
            if (at->is_directory(ignored)) {
                watchFolder(at->path());
                if (at.depth() >= kDeepest) at.disable_recursion_pending();
            } else if (at->path().extension() == kExtension) {
                visit(at->path(), target, now);
            }
        }
        if (code) problems_.push_back(fmt::format("{}: {}", folder.string(), code.message()));
    }
    for (auto file = files_.begin(); file != files_.end();) {
        if (file->second.seen || keepsRemoved(file->second, target, now)) {
            ++file;
            continue;
        }
        if (!file->second.finished) target.close(file->second.stream);
        file = files_.erase(file);
    }
}

/// A removed file can still be read through its open descriptor, and a new file may replace it: a run that is started
/// again, or a folder that is exchanged. Otherwise no more data can arrive from its writer.
bool SegmentFollower::keepsRemoved(File& file, StreamTarget& target, TimeNs now) {
    constexpr TimeNs kReplaced{std::chrono::seconds(5)};
    if (file.finished) return false;
    if (!file.removed_at) file.removed_at = now;
    if (!readToEnd(file, target, now) || now - *file.removed_at < kReplaced) return true;
    target.gone(file.stream, fmt::format("{} was removed", file.path.string()));
    return false;
}

void SegmentFollower::visit(const std::filesystem::path& path, StreamTarget& target, TimeNs now) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return; // removed again
    if (!S_ISREG(status.st_mode)) return;           // a pipe or socket
    const auto [entry, is_new] = files_.try_emplace(placeOf(path));
    File& file = entry->second;
    file.seen = true;
    file.removed_at.reset();
    if (is_new) {
        file.path = path;
        file.stream = target.open(path.string());
        openFile(file);
    } else if (file.inode != status.st_ino && file.inode != 0) {
        if (file.finished)
            file.stream = target.open(path.string());
        else
            readToEnd(file, target, now);
        target.restart(file.stream);
        file.finished = false;
        file.pid = 0;
        openFile(file);
    } else if (!file.descriptor.isOpen() && !file.finished) {
        openFile(file);
    }
}

void SegmentFollower::openFile(File& file) {
    file.offset = 0;
    file.more = false;
    file.descriptor = Descriptor();
    file.descriptor = Descriptor(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)); // it may be a pipe now
    struct stat status {};
    if (!file.descriptor.isOpen() || ::fstat(file.descriptor.get(), &status) != 0) {
        problems_.push_back(fmt::format("{}: {}", file.path.string(), std::strerror(errno)));
        return;
    }
    file.inode = status.st_ino;
}

SegmentFollower::Reached SegmentFollower::readFile(File& file, StreamTarget& target, TimeNs now) {
    if (const auto rewind = target.takeRewind(file.stream)) file.offset = *rewind;
    for (int i = 0; i < kReadsInTurn && file.descriptor.isOpen(); ++i) {
        const std::size_t room = std::min(buffer_.size(), target.room(file.stream));
        if (room == 0) return Reached::NoRoom;
        const ssize_t bytes = ::pread(file.descriptor.get(), buffer_.data(), room, file.offset);
        if (bytes > 0) {
            target.feed(file.stream, {buffer_.data(), static_cast<std::size_t>(bytes)}, now);
            file.offset += bytes;
            if (static_cast<std::size_t>(bytes) == room) return Reached::More; // other files are read next
            continue;
        }
        if (bytes < 0) problems_.push_back(fmt::format("{}: {}", file.path.string(), std::strerror(errno)));
        struct stat status {};
        if (bytes != 0 || ::fstat(file.descriptor.get(), &status) != 0 || status.st_size >= file.offset)
            return Reached::End;
        // Shorter than what was read. A writer that could not write all of a batch truncates the incomplete part.
        const auto pending = static_cast<std::int64_t>(target.pending(file.stream));
        if (status.st_size >= file.offset - pending) {
            target.dropPending(file.stream);
            file.offset -= pending;
        } else {
            target.restart(file.stream);
            file.offset = 0;
        }
    }
    return file.descriptor.isOpen() ? Reached::More : Reached::End;
}

/// True if all of the data has been accepted.
bool SegmentFollower::readToEnd(File& file, StreamTarget& target, TimeNs now) {
    Reached reached = Reached::More;
    while (reached == Reached::More)
        reached = readFile(file, target, now);
    return reached == Reached::End && target.isThrough(file.stream);
}

/// If the writer is a process of this machine, the kernel reports its exit.
void SegmentFollower::watchWriter(File& file, const StreamTarget& target) {
    const auto statement = target.statementOf(file.stream);
    if (!statement || statement->pid <= 0) return;
    const bool here = statement->clock == own_clock_ && statement->pids == own_pids_ && !own_pids_.empty();
    file.pid = here ? statement->pid : kElsewhere;
    if (!here || writers_.contains(file.pid)) return;
    Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(file.pid), 0)));
    if (process.isOpen()) {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.u64 = static_cast<std::uint64_t>(file.pid);
        if (::epoll_ctl(events_.get(), EPOLL_CTL_ADD, process.get(), &event) == 0)
            writers_[file.pid] = std::move(process);
    } else if (errno == ESRCH && std::ranges::find(ended_, file.pid) == ended_.end()) {
        ended_.push_back(file.pid);
    }
}

/// Only after everything that a process wrote has been read, because any of its files, which are read in turns, may
/// report the end. In the order of exits, because after the first one a launcher (mpirun) ends the other processes.
void SegmentFollower::reportGone(const std::vector<std::int64_t>& ended, StreamTarget& target) {
    for (const std::int64_t pid : ended) {
        const auto isOpen = [pid](const File& file) { return file.pid == pid && !file.finished; };
        const auto isUnread = [&](const auto& entry) { return isOpen(entry.second) && !entry.second.at_end; };
        if (std::ranges::any_of(files_, isUnread)) break;
        std::erase(ended_, pid);
        for (const auto& [place, file] : files_) {
            if (!isOpen(file)) continue;
            target.gone(file.stream, fmt::format("process {} died without closing {}", pid, place.path.string()));
        }
    }
}

} // namespace bubblescope::live
