#pragma once

#include "core/analysis/report.h"
#include "core/optimize/search/search.h"
#include "core/request/schedule_request.h"

#include <optional>
#include <string>
#include <string_view>

namespace bubblescope {

/// Data from the trace that provides the initial order of a search.
struct RecordedOrder {
    TimeNs observed{0};  ///< observed step time
    TimeNs simulated{0}; ///< step time of the recorded order with the mean times
    double error = 0;    ///< relative error of the replay
};

/// Parses a percentage of at least 0 and below 100: "5%", "5" or "0.5 %". Error: Usage.
[[nodiscard]] Result<double> parseNoise(std::string_view text);

/// A user's request for an order search.
struct OrderRequest {
    ScheduleRequest schedule; ///< sizes, times and transfers
    /// Search parameters: split, pairs, limits on memory, time and rounds, seed, threads. The other fields are filled
    /// in by request().
    SearchRequest search;
    std::string from;              ///< a trace whose data replaces the sizes; empty = none
    std::string memory_model;      ///< file with a memory model, used with search.bytes; empty = none
    std::string memory_preset;     ///< name of a known model, used instead of that file; empty = none
    std::string placement = "any"; ///< "any", "loop", "v", or the path of a file for readPlacement()
    /// Stage times of a second model, which runs in the opposite direction; empty = none. If it has fewer stages than
    /// there are ranks, several copies of the model run side by side.
    std::string second;
    std::optional<int> second_microbatches; ///< per copy; by default, the total is the same as for the first model
    std::optional<double> noise;            ///< noise as a fraction

    /// Builds the search request without using data from a trace. Errors: Usage, Input.
    [[nodiscard]] Result<SearchRequest> request() const;

private:
    [[nodiscard]] bool hasModel() const { return !memory_model.empty() || !memory_preset.empty(); }
    [[nodiscard]] Status readMemory(SearchRequest& request) const;
    /// Adds a second model, whose pipeline runs over the same ranks in reverse.
    [[nodiscard]] Status addSecond(SearchRequest& request) const;
    /// Adds times of individual ops, which apply to a rank and chunk and are therefore valid for one placement only.
    [[nodiscard]] Status addOpTimes(SearchRequest& request) const;
};

/// Copies sizes and times from a run, plus, unless the request specifies them, the placement and limits on activations
/// (the order's peaks). Errors: those of selectSteps(), runModel() and MeanPipeline::of().
[[nodiscard]] Result<RecordedOrder> takeRecorded(const Run& run, const RunClocks& clocks, SearchRequest& request);

} // namespace bubblescope
