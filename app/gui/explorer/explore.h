#pragma once

#include "app/gui/models/session.h"
#include "core/base/job.h"
#include "core/base/sentence.h"
#include "core/cost/communicators.h"
#include "core/cost/memory_model.h"
#include "core/families/registry.h"
#include "core/optimize/search/search.h"
#include "core/theory/closed_form.h"

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace bubblescope::gui {

/// Inputs of the schedule explorer.
struct LabInput {
    ScheduleSpec spec;           ///< contains the mean times and the lowest limit if stages differ
    std::vector<OpTimes> stages; ///< times of each stage; if empty, all stages have spec.times
    TransferModel transfers;
    std::vector<int> activations; ///< limit per rank, in forward ops of one chunk; empty if there is no limit
    /// If set, transfers wait in queues, in the order in which PyTorch's runtime posts them.
    std::optional<CommunicatorKind> communicators;
    bool deferred_receives = false;

    [[nodiscard]] CostModel costs() const;
};

/// A schedule with all the data that the explorer shows. Created on a worker thread.
struct ExplorerResult {
    LabInput input;
    SessionPtr session; ///< session with a single simulated step
    ClosedForm form;
    std::vector<std::vector<MemoryPoint>> memory; ///< per rank, in units of half the activations of a forward op
    std::int64_t peak = 0;                        ///< highest peak among all ranks, in the same unit
    std::string csv;                              ///< in PyTorch's format; empty if the format cannot express the order
    std::string no_csv;                           ///< reason why there is no CSV
    Sentence hang; ///< cycle of waits if the order deadlocks; the step is then simulated without queues
    std::optional<TimeNs> queue_cost; ///< time that transfer queues add to the step
};

/// Generates and simulates a schedule. Errors: those of makeSchedule() and simulate(), and Cancelled.
[[nodiscard]] Result<ExplorerResult> exploreSchedule(const LabInput& input, const JobControl& control);

/// Like exploreSchedule(), for an order that no family generates. Errors: those of simulate(), and Cancelled.
[[nodiscard]] Result<ExplorerResult> exploreOrder(const Schedule& schedule, const LabInput& input,
                                                  const JobControl& control);

/// Explores all families and flavors that support the sizes within the memory limits. Sorted by step time. Errors:
/// Cancelled.
[[nodiscard]] Result<std::vector<ExplorerResult>> exploreFamilies(const LabInput& input, const JobControl& control);

/// The best result so far of a running search. Written by the worker thread and read by the GUI thread.
class SearchNews {
public:
    struct State {
        int rounds = 0;
        TimeNs makespan{0};
        TimeNs bound{0};
        std::optional<ExplorerResult> better; ///< an order shorter than the one from the previous take(), if any
    };
    void put(State state);
    /// Returns nothing unless put() has been called since the last take().
    [[nodiscard]] std::optional<State> take();

private:
    std::mutex mutex_;
    std::optional<State> state_;
};

/// Result of a search.
struct SearchOutcome {
    FoundOrder found;
    ExplorerResult result;
};

/// Searches for the shortest order for these sizes and times, with any placement, within the memory limits. The search
/// ends when `control` requests a stop, at the time limit, or at the lower bound. Each better order is put into `news`.
/// Ending a search early is not an error. Errors: those of searchOrder().
[[nodiscard]] Result<SearchOutcome> searchBestOrder(const LabInput& input, TimeNs time_limit, SearchNews& news,
                                                    const std::function<bool()>& enough, const JobControl& control);

} // namespace bubblescope::gui
