#pragma once

#include "core/base/job.h"

#include <cstddef>
#include <optional>
#include <string_view>

namespace bubblescope {

/// Scans JSON text only for the start and end of values, so that a corrupt event can be located and does not affect
/// others. Does not validate the contents of a value.
class JsonScanner {
public:
    /// If `control` stops the job while a value is being scanned, the value counts as unfinished.
    explicit JsonScanner(std::string_view text, const JobControl* control = nullptr) : text_(text), control_(control) {}

    /// Must be called when the text has grown; its start address must not have changed.
    void extend(std::string_view text) { text_ = text; }
    [[nodiscard]] std::size_t offset() const { return offset_; }
    /// Continues at another offset, which must not be inside a string literal.
    void moveTo(std::size_t offset) { offset_ = offset; }
    /// Returns the next character that is not white space; 0 at the end of the text.
    [[nodiscard]] char peek();
    /// True at the end of the text, which peek() cannot distinguish from a 0 byte.
    [[nodiscard]] bool atEnd();
    /// Skips `wanted` if it is the next character.
    [[nodiscard]] bool accept(char wanted);
    /// Skips the next value and returns its text. Returns an empty optional if there is no next value or the text ends
    /// inside it; offset() is then where that value starts.
    [[nodiscard]] std::optional<std::string_view> value();

private:
    [[nodiscard]] std::size_t endOfString(std::size_t begin) const;
    [[nodiscard]] std::size_t endOfNested(std::size_t begin) const;
    [[nodiscard]] std::size_t endOfScalar(std::size_t begin) const;

    std::string_view text_;
    const JobControl* control_;
    std::size_t offset_ = 0;
};

} // namespace bubblescope
