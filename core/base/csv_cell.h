#pragma once

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>

namespace bubblescope {

/// Text as a CSV cell (RFC 4180). Puts an apostrophe before text that a spreadsheet would run as a formula (starts with
/// =, +, -, @, a tab or a carriage return), because names in traces are untrusted.
[[nodiscard]] std::string csvCell(std::string_view text);

/// A line of CSV, cell by cell. The object can be used for one line after another.
class CsvLine {
public:
    explicit CsvLine(std::string_view line_end = "\n") : line_end_(line_end) {}

    void text(std::string_view text) {
        separate();
        line_ += csvCell(text);
    }
    /// A number or a flag, or a text that is a number.
    template <class Value>
    void value(const Value& value) {
        separate();
        fmt::format_to(std::back_inserter(line_), "{}", value);
    }
    void empty() { separate(); }
    /// Ends the line. The result is valid until the next cell.
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
    bool ended_ = true; ///< the next cell begins a line
};

} // namespace bubblescope
