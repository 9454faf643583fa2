#pragma once

#include "core/base/diagnostic.h"
#include "core/io/chrome/event.h"
#include "core/io/file_bytes.h"
#include "core/io/slice_pairing.h"
#include "core/trace/trace_builder.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope::chrome {

/// Where in the file an event stands; text only when a diagnostic needs it.
struct EventPlace {
    const std::string& where;
    std::uint64_t offset = 0;

    [[nodiscard]] std::string text() const;
};

/// Puts the events of one file into the trace: finds their tracks, pairs begins with ends, keeps names of
/// processes and threads until the end, where they are applied.
class EventSink {
public:
    EventSink(const FileBytes& bytes, TraceBuilder& builder, DiagnosticLog& log, const std::string& where)
        : bytes_(bytes), builder_(builder), log_(log), where_(where) {}

    /// The events added next are this batch's.
    void begin(const EventBatch& batch);
    void add(const Event& event);
    void finish();

private:
    using Row = std::pair<RowId, RowId>;

    [[nodiscard]] StringId text(StringId of_batch) const { return texts_[of_batch]; }
    [[nodiscard]] RowId rowId(RowId of_batch) const;
    [[nodiscard]] TrackId trackFor(const Event& event);
    [[nodiscard]] TrackId asyncTrackFor(const Event& event);
    [[nodiscard]] ArgSetId argsOf(const Event& event);
    [[nodiscard]] std::string_view argsText(const Event& event) const;
    [[nodiscard]] TimeNs timeOf(const Event& event);
    void complete(const Event& event);
    void async(const Event& event);
    void metadata(const Event& event);
    void counter(const Event& event);
    void flow(const Event& event);

    const FileBytes& bytes_;
    TraceBuilder& builder_;
    DiagnosticLog& log_;
    const std::string& where_;
    std::vector<StringId> texts_; ///< of the batch at hand, in the builder
    std::optional<std::uint32_t> source_;
    SlicePairing pairing_;
    std::map<Row, TrackId> tracks_;
    std::map<std::pair<RowId, StringId>, TrackId> async_tracks_; ///< by process and name
    std::map<RowId, StringId> process_names_;
    std::map<Row, StringId> thread_names_;
    Row last_row_;
    TrackId last_track_ = kNoId;
};

} // namespace bubblescope::chrome
