#pragma once

#include "core/live/live_analyzer.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// Part of LiveAnalyzer; nobody else includes this.
namespace bubblescope::profiler {

inline void addCounts(LiveCounts& to, const perfetto::StreamCounts& more) {
    to.bytes += more.bytes;
    to.packets += more.packets;
    to.slices += more.slices;
    to.torn += more.torn;
    to.damaged += more.damaged + more.unmatched;
}

/// One stream, and what it said of itself.
class LiveAnalyzer::Source : public RecordSink {
public:
    explicit Source(LiveAnalyzer& engine) : engine_(engine), stream_(std::make_unique<RecordStream>(*this)) {}

    void onRun(const OwnHome& home, const RunStatement& statement) override { engine_.onRun(*this, home, statement); }
    void onOp(const OwnHome& home, const FoundOp& op) override { engine_.onOp(*this, home, op); }
    void onComm(const OwnHome& home, const FoundComm& comm) override { engine_.onComm(*this, home, comm); }
    void onCheck(const OwnHome& home, SeenCheck check) override { engine_.onCheck(home, std::move(check)); }
    void onDigest() override { ++engine_.checks_.digests; }
    void onPing(const Ping& ping) override {
        const auto clockOf = [this](int rank) {
            const auto place = static_cast<std::size_t>(rank / std::max(1, engine_.info_ ? engine_.info_->tp : 1));
            // Ranks of a run are numbered pp x dp x tp, the last one fastest.
            const auto dp = static_cast<std::size_t>(engine_.info_ ? engine_.info_->dp : 1);
            const auto pp = static_cast<std::size_t>(engine_.info_ ? engine_.info_->pp : 1);
            const std::size_t index = place % dp * pp + place / dp;
            return rank >= 0 && index < engine_.clock_of_rank_.size() ? engine_.clock_of_rank_[index] : std::string();
        };
        const std::string replier = clockOf(ping.replier);
        if (!replier.empty()) engine_.clocks_.addPing(clockOf(ping.asker), replier, ping);
    }
    void onClocks(const perfetto::ClockReading& clocks) override {
        last_clocks = clocks;
        if (process != nullptr) return; // its times are put on the wall clock where its files are read
        if (said) engine_.clocks_.addReading(said->clock, clocks.monotonic, clocks.realtime);
    }
    void onLost(const OwnHome& home, std::int64_t records) override {
        engine_.counts_.dropped += std::max<std::int64_t>(0, records);
        if (LiveRank* const rank = engine_.rankOf(home)) rank->dropped += std::max<std::int64_t>(0, records);
    }
    void onEnd(const OwnHome& home, const StreamEnd& end) override {
        ended = true;
        engine_.onEnd(home, end);
    }
    void onShare(ShareRecord record) override { engine_.onShare(*this, std::move(record)); }
    void onCaptured(const CaptureStatement& statement) override {
        engine_.captured_ = true;
        said = statement.writer;
        process = engine_.processes_.of(statement);
    }
    void onCaptureLosses(std::int64_t events) override {
        if (process == nullptr || events <= process->lost) return; // each part tells all
        engine_.counts_.dropped += events - process->lost;
        process->lost = events;
    }
    void onCaptureEnd() override {
        ended = true;
        if (process != nullptr) process->ended = true;
    }
    void onOther() override {}

    void restart() {
        addCounts(engine_.counts_, counts());
        stream_ = std::make_unique<RecordStream>(*this);
        returned = true;
        ended = false;
        said.reset();
        share.reset();
        process = nullptr;
    }
    [[nodiscard]] RecordStream& stream() { return *stream_; }
    [[nodiscard]] const perfetto::StreamCounts& counts() const { return stream_->counts(); }

    std::optional<RunStatement> said; ///< at its beginning
    std::optional<OwnHome> whose;
    std::optional<ReplicaRange> share; ///< of another collector's stream: what it tells of
    std::vector<LiveAnomaly> findings; ///< likewise: what holds by what it said last
    std::optional<perfetto::ClockReading> last_clocks;
    RecordedProcess* process = nullptr; ///< of a job that knows nothing of us: who writes it
    bool ended = false;
    bool returned = false; ///< it was restarted, and has not sent an op since
    bool own_clock = false;

private:
    LiveAnalyzer& engine_;
    std::unique_ptr<RecordStream> stream_;
};

} // namespace bubblescope::profiler
