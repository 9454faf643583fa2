#pragma once

#include "core/analysis/whatif/scenario.h"
#include "core/base/job.h"
#include "core/base/sentence.h"
#include "core/cost/memory_estimate.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

struct AdviceOptions {
    std::optional<ModelSizes> sizes;    ///< tensors of the model, for memory in bytes
    std::optional<std::int64_t> budget; ///< limit per rank
    std::size_t max_suggestions = 8;    ///< maximum number of suggestions
    /// How long an order of no family may be searched; none = not at all. See adviseSearched().
    std::optional<TimeNs> search_time;
    std::string order_folder; ///< where the caller puts such orders, with the '/': for Suggestion::texts
};

/// The memory of an order on its fullest rank.
struct HeldMemory {
    /// Activations at the peak, each counting as what a rank's whole part of the model keeps of a micro-batch of the
    /// run.
    double activations = 0;
    std::optional<std::int64_t> bytes; ///< with everything else on the rank, if sizes are known
    int copies = 1;                    ///< of the model: two if two pipelines run side by side
};

/// What a suggestion changes, the easiest first.
enum class Effort : std::uint8_t {
    Balance, ///< work between stages, with an unchanged order
    Order,   ///< the schedule
    Chunks,  ///< more or fewer chunks, smaller micro-batches
    Copies,  ///< the model is held twice
};
[[nodiscard]] std::string_view effortName(Effort effort); ///< "balance", "order", "chunks", "copies"

/// What is known of an order that was searched.
struct Searched {
    TimeNs makespan{0}; ///< on the run's mean times, without late starts
    TimeNs bound{0};    ///< on the same times no order of today's memory is shorter
    Sentence reason;    ///< of the bound
    bool proven = false;
    int rounds = 0;

    [[nodiscard]] double gap() const { return fractionOf(makespan - bound, bound); }
};

struct Suggestion {
    Effort effort = Effort::Order;
    PipelineChange change;          ///< none for work moved in shares of a stage's time
    std::vector<std::string> texts; ///< the change in the syntax of parseScenario()
    Prediction prediction;
    HeldMemory memory;
    std::vector<std::string> frameworks; ///< whose schedules it is among; empty where no framework has it
    /// For work moved without known layers: per stage, by which share its time grows (negative: shrinks).
    std::vector<double> moved;
    std::optional<Searched> searched = std::nullopt; ///< where the order is of no family
};

/// Frameworks that ship a family's order under a flavor (empty = the family's first).
[[nodiscard]] std::vector<std::string> frameworksOf(std::string_view schedule, std::string_view flavor);

/// Micro-batches twice as large and half as many. A trace of one size does not show how long ops of another take, only
/// how long they may take.
struct LargerMicrobatches {
    int microbatches = 1;
    double break_even = 1; ///< the step gets shorter if ops take less than this many times their present time
    HeldMemory memory;
};

struct Advice {
    HeldMemory present;
    std::optional<LargerMicrobatches> larger; ///< none if the schedule does not support half as many
    /// The shortest step first; empty if nothing gains half a percent and more than its own error bar. None is
    /// dominated: another of no more chunks, parts, memory and copies is not as short.
    std::vector<Suggestion> suggestions;
    std::size_t recommended = 0; ///< place of the one to try first, unless there is none
    Sentence why;                ///< that one
    int tried = 0;               ///< orders simulated
    /// By how much the searched order and split together are shorter than the order searched for today's split; none
    /// where that gains nothing or nothing was searched.
    std::optional<TimeNs> split_adds;
    /// Why other orders were not tried, if their times cannot be derived from the run's ops; empty otherwise.
    std::string no_orders;
};

/// Finds the schedule, chunks, micro-batches and layers that shorten a run's step most: simulates every family and
/// flavor of the registry with the run's mean times and time between ops, with as many chunks as now and 1, 2 and 4,
/// with micro-batches unchanged and halved, and if ModelCut::layers are known also with the best split of the layers;
/// if they are unknown, work balanced in shares of the stages' times replaces that split. The best of these, the best
/// with at most today's activations, and the best of each single change are then predicted as by predict(). What
/// exceeds the budget is omitted. If the times of other orders cannot be derived from a run's ops, only the balance of
/// stages is advised.
///
/// With AdviceOptions::search_time an order is searched for the mean times (core/optimize/search), in which no rank
/// holds more activations than now; then, where the layers are known, the best split of the layers for that order and
/// an order for that split in turn, until neither gains. Both become suggestions, the second where its step is shorter.
/// Errors: those of predict(); Cancelled, when `control` stops it.
[[nodiscard]] Result<Advice> advise(const RunModel& run, const Schedule& order, const ModelCut& cut = {},
                                    const AdviceOptions& options = {}, std::optional<double> most_error = {},
                                    const JobControl& control = {});

} // namespace bubblescope
