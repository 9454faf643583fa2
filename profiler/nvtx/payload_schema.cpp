#include "profiler/nvtx/payload_schema.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

namespace bubblescope::profiler::nvtx {
namespace {

using Value = std::variant<std::int64_t, double, std::string>;

enum class Kind : std::uint8_t { None, Signed, Unsigned, Float, Letters };
struct FieldType {
    std::size_t size = 0;
    Kind kind = Kind::None;
};

/// Sizes of C types on 64-bit Linux. Values of types without a kind are skipped; entries after a type without a size
/// have no known offset.
FieldType typeOf(std::uint64_t type) {
    switch (type) {
    case 1: return {1, Kind::Letters}; // char
    case 2:
    case 12:
    case 25:
    case 32: return {1, Kind::Unsigned}; // unsigned char, uint8, char8, byte
    case 3:
    case 13: return {2, Kind::Signed}; // short, int16
    case 4:
    case 14:
    case 26: return {2, Kind::Unsigned}; // and char16
    case 5:
    case 15: return {4, Kind::Signed}; // int, int32
    case 6:
    case 16:
    case 27:
    case 68:
    case 69:
    case 71:
    case 73: return {4, Kind::Unsigned}; // and char32, category …
    case 7:
    case 9:
    case 17: return {8, Kind::Signed}; // long, long long, int64
    case 8:
    case 10:
    case 18:
    case 22:
    case 23:
    case 70:
    case 72:
    case 74: return {8, Kind::Unsigned}; // and size …
    case 11: return {1, Kind::Signed};   // int8
    case 19:
    case 43: return {4, Kind::Float}; // float
    case 20:
    case 44: return {8, Kind::Float}; // double
    case 21:
    case 33:
    case 34:
    case 45: return {16, Kind::None};    // long double, 128 bits
    case 24: return {4, Kind::Unsigned}; // wchar_t
    case 42:
    case 50: return {2, Kind::None}; // 16-bit floats
    case 52: return {4, Kind::None}; // TF32
    case 75:
    case 76:
    case 77:
    case 78:
    case 80: return {8, Kind::None}; // pointers to texts, registered texts
    default: return {};
    }
}

template <class T>
T read(std::string_view bytes) {
    T value;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
}

std::uint64_t readUnsigned(std::string_view bytes) {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof value)); // little-endian, as with CUDA
    return value;
}

std::int64_t readSigned(std::string_view bytes) {
    switch (bytes.size()) {
    case 1: return read<std::int8_t>(bytes);
    case 2: return read<std::int16_t>(bytes);
    case 4: return read<std::int32_t>(bytes);
    default: return read<std::int64_t>(bytes);
    }
}

std::optional<Value> valueOf(Kind kind, std::string_view bytes) {
    switch (kind) {
    case Kind::Signed: return Value(readSigned(bytes));
    case Kind::Unsigned: return Value(static_cast<std::int64_t>(readUnsigned(bytes)));
    case Kind::Float: return Value(bytes.size() == sizeof(float) ? double{read<float>(bytes)} : read<double>(bytes));
    case Kind::Letters: return Value(std::string(bytes.substr(0, bytes.find('\0'))));
    case Kind::None: break;
    }
    return std::nullopt;
}

constexpr std::size_t kMaxEntries = 256; ///< above this a schema is implausible
constexpr int kMaxFields = 256;          ///< per payload, including nested schemas

} // namespace

std::uint64_t PayloadSchemas::add(std::uint16_t domain, const abi::SchemaAttributes& schema) {
    Schema added;
    const std::size_t count = schema.entries == nullptr ? 0 : std::min(schema.entry_count, kMaxEntries);
    for (std::size_t i = 0; i < count; ++i) {
        const abi::SchemaEntry& entry = schema.entries[i];
        added.entries.push_back({entry.flags, entry.type, entry.name == nullptr ? "" : entry.name, entry.array_length,
                                 static_cast<std::size_t>(entry.offset), false});
    }
    place(domain, added, schema.pack_align);
    const bool has_id = (schema.field_mask & abi::kSchemaSchemaId) != 0;
    const std::uint64_t id = has_id ? schema.schema : next_++;
    schemas_[{domain, id}] = std::move(added);
    return id;
}

