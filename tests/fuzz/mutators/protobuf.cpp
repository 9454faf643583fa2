#include "tests/fuzz/mutators/mutate.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace bubblescope::fuzz {
namespace {

/// One field of a message, with its number and type as they are on the wire.
struct Field {
    std::uint64_t key = 0;
    std::uint64_t number = 0; ///< of types 0, 1 and 5
    std::string bytes;        ///< of type 2
};

std::optional<std::uint64_t> takeVarint(std::string_view& in) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 70 && !in.empty(); shift += 7) {
        const auto byte = static_cast<unsigned char>(in.front());
        in.remove_prefix(1);
        value |= shift < 64 ? static_cast<std::uint64_t>(byte & 0x7f) << shift : 0;
        if (byte < 0x80) return value;
    }
    return std::nullopt;
}

void putVarint(std::string& out, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7)
        out.push_back(static_cast<char>(value | 0x80));
    out.push_back(static_cast<char>(value));
}

std::optional<std::vector<Field>> parsed(std::string_view in) {
    std::vector<Field> fields;
    constexpr std::size_t kMostFields = 100'000;
    while (!in.empty() && fields.size() < kMostFields) {
        Field field;
        const auto key = takeVarint(in);
        if (!key || *key >> 3 == 0) return std::nullopt;
        field.key = *key;
        const std::size_t fixed = (*key & 7) == 1 ? 8 : (*key & 7) == 5 ? 4 : 0;
        if ((*key & 7) == 0) {
            const auto value = takeVarint(in);
            if (!value) return std::nullopt;
            field.number = *value;
        } else if ((*key & 7) == 2) {
            const auto size = takeVarint(in);
            if (!size || *size > in.size()) return std::nullopt;
            field.bytes = in.substr(0, static_cast<std::size_t>(*size));
            in.remove_prefix(static_cast<std::size_t>(*size));
        } else if (fixed > 0 && in.size() >= fixed) {
            for (std::size_t i = 0; i < fixed; ++i)
                field.number |= static_cast<std::uint64_t>(static_cast<unsigned char>(in[i])) << (8 * i);
            in.remove_prefix(fixed);
        } else {
            return std::nullopt;
        }
        fields.push_back(std::move(field));
    }
    return fields;
}

std::string written(const std::vector<Field>& fields) {
    std::string out;
    for (const Field& field : fields) {
        putVarint(out, field.key);
        switch (field.key & 7) {
        case 0: putVarint(out, field.number); break;
        case 1:
        case 5:
            for (unsigned i = 0; i < ((field.key & 7) == 1 ? 8U : 4U); ++i)
                out.push_back(static_cast<char>(field.number >> (8 * i)));
            break;
        default: putVarint(out, field.bytes.size()); out += field.bytes;
        }
    }
    return out;
}

constexpr std::array<std::uint64_t, 12> kNumbers{0,        1,           2,           3,     127,        128,
                                                 1U << 20, 0xffffffffU, 0x7fffffffU, ~0ULL, ~0ULL >> 1, 1ULL << 63};

} // namespace

std::string mutateProtobuf(std::string_view message, std::size_t most, Random& random) {
    auto fields = parsed(message);
    if (!fields || fields->empty() || below(random, 20) == 0) return mutateBytes(std::string(message), most);
    const std::size_t at = below(random, fields->size());
    Field& field = (*fields)[at];
    const std::size_t room = most - std::min(most, message.size());
    if (field.bytes.size() > 1 && below(random, 4) != 0) { // go on within it
        field.bytes = mutateProtobuf(field.bytes, field.bytes.size() + room, random);
        return written(*fields);
    }
    const auto place = fields->begin() + static_cast<std::ptrdiff_t>(at);
    switch (below(random, 7)) {
    case 0: fields->erase(place); break;
    case 1: fields->insert(place, repetitions(field.bytes.size() + 4, room, random), Field(field)); break;
    case 2: std::swap(field, (*fields)[below(random, fields->size())]); break;
    case 3: field.key = (field.key & 7) | ((1 + below(random, 120)) << 3); break;
    case 4: // of another type
        field.key = (field.key & ~std::uint64_t{7}) | below(random, 6);
        if ((field.key & 7) == 3 || (field.key & 7) == 4) field.key ^= 7;
        break;
    case 5:
        field.number =
            below(random, 2) == 0 ? kNumbers[below(random, kNumbers.size())] : field.number + random() % 5 - 2;
        break;
    default:
        if (field.bytes.empty())
            field.number ^= std::uint64_t{1} << below(random, 64);
        else
            field.bytes = mutateBytes(field.bytes, field.bytes.size() + std::min<std::size_t>(room, 64));
    }
    return written(*fields);
}

} // namespace bubblescope::fuzz
