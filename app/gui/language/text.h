#pragma once

#include "core/base/field.h"
#include "core/base/result.h"
#include "core/base/sentence.h"
#include "core/base/time.h"

#include <QCoreApplication>
#include <QString>
#include <QStringList>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope::gui {

/// Translates a string into the app's language in code outside QObjects. Translations do not depend on the context.
[[nodiscard]] inline QString tr(const char* text, const char* note = nullptr, int count = -1) {
    return QCoreApplication::translate("", text, note, count);
}

/// Formats numbers for people, in the user's locale.

/// The user's preferences for formatting times in this process. Any thread may read these preferences.
struct TimeStyle {
    static constexpr int kFewestDigits = 2;
    static constexpr int kMostDigits = 6;

    int digits = 3;        ///< significant digits of rounded times
    std::int64_t unit = 0; ///< unit of all times in ns: 1, 1'000, 1'000'000 or 1'000'000'000; 0 = chosen per value

    friend bool operator==(const TimeStyle&, const TimeStyle&) = default;
};
void setTimeStyle(const TimeStyle& style);
[[nodiscard]] TimeStyle timeStyle();

/// Rounds a time to the preferred number of significant digits (three by default), in the preferred unit or a suitable
/// unit: "15.0 ms", "820 ns", "1.23 s".
[[nodiscard]] QString shortTime(TimeNs time);
/// Rounds to microseconds, or to nanoseconds below 1 ms, and removes trailing zeros: "15.013 ms", "40 ms".
[[nodiscard]] QString exactTime(TimeNs time);
/// shortTime() with an explicit sign: "+12.0 µs".
[[nodiscard]] QString timeDelta(TimeNs time);
/// Formats 0.273 as "27.3 %", and 1 as "100 %".
[[nodiscard]] QString percent(double fraction);
/// Formats 0.004 as "+0.4 %".
[[nodiscard]] QString percentDelta(double fraction);
/// Like percentDelta(), for sentences. Large increases are formatted as factors such as "10 ×".
[[nodiscard]] QString relativeChange(double fraction);
/// Labels for axis ticks, all in one unit and with as few decimals as needed to tell them apart: "0 ms", "50 ms", "100
/// ms".
[[nodiscard]] QStringList timeTicks(const std::vector<double>& nanoseconds);
/// Labels for ticks at these fractions, such as "0 %" and "20 %".
[[nodiscard]] QStringList percentTicks(const std::vector<double>& fractions);
/// Rounds to three significant digits, but keeps all digits before the decimal point: "2.7", "7,532".
[[nodiscard]] QString ratioText(double value);
/// Capitalises the first letter unless it belongs to a file name, because messages from core start in lower case.
[[nodiscard]] QString sentence(QString text);
[[nodiscard]] QString fromUtf8(std::string_view text);

/// Names of input fields for use in messages: their labels, such as “Ranks p”, or the command-line option if a field
/// has no label.
[[nodiscard]] FieldWords fieldLabels();

/// Translates a sentence from core into the app's language. Translated patterns have numbered placeholders
/// ("{1}的{0}"). Returns English if the table does not contain the pattern.
[[nodiscard]] QString translated(const Sentence& sentence);

/// Translates an English string, such as an error or a finding from another process. Searches the table for a matching
/// pattern; if several match, uses the pattern with the most literal characters.
[[nodiscard]] QString translatedText(const std::string& english);

/// Complete error on one line, like Error::text().
[[nodiscard]] QString errorText(const Error& error);

} // namespace bubblescope::gui
