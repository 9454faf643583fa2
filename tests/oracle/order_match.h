#pragma once

#include "core/cost/cost_model.h"
#include "core/families/registry.h"
#include "tests/oracle/oracle_file.h"

#include <optional>
#include <ostream>
#include <vector>

namespace bubblescope::test {

/// Values of p, m and v in a case, under the names that its source uses.
[[nodiscard]] ScheduleSpec specOf(const Json& one, const std::string& family, const std::string& flavor = "");

/// Costs of the ops and transfers in a case, in thousandths of its time unit. The backward is tb_full, or tb + tw.
[[nodiscard]] CostModel costsOf(const Json& one);

/// True if the spec is accepted and its order equals the order of the case, op by op.
[[nodiscard]] bool sameOrder(const Json& one, const ScheduleSpec& spec, const std::string& key = "jobs");

/// True if every op starts and ends in our simulation as in the case.
[[nodiscard]] bool sameTimes(const Schedule& schedule, const CostModel& costs, const Json& one);
/// True for the order of a spec with the costs of the case.
[[nodiscard]] bool sameTimes(const Json& one, const ScheduleSpec& spec);

/// For cases of Paddle's ZB-VPP, with its five run times: forward, both halves of a backward, loss and communication.
[[nodiscard]] ScheduleSpec paddleZbVSpec(const Json& one);

/// Our order for a case with a memory limit; none if the limit is too low. The memory numbers in the file are the same
/// for all ops, and include a need of input gradients while they run, for which the command line has no option.
[[nodiscard]] std::optional<std::vector<std::vector<Op>>> paddleZbVLimited(const Json& one);

/// A file in which all cases must match.
struct Source {
    const char* file;
    const char* family;
    const char* flavor;
    int cases; ///< number of cases in the file, without those that it lists as rejected
    bool times = false;
};

void PrintTo(const Source& source, std::ostream* out);

/// Expects our order to match in every case, and our times if the source's times are requested.
void expectEqual(const Source& source);

} // namespace bubblescope::test
