#pragma once

#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>

#include <cstdint>
#include <string_view>

namespace bubblescope::perfetto {

/// protozero's reader assumes that a field has the requested wire type. Files are not trusted, so every access in this
/// class checks the type. All members throw protozero::exception on malformed input.
class FieldReader {
public:
    explicit FieldReader(std::string_view bytes) : reader_(bytes.data(), bytes.size()) {}

    [[nodiscard]] bool next() { return reader_.next(); }
    [[nodiscard]] std::uint32_t tag() const { return reader_.tag(); }
    [[nodiscard]] bool isVarint() const { return has(protozero::pbf_wire_type::varint); }
    [[nodiscard]] bool isBytes() const { return has(protozero::pbf_wire_type::length_delimited); }
    void skip() { reader_.skip(); }

    /// int64, uint64, int32, uint32, enum and bool have the same encoding.
    [[nodiscard]] std::uint64_t uint64() { return expect(protozero::pbf_wire_type::varint).get_uint64(); }
    [[nodiscard]] std::int64_t int64() { return static_cast<std::int64_t>(uint64()); }
    [[nodiscard]] std::uint32_t uint32() { return static_cast<std::uint32_t>(uint64()); }
    [[nodiscard]] std::int32_t int32() { return static_cast<std::int32_t>(uint64()); }
    [[nodiscard]] bool boolean() { return uint64() != 0; }
    [[nodiscard]] double real() { return expect(protozero::pbf_wire_type::fixed64).get_double(); }

    [[nodiscard]] std::string_view bytes() {
        const auto view = expect(protozero::pbf_wire_type::length_delimited).get_view();
        return {view.data(), view.size()};
    }

    /// Calls `use` for each number of a repeated field, packed or not.
    template <class Use>
    void eachUint64(const Use& use) {
        if (isVarint()) return use(reader_.get_uint64());
        for (const std::uint64_t value : expect(protozero::pbf_wire_type::length_delimited).get_packed_uint64())
            use(value);
    }
    template <class Use>
    void eachFixed64(const Use& use) {
        if (has(protozero::pbf_wire_type::fixed64)) return use(reader_.get_fixed64());
        for (const std::uint64_t value : expect(protozero::pbf_wire_type::length_delimited).get_packed_fixed64())
            use(value);
    }

private:
    [[nodiscard]] bool has(protozero::pbf_wire_type type) const { return reader_.wire_type() == type; }
    protozero::pbf_reader& expect(protozero::pbf_wire_type type) {
        if (!has(type)) throw protozero::unknown_pbf_wire_type_exception{};
        return reader_;
    }

    protozero::pbf_reader reader_;
};

} // namespace bubblescope::perfetto
