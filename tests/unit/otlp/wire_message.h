#pragma once

#include <protozero/pbf_reader.hpp>

#include <bit>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope::otlp {

/// The fields of a protobuf message by number. Throws if a field is absent, has another wire type, or is damaged.
class WireMessage {
public:
    explicit WireMessage(std::string_view bytes) {
        protozero::pbf_reader reader(bytes.data(), bytes.size());
        while (reader.next()) {
            const int number = static_cast<int>(reader.tag());
            switch (reader.wire_type()) {
            case protozero::pbf_wire_type::varint: varints_[number].push_back(reader.get_uint64()); break;
            case protozero::pbf_wire_type::fixed64: fixed_[number].push_back(reader.get_fixed64()); break;
            default: texts_[number].push_back(reader.get_string());
            }
            ++fields_;
        }
    }

    [[nodiscard]] std::size_t fields() const { return fields_; }
    [[nodiscard]] std::size_t count(int number) const { return texts_.contains(number) ? texts_.at(number).size() : 0; }
    [[nodiscard]] std::string text(int number, std::size_t i = 0) const { return texts_.at(number).at(i); }
    [[nodiscard]] WireMessage message(int number, std::size_t i = 0) const { return WireMessage(text(number, i)); }
    [[nodiscard]] std::uint64_t varint(int number) const { return varints_.at(number).at(0); }
    [[nodiscard]] std::uint64_t fixed(int number) const { return fixed_.at(number).at(0); }
    [[nodiscard]] double real(int number) const { return std::bit_cast<double>(fixed(number)); }

private:
    std::map<int, std::vector<std::uint64_t>> varints_;
    std::map<int, std::vector<std::uint64_t>> fixed_;
    std::map<int, std::vector<std::string>> texts_;
    std::size_t fields_ = 0;
};

} // namespace bubblescope::otlp
