#pragma once

#include "core/base/diagnostic.h"
#include "core/formats/chrome/event_parser.h"
#include "core/formats/chrome/stream_order.h"
#include "core/formats/source/file_bytes.h"
#include "core/formats/source/packed_args.h"
#include "core/formats/source/slice_pairing.h"
#include "core/formats/source/source_files.h"
#include "core/trace/trace_builder.h"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace bubblescope::chrome {

/// Position of an event in the file; formatted only if needed for a diagnostic.
struct EventPlace {
    const std::string& where;
    std::uint64_t offset = 0;

    [[nodiscard]] Sentence text() const;
};

/// Adds the events of one file to the trace. Finds the tracks of the events, pairs begin events with end events, and
/// finally applies the names of processes and threads.
class EventSink {
public:
    EventSink(const FileBytes& bytes, TraceBuilder& builder, DiagnosticLog& log, const std::string& where)
        : bytes_(bytes), builder_(builder), log_(log), where_(where), pairing_(builder), streams_(builder) {
        if (bytes.isLargeInMemory(kPackedFrom)) packer_.emplace();
    }

    /// Call this function for files from paddle.profiler, which truncates starts to whole microseconds (the exact ones
    /// are in an arg) and appends durations to names.
    void expectPaddle() { paddle_ = true; }

    /// Call this function at the start of each document if a file contains several. If one document has a rank,
    /// processes in later documents are treated as different, even if their numbers are equal.
    void beginDocument();
    /// Sets the rank of the current document, before or after its events.
    void stateRank(std::int32_t rank);

    /// Call this function if the device vendor's profiler writes overflowed durations.
    void expectOverflows() { streams_.expectOverflows(); }

    /// Sets the batch of the following events. `goes_on`: true if this is the previous batch with more strings.
    void begin(const EventBatch& batch, bool goes_on);
    void add(const Event& event);
    /// Returns false if the job is stopped.
    [[nodiscard]] bool finish(const LoadProgress& progress);

private:
    using Row = std::pair<RowId, RowId>;
    /// Identifies an asynchronous slice by process, category and id.
    using AsyncId = std::tuple<RowId, StringId, std::uint64_t>;
    /// Identifies the row of asynchronous slices by process, category and name.
    using AsyncRow = std::tuple<RowId, StringId, StringId>;
    struct OpenAsync {
        StringId name;
        TrackId track;
    };
    /// The end of an arrow that points to the next slice of its thread.
    struct Pointer {
        std::uint64_t id;
        TimeNs time;
        TrackId track;
    };

    /// Minimum size of the text for packing its args, which make up about a third of it. Packing is worthwhile even
    /// for files of this size, because there may be thousands of such files.
    static constexpr std::size_t kPackedFrom = std::size_t{64} << 10;

    [[nodiscard]] StringId text(StringId of_batch) const { return texts_[of_batch]; }
    [[nodiscard]] RowId rowId(RowId of_batch) const;
    [[nodiscard]] std::int64_t processNumber(RowId process);
    [[nodiscard]] std::optional<std::int32_t> rankOf(const RowId& process) const;
    void reportRanksWithoutEvents();
    [[nodiscard]] TrackId trackFor(const Event& event);
    [[nodiscard]] TrackId asyncTrackFor(const Event& event);
    [[nodiscard]] ArgSetId argsOf(const Event& event);
    [[nodiscard]] std::string_view argsText(const Event& event) const;
    [[nodiscard]] ArgSetId storedArgs(std::string_view object);
    [[nodiscard]] std::string idText(const Event& event) const;
    [[nodiscard]] TimeNs timeOf(const Event& event);
    [[nodiscard]] TimeNs startOf(const Event& event);
    [[nodiscard]] bool lostItsTimes(const Event& event) const;
    [[nodiscard]] bool isKernel(StringId category);
    [[nodiscard]] bool orderStreams(const JobControl& control);
    [[nodiscard]] TimeNs durationOf(const Event& event);
    void complete(const Event& event, TrackId track);
    void bind(const Event& event, TrackId track, SliceId slice);
    [[nodiscard]] bool resolvePointers(const JobControl& control);
    [[nodiscard]] bool beginsUnknown(const Event& event, const AsyncId& id, bool begins, bool ends);
    void async(const Event& event);
    void metadata(const Event& event);
    void takeOrder(const Event& event, bool process);
    void takeLabels(const Event& event);
    [[nodiscard]] TrackId stateTrackFor(const Event& event);
    void counter(const Event& event);
    void counterValues(const Event& event, const std::string& name, const std::vector<Arg>& values, int depth);
    void flow(const Event& event);

    const FileBytes& bytes_;
    TraceBuilder& builder_;
    DiagnosticLog& log_;
    const std::string& where_;
    std::vector<StringId> texts_; ///< strings of the current batch, as ids in the builder
    std::string_view mended_;     ///< repaired text of the current batch
    std::optional<std::uint32_t> source_;
    std::optional<ArgPacker> packer_; ///< used if keeping the args would otherwise require keeping the text in memory
    SlicePairing pairing_;
    StreamOrder streams_;
    std::pair<StringId, bool> category_{0, false}; ///< category of the last slice; true if it is for kernels
    std::map<Row, TrackId> tracks_;
    std::map<AsyncRow, TrackId> async_tracks_;
    std::map<AsyncId, std::vector<OpenAsync>> open_async_; ///< open slices, innermost last; all slices with the same id
                                                           ///< are on one row
    std::set<AsyncId> begin_unknown_;                      ///< open slices that will be omitted
    std::map<Row, TrackId> state_tracks_;                  ///< one per thread
    std::vector<Pointer> pointers_;
    bool paddle_ = false;
    bool own_ = false;                   ///< true if Bubblescope wrote the file, so that its first event is at 0
    TimeNs origin_{0};                   ///< origin of a file written by Bubblescope
    std::optional<SourceFiles> sources_; ///< source files of a file written by Bubblescope
    std::map<RowId, StringId> process_names_;
    std::map<Row, StringId> thread_names_;
    std::map<RowId, std::int64_t> text_processes_;                ///< numbers of processes with string ids
    std::set<std::pair<std::string, std::int64_t>> text_numbers_; ///< numbers at the end of strings, by label
    std::map<RowId, std::int32_t> process_orders_;
    std::map<RowId, std::int32_t> process_ranks_;             ///< ranks from labels
    std::vector<std::optional<std::int32_t>> document_ranks_; ///< ranks of documents; empty if no document has one
    std::uint32_t document_ = 0;                              ///< index of the current document
    std::map<std::int32_t, std::uint32_t> document_of_rank_;  ///< first document of each rank
    std::map<Row, std::int32_t> thread_orders_;
    struct RecentRow {
        Row row; ///< the row as identified in the batch
        TrackId track = kNoId;
    };
    std::array<RecentRow, 16> recent_rows_; ///< recent rows of the batch, indexed by some of their bits
};

} // namespace bubblescope::chrome
