#pragma once

#include "core/analysis/whatif/replay_model.h"
#include "core/base/result.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace bubblescope {

/// Which nodes of a replay a change is about.
struct ChangeTarget {
    enum class Kind {
        Compute,       ///< all ops
        Communication, ///< all transfers and collectives
        All,
        OfRank,  ///< ops of `rank` in every replica
        Worker,  ///< ops of `rank` in `replica`
        Replica, ///< ops of `replica`
        OfStage, ///< ops of `stage`
        Link,    ///< transfers from `rank` to `peer`, with `both_ways` also back
        Links,   ///< all transfers between stages
        Op,      ///< everything of the kind `op`
    };
    Kind kind = Kind::All;
    Rank rank;
    Rank peer;
    bool both_ways = false;
    int replica = 0; ///< as the trace numbers them
    Stage stage;
    ReplayOp op = ReplayOp::Forward;

    [[nodiscard]] bool matches(const ReplayModel& model, const ReplayNode& node) const;
};

/// What they would take instead.
struct ChangedTime {
    enum class Kind {
        Usual,  ///< what their equals take: the same op on the same rank in other replicas, else on other ranks
        Steady, ///< what they take themselves in the mean: no jitter
        Speed,  ///< `speed` times as fast
        Share,  ///< `share` of the time
        Exact,  ///< `time` each
    };
    Kind kind = Kind::Usual;
    double factor = 1; ///< of the time, for Speed and Share
    TimeNs time{0};
};

struct TimeChange {
    std::string text; ///< as given
    ChangeTarget target;
    ChangedTime to;
};

/// A pipeline run otherwise than it was; what is not named stays.
struct PipelineChange {
    std::string schedule; ///< family or alias; empty = the order that ran
    std::string flavor;
    std::optional<int> vpp;
    std::optional<int> microbatches; ///< of the same size
    int split = 1;                   ///< each micro-batch into so many, of as much less time
    std::vector<int> layers;         ///< of each stage, then

    [[nodiscard]] bool any() const { return !schedule.empty() || vpp || microbatches || split > 1 || !layers.empty(); }
};

/// What is asked: time changes in the order given, each on top of those before it, and then the pipeline.
struct Scenario {
    std::vector<TimeChange> times;
    PipelineChange pipeline;
};

/// Parses changes of the form TARGET=VALUE:
///
///     rank:3  worker:1.3 (replica.rank)  replica:1  stage:7  link:2-3 (both ways)  link:2>3  links
///     type:NAME (grads-reduce-scatter, late-start …)  compute  comm  all
///         = usual | steady | 2x (twice as fast) | -20% | +5% (of the time) | 1.5ms (each)
///     schedule=NAME[/FLAVOR]   vpp=2   microbatches=16   split=2   layers=9,9,9,5
///
/// Errors: Usage, with the text that is not understood.
[[nodiscard]] Result<Scenario> parseScenario(std::span<const std::string> texts);

/// Each node's time with the changes made. Errors: Usage, when a change is about nothing that the run has, or makes it
/// longer than a timeline can be.
[[nodiscard]] Result<std::vector<TimeNs>> changedDurations(const ReplayModel& model,
                                                           std::span<const TimeChange> changes);

} // namespace bubblescope
