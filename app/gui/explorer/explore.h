#pragma once

#include "app/gui/models/session.h"
#include "core/base/job.h"
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

/// What the lab is asked for.
struct LabInput {
    ScheduleSpec spec;           ///< with the mean times where stages differ, and the least of the limits
    std::vector<OpTimes> stages; ///< empty: all as spec.times
    TransferModel transfers;
    std::vector<int> activations; ///< at most, per rank, in forward ops of one chunk; empty: no limit

    [[nodiscard]] CostModel costs() const;
};

/// A schedule with everything that is shown of it. Made on a worker thread.
struct ExplorerResult {
    LabInput input;
    SessionPtr session; ///< of a single simulated step
    ClosedForm form;
    std::vector<std::vector<MemoryPoint>> memory; ///< per rank, in halves of one forward op's activations
    std::int64_t peak = 0;                        ///< of the rank with the highest peak, in the same unit
    std::string csv;                              ///< in PyTorch's format; empty if that cannot express it
    std::string no_csv;                           ///< the reason why there is no CSV
};

/// Generates and simulates a schedule. Errors: those of makeSchedule() and simulate(), and Cancelled.
[[nodiscard]] Result<ExplorerResult> exploreSchedule(const LabInput& input, const JobControl& control);

/// The same for an order that belongs to no family. Errors: those of simulate(), and Cancelled.
[[nodiscard]] Result<ExplorerResult> exploreOrder(const Schedule& schedule, const LabInput& input,
                                                  const JobControl& control);

/// All families and flavors that take the sizes within the memory limits, the shortest step first.
/// Errors: Cancelled.
[[nodiscard]] Result<std::vector<ExplorerResult>> exploreFamilies(const LabInput& input, const JobControl& control);

/// The best result that a running search has found so far. Written by its worker, read by the GUI thread.
class SearchNews {
public:
    struct State {
        int rounds = 0;
        TimeNs makespan{0};
        TimeNs bound{0};
        std::optional<ExplorerResult> better; ///< an order that is shorter than that of the last take()
    };
    void put(State state);
    /// Nothing if there is nothing new.
    [[nodiscard]] std::optional<State> take();

private:
    std::mutex mutex_;
    std::optional<State> state_;
};

/// How a search ended.
struct SearchOutcome {
    FoundOrder found;
    ExplorerResult result;
};

/// Searches the shortest order for these sizes and times, any placement, within the memory limits, until `control` asks
/// to stop, the time is up, or the bound is reached. Each better order appears in `news`; ending a search early is no
/// error. Errors: those of searchOrder().
[[nodiscard]] Result<SearchOutcome> searchBestOrder(const LabInput& input, TimeNs time_limit, SearchNews& news,
                                                    const std::function<bool()>& enough, const JobControl& control);

} // namespace bubblescope::gui
