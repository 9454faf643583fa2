#pragma once

#include "bindings/python/arrow.h"

namespace bubblescope::python {

/// Adds the classes Table and Column.
void addTableClasses(pybind11::module_& module);

[[nodiscard]] TableView viewOf(report::DataTable table);

} // namespace bubblescope::python
