#pragma once

#include "core/cost/cost_model.h"
#include "core/families/registry.h"
#include "tests/oracle/oracle_file.h"

#include <optional>
#include <ostream>
#include <vector>

namespace bubblescope::test {

/// A case's p, m and v under the names its source uses.
[[nodiscard]] ScheduleSpec specOf(const Json& one, const std::string& family, const std::string& flavor = "");

/// The costs of a case's ops and transfers, in thousandths of its unit; the backward is tb_full, or tb + tw.
[[nodiscard]] CostModel costsOf(const Json& one);

/// True where the spec is accepted and its order equals the case's, op by op.
[[nodiscard]] bool sameOrder(const Json& one, const ScheduleSpec& spec, const std::string& key = "jobs");

/// True where our simulation of the spec starts and ends every op when the case does.
[[nodiscard]] bool sameTimes(const Json& one, const ScheduleSpec& spec);

/// For cases of Paddle's ZB-VPP, with its five run times: forward, either half of a backward, loss, communication.
[[nodiscard]] ScheduleSpec paddleZbVSpec(const Json& one);

/// Our order for a case of it with a memory limit; nothing where it does not fit. The file's memory numbers are one set
/// for all ops, with a need of input gradients while they run that the command line does not ask for.
[[nodiscard]] std::optional<std::vector<std::vector<Op>>> paddleZbVLimited(const Json& one);

/// A file all of whose cases are equal.
struct Source {
    const char* file;
    const char* family;
    const char* flavor;
    int cases; ///< counted from the file, those it lists as rejected left out
    bool times = false;
};

void PrintTo(const Source& source, std::ostream* out);

/// Expects every case to have our order, and our times where the source's are asked for.
void expectEqual(const Source& source);

} // namespace bubblescope::test
