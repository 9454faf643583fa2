#pragma once

#include "core/analysis/report.h"
#include "core/optimize/search/search.h"
#include "core/request/schedule_request.h"

#include <optional>
#include <string>
#include <string_view>

namespace bubblescope {

/// The data of the trace, if a search starts from one.
struct RecordedOrder {
    TimeNs observed{0};  ///< observed step time
    TimeNs simulated{0}; ///< the recorded order with the mean times
    double error = 0;    ///< of the replay, as a fraction
};

/// A percentage from 0 up to 100: "5%", "5" or "0.5 %". Error: Usage.
[[nodiscard]] Result<double> parseNoise(std::string_view text);

/// A user's request to search for an order.
struct OrderRequest {
    ScheduleRequest schedule; ///< sizes, times and transfers
    /// How to search: split, pairs, limits of memory, time and rounds, seed, threads. request() fills in the rest.
    SearchRequest search;
    std::string from;              ///< a trace instead of the sizes; empty: none
    std::string memory_model;      ///< a file, with search.bytes; empty: none
    std::string memory_preset;     ///< the name of a known model in its place; empty: none
    std::string placement = "any"; ///< or loop, v, or a file: readPlacement()
    /// Stage times of a second model in the opposite direction; empty: none. If it has fewer stages than there are
    /// ranks, it runs in copies side by side.
    std::string second;
    std::optional<int> second_microbatches; ///< per copy; if not given, as many in total as for the first
    std::optional<double> noise;            ///< a share

    /// Without what the trace shows. Errors: Usage, Input.
    [[nodiscard]] Result<SearchRequest> request() const;

private:
    [[nodiscard]] bool hasModel() const { return !memory_model.empty() || !memory_preset.empty(); }
    [[nodiscard]] Status readMemory(SearchRequest& request) const;
    /// A model whose pipeline runs over the same ranks from the last to the first.
    [[nodiscard]] Status addSecond(SearchRequest& request) const;
    /// Times of single ops, which belong to a rank and chunk and so to one placement.
    [[nodiscard]] Status addOpTimes(SearchRequest& request) const;
};

/// Takes sizes, placement, times and the order's peak of activations from a run, unless the request limits them.
/// Errors: those of selectSteps(), runModel() and MeanPipeline::of().
[[nodiscard]] Result<RecordedOrder> takeRecorded(const Run& run, const RunClocks& clocks, SearchRequest& request);

} // namespace bubblescope
