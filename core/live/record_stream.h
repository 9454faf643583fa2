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

/// The record at the beginning of a recorded job's trace.
struct CaptureStatement {
    RunStatement writer; ///< without the run, which is unknown
    std::string program;
    std::optional<int> rank; ///< as numbered by the job's launcher
    int part = 0;            ///< index in the process's trace
};

/// The record at the end of a rank's file.
struct StreamEnd {
    std::int64_t records = 0; ///< slices written, over all segments
    std::int64_t dropped = 0; ///< records that were dropped
};

/// The outcome of a check of aadiff, as counted and reported.
struct SeenCheck {
    int step = 0;
    CheckOutcome outcome = CheckOutcome::Skipped;
    Verdict verdict = Verdict::Open;
    std::string name; ///< "F3.1 layer 5"
    TimeNs start{0};
    TimeNs end{0};
    std::optional<CheckRecord> record; ///< the complete record; nothing if fields are missing
};

/// Receives the records of one stream. Called from RecordStream::feed().
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
    /// The stream belongs to a recorded job: it has no records of ops.
    virtual void onCaptured(const CaptureStatement& statement) = 0;
    /// The number of that process's events lost so far.
    virtual void onCaptureLosses(std::int64_t events) = 0;
    virtual void onCaptureEnd() = 0;
    /// The process's rank, as its framework reports it.
    virtual void onCaptureRank(int rank) = 0;
    /// The process has recorded nothing for this long; `in` is the open range, see perfetto::kCaptureStands.
    virtual void onCaptureStands(std::string_view in, TimeNs time) = 0;
    /// An event of another program, or one with missing fields.
    virtual void onOther() = 0;
};

/// Decodes the bytes of a native trace file into records while it grows.
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
    std::unordered_map<std::uint64_t, RecordOwner> owners_; ///< by track
    perfetto::RecentOf<const RecordOwner> recent_;          ///< recently used entries of owners_
    perfetto::EventStream events_;
};

/// Destination of the bytes of a run's files: the analyzer that follows it, or a collector on another machine. A stream
/// is one file, from its beginning.
class StreamTarget {
public:
    using Stream = std::size_t;

    virtual ~StreamTarget() = default;
    /// `name` is unique among a machine's streams.
    [[nodiscard]] virtual Stream open(const std::string& name) = 0;
    /// `now` is on a monotonic clock, the same in all calls.
    virtual void feed(Stream stream, std::string_view bytes, TimeNs now) = 0;
    /// Bytes at the stream's end that are not a complete packet yet.
    [[nodiscard]] virtual std::size_t pending(Stream stream) const = 0;
    /// The writer truncated the pending bytes.
    virtual void dropPending(Stream stream) = 0;
    /// The stream is replaced by another one of the same name, whose beginning comes next: a rank that returned, or
    /// another run. The next steps show which.
    virtual void restart(Stream stream) = 0;
    /// No more data will arrive for this stream, because its file continued in the next one or was removed. Releases
    /// `stream`, which may be reused.
    virtual void close(Stream stream) = 0;
    /// The process that wrote the stream has exited. `reason` is displayed.
    virtual void gone(Stream stream, const std::string& reason) = 0;
    /// The process that writes the stream, once known.
    [[nodiscard]] virtual std::optional<RunStatement> statementOf(Stream stream) const = 0;

    /// The number of bytes that can be accepted now.
    [[nodiscard]] virtual std::size_t room(Stream) const { return std::numeric_limits<std::size_t>::max(); }
    /// The offset at which to continue reading, if not where it stopped.
    [[nodiscard]] virtual std::optional<std::int64_t> takeRewind(Stream) { return std::nullopt; }
    /// True if all bytes fed have arrived.
    [[nodiscard]] virtual bool isThrough(Stream) const { return true; }
    /// The latest step of the stream's ops, so that files can be read step by step; −1 for none.
    [[nodiscard]] virtual std::int64_t stepOf(Stream) const { return -1; }
};

} // namespace bubblescope::live
