#pragma once

#include "core/cost/cost_model.h"
#include "core/schedule/schedule.h"

#include <pybind11/pybind11.h>

namespace bubblescope::python {

/// A schedule that Python holds, and the times that it was made for.
struct Order {
    Schedule schedule;
    CostModel costs;
};

/// The class Order, and the functions that make, simulate, validate and search one.
void addOrderFunctions(pybind11::module_& module);

} // namespace bubblescope::python
