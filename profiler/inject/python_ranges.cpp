#define Py_LIMITED_API 0x03080000 // one library for CPython 3.8 and later
#include <Python.h>
#include <structmember.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>

/// The functions that adapters call for every op, as a Python module: those of entry_points.cpp, because a call through
/// ctypes takes several times as long, and ranges around functions without Python code of ours. adapters/events.py
/// loads the module and passes it the functions' addresses; without the module it does the same in Python.

// CPython exports these, but the limited API includes the first two only from 3.12 on. PyObject_Vectorcall() is missing
// before 3.11, where Python functions can be called by what their type uses instead, and PyObject_VectorcallDict()
// before 3.9, whose types cannot have vectorcall. The module then has no ranges.
extern "C" {
[[gnu::weak]] PyObject* PyObject_Vectorcall(PyObject* callable, PyObject* const* args, std::size_t count,
                                            PyObject* names);
[[gnu::weak]] PyObject* PyVectorcall_Call(PyObject* callable, PyObject* args, PyObject* names);
[[gnu::weak]] PyObject* PyObject_VectorcallDict(PyObject* callable, PyObject* const* args, std::size_t count,
                                                PyObject* names);
[[gnu::weak]] PyObject* _PyFunction_Vectorcall(PyObject* callable, PyObject* const* args, std::size_t count,
                                               PyObject* names);
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

/// The attributes of exchanges.InFlight that determine the stage of an op.
struct FlightState {
    PyObject_HEAD int rank;
    int size; ///< number of pipeline ranks
    int last; ///< stage
};

PyMemberDef flight_members[] = {{"rank", T_INT, offsetof(FlightState, rank), 0, nullptr},
                                {"size", T_INT, offsetof(FlightState, size), 0, nullptr},
                                {"last", T_INT, offsetof(FlightState, last), 0, nullptr},
                                {nullptr, 0, 0, 0, nullptr}};
PyType_Slot flight_slots[] = {{Py_tp_members, flight_members}, {0, nullptr}};
PyType_Spec flight_spec = {"bubblescope_native_ranges.FlightState", sizeof(FlightState), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, flight_slots};

/// A function that runs ops. Its calls become ranges such as "2F3", and all arguments are passed on unchanged. `call`
/// finds the op of a call.
struct Range {
    PyObject_HEAD Vectorcall call;
    Vectorcall forward; ///< calls `function`
    PyObject* function;
    StepState* state;
    PyObject* attributes;

    // For a method of pipeline stages whose first argument is the micro-batch:
    PyObject* attribute; ///< name of the attribute with the stage's number
    PyObject* choice;    ///< argument by keyword: `other` names the calls in which it is false; null = none
    int choice_at;       ///< its position
    char letter;
    char other;

    // For Megatron-core's forward_step and backward_step:
    FlightState* flight;
    PyObject* outputs; ///< InFlight.outputs
    PyObject* keep;    ///< called with the output of the last stage and its number of tokens
};

/// Clears any exception: the call is then made without a name.
bool readNumber(PyObject* object, long& number) {
    if (object == nullptr) return PyErr_Clear(), false;
    number = PyLong_AsLong(object);
    if (number != -1 || PyErr_Occurred() == nullptr) return true;
    PyErr_Clear();
    return false;
}

/// The value of the argument with this name; null if it is not passed by keyword.
PyObject* keywordOf(PyObject* name, PyObject* const* args, std::size_t count, PyObject* names) {
    const Py_ssize_t keywords = names == nullptr ? 0 : PyTuple_Size(names);
    for (Py_ssize_t i = 0; i < keywords; ++i) {
        PyObject* const given = PyTuple_GetItem(names, i);
        if (given == name || PyUnicode_Compare(given, name) == 0) return args[count + static_cast<std::size_t>(i)];
    }
    return nullptr;
}

struct Label {
    long stage = 0;
    long microbatch = 0;
};

/// Calls the function in a range.
PyObject* callNamed(Range& range, Label label, char letter, PyObject* const* args, std::size_t flagged,
                    PyObject* names) {
    std::array<char, 48> text;
    char* at = std::to_chars(text.data(), text.data() + 20, label.stage).ptr;
    *at++ = letter;
    *std::to_chars(at, at + 20, label.microbatch).ptr = '\0';
    StepState& state = *range.state;
    for (; state.sends > 0; --state.sends)
        pop_function();
    push_function(text.data());
    state.inside = 1;
    PyObject* const result = range.forward(range.function, args, flagged, names);
    state.inside = 0;
    pop_function();
    return result;
}

// ---- Methods of stages ----

bool labelOfStage(const Range& range, PyObject* const* args, std::size_t count, Label& label) {
    if (count < 2) return false;
    PyObject* const number = PyObject_GetAttr(args[0], range.attribute);
    const bool known = readNumber(number, label.stage);
    Py_XDECREF(number);
    return known && readNumber(args[1], label.microbatch);
}

PyObject* callStage(PyObject* self, PyObject* const* args, std::size_t flagged, PyObject* names) {
    auto& range = *reinterpret_cast<Range*>(self);
    const std::size_t count = flagged & ~kOffsetFlag;
    Label label;
    if (range.state->active == 0 || range.state->inside != 0 || !labelOfStage(range, args, count, label))
        return range.forward(range.function, args, flagged, names);
    PyObject* choice = nullptr;
    if (range.choice != nullptr)
        choice = range.choice_at < static_cast<int>(count) ? args[range.choice_at]
                                                           : keywordOf(range.choice, args, count, names);
    const bool is_other = choice != nullptr && PyObject_IsTrue(choice) == 0;
    if (PyErr_Occurred() != nullptr) PyErr_Clear();
    return callNamed(range, label, is_other ? range.other : range.letter, args, flagged, names);
}

// ---- Megatron-core's functions ----

PyObject* name_of_microbatch = nullptr;
PyObject* name_of_chunk = nullptr;
PyObject* name_of_output = nullptr;

/// As exchanges.first(). Borrowed.
PyObject* firstTensor(PyObject* tensors) {
    for (;;) {
        PyObject* inner = nullptr;
        Py_ssize_t place = 0;
        if (PyDict_Check(tensors))
            PyDict_Next(tensors, &place, nullptr, &inner);
        else if (PyList_Check(tensors) && PyList_Size(tensors) > 0)
            inner = PyList_GetItem(tensors, 0);
        else if (PyTuple_Check(tensors) && PyTuple_Size(tensors) > 0)
            inner = PyTuple_GetItem(tensors, 0);
        if (inner == nullptr) return tensors;
        tensors = inner;
    }
}

/// As InFlight.made().
void made(PyObject* outputs, PyObject* tensors, PyObject* label) {
    PyObject* const key = PyLong_FromVoidPtr(firstTensor(tensors)); // id()
    if (key == nullptr || label == nullptr || PyDict_SetItem(outputs, key, label) != 0) PyErr_Clear();
    Py_XDECREF(key);
}

PyObject* callForward(PyObject* self, PyObject* const* args, std::size_t flagged, PyObject* names) {
    auto& range = *reinterpret_cast<Range*>(self);
    const std::size_t count = flagged & ~kOffsetFlag;
    PyObject* const microbatch = keywordOf(name_of_microbatch, args, count, names);
    Label label;
    if (range.state->active == 0 || range.state->inside != 0 || microbatch == nullptr || microbatch == Py_None ||
        !readNumber(microbatch, label.microbatch))
        return range.forward(range.function, args, flagged, names);
    PyObject* const chunk = keywordOf(name_of_chunk, args, count, names);
    if (chunk != nullptr && chunk != Py_None && !readNumber(chunk, label.stage)) label.stage = 0;
    label.stage = label.stage * range.flight->size + range.flight->rank;
    PyObject* const result = callNamed(range, label, 'F', args, flagged, names);
    if (result == nullptr || !PyTuple_Check(result) || PyTuple_Size(result) < 2) return result;
    PyObject* const output = PyTuple_GetItem(result, 0);
    PyObject* const known = Py_BuildValue("(ll)", label.stage, label.microbatch);
    made(range.outputs, output, known);
    Py_XDECREF(known);
    if (label.stage == range.flight->last) {
        PyObject* const kept =
            PyObject_CallFunctionObjArgs(range.keep, firstTensor(output), PyTuple_GetItem(result, 1), nullptr);
        if (kept == nullptr) PyErr_Clear();
        Py_XDECREF(kept);
    }
    return result;
}

/// Removes the label of the output from which a backward starts; null if it is unknown.
PyObject* takeLabel(PyObject* outputs, PyObject* tensors) {
    PyObject* const key = PyLong_FromVoidPtr(firstTensor(tensors));
    PyObject* label = key == nullptr ? nullptr : PyDict_GetItem(outputs, key);
    if (label != nullptr) {
        Py_INCREF(label);
        if (PyDict_DelItem(outputs, key) != 0) PyErr_Clear();
    }
    Py_XDECREF(key);
    if (label == nullptr) PyErr_Clear();
    return label;
}

PyObject* callBackward(PyObject* self, PyObject* const* args, std::size_t flagged, PyObject* names) {
    auto& range = *reinterpret_cast<Range*>(self);
    const std::size_t count = flagged & ~kOffsetFlag;
    PyObject* const output = count > 1 ? args[1] : keywordOf(name_of_output, args, count, names);
    PyObject* const known = range.state->active != 0 && output != nullptr ? takeLabel(range.outputs, output) : nullptr;
    Label label;
    if (known == nullptr || range.state->inside != 0 || !PyTuple_Check(known) || PyTuple_Size(known) != 2 ||
        !readNumber(PyTuple_GetItem(known, 0), label.stage) ||
        !readNumber(PyTuple_GetItem(known, 1), label.microbatch)) {
        Py_XDECREF(known);
        return range.forward(range.function, args, flagged, names);
    }
    PyObject* const result = callNamed(range, label, 'B', args, flagged, names);
    if (result != nullptr) made(range.outputs, result, known);
    Py_DECREF(known);
    return result;
}

// ---- The type ----

PyObject* method_type = nullptr;

PyObject* bindRange(PyObject* self, PyObject* stage, PyObject* /*type*/) {
    if (stage == nullptr || stage == Py_None) return Py_INCREF(self), self;
    return PyObject_CallFunctionObjArgs(method_type, self, stage, nullptr);
}

void destroyRange(PyObject* self) {
    auto& range = *reinterpret_cast<Range*>(self);
    for (PyObject* const owned :
         {range.function, reinterpret_cast<PyObject*>(range.state), range.attributes, range.attribute, range.choice,
          reinterpret_cast<PyObject*>(range.flight), range.outputs, range.keep})
        Py_XDECREF(owned);
    PyTypeObject* const type = Py_TYPE(self);
    reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(reinterpret_cast<PyObject*>(type));
}

PyMemberDef range_members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(Range, call), READONLY, nullptr},
                               {"__dictoffset__", T_PYSSIZET, offsetof(Range, attributes), READONLY, nullptr},
                               {nullptr, 0, 0, 0, nullptr}};
