#include "tests/fuzz/mutators/mutate.h"

#include <algorithm>
#include <array>

namespace bubblescope::fuzz {
namespace {

/// A token, or with `end` beyond the next one a bracket and all up to where it closes.
struct Piece {
    std::size_t begin = 0;
    std::size_t end = 0;
};

/// Strings, numbers and words, brackets with what is between them, and members with their names.
std::vector<Piece> piecesOf(std::string_view text) {
    std::vector<Piece> pieces;
    std::vector<std::size_t> open;
    std::size_t at = 0;
    constexpr std::size_t kMostPieces = 200'000;
    while (at < text.size() && pieces.size() < kMostPieces) {
        const char c = text[at];
        const std::size_t begin = at++;
        if (c == '"') {
            while (at < text.size() && text[at] != '"')
                at += text[at] == '\\' ? 2 : 1;
            at = std::min(at + 1, text.size());
            pieces.push_back({begin, at});
        } else if (c == '{' || c == '[') {
            open.push_back(begin);
        } else if ((c == '}' || c == ']') && !open.empty()) {
            pieces.push_back({open.back(), at});
            open.pop_back();
        } else if (std::string_view(" \t\r\n,:]}").find(c) == std::string_view::npos) {
            at = std::min(text.find_first_of(" \t\r\n,:[]{}\"", at), text.size());
            pieces.push_back({begin, at});
        }
    }
    return pieces;
}

constexpr std::array<std::string_view, 24> kJsonValues{"0",
                                                       "-0",
                                                       "-1",
                                                       "1e308",
                                                       "1e999",
                                                       "-1e999",
                                                       "9223372036854775807",
                                                       "-9223372036854775808",
                                                       "18446744073709551616",
                                                       "0.0000001",
                                                       "1.5",
                                                       "null",
                                                       "true",
                                                       "[]",
                                                       "{}",
                                                       "\"\"",
                                                       "\"\\u0000\"",
                                                       "\"\\ud800\"",
                                                       "\"B\"",
                                                       "\"E\"",
                                                       "\"X\"",
                                                       "\"name\"",
                                                       "\"args\"",
                                                       "4294967296"};

} // namespace

std::string mutateJson(std::string_view text, std::size_t most, Random& random) {
    const std::vector<Piece> pieces = piecesOf(text);
    if (pieces.empty() || below(random, 10) == 0) return mutateBytes(std::string(text), most);
    const auto any = [&] { return pieces[below(random, pieces.size())]; };
    const Piece at = any();
    const std::string_view piece = text.substr(at.begin, at.end - at.begin);
    const std::string_view before = text.substr(0, at.begin);
    const std::string_view after = text.substr(at.end);
    std::string out(before);
    switch (below(random, 7)) {
    case 0: // leave it out, with the comma behind it
        return out + std::string(after.substr(after.starts_with(',') ? 1 : 0));
    case 1: out += kJsonValues[below(random, kJsonValues.size())]; break;
    case 2: { // another piece in its place
        const Piece other = any();
        out += text.substr(other.begin, other.end - other.begin);
        break;
    }
    case 3: { // many of it
        const std::size_t count = repetitions(piece.size() + 1, most - std::min(most, text.size()), random);
        for (std::size_t i = 0; i < count; ++i)
            (out += piece) += ',';
        out += piece;
        break;
    }
    case 4: { // deep in itself
        const std::size_t depth = 1 + below(random, 200);
        for (std::size_t i = 0; i < depth; ++i)
            out += i % 2 == 0 ? "[" : "{\"a\":";
        out += piece;
        for (std::size_t i = depth; i-- > 0;)
            out += i % 2 == 0 ? "]" : "}";
        break;
    }
    case 5: out += mutateBytes(std::string(piece), piece.size() + 64); break;
    default: { // a long text
        out += '"';
        out += std::string(repetitions(1, most - std::min(most, text.size()), random), 'x');
        out += '"';
    }
    }
    return out + std::string(after);
}

} // namespace bubblescope::fuzz