std::uint64_t PayloadSchemas::add(std::uint16_t domain, const abi::EnumAttributes& values) {
    Enumeration added;
    const std::size_t count = values.entries == nullptr ? 0 : std::min(values.entry_count, kMaxEntries);
    for (std::size_t i = 0; i < count; ++i) {
        if (values.entries[i].name != nullptr) added.names.emplace(values.entries[i].value, values.entries[i].name);
    }
    if (values.size == 1 || values.size == 2 || values.size == 8) added.size = values.size;
    const bool has_id = (values.field_mask & abi::kEnumSchemaId) != 0;
    const std::uint64_t id = has_id ? values.schema : next_++;
    enumerations_[{domain, id}] = std::move(added);
    return id;
}

PayloadSchemas::Extent PayloadSchemas::extentOf(std::uint16_t domain, const Entry& entry) const {
    Extent extent;
    if ((entry.flags & abi::kEntryPointer) != 0) {
        extent = {8, 8};
    } else if (const FieldType type = typeOf(entry.type); type.size != 0) {
        extent = {type.size, type.size};
    } else if (const auto values = enumerations_.find({domain, entry.type}); values != enumerations_.end()) {
        extent = {values->second.size, values->second.size};
    } else if (const auto nested = schemas_.find({domain, entry.type}); nested != schemas_.end()) {
        extent = {nested->second.size, nested->second.align};
    }
    if ((entry.flags & abi::kEntryArray) == 0) return extent;
    // Lists without a fixed length are stored after the entry with their length, so the offsets of later entries are
    // unknown.
    constexpr std::uint64_t kFixed = 1U << 4;
    const bool fixed = (entry.flags & abi::kEntryArray) == kFixed && entry.array_length < (1U << 16);
    extent.size = fixed ? extent.size * entry.array_length : 0;
    return extent;
}

/// Places an entry without an offset after the previous one, as a C compiler would.
void PayloadSchemas::place(std::uint16_t domain, Schema& schema, std::size_t pack_align) const {
    std::size_t next = 0;
    bool known = true;
    for (Entry& entry : schema.entries) {
        const Extent extent = extentOf(domain, entry);
        const std::size_t align = pack_align == 0 ? extent.align : std::min(extent.align, pack_align);
        if (entry.offset == 0) {
            entry.offset = align == 0 ? next : (next + align - 1) / align * align;
            entry.placed = known;
        } else {
            entry.placed = known = true;
        }
        known = known && extent.size != 0;
        next = entry.offset + extent.size;
        schema.align = std::max(schema.align, align);
    }
    schema.size = known ? (next + schema.align - 1) / schema.align * schema.align : 0;
}

std::vector<PayloadField> PayloadSchemas::decode(std::uint16_t domain, std::uint64_t schema,
                                                 std::string_view bytes) const {
    std::vector<PayloadField> fields;
    const auto known = schemas_.find({domain, schema});
    int budget = kMaxFields;
    if (known != schemas_.end()) decode(domain, known->second, bytes, 0, budget, fields);
    return fields;
}

void PayloadSchemas::decode(std::uint16_t domain, const Schema& schema, std::string_view bytes, int depth, int& budget,
                            std::vector<PayloadField>& out) const {
    constexpr int kMaxDepth = 8; // limit, because a schema may be registered again so that it contains itself
    if (depth > kMaxDepth) return;
    for (const Entry& entry : schema.entries) {
        if (--budget < 0) return;
        const Extent extent = extentOf(domain, entry);
        if (!entry.placed || extent.size == 0 || entry.offset > bytes.size() ||
            extent.size > bytes.size() - entry.offset || (entry.flags & abi::kEntryPointer) != 0)
            continue;
        const std::string_view own = bytes.substr(entry.offset, extent.size);
        const FieldType type = typeOf(entry.type);
        const bool array = (entry.flags & abi::kEntryArray) != 0;
        if (type.size != 0) {
            if (array && type.kind != Kind::Letters) continue;
            if (auto value = valueOf(type.kind, own)) out.push_back({entry.name, std::move(*value)});
        } else if (array) {
            continue;
        } else if (const auto values = enumerations_.find({domain, entry.type}); values != enumerations_.end()) {
            const std::uint64_t number = readUnsigned(own);
            const auto name = values->second.names.find(number);
            if (name != values->second.names.end())
                out.push_back({entry.name, name->second});
            else
                out.push_back({entry.name, static_cast<std::int64_t>(number)});
        } else if (const auto nested = schemas_.find({domain, entry.type}); nested != schemas_.end()) {
            decode(domain, nested->second, own, depth + 1, budget, out);
        }
    }
}

} // namespace bubblescope::profiler::nvtx
