#pragma once

#include "core/analysis/report.h"
#include "core/optimize/search/search.h"
#include "core/request/schedule_request.h"

#include <optional>
#include <string>
#include <string_view>

namespace bubblescope {

/// Data from the trace that a search starts from.
struct RecordedOrder {
    TimeNs observed{0};  ///< observed step time
    TimeNs simulated{0}; ///< the recorded order with the mean times
    double error = 0;    ///< error of the replay, as a fraction
};

/// A percentage from 0 up to 100: "5%", "5" or "0.5 %". Error: Usage.
[[nodiscard]] Result<double> parseNoise(std::string_view text);

/// A user's request to search for an order.
struct OrderRequest {
    ScheduleRequest schedule; ///< sizes, times and transfers
    /// The search parameters: split, pairs, limits on memory, time and rounds, seed, threads. request() fills in the
    /// rest.
    SearchRequest search;
    std::string from;              ///< a trace that replaces the sizes; empty: none
    std::string memory_model;      ///< a file with a memory model, used with search.bytes; empty: none
    std::string memory_preset;     ///< the name of a known model, instead of that file; empty: none
    std::string placement = "any"; ///< "any", "loop", "v", or a file for readPlacement()
    /// Stage times of a second model in the opposite direction; empty: none. If it has fewer stages than there are
    /// ranks, it runs in copies side by side.
    std::string second;
    std::optional<int> second_microbatches; ///< per copy; by default, the total is the same as for the first model
    std::optional<double> noise;            ///< a fraction

    /// The request without the data of a trace. Errors: Usage, Input.
    [[nodiscard]] Result<SearchRequest> request() const;

private:
    [[nodiscard]] bool hasModel() const { return !memory_model.empty() || !memory_preset.empty(); }
    [[nodiscard]] Status readMemory(SearchRequest& request) const;
    /// Adds a second model, whose pipeline runs over the same ranks from the last to the first.
    [[nodiscard]] Status addSecond(SearchRequest& request) const;
    /// Adds times of individual ops, which belong to a rank and chunk and therefore to one placement.
    [[nodiscard]] Status addOpTimes(SearchRequest& request) const;
};

/// Takes sizes, placement, times and the order's peak activations from a run, unless the request limits them. Errors:
/// those of selectSteps(), runModel() and MeanPipeline::of().
[[nodiscard]] Result<RecordedOrder> takeRecorded(const Run& run, const RunClocks& clocks, SearchRequest& request);

} // namespace bubblescope
