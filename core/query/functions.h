#pragma once

struct sqlite3;

namespace bubblescope::query {

/// Adds functions that SQLite does not have but Perfetto's users expect: `extract_arg(args, 'key')`, and the aggregates
/// `percentile(x, percent)` and `median(x)`, which interpolate. False if SQLite rejects them.
[[nodiscard]] bool addFunctions(sqlite3* connection);

} // namespace bubblescope::query
