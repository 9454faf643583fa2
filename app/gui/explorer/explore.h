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

/// The inputs of the schedule lab.
struct LabInput {
    ScheduleSpec spec;           ///< with mean times if stages differ, and with the lowest limit
    std::vector<OpTimes> stages; ///< times of each stage; empty: all stages have spec.times
    TransferModel transfers;
    std::vector<int> activations; ///< limit per rank, in forward ops of one chunk; empty: no limit
    /// With communicators, transfers queue as PyTorch's runtime posts them.
    std::optional<CommunicatorKind> communicators;
    bool deferred_receives = false;

    [[nodiscard]] CostModel costs() const;
};

/// A schedule with all data shown for it. Created on a worker thread.
struct ExplorerResult {
    LabInput input;
    SessionPtr session; ///< session with a single simulated step
    ClosedForm form;
    std::vector<std::vector<MemoryPoint>> memory; ///< per rank, in halves of one forward op's activations
    std::int64_t peak = 0;                        ///< peak of the rank with the highest one, in the same unit
    std::string csv;                              ///< in PyTorch's format; empty if the format cannot express the order
    std::string no_csv;                           ///< the reason if there is no CSV
    Sentence hang; ///< the cycle of waits if the order hangs; the step is then simulated without queues
    std::optional<TimeNs> queue_cost; ///< how much longer queues of transfers make the step
};

/// Generates and simulates a schedule. Errors: those of makeSchedule() and simulate(), and Cancelled.
[[nodiscard]] Result<ExplorerResult> exploreSchedule(const LabInput& input, const JobControl& control);

/// As above, for an order that belongs to no family. Errors: those of simulate(), and Cancelled.
[[nodiscard]] Result<ExplorerResult> exploreOrder(const Schedule& schedule, const LabInput& input,
                                                  const JobControl& control);

/// All families and flavors that support the sizes within the memory limits, starting with the shortest step. Errors:
/// Cancelled.
[[nodiscard]] Result<std::vector<ExplorerResult>> exploreFamilies(const LabInput& input, const JobControl& control);

/// The best result that a running search has found so far. Written by its worker, read by the GUI thread.
class SearchNews {
public:
    struct State {
        int rounds = 0;
        TimeNs makespan{0};
        TimeNs bound{0};
        std::optional<ExplorerResult> better; ///< an order that is shorter than that returned by the last take()
    };
    void put(State state);
    /// Returns nothing if there is no news.
    [[nodiscard]] std::optional<State> take();

private:
    std::mutex mutex_;
    std::optional<State> state_;
};

/// The outcome of a search.
struct SearchOutcome {
    FoundOrder found;
    ExplorerResult result;
};

/// Searches for the shortest order for these sizes and times, with any placement, within the memory limits, until
/// `control` asks it to stop, the time is up, or the bound is reached. Each better order appears in `news`. Ending a
/// search early is not an error. Errors: those of searchOrder().
[[nodiscard]] Result<SearchOutcome> searchBestOrder(const LabInput& input, TimeNs time_limit, SearchNews& news,
                                                    const std::function<bool()>& enough, const JobControl& control);

} // namespace bubblescope::gui
