#pragma once

#include "core/base/job.h"

#include <cstddef>
#include <optional>
#include <string_view>

namespace bubblescope {

/// Scans JSON text just far enough to find where values begin and end, so that a damaged event does not affect others
/// and can be located. Does not validate the inside of a value.
class JsonScanner {
public:
    /// With `control`, a value counts as unfinished if the job is stopped while scanning it.
    explicit JsonScanner(std::string_view text, const JobControl* control = nullptr) : text_(text), control_(control) {}

    /// Call this when the text has grown; it must still begin at the same address.
    void extend(std::string_view text) { text_ = text; }
    [[nodiscard]] std::size_t offset() const { return offset_; }
    /// Continues at another offset, which must not be inside a string.
    void moveTo(std::size_t offset) { offset_ = offset; }
    /// The next character that is not white space; 0 at the end of the text.
    [[nodiscard]] char peek();
    /// Distinguishes the end of the text from a 0 byte in it, which peek() does not.
    [[nodiscard]] bool atEnd();
    /// Skips `wanted` if it comes next.
    [[nodiscard]] bool accept(char wanted);
    /// Skips the next value and returns its text. Nothing if no value comes next or the text ends before the value
    /// does; offset() is then where that value begins.
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
