#define Py_LIMITED_API 0x03080000 // one library for CPython 3.8 and later
#include <Python.h>

#include <cstdint>

/// The functions of entry_points.cpp that adapters call for every op, exported as functions of a Python module, because
/// a call through ctypes takes several times as long. adapters/events.py loads the module and passes it their
/// addresses; without the module it calls them through ctypes.

namespace {

using Push = void (*)(const char*);
using PushBytes = void (*)(const char*, std::uint64_t);
using Pop = void (*)();

Push push_function = nullptr;
PushBytes push_bytes_function = nullptr;
Pop pop_function = nullptr;

PyObject* bind(PyObject* /*module*/, PyObject* addresses) {
    unsigned long long push = 0;
    unsigned long long push_bytes = 0;
    unsigned long long pop = 0;
    if (PyArg_ParseTuple(addresses, "KKK", &push, &push_bytes, &pop) == 0) return nullptr;
    push_function = reinterpret_cast<Push>(static_cast<std::uintptr_t>(push));
    push_bytes_function = reinterpret_cast<PushBytes>(static_cast<std::uintptr_t>(push_bytes));
    pop_function = reinterpret_cast<Pop>(static_cast<std::uintptr_t>(pop));
    Py_RETURN_NONE;
}

PyObject* push(PyObject* /*module*/, PyObject* name) {
    const char* const text = PyBytes_AsString(name);
    if (text == nullptr) return nullptr;
    push_function(text);
    Py_RETURN_NONE;
}

PyObject* pushBytes(PyObject* /*module*/, PyObject* args) {
    const char* name = nullptr;
    unsigned long long bytes = 0;
    if (PyArg_ParseTuple(args, "yK", &name, &bytes) == 0) return nullptr;
    push_bytes_function(name, bytes);
    Py_RETURN_NONE;
}

PyObject* pop(PyObject* /*module*/, PyObject* /*nothing*/) {
    pop_function();
    Py_RETURN_NONE;
}

PyMethodDef functions[] = {{"bind", bind, METH_VARARGS, "Addresses of push, push_bytes and pop; before the others."},
                           {"push", push, METH_O, nullptr},
                           {"push_bytes", pushBytes, METH_VARARGS, nullptr},
                           {"pop", pop, METH_NOARGS, nullptr},
                           {nullptr, nullptr, 0, nullptr}};
PyModuleDef module_of = {
    PyModuleDef_HEAD_INIT, "bubblescope_native_ranges", nullptr, -1, functions, nullptr, nullptr, nullptr, nullptr};

} // namespace

PyMODINIT_FUNC PyInit_bubblescope_native_ranges() {
    return PyModule_Create(&module_of);
}
