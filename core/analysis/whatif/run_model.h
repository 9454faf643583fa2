#pragma once

#include "core/analysis/accounting/usual_times.h"
#include "core/analysis/whatif/replay_check.h"
#include "core/analysis/whatif/run_graph.h"
#include "core/graph/step_replay.h"
#include "core/recognise/run.h"
#include "core/timeline/step_selection.h"
#include "core/trace/trace.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope {

/// Mean delays before ops, for delays below the clock error: mostly the host's time to launch the next op. The
/// accounting classifies these delays as unknown. Means are per rank and kind of op, over all steps, because individual
/// delays this short are not significant.
class HostGaps {
public:
    /// Adds the delays of a step. Ignores steps with lost records, because those records might explain the
    /// delays.
    void add(const StepGraph& graph, const StepKnowledge& known);
    /// If the rank ran no op of the kind, returns the mean over the kinds that it ran.
    [[nodiscard]] TimeNs of(Rank rank, RunOp kind) const;
    /// The mean over all ops.
    [[nodiscard]] TimeNs mean() const;

private:
    struct Sum {
        TimeNs time{0};
        std::int64_t count = 0;
    };
    std::map<std::pair<std::int32_t, RunOp>, Sum> sums_; ///< sums per rank and kind; Pair stands for all kinds
};

/// Calls `find` with the kinds to try when looking up a kind of op for a rank, in this order: the kind itself, the
/// other kind that produces an input gradient, all kinds (RunOp::Pair).
template <class Find>
[[nodiscard]] auto findByKind(RunOp kind, Find find) {
    auto found = find(kind);
    if (!found && kind == RunOp::BackwardInput) found = find(RunOp::Backward);
    if (!found && kind == RunOp::Backward) found = find(RunOp::BackwardInput);
    return found ? found : find(RunOp::Pair);
}

struct RunStep {
    int index = 0;      ///< number of the step in the run
    TimeNs observed{0}; ///< StepTimeline::wall() of the longest replica; with RunModel::has_streams, time of the step
};

/// The model of a run: the steps as one graph that is simulated with measured or changed times.
struct RunModel {
    std::string where; ///< name of the trace for messages
    TimedGraph timed;  ///< measured durations; transfers do not include the wait of one side for the other
    std::vector<RunStep> steps;
    TimeNs step_time{0};       ///< time of the typical step, see StepSelection::stepTime()
    StepSelection selection;   ///< selection of the run's steps; `steps` contains the selected ones
    HostGaps gaps;             ///< gaps between ops in the same steps; none in a graph with streams
    ReplayCheck check;         ///< error of the replay on the accounting's graph, even if this graph has streams
    std::vector<int> replicas; ///< replica numbers in the trace
    int pp = 1;
    int vpp = 1;
    int microbatches = 1;
    Placement placement = Placement::Loop;
    /// True for a graph like the straggler study's, with both sides of every transfer and the collectives around the
    /// pipeline. False for the accounting's graph of ops, transfers and delays with their causes.
    bool has_streams = false;
    /// The same steps on the accounting's graph, for questions about causes. Null if this model uses that graph.
    std::shared_ptr<const RunModel> accounted;
    /// Model of the typical step only, with all replicas. Null if this model contains only the typical step. Changes to
    /// times are predicted with this model.
    std::shared_ptr<const RunModel> typical;
    /// The steps in their planned order, on the accounting's graph. Null if the steps ran in their planned order.
    std::shared_ptr<const RunModel> planned;

    [[nodiscard]] const RunGraph& graph() const { return timed.graph; }
    /// Mean over the steps.
    [[nodiscard]] TimeNs observed() const;
};

/// The model of the complete steps in `selection`, which must be a selection of the run's steps. Timelines in the
/// format of the straggler study get the study's graph (stragglerGraph), all others the accounting's (timelineGraph).
/// Usual times are those of the run's steady steps. `clock_error` is the maximum error between two ranks' clocks.
/// Error: Input if the trace contradicts itself.
[[nodiscard]] Result<RunModel> runModel(const Run& run, const StepSelection& selection, TimeNs clock_error = TimeNs{0});
/// As above, with the selection that selectSteps() returns for the run.
[[nodiscard]] Result<RunModel> runModel(const Run& run);
/// Computes only RunModel::typical of that model. The other steps may lack their ops. `usual` contains the usual
/// times of the run.
[[nodiscard]] Result<RunModel> typicalStepModel(const Run& run, const StepSelection& selection, const UsualTimes& usual,
                                                TimeNs clock_error = TimeNs{0});

/// The rule that recognises timelines from ByteDance's straggler study, as stored in Run::annotation.
inline constexpr std::string_view kStragglerRule = "ByteDance timeline";

/// The dependency model of the OSDI '25 straggler study (Lin et al., "Understanding Stragglers in Large Model Training
/// Using What-if Analysis", arXiv 2505.05713), built from raw slices. Six streams per worker:
///
/// - compute: forwards and backwards in the order in which they ran;
/// - four for transfers between stages (forward and backward, send and receive), each in order. A send starts after
///   the op that produced its payload. A receive starts after the previous op of the kind that it feeds; the op that it
///   feeds waits for it. The first backward's transfers do not start before the end of the op before the last forward
///   of the warm-up;
/// - data-parallel communication, and everything else around the pipeline: step_collectives.h.
///
/// A transfer or collective starts when all participants have started and lasts until its end. The time on each node is
/// end − max(start), at least 0. Transfers do not record their micro-batch, so they are matched with ops in order.
/// Skips transfers that the recorder wrote before the first or after the last op although they were never launched.
///
/// `steps` contains the complete steps; only those that every replica completed are used. `model` must have its names
/// and sizes set. Errors: Input if there are no such steps, or if transfers cannot be matched with ops.
[[nodiscard]] Result<RunModel> stragglerGraph(const Trace& trace, std::span<const StepTimeline* const> steps,
                                              RunModel model);

} // namespace bubblescope
