#include "core/base/sentence.h"

#include "core/base/visible.h"

#include <fmt/format.h>

#include <bit>

namespace bubblescope {
namespace {

template <class Number>
std::string formattedNumber(std::string_view format, Number value) {
    const std::string whole = "{:" + std::string(format) + "}";
    return fmt::vformat(whole, fmt::make_format_args(value));
}

} // namespace

Sentence SentenceArgument::formatted(std::string_view format) const {
    switch (kind_) {
    case Kind::Signed: return formattedNumber(format, std::bit_cast<std::int64_t>(bits_));
    case Kind::Unsigned: return formattedNumber(format, bits_);
    case Kind::Real: return formattedNumber(format, real_);
    case Kind::Text: return visible(text_);
    case Kind::Nested: return *nested_;
    }
    return {};
}

Sentence::Sentence(std::string_view pattern, std::span<const SentenceArgument> arguments) : pattern_(pattern) {
    if (arguments.empty()) {
        text_ = pattern;
        return;
    }
    std::vector<Sentence> filled;
    filled.reserve(arguments.size());
    for (std::size_t at = 0; at < pattern.size(); ++at) {
        if (pattern[at] != '{' && pattern[at] != '}') {
            text_ += pattern[at];
        } else if (pattern.substr(at, 2) == "{{" || pattern.substr(at, 2) == "}}") {
            text_ += pattern[at++];
        } else {
            const std::size_t end = pattern.find('}', at);
            const std::string_view inside = pattern.substr(at + 1, end - at - 1);
            filled.push_back(arguments[filled.size()].formatted(inside.empty() ? inside : inside.substr(1)));
            text_ += filled.back().text();
            at = end;
        }
    }
    arguments_ = std::make_shared<const std::vector<Sentence>>(std::move(filled));
}

Sentence Sentence::term(std::string_view name) {
    return {name, {}};
}

std::span<const Sentence> Sentence::arguments() const {
    return arguments_ ? std::span<const Sentence>(*arguments_) : std::span<const Sentence>();
}

Sentence& Sentence::operator+=(const Sentence& more) {
    if (more.empty()) return *this;
    if (empty()) return *this = more;
    std::vector<Sentence> parts;
    const bool several = pattern_.empty() && arguments_;
    if (several) {
        parts = *arguments_;
    } else {
        parts.push_back(*this);
    }
    parts.push_back(more);
    text_ += more.text_;
    pattern_ = {};
    arguments_ = std::make_shared<const std::vector<Sentence>>(std::move(parts));
    return *this;
}

Sentence sayCounted(SentencePattern<std::uint64_t> one, SentencePattern<std::uint64_t> many, std::uint64_t count) {
    const std::array<SentenceArgument, 1> given{SentenceArgument(count)};
    Sentence said((count == 1 ? one : many).text(), given);
    said.pattern_ = many.text();
    return said;
}

Sentence sayListed(std::span<const Sentence> parts) {
    if (parts.empty()) return {};
    Sentence list = parts.front();
    for (const Sentence& part : parts.subspan(1))
        list = say("{}, {}", list, part);
    return list;
}

} // namespace bubblescope
