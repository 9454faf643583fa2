#pragma once

#include "core/analysis/report.h"
#include "core/optimize/search/search.h"
#include "core/request/schedule_request.h"

#include <optional>
#include <string>
#include <string_view>

namespace bubblescope {

/// What a trace showed, where a search begins with one.
struct RecordedOrder {
    TimeNs observed{0};  ///< what a step took
    TimeNs simulated{0}; ///< the recorded order on the mean times
    double error = 0;    ///< of the replay, as a share
};

/// A share from 0 up to 100 per cent: "5%", "5" or "0.5 %". Error: Usage.
[[nodiscard]] Result<double> parseNoise(std::string_view text);

/// An order that a user wants searched.
struct OrderRequest {
    ScheduleRequest schedule; ///< sizes, times and transfers
    /// How to search: split, pairs, limits of memory, time and rounds, seed, threads. request() fills in the rest.
    SearchRequest search;
    std::string from;              ///< a trace in place of the sizes; empty: none
    std::string memory_model;      ///< a file, with search.bytes; empty: none
    std::string placement = "any"; ///< or loop, v, or a file: readPlacement()
    /// Stage times of a second model in the opposite direction; empty: none. Of fewer stages than there are ranks: it
    /// runs in copies side by side.
    std::string second;
    std::optional<int> second_microbatches; ///< of each copy; together as many as of the first if not given
    std::optional<double> noise;            ///< a share

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
