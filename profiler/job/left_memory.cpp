#include "profiler/job/left_memory.h"

#include "profiler/capture/capture_writer.h"
#include "profiler/events/host_record.h"
#include "profiler/events/tick_clock.h"
#include "profiler/nccl/comm_event.h"
#include "profiler/nvtx/names.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <system_error>

namespace bubblescope::profiler {
namespace {

using namespace event_memory;

/// The process may have died after writing but before updating its checkpoint. If it died while it wrote, everything
/// since the last checkpoint is written again.
void chooseCheckpoint(Header& header, const std::filesystem::path& dir) {
    if (header.prepared.load() == 0) return;
    const std::uint32_t other = (header.current.load() & 1U) ^ 1U;
    const auto name = CaptureWriter::checkpointedFile(header.files[other]);
    std::error_code failed;
    const auto length = name.empty() ? 0 : std::filesystem::file_size(dir / name, failed);
    if (failed || header.files[other].file_bytes < 0) return;
    if (length >= static_cast<std::uint64_t>(header.files[other].file_bytes))
        header.current.store(other);
    else if (name.ends_with(".pftrace") && CaptureWriter::beginsFile(header.files[other]))
        std::filesystem::remove(dir / name, failed); // an incomplete part
}

/// Takes the remaining records. Flushes until a flush fails, if writing is possible at all, and counts the rest as
/// lost.
Status takeAll(CaptureWriter& writer, EventReader& reader, TimeNs now, Status flushed) {
    constexpr std::size_t kWords = 1024;
    bool more = true;
    while (more) {
        more = reader.read(kWords, [&](std::uint32_t tid, std::span<const std::uint64_t> words, bool gap) {
            const std::size_t count = host_record::wordsOf(words[0]);
            if (count > words.size()) return std::size_t{0};
            if (const auto record = decodeHostRecord(words.first(count))) writer.take(tid, *record, gap);
            return count;
        });
        if (flushed.ok() && writer.isFilled()) flushed = writer.flush(now);
    }
    return flushed;
}

std::string_view bounded(std::uint64_t size, std::span<const char> room) {
    return {room.data(), std::min<std::size_t>(size, room.size())};
}

} // namespace

LeftByProcess leftByAccount(const WatcherLink::Account& account) {
    LeftByProcess left;
    left.described = describedProcess(bounded(account.identity_bytes, account.identity));
    left.recorded = account.recorded == 1;
    left.regular = account.ended == 1;
    left.stated = {perfetto::plausibleCounts(account.counts), perfetto::plausibleCount(account.files)};
    left.counts = left.stated.counts;
    left.message = bounded(account.message_bytes, account.message);
    return left;
}

LeftByProcess writeWhatIsLeft(EventMemory& memory, const std::filesystem::path& dir, const std::string& signal) {
    Header& header = memory.header();
    LeftByProcess left;
    if (!memory.isBegun()) return left;
    left.described = describedProcess(bounded(header.identity_bytes.load(), header.identity));
    left.regular = header.ended.load() == 1;
    left.recorded = header.recordedAnything();
    left.message = bounded(header.message_bytes.load(), header.message);
    left.signal = signal;
    left.stated = CaptureWriter::stated(memory);
    if (left.regular || !left.recorded) return left;
    left.gpu_unknown = header.on_devices.load() != 0;
    left.stated_lost =
        perfetto::plausibleCount(static_cast<std::int64_t>(header.stated.load() - header.stated_written.load()));

    CaptureOptions options;
    // The text contains only options that the process itself accepted.
    static_cast<void>(parseCaptureOptions(left.described.options, options));
    CaptureFileInfo info;
    info.dir = dir;
    info.identity = left.described.identity;
    info.process = left.described.process;
    info.began = left.described.began;
    nvtx::Names names;
    names.replay(bounded(header.names_bytes.load(), header.names));
    const nccl::Communicators communicators;
    CaptureWriter writer(options, std::move(info), names, communicators, {});
    chooseCheckpoint(header, dir);
    const ClockReading now = readAllClocks(TickClock()); // the process used the clocks of this machine
    const Status resumed = writer.resume(memory);
    writer.addReading(now);
    EventReader reader(memory, EventReader::From::Checkpoint);
    const perfetto::CaptureCounts before = writer.counts();
    Status flushed = takeAll(writer, reader, now.monotonic, resumed);
    writer.counts().lost_in_rings = perfetto::plausibleCount(static_cast<std::int64_t>(header.lost_begins.load()));
    writer.counts().not_written += left.stated_lost;
    if (flushed.ok()) flushed = writer.finishResumed(now.monotonic, signal);
    left.counts = writer.counts();
    left.written = flushed.ok();
    if (flushed.ok()) {
        left.stated = writer.stated();
    } else {
        // Events counted by the checkpoint are in the file, as far as it can be read; all others are not.
        left.counts.not_written +=
            perfetto::hostEvents(left.counts) - perfetto::hostEvents(before) + writer.openRanges();
        left.counts.unmatched = before.unmatched;
        left.counts.ranges = before.ranges;
        left.counts.marks = before.marks;
        left.counts.comm_events = before.comm_events;
        left.message = flushed.error().text();
    }
    return left;
}

} // namespace bubblescope::profiler
