#pragma once

#include "core/cost/cost_model.h"
#include "core/schedule/schedule.h"

#include <pybind11/pybind11.h>

namespace bubblescope::python {

/// A schedule owned by Python, and the op times for which it was created.
struct Order {
    Schedule schedule;
    CostModel costs;
};

/// Adds the class Order and the functions that create, simulate, validate and search schedules.
void addOrderFunctions(pybind11::module_& module);

} // namespace bubblescope::python
