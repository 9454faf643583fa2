#pragma once

#include "core/base/time.h"
#include "core/formats/perfetto/capture_names.h"
#include "core/formats/perfetto/encoder.h"
#include "core/formats/perfetto/packet_file.h"
#include "profiler/capture/rank_identity.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace bubblescope::profiler {

/// An argument that owns its string, for slices that are kept until they can be written.
struct OwnedArg {
    std::string name;
    std::variant<std::int64_t, double, std::string> value;
};
using OwnedArgs = std::vector<OwnedArg>;

/// The process that a trace belongs to, and the location of the trace.
struct CaptureFileInfo {
    std::filesystem::path dir;
    RankIdentity identity;
    ProcessInfo process;
    TimeNs began{0};         ///< CLOCK_MONOTONIC; distinguishes processes with equal process ids
    std::int64_t size = 0;   ///< size limit of all parts in bytes, above which the oldest part is removed; 0 = one
                             ///< part, no limit
    OwnedArgs description{}; ///< additional arguments of the instant at the start of each part
};

/// The trace of one process: an append-only Perfetto file, or several parts of it if its size is limited. If there are
/// more than four parts, the oldest is removed. Each part can be read on its own. No file is created before the first
/// event. Not thread-safe.
class CaptureFile {
public:
    using TrackNumber = std::uint32_t;
    using Args = std::span<const OwnedArg>;

    static constexpr std::string_view kCategory = perfetto::kCaptureCategory;
    static constexpr std::string_view kBegins = perfetto::kCaptureBegins;

    explicit CaptureFile(CaptureFileInfo info);

    /// Tracks are sorted by `order`. In each part, a track is described when it is first used.
    [[nodiscard]] TrackNumber addTrack(std::string name, std::int32_t order);
    void rename(TrackNumber track, std::string name);
    /// A counter of the process, and its values. Each value holds until the time of the next one.
    [[nodiscard]] TrackNumber addCounter(std::string name);
    void count(TrackNumber counter, TimeNs time, double value);

    /// See perfetto::Encoder; times are CLOCK_MONOTONIC. A time that is earlier than the track's latest time is
    /// replaced by that time.
    void begin(TrackNumber track, TimeNs time, std::string_view category, std::string_view name, Args args);
    void end(TrackNumber track, TimeNs time);
    void instant(TrackNumber track, TimeNs time, std::string_view category, std::string_view name, Args args);
    /// Adds an instant to the track of the process.
    void instant(TimeNs time, std::string_view category, std::string_view name, Args args);

    /// Sets the time on both clocks, read at the same moment. Call this once before any event, then occasionally.
    void setClocks(TimeNs monotonic, TimeNs realtime);

    /// Writes all data added since the last flush. Immediately before writing, calls `before` with the length of the
    /// file after the write. Calls `on_part` when a new part replaces a full one, so that open ranges can be written
    /// again. Error: Run, naming the file; the data is kept, and the next flush writes it first.
    using BeforeWrite = std::function<void(std::int64_t length)>;
    [[nodiscard]] Status flush(const std::function<void()>& on_part, const BeforeWrite& before = {});
    /// True if the data of a failed flush must be written before newer data.
    [[nodiscard]] bool isStuck() const { return !unwritten_.empty(); }
    /// Number of bytes waiting for a flush; mostWaiting() is the limit that keeps all parts within the size limit.
    [[nodiscard]] std::size_t waiting() const { return encoder_.bytes().size(); }
    [[nodiscard]] std::size_t mostWaiting() const;

    [[nodiscard]] std::int64_t partsRemoved() const { return parts_removed_; }
    /// Path of the part being written; empty before the first part.
    [[nodiscard]] std::filesystem::path path() const { return file_ ? file_->path() : std::filesystem::path{}; }

