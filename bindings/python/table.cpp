#include "bindings/python/table.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope::python {
namespace {

namespace py = pybind11;
using report::ColumnType;
using report::DataColumn;

/// A column of a table's rows.
struct ColumnView {
    TableView rows;
    std::size_t index = 0;

    [[nodiscard]] const DataColumn& column() const { return rows.table->columns()[index]; }
};

/// A column of numbers without nulls. pybind11 2.10 cannot declare that an object has no buffer, so only this class has
/// one.
struct NumberView : ColumnView {};

std::string_view typeName(ColumnType type) {
    switch (type) {
    case ColumnType::Int32: return "int32";
    case ColumnType::Int64: return "int64";
    case ColumnType::Float64: return "float64";
    case ColumnType::Bool: return "bool";
    case ColumnType::Text: return "dictionary[int32, string]";
    }
    return "";
}

py::str decoded(std::string_view text) {
    return py::reinterpret_steal<py::str>(
        PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

py::object cellOf(const DataColumn& column, std::size_t row) {
    if (column.null(row)) return py::none();
    switch (column.type()) {
    case ColumnType::Int32: return py::int_(column.int32s()[row]);
    case ColumnType::Int64: return py::int_(column.int64s()[row]);
    case ColumnType::Float64: return py::float_(column.float64s()[row]);
    case ColumnType::Bool: return py::bool_(column.bits().at(row));
    case ColumnType::Text: return decoded(column.texts().text(static_cast<std::size_t>(column.int32s()[row])));
    }
    return py::none();
}

py::list cellsOf(const ColumnView& view) {
    const DataColumn& column = view.column();
    std::vector<py::object> texts; // each text is created once
    if (column.type() == ColumnType::Text) {
        for (std::size_t i = 0; i < column.texts().size(); ++i)
            texts.push_back(decoded(column.texts().text(i)));
    }
    py::list cells(view.rows.count);
    for (std::size_t i = 0; i < view.rows.count; ++i) {
        const std::size_t row = view.rows.first + i;
        const bool text = column.type() == ColumnType::Text && !column.null(row);
        cells[i] = text ? texts[static_cast<std::size_t>(column.int32s()[row])] : cellOf(column, row);
    }
    return cells;
}

std::optional<std::size_t> findColumn(const TableView& view, std::string_view name) {
    const auto& columns = view.table->columns();
    const auto found =
        std::ranges::find(columns, name, [](const DataColumn& column) { return std::string_view(column.name()); });
    if (found == columns.end()) return std::nullopt;
    return static_cast<std::size_t>(found - columns.begin());
}

/// Converts a Python index, which may count from the end, to a row.
std::size_t rowAt(const TableView& view, py::ssize_t index) {
    const auto count = static_cast<py::ssize_t>(view.count);
    const py::ssize_t row = index < 0 ? index + count : index;
    if (row < 0 || row >= count) throw py::index_error("row " + std::to_string(index) + " of " + std::to_string(count));
    return view.first + static_cast<std::size_t>(row);
}

py::dict rowOf(const TableView& view, py::ssize_t index) {
    const std::size_t row = rowAt(view, index);
    py::dict out;
    for (const DataColumn& column : view.table->columns())
        out[py::str(column.name())] = cellOf(column, row);
    return out;
}

TableView sliceOf(const TableView& view, const py::slice& slice) {
    py::ssize_t start = 0;
    py::ssize_t stop = 0;
    py::ssize_t step = 0;
    py::ssize_t length = 0;
    if (!slice.compute(static_cast<py::ssize_t>(view.count), &start, &stop, &step, &length))
        throw py::error_already_set();
    if (step != 1) throw py::value_error("slices need step 1");
    return {view.table, view.first + static_cast<std::size_t>(start), static_cast<std::size_t>(length)};
}

py::list namesOf(const TableView& view) {
    py::list names;
    for (const DataColumn& column : view.table->columns())
        names.append(column.name());
    return names;
}

py::dict typesOf(const TableView& view) {
    py::dict types;
    for (const DataColumn& column : view.table->columns())
        types[py::str(column.name())] = typeName(column.type());
    return types;
}

py::dict dictOf(const TableView& view) {
    py::dict out;
    for (std::size_t c = 0; c < view.table->columns().size(); ++c)
        out[py::str(view.table->columns()[c].name())] = cellsOf({view, c});
    return out;
}

std::string escapedHtml(const std::string& text) {
    std::string out;
    for (const char c : text) {
        switch (c) {
        case '&': out += "&amp;"; break;
        case '<': out += "&lt;"; break;
        case '>': out += "&gt;"; break;
        default: out += c;
        }
    }
    return out;
}

/// Shows the first and last rows.
std::string htmlOf(const TableView& view) {
    constexpr std::size_t kEnds = 5;
    std::string out = "<table class=\"bubblescope\"><thead><tr><th></th>";
    for (const DataColumn& column : view.table->columns())
        out += "<th>" + escapedHtml(column.name()) + "</th>";
    out += "</tr></thead><tbody>";
    for (std::size_t row = 0; row < view.count; ++row) {
        if (view.count > 2 * kEnds && row == kEnds) {
            out += "<tr><td>…</td></tr>";
            row = view.count - kEnds;
        }
        out += "<tr><th>" + std::to_string(row) + "</th>";
        for (const DataColumn& column : view.table->columns()) {
            const py::object cell = cellOf(column, view.first + row);
            out += "<td>" + (cell.is_none() ? std::string() : escapedHtml(py::str(cell).cast<std::string>())) + "</td>";
        }
        out += "</tr>";
    }
    return out + "</tbody></table><p>" + std::to_string(view.count) + " rows × " +
           std::to_string(view.table->columns().size()) + " columns</p>";
}

std::string wordsOf(const TableView& view) {
    std::string names;
    for (const DataColumn& column : view.table->columns())
        names += (names.empty() ? "" : ", ") + column.name();
    return "<bubblescope.Table: " + std::to_string(view.count) + " rows of " + names + ">";
}

bool isBuffer(const DataColumn& column) {
    return column.nulls() == 0 && column.type() != ColumnType::Bool && column.type() != ColumnType::Text;
}

/// Memory of a column of numbers, for NumPy and memoryview.
py::buffer_info bufferOf(const NumberView& view) {
    const DataColumn& column = view.column();
    const auto info = [&]<class T>(const std::vector<T>& values) {
        return py::buffer_info(const_cast<T*>(values.data() + view.rows.first),
                               static_cast<py::ssize_t>(view.rows.count), /*readonly=*/true);
    };
    if (column.type() == ColumnType::Int32) return info(column.int32s());
    if (column.type() == ColumnType::Int64) return info(column.int64s());
    return info(column.float64s());
}

py::object columnOf(const TableView& view, const std::string& name) {
    const auto index = findColumn(view, name);
    if (!index) throw py::key_error(name + "; available: " + py::str(namesOf(view)).cast<std::string>());
    const ColumnView column{view, *index};
    return isBuffer(column.column()) ? py::cast(NumberView{column}) : py::cast(column);
}

} // namespace

TableView viewOf(report::DataTable table) {
    const std::size_t rows = table.rows();
    return {std::make_shared<const report::DataTable>(std::move(table)), 0, rows};
}

void addTableClasses(py::module_& module) {
    py::class_<ColumnView>(module, "Column", "A column of a table. Names that end in _ns are times in nanoseconds.")
        .def_property_readonly("name", [](const ColumnView& view) { return view.column().name(); })
        .def_property_readonly(
            "type", [](const ColumnView& view) { return typeName(view.column().type()); },
            "Arrow's name for the type, such as \"int64\".")
        .def("__len__", [](const ColumnView& view) { return view.rows.count; })
        .def(
            "__getitem__",
            [](const ColumnView& view, py::ssize_t index) { return cellOf(view.column(), rowAt(view.rows, index)); },
            py::arg("index"))
        .def("to_list", &cellsOf, "The cells as Python numbers and strings; None for nulls.")
        .def("__arrow_c_schema__", [](const ColumnView& view) { return columnSchemaCapsule(view.rows, view.index); })
        .def(
            "__arrow_c_array__",
            [](const ColumnView& view, const py::object&) { return columnCapsules(view.rows, view.index); },
            py::arg("requested_schema") = py::none());
    py::class_<NumberView, ColumnView>(module, "NumberColumn", py::buffer_protocol(),
                                       "A column of numbers without nulls. It is a buffer: numpy.asarray(column) "
                                       "shares its memory.")
        .def_buffer(&bufferOf);

    py::class_<TableView>(module, "Table",
                          "Rows of results, stored by column. Exports the Arrow PyCapsule interface without copying "
                          "columns: pandas.DataFrame.from_arrow(table), polars.from_arrow(table), pyarrow.table(table) "
                          "and DuckDB accept it directly. Names that end in _ns are times in nanoseconds.")
        .def("__len__", [](const TableView& view) { return view.count; })
        .def_property_readonly("columns", &namesOf, "The names of the columns.")
        .def_property_readonly("types", &typesOf, "Each column's Arrow type.")
        .def("to_dict", &dictOf, "Lists of Python numbers and strings by column; None for nulls.")
        .def(
            "__contains__",
            [](const TableView& view, const std::string& name) { return findColumn(view, name).has_value(); },
            py::arg("name"))
        .def("__getitem__", &columnOf, py::arg("name"), "A column.")
        .def("__getitem__", &rowOf, py::arg("index"), "A row, as a dict.")
        .def("__getitem__", &sliceOf, py::arg("rows"), "Consecutive rows, without copying.")
        .def("__repr__", &wordsOf)
        .def("_repr_html_", &htmlOf)
        .def("__arrow_c_schema__", &schemaCapsule)
        .def(
            "__arrow_c_array__", [](const TableView& view, const py::object&) { return arrayCapsules(view); },
            py::arg("requested_schema") = py::none())
        .def(
            "__arrow_c_stream__", [](const TableView& view, const py::object&) { return streamCapsule(view); },
            py::arg("requested_schema") = py::none());
}

} // namespace bubblescope::python
