#pragma once

#include "tests/support/sqlite_file.h"

#include <protozero/pbf_writer.hpp>

#include <cctype>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

/// Binary inputs from texts that people can read and change.
namespace bubblescope::test {

/// Converts text with numbered fields to Protobuf: `10: 7  11 { 9: 1 23: "name" 44: 2.5d 47: 9x 50: ~0aff }`. Plain
/// numbers are varints, numbers with `d` are doubles, numbers with `x` have a fixed length of 64 bits, `~` starts
/// bytes in hexadecimal,
/// and `#` starts a comment.
/// Throws an exception if the text is invalid.
class PacketText {
public:
    static std::string bytes(std::string_view text) {
        PacketText reader(text);
        std::string out = reader.message();
        if (!reader.rest_.empty()) throw std::invalid_argument("behind the last field: " + std::string(reader.rest_));
        return out;
    }

private:
    explicit PacketText(std::string_view text) : rest_(text) {}

    void skipSpace() {
        while (!rest_.empty() && (std::isspace(static_cast<unsigned char>(rest_.front())) != 0 || rest_.front() == '#'))
            rest_.remove_prefix(rest_.front() == '#' ? std::min(rest_.find('\n'), rest_.size()) : 1);
    }
    bool take(char c) {
        skipSpace();
        if (rest_.empty() || rest_.front() != c) return false;
        rest_.remove_prefix(1);
        return true;
    }
    std::string_view word() {
        skipSpace();
        const std::size_t end = std::min(rest_.find_first_of(" \t\r\n:{}#"), rest_.size());
        const std::string_view found = rest_.substr(0, end);
        rest_.remove_prefix(end);
        if (found.empty()) throw std::invalid_argument("no number at: " + std::string(rest_.substr(0, 40)));
        return found;
    }

    std::string message() {
        std::string out;
        protozero::pbf_writer writer{out};
        for (skipSpace(); !rest_.empty() && rest_.front() != '}'; skipSpace()) {
            const auto field = static_cast<std::uint32_t>(std::stoul(std::string(word())));
            if (take('{')) {
                writer.add_message(field, message());
                if (!take('}')) throw std::invalid_argument("a '}' is missing");
                continue;
            }
            if (!take(':')) throw std::invalid_argument("a ':' is missing behind " + std::to_string(field));
            if (take('"')) {
                const std::size_t end = rest_.find('"');
                writer.add_string(field, std::string(rest_.substr(0, end)));
                rest_.remove_prefix(end + 1);
                continue;
            }
            const std::string value(word());
            if (value.front() == '~') {
                std::string bytes;
                for (std::size_t i = 1; i + 1 < value.size(); i += 2)
                    bytes += static_cast<char>(std::stoi(value.substr(i, 2), nullptr, 16));
                writer.add_bytes(field, bytes);
            } else if (value.back() == 'd')
                writer.add_double(field, std::stod(value));
            else if (value.back() == 'x')
                writer.add_fixed64(field, std::stoull(value));
            else
                writer.add_int64(field, std::stoll(value));
        }
        return out;
    }

    std::string_view rest_;
};

} // namespace bubblescope::test
