#include "core/report/json.h"

#include "core/base/text.h"
#include "core/base/visible.h"
#include "core/report/data_table.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>

namespace bubblescope::report {
namespace {

/// A JSON string with escapes for characters that editors and terminals would interpret as controls or line ends.
std::string visibleJson(std::string text) {
    std::string out;
    for (std::string_view rest = text; !rest.empty();) {
        const std::string_view before = rest;
        const char32_t code = takeCodePoint(rest);
        if (isShownAsEscape(code))
            fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<std::uint32_t>(code));
        else
            out += before.substr(0, before.size() - rest.size());
    }
    return out;
}

class JsonWriter {
public:
    /// With a `sink`, the text is passed on a few lines at a time.
    explicit JsonWriter(JsonLayout layout, const JsonSink& sink = {})
        : indented_(layout == JsonLayout::Indented), sink_(sink) {}

    void write(const Value& value) {
        value.visit([this](const auto& data) { put(data); });
    }

    void document(const Section& section) {
        const Scope object(*this, '{', '}');
        member(Member{"schema_version", kSchemaVersion});
        members(section);
    }

    std::string take() { return std::move(out_); }

private:
    void write(const Section& section) {
        const Scope object(*this, '{', '}');
        members(section);
    }

    void put(std::monostate) { out_ += "null"; }
    void put(Value::Absent) { out_ += "null"; }
    void put(bool value) { out_ += value ? "true" : "false"; }
    void put(std::int64_t value) { fmt::format_to(std::back_inserter(out_), "{}", value); }
    void put(TimeNs value) { put(std::int64_t{value.count()}); }
    // The fewest digits that read back as the same number, from the JSON library.
    void put(double value) { out_ += nlohmann::json(value).dump(); }

    void put(const std::string& text) {
        const bool plain =
            std::ranges::all_of(text, [](char c) { return c >= ' ' && c < 0x7f && c != '"' && c != '\\'; });
        if (plain) {
            out_ += '"';
            out_ += text;
            out_ += '"';
        } else {
            out_ += visibleJson(nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
        }
    }

    void put(const Sentence& sentence) { put(sentence.text()); }

    void put(const Value::List& list) {
        const Scope array(*this, '[', ']');
        for (const Value& value : list) {
            next();
            write(value);
        }
    }

    void put(const Value::Object& object) {
        const Scope scope(*this, '{', '}');
        for (const Member& each : object)
            member(each);
    }

    // ---- Parts of a document: members of their section's object ----

    void members(const Section& section) {
        for (const Block& block : section.blocks)
            std::visit([this](const auto& part) { member(part); }, block);
    }

    void member(const Member& of) {
        if (of.value.absent()) return;
        key(of.key);
        write(of.value);
    }

    void member(const Section& section) {
        if (!shows(section.reader)) return;
        if (section.key.empty()) {
            members(section);
            return;
        }
        key(section.key);
        write(section);
    }

    void member(const Sections& sections) {
        if (!shows(sections.reader) || sections.key.empty()) return;
        key(sections.key);
        const Scope array(*this, '[', ']');
        for (const Section& section : sections.list) {
            next();
            write(section);
        }
    }

    void member(const MadeSections& sections) {
        key(sections.key);
        const Scope array(*this, '[', ']');
        for (std::size_t i = 0; i < sections.count; ++i) {
            next();
            write(sections.make(i));
        }
    }

    void member(const Table& table) {
        if (!shows(table.reader) || table.key.empty()) return;
        key(table.key);
        const Scope array(*this, '[', ']');
        for (const std::vector<Cell>& row : table.rows) {
            next();
            const Scope object(*this, '{', '}');
            for (std::size_t c = 0; c < table.columns.size(); ++c) {
                if (table.columns[c].key.empty() || row[c].value.absent()) continue;
                key(table.columns[c].key);
                write(row[c].value);
            }
        }
    }

    void member(const Findings& findings) {
        if (findings.key.empty()) return;
        key(findings.key);
        const Scope array(*this, '[', ']');
        for (const Finding& finding : findings.list) {
            next();
            write(finding.data);
        }
    }

    template <class ForPeople>
    void member(const ForPeople&) {}

    static bool shows(Reader reader) { return reader == Reader::Everyone || reader == Reader::Programs; }

    // ---- Brackets ----

    /// An array or object, closed at the end of the scope. Empty ones stay on their line.
    class Scope {
    public:
        Scope(JsonWriter& writer, char open, char close) : writer_(writer), close_(close) {
            writer.out_ += open;
            writer.empty_.push_back(true);
        }
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;
        ~Scope() {
            const bool empty = writer_.empty_.back();
            writer_.empty_.pop_back();
            if (!empty) writer_.line();
            writer_.out_ += close_;
        }

    private:
        JsonWriter& writer_;
        char close_;
    };

    void next() {
        if (!empty_.back()) out_ += ',';
        empty_.back() = false;
        line();
    }

    void key(const std::string& name) {
        next();
        put(name);
        out_ += indented_ ? ": " : ":";
    }

    void line() {
        if (!indented_) return;
        out_ += '\n';
        if (sink_ && out_.size() >= kBlock) {
            sink_(out_);
            out_.clear();
        }
        out_.append(2 * empty_.size(), ' ');
    }

    static constexpr std::size_t kBlock = 1 << 16;

    bool indented_;
    JsonSink sink_;
    std::string out_;
    std::vector<bool> empty_; ///< one per open bracket
};

} // namespace

std::string toJson(const Value& value, JsonLayout layout) {
    JsonWriter writer(layout);
    writer.write(value);
    return writer.take();
}

std::string toJson(const Section& document, JsonLayout layout) {
    JsonWriter writer(layout);
    writer.document(document);
    return writer.take();
}

void writeJson(const Section& document, const JsonSink& sink) {
    JsonWriter writer(JsonLayout::Indented, sink);
    writer.document(document);
    sink(writer.take());
}

namespace {

Value valueAt(const DataColumn& column, std::size_t row) {
    if (column.null(row)) return {};
    switch (column.type()) {
    case ColumnType::Int32: return column.int32s()[row];
    case ColumnType::Int64: return column.int64s()[row];
    case ColumnType::Float64: return column.float64s()[row];
    case ColumnType::Bool: return column.bits().at(row);
    case ColumnType::Text: return column.texts().text(static_cast<std::size_t>(column.int32s()[row]));
    }
    return {};
}

} // namespace

void writeJsonRows(const DataTable& table, const std::function<void(std::string_view)>& sink) {
    for (std::size_t row = 0; row < table.rows(); ++row) {
        Value::Object object;
        for (const DataColumn& column : table.columns())
            object.push_back({column.name(), valueAt(column, row)});
        sink(row == 0 ? "[\n  " : ",\n  ");
        sink(toJson(Value(std::move(object)), JsonLayout::OneLine));
    }
    sink(table.rows() == 0 ? "[]\n" : "\n]\n");
}

} // namespace bubblescope::report
