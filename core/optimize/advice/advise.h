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
    std::optional<ModelSizes> sizes;    ///< tensors of the model, to get memory in bytes
    std::optional<std::int64_t> budget; ///< limit per rank
    std::size_t max_suggestions = 8;    ///< maximum number of suggestions
    /// Time for which to search for an order outside of all families; none = no search. See adviseSearched().
    std::optional<TimeNs> search_time;
    std::string order_folder; ///< folder in which the caller stores such orders, including the '/'; used in
                              ///< Suggestion::texts
};

/// The memory of an order on its fullest rank.
struct HeldMemory {
    /// Activations at the peak, in units of what a rank keeps of one micro-batch of the run for its whole part of the
    /// model.
    double activations = 0;
    std::optional<std::int64_t> bytes; ///< including everything else on the rank, if sizes are known
    int copies = 1;                    ///< of the model: two for two pipelines in opposite directions
};

/// The changes that a suggestion makes, easiest first.
enum class Effort : std::uint8_t {
    Balance, ///< work between stages, with the same order
    Order,   ///< the schedule
    Chunks,  ///< more or fewer chunks, smaller micro-batches
    Copies,  ///< the model is held twice
};
[[nodiscard]] std::string_view effortName(Effort effort); ///< "balance", "order", "chunks", "copies"

/// Data about a searched order.
struct Searched {
    TimeNs makespan{0}; ///< with the run's mean times, without late starts
    TimeNs bound{0};    ///< no order that fits into the present memory is shorter at these times
    Sentence reason;    ///< of the bound
    bool proven = false;
    int rounds = 0;

    [[nodiscard]] double gap() const { return fractionOf(makespan - bound, bound); }
};

struct Suggestion {
    Effort effort = Effort::Order;
    PipelineChange change;          ///< none if work is moved as fractions of a stage's time
    std::vector<std::string> texts; ///< the change in the syntax of parseScenario()
    Prediction prediction;
    HeldMemory memory;
    std::vector<std::string> frameworks; ///< that ship its schedule; empty if none does
    /// For moved work without known layers: per stage, the fraction by which its time grows (negative: shrinks).
    std::vector<double> moved;
    std::optional<Searched> searched = std::nullopt; ///< if the order belongs to no family
};

/// Frameworks that ship a family's order in a flavor (empty = the family's first).
[[nodiscard]] std::vector<std::string> frameworksOf(std::string_view schedule, std::string_view flavor);

/// Half as many micro-batches of twice the size. A trace with micro-batches of one size does not show how long ops take
/// at another size, only how long they may take.
struct LargerMicrobatches {
    int microbatches = 1;
    double break_even = 1; ///< the step gets shorter if ops take less than this many times their current time
    HeldMemory memory;
};

struct Advice {
    HeldMemory present;
    std::optional<LargerMicrobatches> larger; ///< none if the schedule does not support half as many
    /// Shortest step first; empty if no change gains half a percent and more than its own uncertainty. No suggestion is
    /// dominated by another one with at most as many chunks, parts and copies and as much memory.
    std::vector<Suggestion> suggestions;
    std::size_t recommended = 0; ///< index of the one to try first, if there are any
    Sentence why;                ///< reason for the recommendation
    int tried = 0;               ///< number of orders simulated
    /// Time by which the order found with its own split is shorter than the one found for the present split; none if
    /// nothing is gained or searched.
    std::optional<TimeNs> split_adds;
    /// Reason why other orders were not tried, if their times cannot be derived from the run's ops; otherwise empty.
    std::string no_orders;
};

/// Finds the schedule, chunks, micro-batches and layers that shorten a run's step the most. Simulates every family and
/// flavor of the registry with the run's mean times and time between ops, with the present number of chunks and 1, 2
/// and 4, and with micro-batches unchanged and halved. If ModelCut::layers are known, the best split of the layers is
/// tried as well; otherwise, work is balanced as fractions of the stages' times. The best of these, the best within the
/// present activations, and the best of each single change are then predicted as in predict(). Leaves out everything
/// that exceeds the budget. If the times of other orders cannot be derived from a run's ops, only advises on the
/// balance of stages.
///
/// With AdviceOptions::search_time, searches for an order for the mean times (core/optimize/search) in which no rank
/// holds more activations than now. If the layers are known, it then searches in turn for the best split of the layers
/// for that order and for an order for that split, until neither gains. Both become suggestions, the second if its step
/// is shorter. Errors: those of predict(); Cancelled when `control` stops it.
[[nodiscard]] Result<Advice> advise(const RunModel& run, const Schedule& order, const ModelCut& cut = {},
                                    const AdviceOptions& options = {}, std::optional<double> most_error = {},
                                    const JobControl& control = {});

} // namespace bubblescope
