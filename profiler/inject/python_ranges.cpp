#define Py_LIMITED_API 0x03080000 // one library for CPython 3.8 and later
#include <Python.h>
#include <structmember.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

/// The functions that adapters call for every op, as a Python module: those of entry_points.cpp, because a call through
/// ctypes takes several times as long, and ranges around methods without Python code of ours. adapters/events.py loads
/// the module and passes it the functions' addresses; without the module it does the same in Python.

// CPython exports both from 3.11 on; the limited API includes them from 3.12 on. If they are missing, the module has no
// ranges.
extern "C" {
[[gnu::weak]] PyObject* PyObject_Vectorcall(PyObject* callable, PyObject* const* args, std::size_t count,
                                            PyObject* names);
[[gnu::weak]] PyObject* PyVectorcall_Call(PyObject* callable, PyObject* args, PyObject* names);
}

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

/// The attributes of events.Steps that decide whether a call is an op.
struct StepState {
    PyObject_HEAD char active; ///< inside a training step
    int inside;                ///< number of ops around the current op
    int sends;                 ///< ranges of sends that end with the next op or transfer
};

PyMemberDef state_members[] = {{"active", T_BOOL, offsetof(StepState, active), 0, nullptr},
                               {"inside", T_INT, offsetof(StepState, inside), 0, nullptr},
                               {"sends", T_INT, offsetof(StepState, sends), 0, nullptr},
                               {nullptr, 0, 0, 0, nullptr}};
PyType_Slot state_slots[] = {{Py_tp_members, state_members}, {0, nullptr}};
PyType_Spec state_spec = {"bubblescope_native_ranges.StepState", sizeof(StepState), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, state_slots};

constexpr std::size_t kOffsetFlag = std::size_t{1} << (8 * sizeof(std::size_t) - 1); // PY_VECTORCALL_ARGUMENTS_OFFSET
constexpr unsigned long kMethodDescriptor = 1UL << 17;                               // Py_TPFLAGS_METHOD_DESCRIPTOR
constexpr unsigned long kHasVectorcall = 1UL << 11;                                  // Py_TPFLAGS_HAVE_VECTORCALL

using Vectorcall = PyObject* (*)(PyObject*, PyObject* const*, std::size_t, PyObject*);

/// A method of pipeline stages. Calls with a micro-batch as the first argument become ranges such as "2F3". All
/// arguments are passed on unchanged.
struct StageRange {
    PyObject_HEAD Vectorcall call;
    PyObject* function;
    StepState* state;
    PyObject* attribute; ///< name of the attribute with the stage's number
    PyObject* choice;    ///< argument by keyword: `other` names the calls in which it is false; null = none
    PyObject* attributes;
    int choice_at; ///< its position
    char letter;
    char other;
};

/// Clears any exception: the call is then made without a name.
bool readNumber(PyObject* object, long& number) {
    if (object == nullptr) return PyErr_Clear(), false;
    number = PyLong_AsLong(object);
    if (number != -1 || PyErr_Occurred() == nullptr) return true;
    PyErr_Clear();
    return false;
}

/// The value of the argument `range.choice`; null if it is not passed.
PyObject* choiceOf(const StageRange& range, PyObject* const* args, std::size_t count, PyObject* names) {
    if (range.choice_at < static_cast<int>(count)) return args[range.choice_at];
    const Py_ssize_t keywords = names == nullptr ? 0 : PyTuple_Size(names);
    for (Py_ssize_t i = 0; i < keywords; ++i) {
        PyObject* const name = PyTuple_GetItem(names, i);
        if (name == range.choice || PyUnicode_Compare(name, range.choice) == 0)
            return args[count + static_cast<std::size_t>(i)];
    }
    return nullptr;
}

bool writeName(const StageRange& range, PyObject* const* args, std::size_t count, PyObject* names,
               std::array<char, 48>& text) {
    long stage = 0;
    long microbatch = 0;
    PyObject* const number = PyObject_GetAttr(args[0], range.attribute);
    const bool known = readNumber(number, stage);
    Py_XDECREF(number);
    if (!known || !readNumber(args[1], microbatch)) return false;
    PyObject* const choice = range.choice == nullptr ? nullptr : choiceOf(range, args, count, names);
    const bool is_other = choice != nullptr && PyObject_IsTrue(choice) == 0;
    if (PyErr_Occurred() != nullptr) PyErr_Clear();
    char* at = std::to_chars(text.data(), text.data() + 20, stage).ptr;
    *at++ = is_other ? range.other : range.letter;
    *std::to_chars(at, at + 20, microbatch).ptr = '\0';
    return true;
}

