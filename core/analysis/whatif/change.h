#pragma once

#include "core/analysis/whatif/run_model.h"
#include "core/base/result.h"
#include "core/cost/communicators.h"
#include "core/schedule/schedule.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace bubblescope {

/// Selects the nodes that a change applies to.
struct ChangeTarget {
    enum class Kind {
        Compute,       ///< all ops
        Communication, ///< all transfers and collectives, and the part of delays and ops due to Cause::Communication
        OfCause,       ///< the time due to `cause`
        All,
        OfRank,  ///< ops of `rank` in every replica
        Worker,  ///< ops of `rank` in `replica`
        Replica, ///< ops of `replica`
        OfStage, ///< ops of `stage`
        Stages,  ///< pipeline ops on all stages
        Link,    ///< transfers from `rank` to `peer`, and back if `both_ways`
        Links,   ///< all transfers between stages
        Op,      ///< all nodes of kind `op`
    };
    Kind kind = Kind::All;
    Rank rank;
    Rank peer;
    bool both_ways = false;
    int replica = 0; ///< replica number in the trace
    Stage stage;
    RunOp op = RunOp::Forward;
    Cause cause = Cause::Unknown;

    /// True if the change affects at least a part of a node's time. If only a part of an op's time is due to the
    /// selected cause, only this part is affected.
    [[nodiscard]] bool matches(const RunModel& model, const RunNode& node) const;
};

/// The new time of the nodes.
struct ChangedTime {
    enum class Kind {
        Usual,    ///< the usual time of the same op: on this rank in other replicas, otherwise on other
                  ///< ranks
        Steady,   ///< the mean over the selected nodes, which removes jitter
        Speed,    ///< `speed` times as fast
        Share,    ///< the previous time multiplied by `share`
        Balanced, ///< for stages: the same total work, distributed equally over all stages
        Exact,    ///< `time` each
    };
    Kind kind = Kind::Usual;
    double factor = 1; ///< multiplies the previous time (Speed, Share); 0 for an Exact time of 0
    TimeNs time{0};

    /// True if the new time is a multiple of the previous one.
    [[nodiscard]] bool scales() const {
        return kind == Kind::Speed || kind == Kind::Share || (kind == Kind::Exact && time == TimeNs{0});
    }
};

struct TimeChange {
    std::string text; ///< as given
    ChangeTarget target;
    ChangedTime to;
};

/// A change to how ranks post and queue transfers. The recorded run is assumed to use one communicator and to post
/// receives early, as PyTorch does by default.
struct QueueChange {
    CommunicatorKind communicators = CommunicatorKind::One;
    bool deferred_receives = false;

    [[nodiscard]] bool any() const { return communicators != CommunicatorKind::One || deferred_receives; }
};

/// A change to the pipeline; properties whose fields are not set stay the same.
struct PipelineChange {
    std::string schedule; ///< family or alias; empty = the observed order
    std::string flavor;
    std::optional<int> vpp;
    std::optional<int> microbatches; ///< number of micro-batches; their size stays the same
    int split = 1;                   ///< number of parts into which each micro-batch and its times are split
    std::vector<int> layers;         ///< number of layers per stage after the change
    /// An order that does not belong to a family, for the run's ranks and micro-batches; null = none. With a custom
    /// order, only `layers` may change.
    std::shared_ptr<const Schedule> order;
    QueueChange queues;

    [[nodiscard]] bool any() const {
        return !schedule.empty() || vpp || microbatches || split > 1 || !layers.empty() || order != nullptr ||
               queues.any();
    }
};

/// The changes to predict. Changes to times are applied first, in the specified order, each to the result of the
/// previous one; the change to the pipeline is applied last.
struct Scenario {
    std::vector<TimeChange> times;
    PipelineChange pipeline;

    /// True if the scenario changes the time due to a cause.
    [[nodiscard]] bool ofCauses() const;
    /// True if ranks should run their ops in the planned order.
    [[nodiscard]] bool asPlanned() const;
    /// Fraction of the unexplained time that remains.
    [[nodiscard]] double unknownLeft() const;
};

/// Parses changes of the form TARGET=VALUE:
///
///     rank:3  worker:1.3 (replica.rank)  replica:1  stage:7  link:2-3 (both ways)  link:2>3  links
///     type:NAME (grads-reduce-scatter, late-start …)  compute  comm  all
///     imbalance  slowdown  jitter  gaps  order  blocked  replays  late-starts  unknown: part of the times due to
///         a cause in the accounting (Cause); = 0, or a share; only 0 for order
///     stages=balanced: equal work on every stage, with the same total
///         = usual | steady | 2x (twice as fast) | -20% | +5% (of the time) | 1.5ms (each)
///     schedule=NAME[/FLAVOR]   schedule-file=FILE   vpp=2   microbatches=16   split=2   layers=9,9,9,5
///     communicators=direction|edge|pair|tag   receives=deferred
///
/// Errors: Usage, with the text that cannot be parsed; those of readScheduleFile().
[[nodiscard]] Result<Scenario> parseScenario(std::span<const std::string> texts);

/// Factors for the op times of each stage that make all stages equal without changing the total work.
[[nodiscard]] std::vector<double> balanceFactors(const RunModel& model, const std::vector<TimeNs>& durations);

/// The duration of each node after the changes. Errors: Usage if a change applies to no node, or makes the run longer
/// than a timeline can represent.
[[nodiscard]] Result<std::vector<TimeNs>> changedDurations(const RunModel& model, std::span<const TimeChange> changes);

} // namespace bubblescope
