#pragma once

#include "core/base/job.h"
#include "core/base/result.h"
#include "core/query/relation.h"

#include <chrono>
#include <functional>
#include <optional>

struct sqlite3;

namespace bubblescope::query {

/// What the tables of a connection share: whether to go on, and why not.
struct Session {
    const JobControl* control = nullptr; ///< of the query that runs
    std::optional<std::chrono::steady_clock::time_point> deadline;
    std::optional<Error> error; ///< of a table that could not be made

    [[nodiscard]] bool mustStop() const {
        return (control != nullptr && control->stopRequested()) ||
               (deadline && std::chrono::steady_clock::now() >= *deadline);
    }
};

/// Makes a relation a table of a connection; both it and the session must outlive the connection. False if SQLite
/// refuses.
[[nodiscard]] bool addTable(sqlite3* connection, Relation& relation, Session& session);

} // namespace bubblescope::query
