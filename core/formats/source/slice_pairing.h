#pragma once

#include "core/base/diagnostic.h"
#include "core/base/job.h"
#include "core/formats/source/load_progress.h"
#include "core/trace/trace_builder.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace bubblescope {

/// The begin or the end of a slice, for formats that write them separately.
struct SliceMark {
    TrackId track = 0;
    bool is_end = false;
    TimeNs time{0};
    StringId name = 0; ///< name of the slice; may be empty at an end
    StringId category = 0;
    ArgSetId args = 0;
};

/// Converts begin and end marks to slices. In time order, each end closes the innermost open slice of its track. If
/// the marks of a track are in order in the file, as usual, each begin mark adds its slice to the builder and nothing
/// else is stored. Otherwise the marks of the track are sorted at the end. Slices that are still open at the end of the
/// file stay open (Trace::openSlices()) and are counted.
class SlicePairing {
public:
    explicit SlicePairing(TraceBuilder& builder) : builder_(builder), flows_(builder.flowCount()) {}

    void add(const SliceMark& mark);
    /// Adds a begin or end mark that is paired by an id within its track. Pairs with the same id nest. If an end has a
    /// name, it closes the innermost open slice with this name. Nested slices with one id get separate rows where they
    /// overlap slices with another id on their track.
    void addAsync(const SliceMark& mark, std::uint64_t id);
    /// Adds an arrow that touches the slice whose begin was added last. A reader must add either all or none of its
    /// arrows with this function.
    void addFlowToLast(std::uint64_t id) {
        any_flow_ = true;
        builder_.addFlow({id, builder_.sliceStart(last_begin_), builder_.sliceTrack(last_begin_), last_begin_, true});
    }

    /// Completes the slices in the builder. `where` names the file in diagnostics. Returns false if the job is stopped.
    [[nodiscard]] bool finish(DiagnosticLog& log, const std::string& where, const LoadProgress& progress);

private:
    struct AsyncMark {
        SliceMark mark;
        std::uint64_t id;
    };
    /// A mark to be sorted by time.
    struct Mark {
        TimeNs time;
        std::uint32_t item : 31; ///< for a begin: the slice, or index in async_; for an end: index of the args
        std::uint32_t is_end : 1;
    };
    struct LooseEnd {
        TimeNs time;
        ArgSetId args;
    };
    /// Data that only a few tracks need.
    struct Odd {
        std::vector<LooseEnd> unmatched; ///< end marks without a begin, up to the first mark that comes too early
        std::vector<Mark> late;          ///< marks from the first one that comes too early
    };
    struct TrackMarks {
        std::vector<SliceId> open; ///< innermost last
        TimeNs latest = TimeNs::min();
        std::vector<bool> order; ///< for each mark up to the first one that comes too early: true if the mark is an end
        std::unique_ptr<Odd> odd;
        // For the preview, data of the outermost open slice:
        std::int64_t depth = 0;
        std::int64_t slices = 0; ///< slices in it
        TimeNs begin{0};

        [[nodiscard]] bool disordered() const { return odd != nullptr && !odd->late.empty(); }
        Odd& oddities() {
            if (odd == nullptr) odd = std::make_unique<Odd>();
            return *odd;
        }
    };
    struct Finishing {
        DiagnosticLog& log;
        const std::string& where;
        const JobControl& control;
        StopCheck stop;
        std::vector<std::uint32_t> open;   ///< begins, innermost last
        std::vector<std::uint32_t> end_of; ///< by begin
    };

    void addToPreview(const SliceMark& mark);
    void close(TrackMarks& track, const SliceMark& mark);
    [[nodiscard]] bool finishTracks(Finishing& job);
    void reportOpen(const TrackMarks& track, Finishing& job) const;
    void leaveOpen(SliceId slice, Finishing& job) const;
    [[nodiscard]] bool finishDisordered(const std::vector<TrackId>& tracks, Finishing& job);
    [[nodiscard]] std::vector<Mark> marksOf(TrackMarks& track, const std::vector<SliceId>& slices,
                                            const std::unordered_map<SliceId, ArgSetId>& end_args);
    /// Pairs the marks for which `fit(begin, end)` returns true, in time order. Calls `use(begin, end)` for each pair,
    /// in the order of begin marks, with null if the slice stays open.
    template <class Fit, class Use>
    [[nodiscard]] bool pair(std::vector<Mark>& marks, Finishing& job, const Fit& fit, const Use& use) const;
    /// An asynchronous slice, identified by an id.
    struct AsyncSlice {
        const AsyncMark* begin;
        const AsyncMark* end;  ///< null if the slice stays open
        std::size_t outermost; ///< outermost slice around this slice, or the slice itself
    };
    [[nodiscard]] bool pairAsync(Finishing& job);
    [[nodiscard]] bool pairId(std::size_t begin, std::size_t end, std::vector<AsyncSlice>& slices,
                              Finishing& job) const;
    void addSlices(const std::vector<AsyncSlice>& slices);
    [[nodiscard]] std::vector<TrackId> rowsFor(const std::vector<AsyncSlice>& slices);

    TraceBuilder& builder_;
    std::size_t flows_;              ///< number of flows in the builder at construction
    std::vector<TrackMarks> tracks_; ///< by TrackId
    std::vector<bool> begun_;        ///< per slice: true if a mark started it (readers may add other slices)
    std::vector<std::pair<SliceId, ArgSetId>> end_args_;
    std::vector<ArgSetId> loose_args_; ///< args of the ends that are sorted
    std::vector<AsyncMark> async_;
    SliceId last_begin_ = 0;
    bool any_flow_ = false;
};

} // namespace bubblescope
