#pragma once

#include "profiler/collect/host_clocks.h"
#include "profiler/collect/latency.h"
#include "profiler/collect/live_view.h"
#include "profiler/collect/step_board.h"
#include "profiler/collect/step_window.h"
#include "profiler/collect/stream_target.h"

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope::profiler {

struct LiveOptions {
    StepBoard::Limits board;
    StepWindow::Limits window;
    Thresholds thresholds;
    std::size_t history = 2000; ///< reduced steps that are kept
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
class LiveEngine final : public StreamTarget {
public:
    explicit LiveEngine(LiveOptions options = {});
    ~LiveEngine() override;
    LiveEngine(const LiveEngine&) = delete;
    LiveEngine& operator=(const LiveEngine&) = delete;

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

    /// Closes steps whose time has come and looks at them. What happened since the last call.
    [[nodiscard]] std::vector<LiveEvent> advance(TimeNs now);

    [[nodiscard]] const std::optional<RunInfo>& info() const { return info_; }
    [[nodiscard]] const std::vector<LiveRank>& ranks() const { return ranks_; } ///< by replica, then rank
    [[nodiscard]] const std::deque<LiveStep>& steps() const { return steps_; }  ///< closed ones, the latest last
    [[nodiscard]] const std::vector<LiveAnomaly>& anomalies() const { return anomalies_; } ///< holding now, worst first
    [[nodiscard]] LiveCounts counts() const;
    [[nodiscard]] const CheckCounts& checks() const { return checks_; } ///< of the whole run
    [[nodiscard]] bool runEnded() const { return run_ended_; }
    [[nodiscard]] const Latency& latency() const { return latency_; }
    /// The last steps in full, for views that draw them; null before the first.
    [[nodiscard]] const StepWindow* window() const { return window_.get(); }
    [[nodiscard]] HostClocks& clocks() { return clocks_; }

private:
    class Source;

    void beginRun(const RunInfo& info);
    void onRun(Source& source, const OwnHome& home, const RunStatement& statement);
    void onOp(Source& source, const OwnHome& home, const FoundOp& op);
    void onComm(Source& source, const OwnHome& home, const FoundComm& comm);
    void onCheck(const OwnHome& home, const SeenCheck& check);
    void onEnd(const OwnHome& home, const StreamEnd& end);
    void count(StepBoard::Taken taken);
    [[nodiscard]] LiveRank* rankOf(const OwnHome& home);
    void setState(LiveRank& rank, RankState state);
    void heard(LiveRank& rank);
    void watchRanks(TimeNs now);
    void closeStep(ClosedStep closed);
    void findAnomalies(int step);
    [[nodiscard]] RunClocks alignSteps(std::vector<StepTimeline>& timelines);
    void tell(LiveEvent::Kind kind, int step, std::string text = {});

    LiveOptions options_;
    std::vector<std::unique_ptr<Source>> sources_; ///< null where closed
    std::optional<RunInfo> info_;
    std::unique_ptr<StepBoard> board_;
    std::unique_ptr<StepWindow> window_;
    std::vector<LiveRank> ranks_;
    std::vector<std::string> clock_of_rank_; ///< by place
    HostClocks clocks_;
    std::deque<LiveStep> steps_;
    std::map<int, CheckCounts> checks_of_open_steps_;
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
