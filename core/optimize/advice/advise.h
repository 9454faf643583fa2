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
    std::optional<ModelSizes> sizes;    ///< tensor sizes of the model, for computing memory in bytes
    std::optional<std::int64_t> budget; ///< limit per rank
    std::size_t max_suggestions = 8;    ///< maximum number of suggestions
    /// Time limit for the search for an order outside all families; none = no search. See adviseSearched().
    std::optional<TimeNs> search_time;
    std::string order_folder; ///< folder in which the caller stores such orders, ending with '/'; used in
                              ///< Suggestion::texts
};

/// Memory use of an order on the rank with the highest peak.
struct HeldMemory {
    /// Peak activations. The unit is what one of the run's micro-batches stores for a rank's part of the
    /// model.
    double activations = 0;
    std::optional<std::int64_t> bytes; ///< peak in bytes, including all other data on the rank, if sizes are known
    int copies = 1;                    ///< number of copies of the model: two for two pipelines in opposite directions
};

/// The changes required for a suggestion, easiest first.
enum class Effort : std::uint8_t {
    Balance,   ///< moves work between stages, with the same order
    Transfers, ///< sends and receives without blocking, with the same order
    Order,     ///< changes the schedule
    Chunks,    ///< changes the number of chunks or splits micro-batches
    Copies,    ///< stores the model twice
};
[[nodiscard]] std::string_view effortName(Effort effort); ///< "balance", "transfers", "order", "chunks", "copies"

/// Data about an order found by a search.
struct Searched {
    TimeNs makespan{0}; ///< makespan with the run's mean times and without late starts
    TimeNs bound{0};    ///< lower bound for orders within the current memory use, at these times
    Sentence reason;    ///< reason for the bound
    bool proven = false;
    int rounds = 0;

    [[nodiscard]] double gap() const { return fractionOf(makespan - bound, bound); }
};

struct Suggestion {
    Effort effort = Effort::Order;
    PipelineChange change;          ///< empty if only times change
    std::vector<std::string> texts; ///< the change in the syntax of parseScenario()
    Prediction prediction;
    HeldMemory memory;
    std::vector<std::string> frameworks; ///< frameworks that implement the schedule; may be empty
    /// For moved work if layers are unknown: relative change in each stage's time (negative: shorter).
    std::vector<double> moved;
    std::optional<Searched> searched = std::nullopt; ///< only for an order outside all families
};

/// Frameworks that implement a family's order in a flavor (empty = the family's default).
[[nodiscard]] std::vector<std::string> frameworksOf(std::string_view schedule, std::string_view flavor);

/// Half as many micro-batches of twice the size. A trace with micro-batches of one size does not show how long ops take
/// at another size. Only a limit on the time of such ops can be computed.
struct LargerMicrobatches {
    int microbatches = 1;
    double break_even = 1; ///< the step becomes shorter if op times grow by less than this factor
    HeldMemory memory;
};

struct Advice {
    HeldMemory present;
    std::optional<LargerMicrobatches> larger; ///< none if the schedule does not support half as many micro-batches
    /// Sorted by step time, shortest first. Empty if no change gains more than half a percent and more than its
    /// uncertainty. No suggestion is dominated by another one with no more chunks, parts, copies and memory.
    std::vector<Suggestion> suggestions;
    /// Orders with the current number of chunks that need less memory and make the step at most 5 % longer, least
    /// memory saved first. None is dominated by another one or is a suggestion.
    std::vector<Suggestion> less_memory;
    std::size_t recommended = 0; ///< index of the suggestion to try first, if there are any
    Sentence why;                ///< reason for the recommendation
    int tried = 0;               ///< number of orders simulated
    /// Time saved by searching order and split together, compared with the order for the current split. None if there
    /// was no search or it saved nothing.
    std::optional<TimeNs> split_adds;
    /// Reason why other orders were not tried, if their times cannot be derived from the run's ops; otherwise empty.
    std::string no_orders;
};

/// Finds the schedule, chunks, micro-batches and split of layers that shorten a run's step the most. Simulates every
/// family and flavor in the registry with the run's mean times and time between ops, for the current number of chunks
/// and for 1, 2 and 4, and with unchanged and halved micro-batches. If ModelCut::layers are known, the best split of
/// the layers is tried as well. Otherwise, work is balanced as fractions of the stages' times. If ranks block each
/// other in sends and receives, the current order without this time is a suggestion. The best result, the best one
/// within the current activations, and the best of each single change are then predicted by predict(). Candidates that
/// exceed the budget are left out. If the times of other orders cannot be derived from a run's ops, only the balance of
/// stages is examined.
///
/// With AdviceOptions::search_time, searches for an order at the mean times (core/optimize/search) in which no rank
/// stores more activations than now. If the layers are known, alternately searches for the best split for that order
/// and for an order for that split, until neither search finds an improvement. Both orders become suggestions, the
/// second only if its step is shorter. Also searches for orders with 10 % and 25 % less memory, for
/// Advice::less_memory. Errors: those of predict(); Cancelled if `control` stops the search.
[[nodiscard]] Result<Advice> advise(const RunModel& run, const Schedule& order, const ModelCut& cut = {},
                                    const AdviceOptions& options = {}, std::optional<double> most_error = {},
                                    const JobControl& control = {});

} // namespace bubblescope
