#include "core/live/share_writer.h"

#include <fmt/format.h>

#include <system_error>
#include <utility>

namespace bubblescope::profiler {
namespace {

constexpr std::uint64_t kProcess = std::uint64_t{1} << 32; ///< the file has no other
constexpr std::uint64_t kTrack = kProcess + 1;

} // namespace

std::filesystem::path ShareWriter::pathOf(const LiveAnalyzer& engine, int segment) const {
    const auto [first, last] = engine.replicas();
    return dir_ / (segment == 0 ? fmt::format("replicas{}-{}.pftrace", first, last)
                                : fmt::format("replicas{}-{}.{}.pftrace", first, last, segment));
}

Status ShareWriter::beginFile(const LiveAnalyzer& engine, TimeNs now) {
    BUBBLESCOPE_ASSIGN(file_, perfetto::PacketFile::create(pathOf(engine, segment_)));
    const auto [first, last] = engine.replicas();
    constexpr std::uint32_t kSequence = 1;
    encoder_.emplace(kSequence);
    encoder_->process(kProcess, static_cast<std::int32_t>(process_.pid), fmt::format("replicas {} to {}", first, last),
                      first);
    encoder_->track(kTrack, kProcess, "steps", 0);
    const ClockPair clocks = readClocks();
    encoder_->clockSnapshot(clocks.monotonic, clocks.realtime);
    const RunStatement said{*engine.info(), process_.host, process_.clock, process_.pid, process_.pids, segment_};
    encodeShare(*encoder_, kTrack, now, ShareBegin{said, first, last, run_});
    // Who hears only of this file knows no states yet.
    for (const LiveRank& rank : engine.ranks()) {
        if (rank.replica >= first && rank.replica <= last && rank.state != RankState::Awaited)
            encodeShare(*encoder_, kTrack, now, rank);
    }
    return file_->append(encoder_->take());
}

Status ShareWriter::writeOut(const LiveAnalyzer& engine, TimeNs now) {
    BUBBLESCOPE_TRY(file_->append(encoder_->take()));
    if (limits_.segment_bytes == 0 || file_->length() < limits_.segment_bytes) return {};
    ++segment_;
    BUBBLESCOPE_TRY(beginFile(engine, now));
    std::error_code ignored; // one that is gone already does no harm
    if (limits_.segments > 0 && segment_ >= limits_.segments)
        std::filesystem::remove(pathOf(engine, segment_ - limits_.segments), ignored);
    return {};
}

ShareCounts ShareWriter::countsSince(const LiveAnalyzer& engine) {
    const ShareCounts all{engine.counts(), engine.checks()};
    ShareCounts since = difference(all, told_);
    told_ = all;
    return since;
}

Status ShareWriter::write(const LiveAnalyzer& engine, const std::vector<LiveEvent>& events, TimeNs now) {
    for (const LiveEvent& event : events) {
        if (event.kind == LiveEvent::Kind::RunBegan) {
            ++run_;
            told_.checks = {};
            if (file_) {
                encodeShare(*encoder_, kTrack, now, ShareEnd{countsSince(engine)});
                BUBBLESCOPE_TRY(file_->append(encoder_->take()));
                ++segment_;
            }
            BUBBLESCOPE_TRY(beginFile(engine, now));
        } else if (event.kind == LiveEvent::Kind::RankChanged) {
            encodeShare(*encoder_, kTrack, now, event.rank);
        } else if (event.kind == LiveEvent::Kind::StepClosed) {
            encodeShare(*encoder_, kTrack, now,
                        ShareStep{event.reduced, engine.ranks(), engine.anomalies(), countsSince(engine)});
        }
    }
    return file_ ? writeOut(engine, now) : Status();
}

Status ShareWriter::end(const LiveAnalyzer& engine, TimeNs now) {
    if (!file_) return {};
    encodeShare(*encoder_, kTrack, now, ShareEnd{countsSince(engine)});
    return file_->append(encoder_->take());
}

} // namespace bubblescope::profiler
