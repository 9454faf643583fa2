#include "bindings/python/interruptible_call.h"
#include "bindings/python/order.h"
#include "bindings/python/run.h"
#include "bindings/python/table.h"
#include "core/base/field.h"

namespace bubblescope::python {

namespace py = pybind11;

namespace {

/// Fields are named after the Python keywords, except those that accept several values.
std::string_view keywordOf(Field field) {
    if (field == Field("step")) return "steps";
    if (field == Field("replica")) return "replicas";
    if (field == Field("rank")) return "ranks";
    return field.name();
}

} // namespace

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

static void addModule(py::module_& module) {
    module.doc() = "Implementation of the package bubblescope. Use the package.";
    module.attr("__version__") = BUBBLESCOPE_VERSION;
    setFieldWords({keywordOf, "="});
    addTableClasses(module);
    addOrderFunctions(module);
    addRunClass(module);
}

} // namespace bubblescope::python

PYBIND11_MODULE(_core, module) {
    bubblescope::python::addModule(module);
}
