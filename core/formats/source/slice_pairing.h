#pragma once

#include "core/base/diagnostic.h"
#include "core/base/job.h"
#include "core/formats/source/load_progress.h"
#include "core/trace/trace_builder.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope {

/// A list that grows without moving its elements: for many millions of elements, copying would be half the cost.
template <class T>
class ChunkedList {
public:
    void push_back(const T& item) {
        if (chunks_.empty() || chunks_.back().size() == chunks_.back().capacity()) {
            const std::size_t last = chunks_.empty() ? kSmallest / 2 : chunks_.back().size();
            chunks_.emplace_back().reserve(std::min(2 * last, kLargest));
        }
        chunks_.back().push_back(item);
    }

    /// Moves all items to `out`, replacing its content and reusing its memory.
    void moveTo(std::vector<T>& out) {
        std::size_t size = 0;
        for (const std::vector<T>& chunk : chunks_)
            size += chunk.size();
        out.clear();
        out.reserve(size);
        for (std::vector<T>& chunk : chunks_) {
            out.insert(out.end(), std::make_move_iterator(chunk.begin()), std::make_move_iterator(chunk.end()));
            std::vector<T>().swap(chunk);
        }
        chunks_.clear();
    }

private:
    static constexpr std::size_t kSmallest = 2; // there may be as many lists as items
    static constexpr std::size_t kLargest = std::size_t{1} << 16;

    std::vector<std::vector<T>> chunks_;
};

/// The begin or the end of a slice, from formats that write the two separately.
struct SliceMark {
    TrackId track = 0;
    bool is_end = false;
    TimeNs time{0};
    StringId name = 0; ///< may be empty at an end
    StringId category = 0;
    ArgSetId args = 0;
};

/// Turns begins and ends into slices after a file was read to its end: files need not be in order of time. An end
/// closes the innermost open slice of its track. Slices that are still open at the end of the file are omitted and
/// counted: their end is unknown, and a made-up one would look measured.
class SlicePairing {
public:
    explicit SlicePairing(TraceBuilder& builder) : builder_(builder) {}

    void add(const SliceMark& mark);
    /// Begins and ends that are paired by an id within their track, not by nesting in it.
    void addAsync(const SliceMark& mark, std::uint64_t id);
    /// An arrow touching the slice whose begin was added last.
    void addFlowToLast(std::uint64_t id) { flows_.push_back({marks_ - 1, id}); }

    /// Adds the slices to the builder, those of a track in order of time; `where` names the file in diagnostics. False
    /// if the job is stopped.
    [[nodiscard]] bool finish(DiagnosticLog& log, const std::string& where, const LoadProgress& progress);

private:
    struct Mark {
        TimeNs time;
        StringId name;
        StringId category;
        ArgSetId args;
        std::uint32_t is_end : 1;
        std::uint32_t number : 31; ///< in order of arrival
    };
    struct AsyncMark {
        TrackId track;
        std::uint64_t id;
        Mark mark;
    };
    struct Flow {
        std::uint32_t mark;
        std::uint64_t id;
    };
    struct Finishing {
        DiagnosticLog& log;
        const std::string& where;
        const JobControl& control;
        StopCheck stop;
        std::vector<Mark> marks;           ///< of one track
        std::vector<std::uint32_t> open;   ///< begins, innermost last
        std::vector<std::uint32_t> end_of; ///< by begin
    };

    /// A track's marks and, for the preview, the outermost open slice if they come in order of time.
    struct TrackMarks {
        ChunkedList<Mark> marks;
        std::int64_t depth = 0;
        std::int64_t slices = 0; ///< in the outermost one
        TimeNs begin{0};
    };

    void addToPreview(const SliceMark& mark);
    Mark numbered(const SliceMark& mark);
    [[nodiscard]] bool pair(TrackId track, std::vector<Mark>& marks, Finishing& job);
    [[nodiscard]] bool pairAsync(Finishing& job);
    void addSlice(TrackId track, const Mark& begin, const Mark& end);

    TraceBuilder& builder_;
    std::vector<TrackMarks> tracks_; ///< by TrackId
    std::vector<AsyncMark> async_;
    std::vector<Flow> flows_; ///< by mark
    std::uint32_t marks_ = 0;
    std::size_t begins_ = 0;
};

} // namespace bubblescope
