#pragma once

#include "core/schedule/schedule.h"
#include "core/timeline/step_timeline.h"
#include "tests/support/oracles.h"

#include <string>
#include <vector>

namespace bubblescope::test {

/// A list of a file by its key: all its cases, those that a program rejected, and so on.
[[nodiscard]] std::vector<Json> oracleList(const std::string& file, const std::string& key);

/// The cases of a file of job orders made by another program.
[[nodiscard]] std::vector<Json> oracleCases(const std::string& file);

/// A size under any of the names that the sources use for it, `fallback` where the case has none.
[[nodiscard]] int param(const Json& one, std::initializer_list<const char*> names, int fallback);

/// A case's order in our words, whatever letters its source uses: B whole, I and W half backwards; optimizer,
/// communication and bubble entries are left out, torch's stage numbers become chunks. `key` names the
/// field that holds it.
[[nodiscard]] std::vector<std::vector<Op>> oracleOrder(const Json& one, const std::string& key = "jobs");

/// Start and end of every op, where the case has them, in thousandths of its unit of time.
[[nodiscard]] std::vector<std::vector<TimelineOp>> oracleTimes(const Json& one);

} // namespace bubblescope::test
