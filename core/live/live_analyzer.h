#pragma once

#include "core/live/captured_job.h"
#include "core/live/finding_search.h"
#include "core/live/host_clocks.h"
#include "core/live/live_view.h"
#include "core/live/record_stream.h"
#include "core/live/step_assembler.h"
#include "core/live/step_window.h"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope::live {

struct LiveOptions {
    StepAssembler::Limits assembly;
    StepWindow::Limits window;
    Thresholds thresholds;
    std::size_t history = 2000; ///< number of reduced steps to keep
    /// If set, closed steps go there, their timelines on one clock, and are neither analysed nor kept here.
    std::function<void(ClosedStep, const RunClocks&)> take_steps = {};
    /// CLOCK_MONOTONIC of this machine, as files name it: the latency of ops is measured for files on this clock. Empty
    /// = not measured.
    std::string own_clock;
};

/// Follows a run while it is in progress. Takes the bytes of its ranks' files, in pieces of any size, and maintains the
/// data of a live view. It uses neither files nor sockets nor the time of day, and its memory is bounded for any input:
/// by the sizes that the run states, and the limits in its options.
///
/// Its parts do the work: a RecordStream per file decodes records, StepAssembler assembles steps (CapturedJob those
/// that were recognised), StepWindow analyses each as `analyze` does, FindingSearch determines when they are searched
/// and which findings are reported. This class keeps the ranks' states and connects the parts.
///
/// Times named `now` are of one monotonic clock: CLOCK_MONOTONIC where latency is to be measured. One thread at a time.
class LiveAnalyzer final : public StreamTarget {
public:
    explicit LiveAnalyzer(LiveOptions options = {});
    ~LiveAnalyzer() override;
    LiveAnalyzer(const LiveAnalyzer&) = delete;
    LiveAnalyzer& operator=(const LiveAnalyzer&) = delete;

    /// The name is not used here.
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

    /// Whether some stream belongs to a recorded job. Its ops are recognised in all files together by CapturedRun,
    /// which hands them in.
    [[nodiscard]] bool captured() const { return job_.isCaptured(); }
    /// Takes the steps of such a job that are recognised so far. Steps handed in before, identified by their times, are
    /// skipped, and so is the last one unless the trace is `settled`: it may be unfinished.
    void takeRun(const Run& run, bool settled);
    /// Whether this stream belongs to such a job.
    [[nodiscard]] bool isCaptured(Stream stream) const;
    /// How many streams end inside a packet, so far.
    [[nodiscard]] std::int64_t cutStreams() const;
    /// Whether nothing more is to come of a stream: it states its end, or its writer has exited.
    [[nodiscard]] bool streamEnded(Stream stream) const;
    /// Whether all known processes of such a job have ended or are gone: what was recognised then is complete.
    [[nodiscard]] bool capturedEnded() const { return job_.allEnded(); }

    /// Closes and analyses the steps that are due. Returns the events since the last call.
    ///
    /// When the kept steps are searched for findings, FindingSearch decides: after each step that comes alone.
    [[nodiscard]] std::vector<LiveEvent> advance(TimeNs now);
    /// Searches the closed steps that were not searched yet: for who watches no longer. Returns the events. The steps
    /// of a run are searched also before another one replaces it.
    [[nodiscard]] std::vector<LiveEvent> conclude();

    [[nodiscard]] const std::optional<RunInfo>& info() const { return info_; }
    [[nodiscard]] const std::vector<LiveRank>& ranks() const { return ranks_; } ///< by replica, then rank
    [[nodiscard]] const std::deque<LiveStep>& steps() const { return steps_; }  ///< closed ones, oldest first
    [[nodiscard]] const std::vector<LiveAnomaly>& anomalies() const {
        return search_.anomalies().current();
    } ///< open now, worst first
    [[nodiscard]] LiveCounts counts() const;
    [[nodiscard]] const CheckCounts& checks() const { return checks_; } ///< of the whole run
    [[nodiscard]] bool runEnded() const { return run_ended_; }
    [[nodiscard]] const Latency& latency() const { return latency_; }
    /// The last steps in full, for views that draw them; null before the first.
    [[nodiscard]] const StepWindow* window() const { return window_.get(); }
    [[nodiscard]] HostClocks& clocks() { return clocks_; }

private:
    class Source;

    // Reports of streams.
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
    void handOut(ClosedStep closed, const RunClocks& clocks);
    [[nodiscard]] bool searchIsDue(const FollowingSteps& following) const {
        return search_.isDue(following, *window_, steps_.size(), now_);
    }
    void search(std::optional<TimeNs> longest_replica);
    void searchRest();
    void keepStep(LiveStep step, const std::vector<ReducedReplica>& replicas);
    void report(LiveEvent::Kind kind, int step, std::string text = {});

    LiveOptions options_;
    perfetto::StreamMemory stream_memory_;
    std::vector<std::unique_ptr<Source>> sources_; ///< by stream; null if closed
    std::optional<RunInfo> info_;
    std::unique_ptr<StepAssembler> assembler_;
    std::unique_ptr<StepWindow> window_;
    CapturedJob job_; ///< whose steps are recognised elsewhere, see takeRun()
    HostClocks clocks_;
    OpenChecks open_checks_;
    FindingSearch search_;

    std::vector<LiveRank> ranks_;   ///< by place
    std::vector<TimeNs> heard_;     ///< when anything came of each last, by place
    std::optional<TimeNs> over_at_; ///< when a rank ended or was gone last
    std::deque<LiveStep> steps_;
    CheckCounts checks_;
    LiveCounts counts_; ///< without the counts of open streams
    Latency latency_;
    std::vector<LiveEvent> events_;
    TimeNs now_{0};
    std::optional<TimeNs> began_; ///< the first `now`
    bool run_ended_ = false;
};

} // namespace bubblescope::live