PyType_Slot range_slots[] = {{Py_tp_members, range_members},
                             {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                             {Py_tp_descr_get, reinterpret_cast<void*>(bindRange)},
                             {Py_tp_dealloc, reinterpret_cast<void*>(destroyRange)},
                             {0, nullptr}};
PyType_Spec range_spec = {"bubblescope_native_ranges.Range", sizeof(Range), 0,
                          static_cast<unsigned>(Py_TPFLAGS_DEFAULT | kMethodDescriptor | kHasVectorcall), range_slots};

PyObject* state_type = nullptr;
PyObject* flight_type = nullptr;
PyObject* range_type = nullptr;
PyObject* function_type = nullptr; ///< of functions in Python

bool isOf(PyObject* object, PyObject* type) {
    if (PyObject_IsInstance(object, type) == 1) return true;
    if (PyErr_Occurred() == nullptr) PyErr_SetString(PyExc_TypeError, "an argument is of another type");
    return false;
}

PyObject* owned(PyObject* object) {
    Py_INCREF(object);
    return object;
}

/// Error: before CPython 3.11, only functions in Python can be called.
Range* makeRange(PyObject* function, PyObject* state, Vectorcall call) {
    const bool any = PyObject_Vectorcall != nullptr;
    if (!isOf(state, state_type) || (!any && !isOf(function, function_type))) return nullptr;
    auto* const type = reinterpret_cast<PyTypeObject*>(range_type);
    auto* const range =
        reinterpret_cast<Range*>(reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc))(type, 0));
    if (range == nullptr) return nullptr;
    range->call = call;
    range->forward = any ? PyObject_Vectorcall : _PyFunction_Vectorcall;
    range->function = owned(function);
    range->state = reinterpret_cast<StepState*>(owned(state));
    return range;
}

