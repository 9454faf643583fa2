#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace bubblescope {

class Sentence;

/// An argument of a message pattern. Refers to the converted value; created only implicitly, in calls to say().
class SentenceArgument {
public:
    enum class Kind : std::uint8_t { Signed, Unsigned, Real, Text, Nested };

    template <class Number>
    requires(std::is_integral_v<Number> && !std::is_same_v<Number, bool> && !std::is_same_v<Number, char>)
        SentenceArgument(Number value) // NOLINT(google-explicit-constructor)
        : kind_(std::is_signed_v<Number> ? Kind::Signed : Kind::Unsigned), bits_(static_cast<std::uint64_t>(value)) {}
    SentenceArgument(double value) : kind_(Kind::Real), real_(value) {} // NOLINT(google-explicit-constructor)
    SentenceArgument(std::string_view text)                             // NOLINT(google-explicit-constructor)
        : kind_(Kind::Text), text_(text) {}
    SentenceArgument(const std::string& text) : SentenceArgument(std::string_view(text)) {} // NOLINT
    SentenceArgument(const char* text) : SentenceArgument(std::string_view(text)) {}        // NOLINT
    SentenceArgument(const Sentence& sentence) : kind_(Kind::Nested), nested_(&sentence) {} // NOLINT

    /// Formats the number; `format` uses fmt's syntax, without the colon and braces.
    [[nodiscard]] Sentence formatted(std::string_view format) const;

private:
    Kind kind_;
    std::uint64_t bits_ = 0;
    double real_ = 0;
    std::string_view text_;
    const Sentence* nested_ = nullptr;
};

/// A pattern in fmt's syntax. Checked at compile time: number and order of arguments ("{}" and "{:.1f}" are allowed,
/// "{0}" is not), and that only numbers have format specs. A pattern without arguments must not contain braces.
template <class... Arguments>
class SentencePattern {
public:
    // NOLINTNEXTLINE(google-explicit-constructor): patterns are written as literals
    consteval SentencePattern(const char* literal) : text_(literal) { check(); }
    [[nodiscard]] constexpr std::string_view text() const { return text_; }

private:
    static void thePatternDoesNotFitItsArguments() {} // not constexpr, so that a call fails to compile

    consteval void check() const {
        constexpr std::size_t kCount = sizeof...(Arguments);
        constexpr std::array<bool, kCount + 1> kNumber{std::is_arithmetic_v<Arguments>..., false};
        std::size_t places = 0;
        for (std::size_t at = 0; at < text_.size(); ++at) {
            if (text_[at] != '{' && text_[at] != '}') continue;
            const bool twice = at + 1 < text_.size() && text_[at + 1] == text_[at];
            if (twice && kCount > 0) {
                ++at;
                continue;
            }
            const std::size_t end = text_.find('}', at);
            if (text_[at] == '}' || end == std::string_view::npos || places == kCount)
                thePatternDoesNotFitItsArguments();
            const std::string_view inside = text_.substr(at + 1, end - at - 1);
            if (!inside.empty() && (inside[0] != ':' || !kNumber[places])) thePatternDoesNotFitItsArguments();
            ++places;
            at = end;
        }
        if (places != kCount) thePatternDoesNotFitItsArguments();
    }

    std::string_view text_;
};

/// An English message for users, with the pattern and arguments that the app needs to translate it. The arguments are
/// strings or other sentences. Core contains only English. Copying costs little more than copying the text.
class Sentence {
public:
    Sentence() = default;
    /// Text that needs no translation or comes from outside, such as names, numbers, formulas and system messages.
    /// Literals do not convert: they must be passed to say(), so that none remains untranslated by accident.
    Sentence(std::string text) : text_(std::move(text)) {} // NOLINT(google-explicit-constructor)
    Sentence(std::string_view pattern, std::span<const SentenceArgument> arguments);

    /// A translatable word or name from a static table; `name` must stay valid until the program ends.
    [[nodiscard]] static Sentence term(std::string_view name);

    [[nodiscard]] const std::string& text() const { return text_; } ///< in English
    [[nodiscard]] bool empty() const { return text_.empty(); }

    /// Empty for untranslated text and for concatenated sentences, whose parts are stored as arguments.
    [[nodiscard]] std::string_view pattern() const { return pattern_; }
    [[nodiscard]] std::span<const Sentence> arguments() const;

    /// Appends a sentence without a separator.
    Sentence& operator+=(const Sentence& more);

    /// Compares only the text, regardless of how the sentences were built.
    friend bool operator==(const Sentence& a, const Sentence& b) { return a.text_ == b.text_; }

private:
    friend Sentence sayCounted(SentencePattern<std::uint64_t>, SentencePattern<std::uint64_t>, std::uint64_t);

    std::string text_;
    std::string_view pattern_;
    std::shared_ptr<const std::vector<Sentence>> arguments_;
};

/// say("rank {} takes {}", 3, formatTime(time)) is similar to fmt::format, but translatable. Pass times and similar
/// values as text, and core's own terms (causes, positions) as Sentence::term(); otherwise the terms stay in English.
template <class... Arguments>
[[nodiscard]] Sentence say(std::type_identity_t<SentencePattern<std::decay_t<Arguments>...>> pattern,
                           const Arguments&... arguments) {
    const std::array<SentenceArgument, sizeof...(Arguments)> given{SentenceArgument(arguments)...};
    return {pattern.text(), given};
}

/// sayCounted("{} step", "{} steps", 2). Translations are looked up by the plural pattern; languages with more plural
/// forms derive them from the number.
[[nodiscard]] Sentence sayCounted(SentencePattern<std::uint64_t> one, SentencePattern<std::uint64_t> many,
                                  std::uint64_t count);

/// Concatenates "a, b, c" with the pattern "{}, {}".
[[nodiscard]] Sentence sayListed(std::span<const Sentence> parts);

} // namespace bubblescope
