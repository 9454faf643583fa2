#include "core/report/arrow_stream.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

// The format: https://arrow.apache.org/docs/format/Columnar.html#serialization-and-interprocess-communication-ipc. Its
// metadata are FlatBuffers: https://flatbuffers.dev/internals. Numbers of fields and types are those of Schema.fbs and
// Message.fbs.

namespace bubblescope::report {
namespace {

constexpr std::size_t kAlign = 8;
constexpr std::size_t kBatchRows = 65'536;

void pad(std::string& bytes, std::size_t to = kAlign) {
    bytes.resize((bytes.size() + to - 1) / to * to, '\0');
}

/// Little-endian, as on all supported hosts.
template <class Number>
void put(std::string& bytes, Number value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// A part of a FlatBuffer's tree: a table, a vector or a string. Parents are written before their children, to which
/// they refer by distance.
struct Node {
    enum class Kind { Table, Vector, Structs, Text };

    struct Field {
        int id = 0;
        int bytes = 0; ///< size of the number; 0 = a child
        std::int64_t number = 0;
        std::size_t child = 0; ///< index in `children`
    };

    Kind kind = Kind::Table;
    std::vector<Field> fields{};  ///< of a table
    std::vector<Node> children{}; ///< of a table or vector
    std::string content{};        ///< of a text, or the structs of a vector
    std::uint32_t struct_count = 0;

    Node& number(int id, int bytes, std::int64_t value) {
        fields.push_back({id, bytes, value, 0});
        return *this;
    }
    Node& child(int id, Node node) {
        fields.push_back({id, 0, 0, children.size()});
        children.push_back(std::move(node));
        return *this;
    }
};

Node textNode(std::string text) {
    Node node;
    node.kind = Node::Kind::Text;
    node.content = std::move(text);
    return node;
}

Node vectorNode(std::vector<Node> elements) {
    Node node;
    node.kind = Node::Kind::Vector;
    node.children = std::move(elements);
    return node;
}

/// A vector of structs with two 64-bit numbers each.
Node pairsNode(const std::vector<std::pair<std::int64_t, std::int64_t>>& pairs) {
    Node node;
    node.kind = Node::Kind::Structs;
    node.struct_count = static_cast<std::uint32_t>(pairs.size());
    for (const auto& [first, second] : pairs) {
        put(node.content, first);
        put(node.content, second);
    }
    return node;
}

class FlatBuffer {
public:
    /// The bytes of a buffer with this root.
    static std::string of(const Node& root) {
        FlatBuffer buffer;
        put(buffer.bytes_, std::uint32_t{0});
        buffer.refer(0, buffer.write(root));
        pad(buffer.bytes_);
        return std::move(buffer.bytes_);
    }

private:
    void refer(std::size_t from, std::size_t to) {
        const auto distance = static_cast<std::uint32_t>(to - from);
        std::memcpy(bytes_.data() + from, &distance, sizeof distance);
    }

    std::size_t write(const Node& node) {
        switch (node.kind) {
        case Node::Kind::Table: return writeTable(node);
        case Node::Kind::Vector: return writeVector(node);
        case Node::Kind::Structs:
            pad(bytes_); // the structs follow their count, and are aligned to 8 bytes
            put(bytes_, std::uint32_t{0});
            put(bytes_, node.struct_count);
            bytes_ += node.content;
            return bytes_.size() - node.content.size() - sizeof node.struct_count;
        case Node::Kind::Text: break;
        }
        pad(bytes_, sizeof(std::uint32_t));
        const std::size_t at = bytes_.size();
        put(bytes_, static_cast<std::uint32_t>(node.content.size()));
        bytes_ += node.content;
        bytes_ += '\0';
        return at;
    }

    std::size_t writeVector(const Node& node) {
        pad(bytes_, sizeof(std::uint32_t));
        const std::size_t at = bytes_.size();
        put(bytes_, static_cast<std::uint32_t>(node.children.size()));
        bytes_.append(sizeof(std::uint32_t) * node.children.size(), '\0');
        for (std::size_t i = 0; i < node.children.size(); ++i)
            refer(at + sizeof(std::uint32_t) * (i + 1), write(node.children[i]));
        return at;
    }

    /// Each field takes 8 bytes, which is aligned for all of them.
    std::size_t writeTable(const Node& node) {
        int most = -1;
        for (const Node::Field& field : node.fields)
            most = std::max(most, field.id);
        std::vector<std::uint16_t> places(static_cast<std::size_t>(most + 1), 0);
        for (std::size_t i = 0; i < node.fields.size(); ++i)
            places[static_cast<std::size_t>(node.fields[i].id)] = static_cast<std::uint16_t>(kAlign * (i + 1));
        pad(bytes_);
        const std::size_t index = bytes_.size();
        put(bytes_, static_cast<std::uint16_t>(2 * sizeof(std::uint16_t) + sizeof(std::uint16_t) * places.size()));
        put(bytes_, static_cast<std::uint16_t>(kAlign * (node.fields.size() + 1)));
        for (const std::uint16_t place : places)
            put(bytes_, place);
        pad(bytes_);
        const std::size_t at = bytes_.size();
        put(bytes_, static_cast<std::int32_t>(at - index));
        bytes_.resize(at + kAlign * (node.fields.size() + 1), '\0');
        for (std::size_t i = 0; i < node.fields.size(); ++i) {
            const Node::Field& field = node.fields[i];
            const std::size_t place = at + kAlign * (i + 1);
            if (field.bytes > 0) {
                std::memcpy(bytes_.data() + place, &field.number, static_cast<std::size_t>(field.bytes));
            } else {
                refer(place, write(node.children[field.child]));
            }
        }
        return at;
    }

    std::string bytes_;
};

constexpr int kSchemaMessage = 1;
constexpr int kBatchMessage = 3;

void writeMessage(int kind, Node header, const std::string& body, const std::function<void(std::string_view)>& sink) {
    constexpr int kVersion5 = 4;
    Node message;
    message.number(0, 2, kVersion5).number(1, 1, kind).child(2, std::move(header));
    message.number(3, 8, static_cast<std::int64_t>(body.size()));
    const std::string metadata = FlatBuffer::of(message);
    std::string head;
    put(head, std::uint32_t{0xFFFFFFFF});
    put(head, static_cast<std::uint32_t>(metadata.size()));
    sink(head);
    sink(metadata);
    sink(body);
}

/// The column's type: its number in the union, and its table.
std::pair<int, Node> typeOf(ColumnType type) {
    constexpr int kInt = 2;
    constexpr int kFloat = 3;
    constexpr int kUtf8 = 5;
    constexpr int kBool = 6;
    constexpr int kDouble = 2;
    Node node;
    switch (type) {
    case ColumnType::Int32: return {kInt, node.number(0, 4, 32).number(1, 1, 1)};
    case ColumnType::Int64: return {kInt, node.number(0, 4, 64).number(1, 1, 1)};
    case ColumnType::Float64: return {kFloat, node.number(0, 2, kDouble)};
    case ColumnType::Bool: return {kBool, node};
    case ColumnType::Text: break;
    }
    return {kUtf8, node};
}

Node schemaOf(const DataTable& table) {
    std::vector<Node> fields;
    for (const DataColumn& column : table.columns()) {
        auto [kind, type] = typeOf(column.type());
        Node field;
        field.child(0, textNode(column.name())).number(1, 1, 1).number(2, 1, kind).child(3, std::move(type));
        field.child(5, vectorNode({}));
        fields.push_back(std::move(field));
    }
    Node schema;
    schema.child(1, vectorNode(std::move(fields)));
    return schema;
}

/// Rows [first, last) of a table, as the body of a message with the list of its buffers.
class Batch {
public:
    Batch(const DataTable& table, std::size_t first, std::size_t last) : first_(first), last_(last) {
        for (const DataColumn& column : table.columns())
            add(column);
    }

    [[nodiscard]] const std::string& body() const { return body_; }
    [[nodiscard]] Node header() const {
        Node header;
        header.number(0, 8, static_cast<std::int64_t>(last_ - first_));
        header.child(1, pairsNode(columns_)).child(2, pairsNode(buffers_));
        return header;
    }

private:
    void addBuffer(std::string_view bytes) {
        buffers_.emplace_back(body_.size(), bytes.size());
        body_ += bytes;
        pad(body_);
    }

    template <class Number>
    void addNumbers(const std::vector<Number>& numbers) {
        addBuffer({reinterpret_cast<const char*>(numbers.data() + first_), sizeof(Number) * (last_ - first_)});
    }

    template <class Bit>
    void addBits(const Bit& bit) {
        Bits bits;
        for (std::size_t row = first_; row < last_; ++row)
            bits.add(bit(row));
        addBuffer({reinterpret_cast<const char*>(bits.bytes().data()), bits.bytes().size()});
    }

    void addTexts(const DataColumn& column) {
        std::string offsets;
        std::string texts;
        put(offsets, std::int32_t{0});
        for (std::size_t row = first_; row < last_; ++row) {
            if (!column.null(row)) texts += column.texts().text(static_cast<std::size_t>(column.int32s()[row]));
            put(offsets, static_cast<std::int32_t>(texts.size()));
        }
        addBuffer(offsets);
        addBuffer(texts);
    }

    void add(const DataColumn& column) {
        std::int64_t nulls = 0;
        for (std::size_t row = first_; row < last_; ++row)
            nulls += column.null(row) ? 1 : 0;
        columns_.emplace_back(last_ - first_, nulls);
        if (nulls > 0)
            addBits([&column](std::size_t row) { return !column.null(row); });
        else
            addBuffer({});
        switch (column.type()) {
        case ColumnType::Int32: return addNumbers(column.int32s());
        case ColumnType::Int64: return addNumbers(column.int64s());
        case ColumnType::Float64: return addNumbers(column.float64s());
        case ColumnType::Bool: return addBits([&column](std::size_t row) { return column.bits().at(row); });
        case ColumnType::Text: return addTexts(column);
        }
    }

    std::size_t first_;
    std::size_t last_;
    std::string body_;
    std::vector<std::pair<std::int64_t, std::int64_t>> columns_; ///< rows and nulls of each
    std::vector<std::pair<std::int64_t, std::int64_t>> buffers_; ///< offset in the body, and length
};

/// The end of a batch: fewer rows where texts are long, because its offsets have 32 bits.
std::size_t endOfBatch(const DataTable& table, std::size_t first) {
    constexpr std::size_t kMostBytes = std::numeric_limits<std::int32_t>::max() / 2;
    std::size_t last = std::min(table.rows(), first + kBatchRows);
    for (const DataColumn& column : table.columns()) {
        if (column.type() != ColumnType::Text) continue;
        std::size_t bytes = 0;
        for (std::size_t row = first; row < last; ++row) {
            if (!column.null(row)) bytes += column.texts().text(static_cast<std::size_t>(column.int32s()[row])).size();
            if (bytes > kMostBytes) last = std::max(first + 1, row);
        }
    }
    return last;
}

} // namespace

void writeArrowStream(const DataTable& table, const std::function<void(std::string_view)>& sink) {
    writeMessage(kSchemaMessage, schemaOf(table), {}, sink);
    for (std::size_t first = 0; first < table.rows();) {
        const std::size_t last = endOfBatch(table, first);
        const Batch batch(table, first, last);
        writeMessage(kBatchMessage, batch.header(), batch.body(), sink);
        first = last;
    }
    std::string end;
    put(end, std::uint32_t{0xFFFFFFFF});
    put(end, std::uint32_t{0});
    sink(end);
}

} // namespace bubblescope::report