    /// State from which another process can continue the file.
    struct State {
        std::string name;       ///< name of the part, empty before the first
        std::int64_t bytes = 0; ///< length of the part
        std::uint32_t tracks = 0;
        std::int64_t parts_made = 0;
        std::int64_t parts_removed = 0;
    };
    [[nodiscard]] State state() const;
    /// Call this before anything is added. Track names are unknown in this process, but the file already describes the
    /// tracks.
    [[nodiscard]] Status resume(const State& state);
    static constexpr std::size_t kMaxTracks = std::size_t{1} << 16;
    [[nodiscard]] bool isFull() const { return tracks_.size() >= kMaxTracks; }

private:
    struct Track {
        std::string name;
        std::int32_t order = 0;
        bool described = false; ///< true if this part describes the track
        bool counts = false;    ///< true for a counter
        TimeNs last{INT64_MIN};
    };
    static constexpr std::int64_t kParts =
        4; ///< each part may use a fifth of the limit; the last fifth is for data not yet flushed
    static constexpr std::int64_t kShares = 5;

    [[nodiscard]] std::uint64_t processUuid() const;
    std::uint64_t uuidOf(TrackNumber track);
    TimeNs ordered(TrackNumber track, TimeNs time);
    /// Valid while the owner of the arguments exists.
    std::span<const perfetto::Arg> viewed(Args args);
    void beginPart();
    [[nodiscard]] std::filesystem::path pathOf(std::int64_t part) const;

    CaptureFileInfo info_;
    perfetto::Encoder encoder_;
    std::vector<Track> tracks_;
    std::vector<perfetto::Arg> views_;
    TimeNs monotonic_{0};
    TimeNs realtime_{0};
    std::optional<TimeNs> offset_; ///< CLOCK_REALTIME minus CLOCK_MONOTONIC; see agreedOffset()
    bool begun_ = false;           ///< true if this part's beginning was written
    std::optional<perfetto::PacketFile> file_;
    std::deque<std::filesystem::path> parts_;
    std::int64_t parts_made_ = 0;
    std::int64_t parts_removed_ = 0;
    std::int64_t part_bytes_ = 0;
    std::string unwritten_; ///< packets whose flush failed
};

/// Offset of CLOCK_REALTIME from CLOCK_MONOTONIC on a host, which relates the traces of several hosts. All processes
/// that record into `dir` and share a clock use the first process's offset, which is stored in a file in `dir`.
/// Otherwise, setting the wall clock between the starts of two processes would shift their traces. `measured` is this
/// process's own measurement.
[[nodiscard]] TimeNs agreedOffset(const std::filesystem::path& dir, const std::string& clock, TimeNs measured);

/// Tracks of the same name for slices that may overlap: an overlapping slice goes to the next lane. There are at most
/// kMaxLanes lanes.
class Lanes {
public:
    Lanes(std::string name, std::int32_t order) : name_(std::move(name)), order_(order) {}

    static constexpr std::size_t kMaxLanes = 1024;

    /// Returns false if all lanes are occupied.
    [[nodiscard]] bool add(CaptureFile& file, TimeNs start, TimeNs end, std::string_view category,
                           std::string_view name, CaptureFile::Args args) {
        auto lane = std::ranges::find_if(lanes_, [&](const Lane& known) { return known.free_from <= start; });
        if (lane == lanes_.end()) {
            if (lanes_.size() >= kMaxLanes || file.isFull()) return false;
            const std::size_t number = lanes_.size() + 1;
            const std::string title = number == 1 ? name_ : name_ + " (" + std::to_string(number) + ")";
            lanes_.push_back({file.addTrack(title, order_), start});
            lane = std::prev(lanes_.end());
        }
        end = std::max(start, end);
        lane->free_from = end;
        file.begin(lane->track, start, category, name, args);
        file.end(lane->track, end);
        return true;
    }

private:
    struct Lane {
        CaptureFile::TrackNumber track;
        TimeNs free_from;
    };

    std::string name_;
    std::int32_t order_;
    std::vector<Lane> lanes_;
};

} // namespace bubblescope::profiler
