#pragma once

#include "core/base/diagnostic.h"
#include "core/io/chrome/event_parser.h"
#include "core/io/slice_pairing.h"
#include "core/trace/trace_builder.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace bubblescope::chrome {

/// Where in the file an event stands; text only when a diagnostic needs it.
struct EventPlace {
    const std::string& where;
    std::size_t offset = 0;
    std::int64_t index = 0;

    [[nodiscard]] std::string text() const;
};

/// Puts the events of one file into the trace: finds their tracks, pairs begins with ends, keeps names of
/// processes and threads until the end, where they are applied.
class EventSink {
public:
    EventSink(TraceBuilder& builder, DiagnosticLog& log, const std::string& where)
        : builder_(builder), log_(log), where_(where) {}

    void add(const Event& event, const EventPlace& place);
    void finish();

private:
    using Row = std::pair<RowId, RowId>;

    [[nodiscard]] TrackId trackFor(const Event& event);
    void complete(const Event& event, const EventPlace& place);
    void metadata(const Event& event);
    void counter(const Event& event);
    void flow(const Event& event);

    TraceBuilder& builder_;
    DiagnosticLog& log_;
    const std::string& where_;
    SlicePairing pairing_;
    std::map<Row, TrackId> tracks_;
    std::map<RowId, StringId> process_names_;
    std::map<Row, StringId> thread_names_;
    Row last_row_;
    TrackId last_track_ = kNoId;
};

} // namespace bubblescope::chrome
