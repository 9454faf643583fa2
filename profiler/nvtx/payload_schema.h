#pragma once

#include "profiler/nvtx/abi.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace bubblescope::profiler::nvtx {

/// One value of a payload.
struct PayloadField {
    std::string name;
    std::variant<std::int64_t, double, std::string> value;
};

/// The payload layouts that programs register. NCCL, for example, registers the sizes and peers of its operations.
class PayloadSchemas {
public:
    /// Copies a schema that a program registers. Returns the number with which payloads refer to the schema: the
    /// program's number if it provides one, otherwise a new number.
    std::uint64_t add(std::uint16_t domain, const abi::SchemaAttributes& schema);
    std::uint64_t add(std::uint16_t domain, const abi::EnumAttributes& values);

    /// Decodes the numbers, fixed-length strings and enumerations of a payload. Reads nothing outside the bytes,
    /// regardless of their content: skips values beyond the end, behind pointers or in lists. Returns nothing for an
    /// unknown schema.
    [[nodiscard]] std::vector<PayloadField> decode(std::uint16_t domain, std::uint64_t schema,
                                                   std::string_view bytes) const;

private:
    struct Entry {
        std::uint64_t flags = 0;
        std::uint64_t type = 0;
        std::string name;
        std::uint64_t array_length = 0;
        std::size_t offset = 0;
        bool placed = false; ///< true if its offset is known
    };
    struct Schema {
        std::vector<Entry> entries;
        std::size_t size = 0;
        std::size_t align = 1;
    };
    struct Enumeration {
        std::map<std::uint64_t, std::string> names;
        std::size_t size = 4;
    };
    using Key = std::pair<std::uint16_t, std::uint64_t>; ///< programs choose numbers that are unique only within a
                                                         ///< domain

    struct Extent {
        std::size_t size = 0; ///< 0 = unknown
        std::size_t align = 1;
    };
    [[nodiscard]] Extent extentOf(std::uint16_t domain, const Entry& entry) const;
    void place(std::uint16_t domain, Schema& schema, std::size_t pack_align) const;
    void decode(std::uint16_t domain, const Schema& schema, std::string_view bytes, int depth, int& budget,
                std::vector<PayloadField>& out) const;

    std::map<Key, Schema> schemas_;
    std::map<Key, Enumeration> enumerations_;
    std::uint64_t next_ = abi::kFirstToolSchema;
};

} // namespace bubblescope::profiler::nvtx
