#pragma once

#include <cstddef>
#include <cstdint>

/// NVTX's binary interface for tools, limited to the parts used here, so that the build needs no NVIDIA headers. Valid
/// for all NVTX 3 versions, whose structs only grow at the end. A test compares these definitions with NVTX's own
/// headers if they are installed.
namespace bubblescope::profiler::nvtx::abi {

using Handle = void*; ///< handle of a domain or a registered string, assigned by the tool
using RangeId = std::uint64_t;

// Attributes of an event.
inline constexpr std::int32_t kMessageAscii = 1;
inline constexpr std::int32_t kMessageWide = 2;
inline constexpr std::int32_t kMessageRegistered = 3;

inline constexpr std::int32_t kPayloadUnsigned64 = 1;
inline constexpr std::int32_t kPayloadSigned64 = 2;
inline constexpr std::int32_t kPayloadDouble = 3;
inline constexpr std::int32_t kPayloadUnsigned32 = 4;
inline constexpr std::int32_t kPayloadSigned32 = 5;
inline constexpr std::int32_t kPayloadFloat = 6;
/// The payload points to an array of `payload_count` PayloadData.
inline constexpr std::int32_t kPayloadExtended = static_cast<std::int32_t>(0xDFBD0009);

struct EventAttributes {
    std::uint16_t version;
    std::uint16_t size; ///< size of the struct in the version that the program was built with
    std::uint32_t category;
    std::int32_t color_type;
    std::uint32_t color;
    std::int32_t payload_type;
    std::int32_t payload_count; ///< for an extended payload
    union {
        std::uint64_t u64;
        std::int64_t i64;
        double f64;
        std::uint32_t u32;
        std::int32_t i32;
        float f32;
    } payload;
    std::int32_t message_type;
    union {
        const char* ascii;
        const wchar_t* wide;
        Handle registered;
    } message;
};
static_assert(sizeof(EventAttributes) == 48 && offsetof(EventAttributes, message) == 40);

// A tool attaches by requesting tables of function pointers, into which it writes its own functions.
inline constexpr std::uint32_t kTableOfCallbacks = 1;
inline constexpr std::int32_t kModuleCore = 1;
inline constexpr std::int32_t kModuleCore2 = 5;

using Function = void (*)();
using FunctionTable = Function**;
struct Callbacks {
    std::size_t struct_size;
    int (*module_table)(std::int32_t module, FunctionTable* table, unsigned* size);
};
using GetExportTable = const void* (*)(std::uint32_t table);

enum class Core : unsigned {
    MarkEx = 1,
    MarkA,
    MarkW,
    RangeStartEx,
    RangeStartA,
    RangeStartW,
    RangeEnd,
    RangePushEx,
    RangePushA,
    RangePushW,
    RangePop,
    NameCategoryA,
    NameCategoryW,
    NameOsThreadA,
    NameOsThreadW,
};
enum class Core2 : unsigned {
    DomainMarkEx = 1,
    DomainRangeStartEx,
    DomainRangeEnd,
    DomainRangePushEx,
    DomainRangePop,
    DomainResourceCreate,
    DomainResourceDestroy,
    DomainNameCategoryA,
    DomainNameCategoryW,
    DomainRegisterStringA,
    DomainRegisterStringW,
    DomainCreateA,
    DomainCreateW,
    DomainDestroy,
    Initialize,
};

// Extensions: tables of slots passed to the tool.
struct ExtensionSegment {
    std::size_t id;
    std::size_t slot_count;
    std::intptr_t* slots;
};
struct ExtensionModule {
    std::uint16_t nvtx_version;
    std::uint16_t struct_size;
    std::uint16_t module;
    std::uint16_t compatibility;
    std::size_t segment_count;
    ExtensionSegment* segments;
    std::intptr_t (*get_export)(std::uint32_t function);
    const void* info;
};
inline constexpr std::uint16_t kPayloadModule = 2;

enum class PayloadSlot : std::size_t {
    SchemaRegister = 0,
    EnumRegister = 1,
    MarkPayload = 2,
    RangePushPayload = 3,
    RangePopPayload = 4,
    RangeStartPayload = 5,
    RangeEndPayload = 6,
    DomainIsEnabled = 7,
};

struct PayloadData {
    std::uint64_t schema;
    std::size_t size; ///< SIZE_MAX = the size in the schema
    const void* data;
};

struct SchemaEntry {
    std::uint64_t flags;
    std::uint64_t type; ///< a predefined type if below kFirstOwnSchema, otherwise a registered schema or enumeration
    const char* name;
    const char* description;
    std::uint64_t array_length;
    std::uint64_t offset; ///< 0 in any entry except the first: the field follows the previous one, with alignment
    const void* semantics;
    const void* reserved;
};
struct SchemaAttributes {
    std::uint64_t field_mask;
    const char* name;
    std::uint64_t type;
    std::uint64_t flags;
    const SchemaEntry* entries;
    std::size_t entry_count;
    std::size_t static_size;
    std::size_t pack_align;
    std::uint64_t schema;
    void* extension;
};
struct EnumValue {
    const char* name;
    std::uint64_t value;
    std::int8_t is_flag;
};
struct EnumAttributes {
    std::uint64_t field_mask;
    const char* name;
    const EnumValue* entries;
    std::size_t entry_count;
    std::size_t size;
    std::uint64_t schema;
    void* extension;
};

inline constexpr std::uint64_t kSchemaName = 1U << 1;
inline constexpr std::uint64_t kSchemaSchemaId = 1U << 8;
inline constexpr std::uint64_t kEnumSchemaId = 1U << 5;
inline constexpr std::uint64_t kFirstOwnSchema = 1U << 24;
inline constexpr std::uint64_t kFirstToolSchema = std::uint64_t{1} << 32;

inline constexpr std::uint64_t kEntryPointer = 1U << 1;
inline constexpr std::uint64_t kEntryArray = 7U << 4;
inline constexpr std::uint64_t kEntryMessage = 1U << 10;

} // namespace bubblescope::profiler::nvtx::abi
