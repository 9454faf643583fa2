#pragma once

#include "core/base/job.h"
#include "core/base/result.h"
#include "core/base/time.h"
#include "core/query/relation.h"
#include "core/query/subject.h"
#include "core/query/virtual_table.h"
#include "core/report/data_table.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace bubblescope::query {

struct QueryLimits {
    std::optional<TimeNs> time = {};
    std::size_t result_bytes = std::size_t{1} << 31;
};

/// A trace and its analysis results, as tables that SQLite reads without copying. Use from one thread at a time.
class Database {
public:
    explicit Database(const Subject& subject);
    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;
    ~Database();

    /// Returns the rows of a single SELECT. If several columns have the same name, the others are numbered: "id",
    /// "id_2". Errors: Usage, with the position in the query; Run if a limit is hit; Cancelled; those of its tables.
    [[nodiscard]] Result<report::DataTable> run(std::string_view sql, const JobControl& control,
                                                const QueryLimits& limits = {});
    /// Returns the names of the tables that a query reads, without executing it. Errors: Usage.
    [[nodiscard]] Result<std::set<std::string>> tablesOf(std::string_view sql);

    [[nodiscard]] const std::vector<std::unique_ptr<Relation>>& tables() const { return tables_; }

private:
    struct Close {
        void operator()(sqlite3* connection) const;
    };
    struct Finalize {
        void operator()(sqlite3_stmt* statement) const;
    };
    using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

    void connect();
    [[nodiscard]] Result<Statement> prepared(std::string_view sql);
    [[nodiscard]] Error errorOf(std::string_view sql, int offset) const;
    [[nodiscard]] std::string hintFor(std::string_view message) const;
    [[nodiscard]] Result<report::DataTable> rowsOf(sqlite3_stmt* statement, std::string_view sql,
                                                   const QueryLimits& limits);
    /// SQLite's authorizer callback, which is called before every action.
    static int mayDo(void* database, int action, const char* first, const char* second, const char* schema,
                     const char* view);

    std::vector<std::unique_ptr<Relation>> tables_;
    Session session_;
    std::set<std::string> read_;                 ///< tables that the latest query reads
    bool denied_ = false;                        ///< true if the query tried to do anything other than read
    std::unique_ptr<sqlite3, Close> connection_; ///< last member, because its tables refer to the others
};

/// Returns the names of the tables that a query reads. Checks the query before anything is loaded. Errors: Usage.
[[nodiscard]] Result<std::set<std::string>> tablesRead(std::string_view sql);

/// True if a table contains results of pipeline analysis.
[[nodiscard]] bool needsAnalysis(const std::string& table);

} // namespace bubblescope::query