/// stage_range(function, steps, attribute, letter, other, choice, position): see Range. `choice` may be None.
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
    Range* const range = makeRange(function, state, callStage);
    if (range == nullptr) return nullptr;
    range->attribute = owned(attribute);
    if (choice != Py_None) range->choice = owned(choice);
    range->choice_at = position;
    range->letter = static_cast<char>(letter);
    range->other = static_cast<char>(other);
    return reinterpret_cast<PyObject*>(range);
}

/// forward_range(forward_step, steps, in_flight, outputs, keep): see Range.
PyObject* forwardRange(PyObject* /*module*/, PyObject* args) {
    PyObject* function = nullptr;
    PyObject* state = nullptr;
    PyObject* flight = nullptr;
    PyObject* outputs = nullptr;
    PyObject* keep = nullptr;
    if (PyArg_ParseTuple(args, "OOOOO", &function, &state, &flight, &outputs, &keep) == 0) return nullptr;
    if (!isOf(flight, flight_type) || !isOf(outputs, reinterpret_cast<PyObject*>(&PyDict_Type))) return nullptr;
    Range* const range = makeRange(function, state, callForward);
    if (range == nullptr) return nullptr;
    range->flight = reinterpret_cast<FlightState*>(owned(flight));
    range->outputs = owned(outputs);
    range->keep = owned(keep);
    return reinterpret_cast<PyObject*>(range);
}

