#pragma once

#include "core/base/time.h"
#include "core/trace/trace.h"

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace bubblescope {

/// A coarse preview of a trace that is being loaded: when each track is busy, in the part read so far. Files are read
/// in parallel, each by one thread that fills its own Part; any thread may read the preview at any time.
///
/// Uses a few nanoseconds per slice and 3 kB per track, for at most 512 tracks per file.
class LoadPreview {
public:
    static constexpr std::size_t kMaxRows = 512; ///< maximum number of tracks per file; later tracks are omitted

    /// The part of a track that has already been read.
    struct Row {
        std::size_t file = 0; ///< index into Picture::files
        std::int64_t slices = 0;
        TimeNs busy{0};            ///< time during which a slice runs; too low if slices were not sorted by time
        std::vector<float> shares; ///< per column, the fraction of time during which a slice runs (0 to 1)
    };
    struct Picture {
        TimeNs begin{0}; ///< on the files' clock
        TimeNs end{0};
        std::vector<std::string> files; ///< names of the files, in load order
        std::vector<Row> rows;          ///< by file, then by order of appearance
        std::int64_t slices = 0;

        [[nodiscard]] bool empty() const { return rows.empty(); }
    };
    /// Preview of the data that has been published, divided into `columns` equal intervals.
    [[nodiscard]] Picture picture(std::size_t columns) const;

    /// Increases each time the result of picture() may have changed.
    [[nodiscard]] std::uint64_t version() const;

    class Part;
    /// Adds a Part for one file. `file` is the name to display, and `order` its position. The part lives as long as
    /// this object.
    [[nodiscard]] Part& addPart(std::string file, std::size_t order);

private:
    mutable std::mutex mutex_;
    std::vector<std::unique_ptr<Part>> parts_;
};

/// Filled by one thread, which publishes the new data from time to time.
class LoadPreview::Part {
public:
    Part(std::string file, std::size_t order) : file_(std::move(file)), order_(order) {}

    /// Adds `slices` nested slices. The outermost one starts at `start` on the file's clock and lasts `duration`.
    void add(TrackId track, TimeNs start, TimeNs duration, std::int64_t slices = 1);
    void setOffset(TimeNs offset) { offset_ = offset; }
    /// Publishes the data added since the last call. Called automatically about every ten thousand slices.
    void publish();

private:
    friend class LoadPreview;

    /// Busy time in bins whose width doubles when the row exceeds their range: bin i is [(first + i) << shift, …).
    class Bins {
    public:
        void add(std::int64_t start, std::int64_t end, std::int64_t slices);

        static constexpr int kCount = 256;
        int shift = 10; ///< initially about one microsecond
        std::int64_t first = 0;
        std::int64_t low = 0; ///< lowest and highest bin in use
        std::int64_t high = -1;
        std::int64_t covered = INT64_MIN;
        std::int64_t slices = 0;
        std::int64_t busy = 0;
        std::array<std::int64_t, kCount> times{};

    private:
        void makeRoom(std::int64_t begin, std::int64_t end);
    };

    std::string file_;
    std::size_t order_;
    std::vector<Bins> rows_;            ///< in order of appearance of the tracks
    std::vector<std::uint32_t> row_of_; ///< by TrackId
    TimeNs offset_{0};
    std::int64_t slices_ = 0;
    std::int64_t added_ = 0; ///< number of slices since the last publish()
    std::int64_t publish_after_ = 4096;

    mutable std::mutex mutex_; ///< guards the published data
    std::vector<Bins> shown_;
    TimeNs shown_offset_{0};
    std::int64_t shown_slices_ = 0;
    std::uint64_t published_ = 0;
};

} // namespace bubblescope
