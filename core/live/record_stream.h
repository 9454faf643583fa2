#pragma once

#include "core/base/time.h"
#include "core/formats/perfetto/event_stream.h"
#include "core/formats/perfetto/number_table.h"
#include "core/recognise/native_args.h"
#include "core/timeline/checks.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace bubblescope::live {

/// The record at the start of a recorded job's trace.
struct CaptureStatement {
    RunStatement writer; ///< the process that writes the trace; the run is unknown and therefore left empty
    std::string program;
    std::optional<int> rank; ///< rank number from the job's launcher
    int part = 0;            ///< index of this part in the process's trace
};

/// The record at the end of a rank's file.
struct StreamEnd {
    std::int64_t records = 0; ///< slices written, summed over all segments
    std::int64_t dropped = 0; ///< number of records that were dropped
};

/// Outcome of an aadiff check, for counting and reporting.
struct SeenCheck {
    int step = 0;
    CheckOutcome outcome = CheckOutcome::Skipped;
    Verdict verdict = Verdict::Open;
    std::string name; ///< such as "F3.1 layer 5"
    TimeNs start{0};
    TimeNs end{0};
    std::optional<CheckRecord> record; ///< the complete record; empty if fields are missing
};

/// Receives the decoded records of one stream. Its functions are called from RecordStream::feed().
class RecordSink {
public:
    virtual ~RecordSink() = default;
    virtual void onRun(const RecordOwner& owner, const RunStatement& statement) = 0;
    virtual void onOp(const RecordOwner& owner, const FoundOp& op) = 0;
    virtual void onComm(const RecordOwner& owner, const FoundComm& comm) = 0;
    virtual void onCheck(const RecordOwner& owner, SeenCheck check) = 0;
    virtual void onDigest() = 0;
    virtual void onPing(const Ping& ping) = 0;
    virtual void onClocks(const perfetto::ClockReading& clocks) = 0;
    virtual void onLost(const RecordOwner& owner, std::int64_t records) = 0;
    virtual void onEnd(const RecordOwner& owner, const StreamEnd& end) = 0;
    /// Reports that the stream belongs to a recorded job and therefore has no op records.
    virtual void onCaptured(const CaptureStatement& statement) = 0;
    /// Reports the number of events that the process has lost so far.
    virtual void onCaptureLosses(std::int64_t events) = 0;
    virtual void onCaptureEnd() = 0;
    /// Reports the rank of the process according to its framework.
    virtual void onCaptureRank(int rank) = 0;
    /// Reports how long the process has recorded nothing; `in` is the open range, see perfetto::kCaptureStands.
    virtual void onCaptureStands(std::string_view in, TimeNs time) = 0;
    /// Reports an event of another program, or one with missing fields.
    virtual void onOther() = 0;
};

/// Decodes a native trace file into records while the file grows.
class RecordStream {
public:
    /// `sink` and `memory` must outlive this object.
    RecordStream(RecordSink& sink, perfetto::StreamMemory& memory);
    RecordStream(const RecordStream&) = delete;
    RecordStream& operator=(const RecordStream&) = delete;

    void feed(std::string_view bytes) { events_.feed(bytes); }
    std::size_t dropPending() { return events_.dropPending(); }
    [[nodiscard]] std::size_t pending() const { return events_.pending(); }
    [[nodiscard]] const perfetto::StreamCounts& counts() const { return events_.counts(); }

private:
    void take(const perfetto::StreamEvent& event);
    bool takeSlice(const perfetto::StreamEvent& event);
    void takeRun(const RecordOwner& owner, const perfetto::StreamEvent& event);
    void takeCheck(const RecordOwner& owner, const perfetto::StreamEvent& event);
    void takePing(const perfetto::StreamEvent& event);
    void takeCapture(const perfetto::StreamEvent& event);
    [[nodiscard]] const RecordOwner* ownerOf(std::uint64_t track);

    RecordSink& sink_;
    perfetto::HeldMemory memory_;
    std::unordered_map<std::uint64_t, RecordOwner> owners_; ///< owner of each track
    perfetto::RecentOf<const RecordOwner> recent_;          ///< recently used entries of owners_
    perfetto::EventStream events_;
};

/// Destination for the contents of a run's files: the analyzer that follows the run, or a collector on another machine.
/// A stream is the content of one file, from its start.
class StreamTarget {
public:
    using Stream = std::size_t;

    virtual ~StreamTarget() = default;
    /// `name` must be unique among the streams of a machine.
    [[nodiscard]] virtual Stream open(const std::string& name) = 0;
    /// `now` is a time on a monotonic clock, the same one in all calls.
    virtual void feed(Stream stream, std::string_view bytes, TimeNs now) = 0;
    /// Number of bytes of an incomplete packet at the end of the stream.
    [[nodiscard]] virtual std::size_t pending(Stream stream) const = 0;
    /// Call this function when the writer has truncated the pending bytes.
    virtual void dropPending(Stream stream) = 0;
    /// A stream of the same name, from a restarted rank or from another run, replaces this one and is then passed from
    /// its start. The first steps of the new stream show its origin.
    virtual void restart(Stream stream) = 0;
    /// No more data will arrive for this stream, because its file was removed or continues in the next file. Releases
    /// the number `stream`, which may be reused.
    virtual void close(Stream stream) = 0;
    /// The process that wrote the stream has exited. `reason` is shown to users.
    virtual void gone(Stream stream, const std::string& reason) = 0;
    /// The process that writes the stream; empty while unknown.
    [[nodiscard]] virtual std::optional<RunStatement> statementOf(Stream stream) const = 0;

    /// Number of bytes that can be accepted now.
    [[nodiscard]] virtual std::size_t room(Stream) const { return std::numeric_limits<std::size_t>::max(); }
    /// Offset from which to read again; empty to continue where reading stopped.
    [[nodiscard]] virtual std::optional<std::int64_t> takeRewind(Stream) { return std::nullopt; }
    /// True if all bytes passed to feed() have reached their destination.
    [[nodiscard]] virtual bool isThrough(Stream) const { return true; }
    /// Latest step of the stream's ops, so that files can be read step by step; −1 if there is none.
    [[nodiscard]] virtual std::int64_t stepOf(Stream) const { return -1; }
};

} // namespace bubblescope::live
