#pragma once

#include "core/schedule/schedule.h"
#include "core/timeline/step_timeline.h"
#include "tests/support/oracles.h"

#include <string>
#include <vector>

namespace bubblescope::test {

/// A list in a file by its key, such as all its cases, or the cases that a program rejected.
[[nodiscard]] std::vector<Json> oracleList(const std::string& file, const std::string& key);

/// Cases in a file of job orders that another program generated.
[[nodiscard]] std::vector<Json> oracleCases(const std::string& file);

/// A size under any of the names that the sources use for it; `fallback` if the case does not contain the size.
[[nodiscard]] int param(const Json& one, std::initializer_list<const char*> names, int fallback);

/// Converts the order of a case to our notation: B is a complete backward, I and W its halves. Omits optimizer,
/// communication and bubble entries, and converts the stage numbers of torch to chunks. `key` is the name of the field
/// with the order.
[[nodiscard]] std::vector<std::vector<Op>> oracleOrder(const Json& one, const std::string& key = "jobs");

/// Start and end of every op in thousandths of the case's time unit, if the case contains them.
[[nodiscard]] std::vector<std::vector<TimelineOp>> oracleTimes(const Json& one);

} // namespace bubblescope::test
