#pragma once

#include "core/live/anomaly_log.h"
#include "core/live/live_view.h"
#include "core/live/step_assembler.h"

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace bubblescope::live {

/// Assembles the steps of a whole job from the summaries of several collectors, each of which sees some replicas. A
/// step closes when all replicas have arrived, or when its first has waited for twice the `patience`: the collectors
/// themselves wait once. Steps close in order.
///
/// Findings come with the collectors' searches, of which each covers one step or several. A search waits until the step
/// after which it was made is closed here too.
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

    /// Adds a collector's part of a step. Yes, Late, or Bad if a replica was added before.
    StepAssembler::AddResult add(Stream collector, ReducedStep part, TimeNs now);
    /// Adds a search that a collector made. Those before the latest of its replicas are ignored: a collector that
    /// started again repeats them. Yes, or Bad if no step of its number was reported.
    StepAssembler::AddResult add(Stream collector, LiveSearch search);

    /// The next step, with all replicas: missing ones as incomplete.
    [[nodiscard]] std::optional<ReducedStep> close(TimeNs now);

    /// What holds after searches.
    struct Searched {
        int step = 0;                           ///< never less than before
        int steps = 0;                          ///< since the step of the one before
        std::vector<AnomalyLog::Finding> found; ///< by any collector, the most expensive first
    };
    /// The next search of each collector, of those whose step is closed; nothing if there is none. To be called until
    /// then after each close().
    [[nodiscard]] std::optional<Searched> takeSearches();

    [[nodiscard]] int lastClosed() const { return last_closed_; }

private:
    struct Collector {
        std::optional<ReplicaRange> replicas;
        bool ended = false;
    };
    /// Of the replicas of one collector, whose files follow each other.
    struct Searches {
        LiveSearch latest; ///< taken
        std::deque<LiveSearch> waiting;

        [[nodiscard]] int lastStep() const { return waiting.empty() ? latest.step : waiting.back().step; }
    };
    struct OpenStep {
        ReducedStep step;
        TimeNs since{0};
    };

    void addMissing(ReducedStep& step) const;
    [[nodiscard]] std::vector<AnomalyLog::Finding> findings() const;

    StepAssembler::Limits limits_;
    std::map<Stream, Collector> collectors_;
    int replicas_ = 0; ///< of the run; 0 while inactive
    int ranks_ = 0;    ///< of each
    std::map<int, OpenStep> steps_;
    int last_closed_ = -1;
    std::map<std::pair<int, int>, Searches> searches_; ///< by the first and the last replica
    int last_searched_ = -1;
};

} // namespace bubblescope::live
