#pragma once

#include "core/report/data_table.h"

#include <pybind11/pybind11.h>

#include <cstddef>
#include <memory>

// Exports tables through the Arrow PyCapsule interface:
// https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html. Columns are exported without copying.
// The consumer of a column keeps the table alive.
namespace bubblescope::python {

/// Rows of a table, owned jointly by all Python objects that refer to the table.
struct TableView {
    std::shared_ptr<const report::DataTable> table;
    std::size_t first = 0;
    std::size_t count = 0;
};

/// Capsule "arrow_schema": a struct with one child per column.
[[nodiscard]] pybind11::capsule schemaCapsule(const TableView& view);
/// Capsules "arrow_schema" and "arrow_array": the rows as one array of structs.
[[nodiscard]] pybind11::tuple arrayCapsules(const TableView& view);
/// Capsule "arrow_array_stream": the rows as one batch.
[[nodiscard]] pybind11::capsule streamCapsule(const TableView& view);

/// Like the functions above, for a column.
[[nodiscard]] pybind11::capsule columnSchemaCapsule(const TableView& view, std::size_t column);
[[nodiscard]] pybind11::tuple columnCapsules(const TableView& view, std::size_t column);

} // namespace bubblescope::python
