#pragma once

#include "core/live/captured_processes.h"
#include "core/live/host_clocks.h"
#include "core/live/latency.h"
#include "core/live/live_view.h"
#include "core/live/reduced_step.h"
#include "core/live/share_records.h"
#include "core/live/step_assembler.h"
#include "core/live/step_window.h"
#include "core/live/stream_target.h"

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope::profiler {

struct LiveOptions {
    StepAssembler::Limits board;
    StepWindow::Limits window;
    Thresholds thresholds;
    std::size_t history = 2000; ///< reduced steps that are kept
    ReplicaRange replicas;      ///< that are looked after here; of the others other collectors tell, or nobody
    /// CLOCK_MONOTONIC of this machine, as files name theirs: how long ops of such files took to be heard is measured.
    /// Empty = not.
    std::string own_clock;
};

/// Follows a run while it goes on. Fed with the bytes of its ranks' files, as they come and in any pieces, it puts
/// steps together, analyses each as `analyze` does, looks for what is wrong, and keeps what a live view shows. It knows
/// neither files nor sockets nor the time of day, and its memory is bounded whatever comes: by the sizes that the run
/// states, and the limits in its options.
///
/// Times named `now` are of one clock that does not go back: CLOCK_MONOTONIC where latency is to be measured. One
/// thread at a time.
class LiveAnalyzer final : public StreamTarget {
public:
    explicit LiveAnalyzer(LiveOptions options = {});
    ~LiveAnalyzer() override;
    LiveAnalyzer(const LiveAnalyzer&) = delete;
    LiveAnalyzer& operator=(const LiveAnalyzer&) = delete;

    /// A stream's name says nothing here.
    [[nodiscard]] Stream open(const std::string& name) override;
    [[nodiscard]] Stream open() { return open({}); }
    void feed(Stream stream, std::string_view bytes, TimeNs now) override;
    [[nodiscard]] std::size_t pending(Stream stream) const override;
    void dropPending(Stream stream) override;
    void restart(Stream stream) override;
    void close(Stream stream) override;
    void gone(Stream stream, const std::string& why) override;
    [[nodiscard]] std::optional<RunStatement> statementOf(Stream stream) const override;

    /// Whether some stream is of a job that knows nothing of us. What its ops are shows in all files together: who
    /// reads those hands in what was recognised.
    [[nodiscard]] bool captured() const { return captured_; }
    /// The steps of such a job as they were recognised by now. Those that were handed in before, which their times
    /// tell, are passed over, and so is the last one unless the trace is `settled`: it may go on.
    void takeRun(const Run& run, bool settled);
    /// Whether this stream is of such a job.
    [[nodiscard]] bool isCaptured(Stream stream) const;
    /// Whether all processes of such a job that were heard of have ended or are gone: what was recognised then is all.
    [[nodiscard]] bool capturedOver() const { return processes_.allOver(); }

    /// Closes steps whose time has come and looks at them. What happened since the last call.
    [[nodiscard]] std::vector<LiveEvent> advance(TimeNs now);

    [[nodiscard]] const std::optional<RunInfo>& info() const { return info_; }
    /// The first and the last that are looked after here. Not before the run began.
    [[nodiscard]] std::pair<int, int> replicas() const;
    [[nodiscard]] const std::vector<LiveRank>& ranks() const { return ranks_; } ///< by replica, then rank
    [[nodiscard]] const std::deque<LiveStep>& steps() const { return steps_; }  ///< closed ones, the latest last
    [[nodiscard]] const std::vector<LiveAnomaly>& anomalies() const { return anomalies_; } ///< holding now, worst first
    [[nodiscard]] LiveCounts counts() const;
    [[nodiscard]] const CheckCounts& checks() const { return checks_; } ///< of the whole run
    [[nodiscard]] bool runEnded() const { return run_ended_; }
    [[nodiscard]] const Latency& latency() const { return latency_; }
    /// The last steps in full, for views that draw them; null before the first. It stays empty where other collectors
    /// tell of the steps.
    [[nodiscard]] const StepWindow* window() const { return window_.get(); }
    [[nodiscard]] HostClocks& clocks() { return clocks_; }

private:
    class Source;

    void beginRun(const RunInfo& info);
    void onRun(Source& source, const OwnHome& home, const RunStatement& statement);
    void onOp(Source& source, const OwnHome& home, const FoundOp& op);
    void onComm(Source& source, const OwnHome& home, const FoundComm& comm);
    void onCheck(const OwnHome& home, SeenCheck check);
    void keepCheck(CheckRecord record);
    void onEnd(const OwnHome& home, const StreamEnd& end);
    void onShare(Source& source, ShareRecord record);
    void onShareBegin(Source& source, const ShareBegin& begin);
    void onShareRank(const Source& source, const LiveRank& told);
    void onShareStep(Source& source, ShareStep told);
    [[nodiscard]] LiveRank* rankOfShare(const Source& source, const LiveRank& told);
    [[nodiscard]] bool sharesOver() const;
    void closeShared(ReducedStep step);
    void count(StepAssembler::Taken taken);
    [[nodiscard]] LiveRank* rankOf(const OwnHome& home);
    void setState(LiveRank& rank, RankState state);
    void heard(LiveRank& rank);
    void watchRanks(TimeNs now);
    void watchCaptured();
    void closeStep(ClosedStep closed);
    void keepStep(ReducedStep reduced);
    void tellAnomalies(std::vector<Anomaly> found, int step);
    [[nodiscard]] RunClocks alignSteps(std::vector<StepTimeline>& timelines);
    void alignChecks(std::vector<CheckRecord>& checks);
    void tell(LiveEvent::Kind kind, int step, std::string text = {});

    LiveOptions options_;
    std::vector<std::unique_ptr<Source>> sources_; ///< null where closed
    std::optional<RunInfo> info_;
    std::unique_ptr<StepAssembler> board_;
    std::unique_ptr<StepWindow> window_;
    std::unique_ptr<ReducedBoard> shared_; ///< null where no other collector tells of the run
    bool captured_ = false;
    std::optional<TimeNs> captured_until_; ///< in the files' time: when the last step that was handed in began
    int captured_steps_ = 0;
    bool captured_settled_ = false;             ///< what was handed in last was all
    std::optional<RankPlaces> captured_places_; ///< of the launcher's ranks, as it was recognised
    RecordedProcesses processes_;               ///< of a job that knows nothing of us
    int shared_run_ = 0;                        ///< which of theirs it is
    std::vector<LiveRank> ranks_;
    std::vector<std::string> clock_of_rank_; ///< by place
    HostClocks clocks_;
    std::deque<LiveStep> steps_;
    std::map<int, CheckCounts> checks_of_open_steps_;
    std::map<int, std::vector<CheckRecord>> records_of_open_steps_;
    std::size_t open_records_ = 0;         ///< in all of them
    std::vector<CheckRecord> late_checks_; ///< of steps that are closed, since the last advance()
    std::map<int, std::vector<std::pair<std::string, std::string>>> mismatches_of_open_steps_;
    CheckCounts checks_;
    std::vector<LiveAnomaly> anomalies_;
    std::map<std::string, LiveAnomaly> told_; ///< by what makes an anomaly the same
    LiveCounts counts_;                       ///< without what open streams count
    Latency latency_;
    std::vector<LiveEvent> events_;
    TimeNs now_{0};
    std::optional<TimeNs> began_; ///< the first `now`
    bool run_ended_ = false;
};

} // namespace bubblescope::profiler
