#include "bindings/python/order.h"
#include "bindings/python/run.h"
#include "bindings/python/table.h"
#include "bindings/python/wait.h"

namespace bubblescope::python {

namespace py = pybind11;

void raise(const Error& error) {
    if (PyErr_Occurred() != nullptr) throw py::error_already_set();
    const char* name = "Error";
    switch (error.kind) {
    case ErrorKind::Usage: name = "UsageError"; break;
    case ErrorKind::Input: name = "InputError"; break;
    case ErrorKind::Run: name = "RunError"; break;
    case ErrorKind::Cancelled: name = "Cancelled"; break;
    }
    const py::object type = py::module_::import("bubblescope.errors").attr(name);
    const py::object made = type(error.text(), error.message, error.where, error.hint);
    PyErr_SetObject(type.ptr(), made.ptr());
    throw py::error_already_set();
}

} // namespace bubblescope::python

PYBIND11_MODULE(_core, module) {
    using namespace bubblescope::python;
    module.doc() = "What the package bubblescope is built on. Use the package.";
    module.attr("__version__") = BUBBLESCOPE_VERSION;
    addTableClasses(module);
    addOrderFunctions(module);
    addRunClass(module);
}
