#include "core/live/record_stream.h"

#include "core/formats/perfetto/capture_names.h"
#include "core/recognise/native_args.h"

#include <algorithm>
#include <span>
#include <utility>

namespace bubblescope::live {
namespace {

constexpr std::size_t kMaxOwners = std::size_t{1} << 16;
constexpr std::size_t kOwner = 64; ///< bytes

} // namespace

RecordStream::RecordStream(RecordSink& sink, perfetto::StreamMemory& memory)
    : sink_(sink), memory_(memory),
      events_([this](const perfetto::StreamEvent& event) { take(event); },
              [this](const perfetto::ClockReading& clocks) { sink_.onClocks(clocks); }, memory) {}

const RecordOwner* RecordStream::ownerOf(std::uint64_t track) {
    if (const RecordOwner* const known = recent_.find(track)) return known;
    auto known = owners_.find(track);
    if (known == owners_.end()) {
        const auto owner = recordOwner(events_.processOf(track));
        if (!owner || owners_.size() >= kMaxOwners || !memory_.take(kOwner)) return nullptr;
        known = owners_.emplace(track, *owner).first;
    }
    recent_.set(track, known->second);
    return &known->second;
}

void RecordStream::take(const perfetto::StreamEvent& event) {
    if (!event.instant && takeSlice(event)) return;
    if (event.category == trace_names::kClock && event.name == trace_names::kPing) return takePing(event);
    if (event.category == perfetto::kCaptureCategory) return takeCapture(event);
    const RecordOwner* const owner = ownerOf(event.track);
    if (owner == nullptr) return sink_.onOther();
    if (event.category == trace_names::kRun) return takeRun(*owner, event);
    if (event.category == trace_names::kCheck) return takeCheck(*owner, event);
    if (event.category == trace_names::kDigest) return sink_.onDigest();
    sink_.onOther();
}

/// Processes an op or a transfer, which most events are. Returns false for other events.
bool RecordStream::takeSlice(const perfetto::StreamEvent& event) {
    const bool is_op = event.category == trace_names::kOp;
    const auto kind = is_op ? std::nullopt : nativeCommKind(event.category);
    if (!is_op && !kind) return false;
    const RecordOwner* const owner = ownerOf(event.track);
    if (owner == nullptr) return false;
    if (is_op) {
        auto op = nativeOp(event, event.start, event.end);
        if (!op) return false;
        op->owner = owner->rank;
        op->replica = owner->replica;
        sink_.onOp(*owner, *op);
        return true;
    }
    auto comm = nativeComm(event, *kind, event.start, event.end);
    if (!comm) return false;
    comm->owner = owner->rank;
    comm->replica = owner->replica;
    sink_.onComm(*owner, *comm);
    return true;
}

void RecordStream::takeRun(const RecordOwner& owner, const perfetto::StreamEvent& event) {
    const auto number = [&](std::string_view name) { return event.integer(name).value_or(0); };
    if (event.name == trace_names::kLostEvent) return sink_.onLost(owner, number("records"));
    if (event.name == trace_names::kEndEvent) return sink_.onEnd(owner, {number("records"), number("dropped")});
    if (event.name != trace_names::kRunEvent) return sink_.onOther();
    sink_.onRun(owner, nativeRunStatement(event));
}

void RecordStream::takeCapture(const perfetto::StreamEvent& event) {
    if (event.name == perfetto::kCaptureEnds) return sink_.onCaptureEnd();
    if (event.name == perfetto::kCaptureStands)
        return sink_.onCaptureStands(event.text("in").value_or(""), TimeNs{event.integer("for_ns").value_or(0)});
    if (event.name == perfetto::kCaptureStates) {
        const auto rank = perfetto::statedRank(event.text("rank").value_or(""));
        return rank ? sink_.onCaptureRank(*rank) : sink_.onOther();
    }
    if (event.name == perfetto::kCaptureTotals) {
        std::int64_t lost = 0;
        for (const auto& [name, member] : std::span(perfetto::kCaptureCounts).subspan(perfetto::kFirstLoss)) {
            // Parts are removed on request.
            if (member == &perfetto::CaptureCounts::parts_removed) continue;
            constexpr std::int64_t kMax = std::int64_t{1} << 56; // bounds counts from untrusted input, so that sums do
                                                                 // not overflow
            lost += std::clamp<std::int64_t>(event.integer(name).value_or(0), 0, kMax);
        }
        return sink_.onCaptureLosses(lost);
    }
    if (event.name != perfetto::kCaptureBegins) return sink_.onOther();
    const auto words = [&](std::string_view name) { return std::string(event.text(name).value_or("")); };
    CaptureStatement statement;
    statement.writer.host = words("host");
    statement.writer.clock = words("clock");
    statement.writer.pid = event.integer("pid").value_or(0);
    statement.writer.pids = words("pids");
    statement.program = words("program");
    if (const auto rank = event.integer("rank")) statement.rank = statedNumber(*rank);
    statement.part = statedNumber(event.integer("part").value_or(0));
    sink_.onCaptured(statement);
}

void RecordStream::takeCheck(const RecordOwner& owner, const perfetto::StreamEvent& event) {
    const auto outcome = parseCheckOutcome(event.text("outcome").value_or(""));
    if (!outcome) return sink_.onOther();
    SeenCheck check;
    check.step = statedNumber(event.integer("step").value_or(0));
    check.outcome = *outcome;
    check.verdict = parseVerdict(event.text("verdict").value_or("")).value_or(Verdict::Open);
    check.name = event.name;
    check.start = event.start;
    check.end = event.end;
    if (placeCanBe(owner)) {
        NativeRecordReader in(event);
        CheckRecord record = nativeCheck(in, owner, event.start, event.end);
        if (in.wrong().empty() && !contradictsItself(record)) check.record = std::move(record);
    }
    sink_.onCheck(owner, std::move(check));
}

void RecordStream::takePing(const perfetto::StreamEvent& event) {
    const auto time = [&](std::string_view name) { return TimeNs{event.integer(name).value_or(0)}; };
    const auto asker = event.integer("asker");
    const auto replier = event.integer("replier");
    if (!asker || !replier) return sink_.onOther();
    sink_.onPing(
        {statedNumber(*asker), statedNumber(*replier), time("t0_ns"), time("t1_ns"), time("t2_ns"), time("t3_ns")});
}

} // namespace bubblescope::live
