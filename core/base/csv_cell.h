#pragma once

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>

namespace bubblescope {

/// Text as a CSV cell (RFC 4180). Prepends an apostrophe to text that a spreadsheet would execute as a formula (text
/// starting with =, +, -, @, a tab or a carriage return), since names in traces are untrusted.
[[nodiscard]] std::string csvCell(std::string_view text);

/// Builds a line of CSV cell by cell. The object can be reused for the next line.
class CsvLine {
public:
    explicit CsvLine(std::string_view line_end = "\n") : line_end_(line_end) {}

    void text(std::string_view text) {
        separate();
        line_ += csvCell(text);
    }
    /// Appends a number, a flag, or an already formatted number.
    template <class Value>
    void value(const Value& value) {
        separate();
        fmt::format_to(std::back_inserter(line_), "{}", value);
    }
    void empty() { separate(); }
    /// Ends the line. The result is valid until the next cell is appended.
    [[nodiscard]] std::string_view end() {
        line_ += line_end_;
        ended_ = true;
        return line_;
    }

private:
    void separate() {
        if (ended_)
            line_.clear();
        else
            line_ += ',';
        ended_ = false;
    }

    std::string line_;
    std::string_view line_end_;
    bool ended_ = true; ///< true if the next cell starts a new line
};

} // namespace bubblescope
