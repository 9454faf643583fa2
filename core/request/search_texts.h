#pragma once

#include "core/analysis/report.h"
#include "core/optimize/search/search.h"
#include "core/request/schedule_request.h"
#include "core/request/transfer_request.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bubblescope {

/// What a trace showed, where a search begins with one.
struct RecordedOrder {
    TimeNs observed{0};  ///< what a step took
    TimeNs simulated{0}; ///< the recorded order on the mean times
    double error = 0;    ///< of the replay, as a share
};

/// What a user asks of a search, in the words of the command line.
struct SearchTexts {
    ScheduleRequest schedule; ///< sizes and times
    TransferRequest transfers;
    std::vector<int> memory_limit; ///< activations; one for all ranks, or one a rank
    std::string from;              ///< a trace in place of the sizes; empty: none
    std::string memory_model;
    std::vector<std::string> memory_budget;
    std::string placement = "any"; ///< or loop, v, or a file: readPlacement()
    std::string op_times;          ///< a file of times of single ops; empty: none
    /// Stage times of a second model in the opposite direction; empty: none. Of fewer stages than there are ranks: it
    /// runs in copies side by side.
    std::string second;
    std::optional<int> second_microbatches; ///< of each copy; together as many as of the first if not given
    bool overlap_pairs = false;
    std::string split = "auto"; ///< "auto", "on", "off"
    std::string noise;          ///< a share, "5%"
    std::string time_limit;
    std::optional<int> rounds;
    std::uint64_t seed = 1;
    int threads = 0;

    /// Without what the trace shows. Errors: Usage, Input.
    [[nodiscard]] Result<SearchRequest> request() const;

private:
    [[nodiscard]] Status readMemory(SearchRequest& request) const;
    /// A model whose pipeline runs over the same ranks from the last to the first.
    [[nodiscard]] Status addSecond(SearchRequest& request) const;
    /// Times of single ops, which are those of a rank and chunk and so of one placement.
    [[nodiscard]] Status addOpTimes(SearchRequest& request) const;
};

/// Takes sizes, placement, times and the order's peak of activations from a run, where the request does not limit them.
/// Errors: those of selectSteps(), runModel() and MeanPipeline::of().
[[nodiscard]] Result<RecordedOrder> takeRecorded(const Run& run, const RunClocks& clocks, SearchRequest& request);

} // namespace bubblescope