/// backward_range(backward_step, steps, outputs): see Range.
PyObject* backwardRange(PyObject* /*module*/, PyObject* args) {
    PyObject* function = nullptr;
    PyObject* state = nullptr;
    PyObject* outputs = nullptr;
    if (PyArg_ParseTuple(args, "OOO", &function, &state, &outputs) == 0) return nullptr;
    if (!isOf(outputs, reinterpret_cast<PyObject*>(&PyDict_Type))) return nullptr;
    Range* const range = makeRange(function, state, callBackward);
    if (range == nullptr) return nullptr;
    range->outputs = owned(outputs);
    return reinterpret_cast<PyObject*>(range);
}

PyMethodDef functions[] = {{"bind", bind, METH_VARARGS,
                            "Set the addresses of push, push_bytes and pop; call this before the other functions."},
                           {"push", push, METH_O, nullptr},
                           {"push_bytes", pushBytes, METH_VARARGS, nullptr},
                           {"pop", pop, METH_NOARGS, nullptr},
                           {"stage_range", stageRange, METH_VARARGS, nullptr},
                           {"forward_range", forwardRange, METH_VARARGS, nullptr},
                           {"backward_range", backwardRange, METH_VARARGS, nullptr},
                           {nullptr, nullptr, 0, nullptr}};
PyModuleDef module_of = {
    PyModuleDef_HEAD_INIT, "bubblescope_native_ranges", nullptr, -1, functions, nullptr, nullptr, nullptr, nullptr};

/// Before CPython 3.9, the module has only its functions.
bool addTypes(PyObject* module) {
    const bool can_call = PyObject_Vectorcall != nullptr || _PyFunction_Vectorcall != nullptr;
    if (!can_call || PyVectorcall_Call == nullptr || PyObject_VectorcallDict == nullptr) return true;
    PyObject* const types = PyImport_ImportModule("types");
    if (types == nullptr) return false;
    method_type = PyObject_GetAttrString(types, "MethodType");
    function_type = PyObject_GetAttrString(types, "FunctionType");
    Py_DECREF(types);
    state_type = PyType_FromSpec(&state_spec);
    flight_type = PyType_FromSpec(&flight_spec);
    range_type = PyType_FromSpec(&range_spec);
    name_of_microbatch = PyUnicode_InternFromString("current_microbatch");
    name_of_chunk = PyUnicode_InternFromString("vp_stage");
    name_of_output = PyUnicode_InternFromString("output_tensor");
    for (const PyObject* const made : {method_type, function_type, state_type, flight_type, range_type,
                                       name_of_microbatch, name_of_chunk, name_of_output}) {
        if (made == nullptr) return false;
    }
    return PyObject_SetAttrString(module, "StepState", state_type) == 0 &&
           PyObject_SetAttrString(module, "FlightState", flight_type) == 0;
}

} // namespace

PyMODINIT_FUNC PyInit_bubblescope_native_ranges() {
    PyObject* const module = PyModule_Create(&module_of);
    if (module == nullptr || addTypes(module)) return module;
    Py_DECREF(module);
    return nullptr;
}
