#include "bindings/python/arrow.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope::python {
namespace {

namespace py = pybind11;
using report::ColumnType;
using report::DataColumn;

// ---- Structures of Arrow's C data and stream interfaces, whose layout is fixed --------------------------

constexpr std::int64_t kNullable = 2;

struct ArrowSchema {
    const char* format;
    const char* name;
    const char* metadata;
    std::int64_t flags;
    std::int64_t n_children;
    ArrowSchema** children;
    ArrowSchema* dictionary;
    void (*release)(ArrowSchema*);
    void* private_data;
};

struct ArrowArray {
    std::int64_t length;
    std::int64_t null_count;
    std::int64_t offset;
    std::int64_t n_buffers;
    std::int64_t n_children;
    const void** buffers;
    ArrowArray** children;
    ArrowArray* dictionary;
    void (*release)(ArrowArray*);
    void* private_data;
};

struct ArrowArrayStream {
    int (*get_schema)(ArrowArrayStream*, ArrowSchema* out);
    int (*get_next)(ArrowArrayStream*, ArrowArray* out);
    const char* (*get_last_error)(ArrowArrayStream*);
    void (*release)(ArrowArrayStream*);
    void* private_data;
};

/// Data that an exported structure keeps alive. A consumer may move children out; these then have no release
/// function.
template <class Structure>
struct Kept {
    std::string name;
    std::shared_ptr<const report::DataTable> table;
    std::array<const void*, 3> buffers{};
    std::vector<std::unique_ptr<Structure>> children;
    std::vector<Structure*> child_pointers;
    std::unique_ptr<Structure> dictionary;
};

template <class Structure>
void releaseKept(Structure* structure) {
    auto* const kept = static_cast<Kept<Structure>*>(structure->private_data);
    for (const auto& child : kept->children) {
        if (child->release != nullptr) child->release(child.get());
    }
    if (kept->dictionary && kept->dictionary->release != nullptr) kept->dictionary->release(kept->dictionary.get());
    delete kept;
    structure->release = nullptr;
}

template <class Structure>
void finish(Structure& out, std::unique_ptr<Kept<Structure>> kept) {
    for (const auto& child : kept->children)
        kept->child_pointers.push_back(child.get());
    out.n_children = static_cast<std::int64_t>(kept->children.size());
    out.children = kept->children.empty() ? nullptr : kept->child_pointers.data();
    out.dictionary = kept->dictionary.get();
    out.release = &releaseKept<Structure>;
    out.private_data = kept.release();
}

/// An array without elements may have a null address, which some consumers reject.
const void* addressOf(const void* data) {
    static constexpr std::int64_t kNothing = 0;
    return data == nullptr ? &kNothing : data;
}

// ---- Schemas ----------------------------------------------------------------------------------------------

const char* formatOf(ColumnType type) {
    switch (type) {
    case ColumnType::Int32:
    case ColumnType::Text: return "i"; // indices of a dictionary
    case ColumnType::Int64: return "l";
    case ColumnType::Float64: return "g";
    case ColumnType::Bool: return "b";
    }
    return "n";
}

void fillSchema(ArrowSchema& out, const char* format, std::string name, std::int64_t flags,
                std::unique_ptr<Kept<ArrowSchema>> kept = std::make_unique<Kept<ArrowSchema>>()) {
    kept->name = std::move(name);
    out = {};
    out.format = format;
    out.name = kept->name.c_str();
    out.flags = flags;
    finish(out, std::move(kept));
}

void columnSchema(ArrowSchema& out, const DataColumn& column) {
    auto kept = std::make_unique<Kept<ArrowSchema>>();
    if (column.type() == ColumnType::Text) {
        kept->dictionary = std::make_unique<ArrowSchema>();
        fillSchema(*kept->dictionary, "U", "", 0);
    }
    fillSchema(out, formatOf(column.type()), column.name(), kNullable, std::move(kept));
}

void tableSchema(ArrowSchema& out, const TableView& view) {
    auto kept = std::make_unique<Kept<ArrowSchema>>();
    for (const DataColumn& column : view.table->columns())
        columnSchema(*kept->children.emplace_back(std::make_unique<ArrowSchema>()), column);
    fillSchema(out, "+s", "", 0, std::move(kept));
}

// ---- Arrays -----------------------------------------------------------------------------------------------

void textArray(ArrowArray& out, const TableView& view, const report::TextSet& texts) {
    auto kept = std::make_unique<Kept<ArrowArray>>();
    kept->table = view.table;
    kept->buffers = {nullptr, texts.offsets().data(), addressOf(texts.bytes().data())};
    out = {};
    out.length = static_cast<std::int64_t>(texts.size());
    out.n_buffers = 3;
    out.buffers = kept->buffers.data();
    finish(out, std::move(kept));
}

const void* valuesOf(const DataColumn& column) {
    switch (column.type()) {
    case ColumnType::Int32:
    case ColumnType::Text: return addressOf(column.int32s().data());
    case ColumnType::Int64: return addressOf(column.int64s().data());
    case ColumnType::Float64: return addressOf(column.float64s().data());
    case ColumnType::Bool: return addressOf(column.bits().bytes().data());
    }
    return nullptr;
}

void columnArray(ArrowArray& out, const TableView& view, const DataColumn& column) {
    auto kept = std::make_unique<Kept<ArrowArray>>();
    kept->table = view.table;
    kept->buffers = {column.nulls() > 0 ? column.valid().bytes().data() : nullptr, valuesOf(column), nullptr};
    if (column.type() == ColumnType::Text) {
        kept->dictionary = std::make_unique<ArrowArray>();
        textArray(*kept->dictionary, view, column.texts());
    }
    const bool whole = view.count == column.size();
    out = {};
    out.length = static_cast<std::int64_t>(view.count);
    out.null_count = column.nulls() == 0 ? 0 : whole ? static_cast<std::int64_t>(column.nulls()) : -1;
    out.offset = static_cast<std::int64_t>(view.first);
    out.n_buffers = 2;
    out.buffers = kept->buffers.data();
    finish(out, std::move(kept));
}

void tableArray(ArrowArray& out, const TableView& view) {
    auto kept = std::make_unique<Kept<ArrowArray>>();
    for (const DataColumn& column : view.table->columns())
        columnArray(*kept->children.emplace_back(std::make_unique<ArrowArray>()), view, column);
    out = {};
    out.length = static_cast<std::int64_t>(view.count);
    out.n_buffers = 1;
    out.buffers = kept->buffers.data();
    finish(out, std::move(kept));
}

// ---- Streams ----------------------------------------------------------------------------------------------

struct StreamState {
    TableView view;
    bool done = false;
};

int streamSchema(ArrowArrayStream* stream, ArrowSchema* out) {
    tableSchema(*out, static_cast<StreamState*>(stream->private_data)->view);
    return 0;
}

int streamNext(ArrowArrayStream* stream, ArrowArray* out) {
    auto* const state = static_cast<StreamState*>(stream->private_data);
    if (std::exchange(state->done, true))
        *out = {}; // a released array marks the end
    else
        tableArray(*out, state->view);
    return 0;
}

void releaseStream(ArrowArrayStream* stream) {
    delete static_cast<StreamState*>(stream->private_data);
    stream->release = nullptr;
}

// ---- Capsules ---------------------------------------------------------------------------------------------

template <class Structure>
struct CapsuleName;
template <>
struct CapsuleName<ArrowSchema> {
    static constexpr const char* kName = "arrow_schema";
};
template <>
struct CapsuleName<ArrowArray> {
    static constexpr const char* kName = "arrow_array";
};
template <>
struct CapsuleName<ArrowArrayStream> {
    static constexpr const char* kName = "arrow_array_stream";
};

/// Releases the structure if it was not consumed.
template <class Structure>
void endCapsule(PyObject* capsule) {
    auto* const structure = static_cast<Structure*>(PyCapsule_GetPointer(capsule, CapsuleName<Structure>::kName));
    if (structure == nullptr) {
        PyErr_Clear();
        return;
    }
    if (structure->release != nullptr) structure->release(structure);
    delete structure;
}

template <class Structure, class Fill>
py::capsule capsuleOf(const Fill& fill) {
    auto structure = std::make_unique<Structure>();
    fill(*structure);
    return py::capsule(structure.release(), CapsuleName<Structure>::kName, &endCapsule<Structure>);
}

} // namespace

py::capsule schemaCapsule(const TableView& view) {
    return capsuleOf<ArrowSchema>([&](ArrowSchema& out) { tableSchema(out, view); });
}

py::tuple arrayCapsules(const TableView& view) {
    return py::make_tuple(schemaCapsule(view), capsuleOf<ArrowArray>([&](ArrowArray& out) { tableArray(out, view); }));
}

py::capsule streamCapsule(const TableView& view) {
    return capsuleOf<ArrowArrayStream>([&](ArrowArrayStream& out) {
        out = {&streamSchema, &streamNext, [](ArrowArrayStream*) -> const char* { return nullptr; }, &releaseStream,
               new StreamState{view}};
    });
}

py::capsule columnSchemaCapsule(const TableView& view, std::size_t column) {
    return capsuleOf<ArrowSchema>([&](ArrowSchema& out) { columnSchema(out, view.table->columns()[column]); });
}

py::tuple columnCapsules(const TableView& view, std::size_t column) {
    return py::make_tuple(columnSchemaCapsule(view, column), capsuleOf<ArrowArray>([&](ArrowArray& out) {
                              columnArray(out, view, view.table->columns()[column]);
                          }));
}

} // namespace bubblescope::python
