#pragma once

#include "core/live/captured_job.h"
#include "core/live/host_clocks.h"
#include "core/live/live_view.h"
#include "core/live/record_stream.h"
#include "core/live/step_assembler.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope::live {

/// The known steps after a closed step.
struct FollowingSteps {
    bool closes_next = false; ///< true if the next step is closed at the same time
    std::size_t behind = 0;   ///< number of known later steps, both due and open

    /// True for the last known step, and also for the second to last if both are closed at the same time. The next step
    /// may arrive much later, or never.
    [[nodiscard]] bool isAmongLastTwo() const { return behind == 0 || (behind == 1 && closes_next); }
};

/// Receives the contents of the files of a run's ranks in pieces of any size, and assembles the run's steps on one
/// clock. Tracks the state of each rank. Does not access files, sockets or the time of day. Memory is bounded for any
/// input, by the sizes that the run reports. Derived classes process the steps.
///
/// Times named `now` are on a single monotonic clock: CLOCK_MONOTONIC if latency is measured. Not thread-safe.
class RunStreams : public StreamTarget {
public:
    struct Options {
        StepAssembler::Limits assembly = {};
        /// This machine's CLOCK_MONOTONIC, as named in files. The latency of ops is measured for files with this clock.
        /// Empty = latency is not measured.
        std::string own_clock = {};
    };
    explicit RunStreams(Options options);
    ~RunStreams() override;
    RunStreams(const RunStreams&) = delete;
    RunStreams& operator=(const RunStreams&) = delete;

    /// The parameter `name` is ignored.
    [[nodiscard]] Stream open(const std::string& name) override;
    [[nodiscard]] Stream open() { return open({}); }
    void feed(Stream stream, std::string_view bytes, TimeNs now) override;
    [[nodiscard]] std::size_t pending(Stream stream) const override;
    void dropPending(Stream stream) override;
    void restart(Stream stream) override;
    void close(Stream stream) override;
    void gone(Stream stream, const std::string& reason) override;
    [[nodiscard]] std::optional<RunStatement> statementOf(Stream stream) const override;
    [[nodiscard]] std::int64_t stepOf(Stream stream) const override;

    /// True if a stream belongs to a recorded job. CapturedRun recognises the ops of that job from all files together
    /// and passes them to takeRun().
    [[nodiscard]] bool captured() const { return job_.isCaptured(); }
    /// Accepts the steps of a recorded job that have been recognised so far. Skips steps that were already passed (with
    /// equal times), and the last step unless the trace is `settled`, because this step may be incomplete.
    void takeRun(const Run& run, bool settled);
    /// True if this stream belongs to a recorded job.
    [[nodiscard]] bool isCaptured(Stream stream) const;
    /// Number of streams that currently end inside a packet.
    [[nodiscard]] std::int64_t cutStreams() const;
    /// True if the stream has ended, because it contains an end record or its writer has exited.
    [[nodiscard]] bool streamEnded(Stream stream) const;
    /// True if all known processes of a recorded job have ended or are lost, so that its recognised steps are complete.
    [[nodiscard]] bool capturedEnded() const { return job_.allEnded(); }

    /// Passes all due steps to the derived class. Returns the events that occurred since the last call.
    [[nodiscard]] std::vector<LiveEvent> advance(TimeNs now);

    [[nodiscard]] const std::optional<RunInfo>& info() const { return info_; }
    [[nodiscard]] const std::vector<LiveRank>& ranks() const { return ranks_; } ///< by replica, then by rank
    [[nodiscard]] LiveCounts counts() const;
    [[nodiscard]] const CheckCounts& checks() const { return checks_; } ///< for the entire run
    [[nodiscard]] bool runEnded() const { return run_ended_; }
    [[nodiscard]] const Latency& latency() const { return latency_; }
    [[nodiscard]] HostClocks& clocks() { return clocks_; }

protected:
    [[nodiscard]] TimeNs now() const { return now_; }
    [[nodiscard]] LiveRank& rankAt(int replica, Rank rank) { return ranks_[assembler_->placeOf(rank.value, replica)]; }
    LiveEvent& report(LiveEvent::Kind kind, int step, std::string text = {});
    [[nodiscard]] std::vector<LiveEvent> takeEvents() { return std::exchange(events_, {}); }

private:
    class Source;

    /// Called when a new run starts, which replaces the previous one.
    virtual void onBegin(const RunInfo& info) = 0;
    /// Called only after onBegin() of the run.
    virtual void onDevice(const CheckPlace& place, CheckedDevice device) = 0;
    virtual void onStep(ClosedStep step, FollowingSteps following) = 0;
    /// Called when all due steps have been passed; `open` steps are still open.
    virtual void onNoMoreSteps(std::size_t open) = 0;
    /// Passes checks of earlier steps, on the clock of those steps.
    virtual void onLateChecks(std::vector<CheckRecord> checks) = 0;

    // Handlers for stream records.
    void onRun(Source& source, const RecordOwner& owner, const RunStatement& statement);
    void onOp(Source& source, const RecordOwner& owner, const FoundOp& op);
    void onComm(Source& source, const RecordOwner& owner, const FoundComm& comm);
    void onCheck(const RecordOwner& owner, SeenCheck check);
    void onPing(const Ping& ping);
    void onEnd(const RecordOwner& owner, const StreamEnd& end);

    void beginRun(const RunInfo& info);
    [[nodiscard]] std::size_t placeOf(const LiveRank& rank) const {
        return assembler_->placeOf(rank.rank.value, rank.replica);
    }
    [[nodiscard]] LiveRank* rankOf(const RecordOwner& owner);
    void setState(LiveRank& rank, RankState state);
    void setReceived(LiveRank& rank);
    void count(StepAssembler::AddResult taken);

    void watchRanks(TimeNs now);
    void giveUpSilent(TimeNs now);
    void watchCaptured();
    void closeStep(ClosedStep closed, FollowingSteps following);

    Options options_;
    perfetto::StreamMemory stream_memory_;
    std::vector<std::unique_ptr<Source>> sources_; ///< by stream; null if the stream is closed
    std::optional<RunInfo> info_;
    std::unique_ptr<StepAssembler> assembler_;
    CapturedJob job_; ///< recorded job, whose steps are recognised by CapturedRun, see takeRun()
    HostClocks clocks_;
    OpenChecks open_checks_;

    std::vector<LiveRank> ranks_;   ///< by place
    std::vector<TimeNs> heard_;     ///< time when each place last sent data
    std::optional<TimeNs> over_at_; ///< time when the latest rank ended or was lost
    CheckCounts checks_;
    LiveCounts counts_; ///< does not include the counts of open streams
    Latency latency_;
    std::vector<LiveEvent> events_;
    TimeNs now_{0};
    std::optional<TimeNs> began_; ///< the first `now`
    bool run_ended_ = false;
};

} // namespace bubblescope::live
