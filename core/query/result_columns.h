#pragma once

#include "core/base/result.h"
#include "core/report/data_table.h"

#include <cstddef>
#include <string>
#include <vector>

struct sqlite3_stmt;

namespace bubblescope::query {

/// Collects the rows of a statement column by column. A column has the type of its values: integers mixed with reals
/// become reals, and a single text turns all values into texts.
class ResultColumns {
public:
    explicit ResultColumns(sqlite3_stmt* statement);

    void addRow();
    [[nodiscard]] std::size_t bytes() const { return bytes_; } ///< approximate memory of the values
    [[nodiscard]] report::DataTable take() { return report::DataTable(std::move(columns_)); }

private:
    void add(int column);

    sqlite3_stmt* statement_;
    std::vector<report::DataColumn> columns_;
    std::size_t bytes_ = 0;
};

} // namespace bubblescope::query
