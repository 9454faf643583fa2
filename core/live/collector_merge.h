#pragma once

#include "core/live/live_view.h"
#include "core/live/step_assembler.h"

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

namespace bubblescope::live {

/// Assembles the steps of a whole job from the summaries of several collectors, each of which sees some replicas. A
/// step closes when all replicas have arrived, or when its first has waited for twice the `patience`: the collectors
/// themselves wait once. Steps close in order.
class CollectorMerge {
public:
    using Stream = std::size_t; ///< of a collector

    explicit CollectorMerge(StepAssembler::Limits limits) : limits_(limits) {}

    /// Another run began: its steps are not merged until a collector reports them. Collectors stay known.
    void reset();
    /// A collector reports these replicas of the run.
    void open(Stream collector, ReplicaRange replicas, const RunInfo& info);
    /// The collector will report no more.
    void end(Stream collector);
    /// Its stream starts again.
    void restart(Stream collector);
    /// Its stream is closed.
    void close(Stream collector) { collectors_.erase(collector); }

    /// Whether steps are merged at all: some collector reports the current run.
    [[nodiscard]] bool isActive() const { return replicas_ > 0; }
    /// The replicas that a collector reports; nothing if the stream is not a collector's.
    [[nodiscard]] std::optional<ReplicaRange> replicasOf(Stream collector) const;
    /// Whether no collector will report more steps.
    [[nodiscard]] bool hasEnded() const;

    /// Adds a collector's part of a step, and the anomalies that hold according to it. Yes, Late, or Bad if a replica
    /// was added before.
    StepAssembler::AddResult add(Stream collector, ReducedStep part, std::vector<LiveAnomaly> findings, TimeNs now);

    struct Merged {
        ReducedStep step;           ///< with all replicas; missing ones as incomplete
        std::vector<Anomaly> found; ///< by any collector, the most expensive first
    };
    [[nodiscard]] std::optional<Merged> close(TimeNs now);

    [[nodiscard]] int lastClosed() const { return last_closed_; }

private:
    struct Collector {
        std::optional<ReplicaRange> replicas;
        std::vector<LiveAnomaly> findings; ///< of its last step
        bool ended = false;
    };
    struct OpenStep {
        ReducedStep step;
        TimeNs since{0};
    };

    void addMissing(ReducedStep& step) const;
    [[nodiscard]] std::vector<Anomaly> findings() const;

    StepAssembler::Limits limits_;
    std::map<Stream, Collector> collectors_;
    int replicas_ = 0; ///< of the run; 0 while inactive
    int ranks_ = 0;    ///< of each
    std::map<int, OpenStep> steps_;
    int last_closed_ = -1;
};

} // namespace bubblescope::live
