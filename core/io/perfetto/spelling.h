#pragma once

#include "core/io/perfetto/encoder.h"
#include "core/timeline/run_info.h"
#include "core/timeline/step_timeline.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// timeline/trace_names.h put into arguments of slices, for every writer of our own files. The returned
/// args view constants and the texts of what they were made from; that must outlive them.
namespace bubblescope::perfetto {

[[nodiscard]] std::vector<Arg> opArgs(const TimelineOp& timed, Stage stage, int step);
[[nodiscard]] std::vector<Arg> commArgs(const CommSpan& span, int step);
/// `rank` where the file holds one rank only.
[[nodiscard]] std::vector<Arg> runArgs(const RunInfo& info, std::optional<Rank> rank);

[[nodiscard]] std::string_view commCategory(CommKind kind);
/// "send F3", or "all_reduce" for a collective.
[[nodiscard]] std::string commName(const CommSpan& span);
[[nodiscard]] std::string_view payloadName(Payload payload);

/// Name of the lane a communication span belongs to, "send activation" for instance.
[[nodiscard]] std::string_view commTrackName(CommKind kind, Payload payload);

/// The ids of the transfers that an op takes and gives, in pipelines of `stages` stages together whose
/// neighbouring stages are `apart` in number (see routes()). Producer and
/// consumer compute equal ids from what they know, so files written by different ranks agree; never 0.
[[nodiscard]] std::vector<std::uint64_t> opFlowIds(const Op& op, Stage stage, int stages, int apart, int step);

} // namespace bubblescope::perfetto
