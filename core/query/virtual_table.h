#pragma once

#include "core/base/job.h"
#include "core/base/result.h"
#include "core/query/relation.h"

#include <chrono>
#include <optional>

struct sqlite3;

namespace bubblescope::query {

/// State shared by the tables of a connection: whether the query may continue, and the error if it may not.
struct Session {
    const JobControl* control = nullptr; ///< control of the running query
    std::optional<std::chrono::steady_clock::time_point> deadline;
    std::optional<Error> error; ///< error of a table that could not be computed

    [[nodiscard]] bool mustStop() const {
        return (control != nullptr && control->stopRequested()) ||
               (deadline && std::chrono::steady_clock::now() >= *deadline);
    }
};

/// Registers a relation as a table of a connection; the relation and the session must outlive the connection. Returns
/// false if SQLite rejects the table.
[[nodiscard]] bool addTable(sqlite3* connection, Relation& relation, Session& session);

} // namespace bubblescope::query
