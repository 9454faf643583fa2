#pragma once

struct sqlite3;

namespace bubblescope::query {

/// Adds what SQLite lacks and Perfetto's users type: `extract_arg(args, 'key')`, and the aggregates
/// `percentile(x, percent)` and `median(x)`, which interpolate. False if SQLite refuses.
[[nodiscard]] bool addFunctions(sqlite3* connection);

} // namespace bubblescope::query