PyObject* callRange(PyObject* self, PyObject* const* args, std::size_t flagged, PyObject* names) {
    auto& range = *reinterpret_cast<StageRange*>(self);
    StepState& state = *range.state;
    const std::size_t count = flagged & ~kOffsetFlag;
    std::array<char, 48> name;
    if (state.active == 0 || state.inside != 0 || count < 2 || !writeName(range, args, count, names, name))
        return PyObject_Vectorcall(range.function, args, flagged, names);
    for (; state.sends > 0; --state.sends)
        pop_function();
    push_function(name.data());
    state.inside = 1;
    PyObject* const result = PyObject_Vectorcall(range.function, args, flagged, names);
    state.inside = 0;
    pop_function();
    return result;
}

PyObject* method_type = nullptr;

PyObject* bindToStage(PyObject* self, PyObject* stage, PyObject* /*type*/) {
    if (stage == nullptr || stage == Py_None) return Py_INCREF(self), self;
    return PyObject_CallFunctionObjArgs(method_type, self, stage, nullptr);
}

void destroyRange(PyObject* self) {
    auto& range = *reinterpret_cast<StageRange*>(self);
    for (PyObject* const owned :
         {range.function, reinterpret_cast<PyObject*>(range.state), range.attribute, range.choice, range.attributes})
        Py_XDECREF(owned);
    PyTypeObject* const type = Py_TYPE(self);
    reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(reinterpret_cast<PyObject*>(type));
}

PyMemberDef range_members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(StageRange, call), READONLY, nullptr},
                               {"__dictoffset__", T_PYSSIZET, offsetof(StageRange, attributes), READONLY, nullptr},
                               {nullptr, 0, 0, 0, nullptr}};
PyType_Slot range_slots[] = {{Py_tp_members, range_members},
                             {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                             {Py_tp_descr_get, reinterpret_cast<void*>(bindToStage)},
                             {Py_tp_dealloc, reinterpret_cast<void*>(destroyRange)},
                             {0, nullptr}};
PyType_Spec range_spec = {"bubblescope_native_ranges.StageRange", sizeof(StageRange), 0,
                          static_cast<unsigned>(Py_TPFLAGS_DEFAULT | kMethodDescriptor | kHasVectorcall), range_slots};

PyObject* state_type = nullptr;
PyObject* range_type = nullptr;

/// stage_range(function, steps, attribute, letter, other, choice, position): see StageRange. `choice` may be None.
PyObject* stageRange(PyObject* /*module*/, PyObject* args) {
    PyObject* function = nullptr;
    PyObject* state = nullptr;
    PyObject* attribute = nullptr;
    PyObject* choice = nullptr;
    int letter = 0;
    int other = 0;
    int position = 0;
    if (PyArg_ParseTuple(args, "OOUCCOi", &function, &state, &attribute, &letter, &other, &choice, &position) == 0)
        return nullptr;
    if (PyObject_IsInstance(state, state_type) != 1)
        return PyErr_SetString(PyExc_TypeError, "not a StepState"), nullptr;
    auto* const type = reinterpret_cast<PyTypeObject*>(range_type);
    const auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
    PyObject* const made = allocate(type, 0);
    if (made == nullptr) return nullptr;
    auto& range = *reinterpret_cast<StageRange*>(made);
    Py_INCREF(function);
    Py_INCREF(state);
    Py_INCREF(attribute);
    range.call = callRange;
    range.function = function;
    range.state = reinterpret_cast<StepState*>(state);
    range.attribute = attribute;
    if (choice != Py_None) {
        Py_INCREF(choice);
        range.choice = choice;
    }
    range.choice_at = position;
    range.letter = static_cast<char>(letter);
    range.other = static_cast<char>(other);
    return made;
}

PyMethodDef functions[] = {{"bind", bind, METH_VARARGS,
                            "Set the addresses of push, push_bytes and pop; call this before the other functions."},
                           {"push", push, METH_O, nullptr},
                           {"push_bytes", pushBytes, METH_VARARGS, nullptr},
                           {"pop", pop, METH_NOARGS, nullptr},
                           {"stage_range", stageRange, METH_VARARGS, nullptr},
                           {nullptr, nullptr, 0, nullptr}};
PyModuleDef module_of = {
    PyModuleDef_HEAD_INIT, "bubblescope_native_ranges", nullptr, -1, functions, nullptr, nullptr, nullptr, nullptr};

/// Before CPython 3.11, the module has only its functions.
bool addTypes(PyObject* module) {
    if (PyObject_Vectorcall == nullptr || PyVectorcall_Call == nullptr) return true;
    PyObject* const types = PyImport_ImportModule("types");
    if (types == nullptr) return false;
    method_type = PyObject_GetAttrString(types, "MethodType");
    Py_DECREF(types);
    state_type = PyType_FromSpec(&state_spec);
    range_type = PyType_FromSpec(&range_spec);
    return method_type != nullptr && state_type != nullptr && range_type != nullptr &&
           PyObject_SetAttrString(module, "StepState", state_type) == 0;
}

} // namespace

PyMODINIT_FUNC PyInit_bubblescope_native_ranges() {
    PyObject* const module = PyModule_Create(&module_of);
    if (module == nullptr || addTypes(module)) return module;
    Py_DECREF(module);
    return nullptr;
}
