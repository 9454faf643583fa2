#pragma once

#include "core/base/field.h"
#include "core/base/result.h"
#include "core/base/sentence.h"
#include "core/base/time.h"

#include <QString>
#include <QStringList>

#include <cstdint>
#include <string>
#include <vector>

namespace bubblescope::gui {

/// Numbers for people, in the user's locale.

/// The user's preference for the format of times. It applies to the whole process; any thread may read it.
struct TimeStyle {
    static constexpr int kFewestDigits = 2;
    static constexpr int kMostDigits = 6;

    int digits = 3;        ///< significant digits of rounded times
    std::int64_t unit = 0; ///< unit of all times in ns: 1, 1'000, 1'000'000 or 1'000'000'000; 0 = a suitable one

    friend bool operator==(const TimeStyle&, const TimeStyle&) = default;
};
void setTimeStyle(const TimeStyle& style);
[[nodiscard]] TimeStyle timeStyle();

/// A time with the preferred number of significant digits (three by default), in the preferred or a suitable unit:
/// "15.0 ms", "820 ns", "1.23 s".
[[nodiscard]] QString shortTime(TimeNs time);
/// To the microsecond, or to the nanosecond below a millisecond, without trailing zeros: "15.013 ms", "40 ms".
[[nodiscard]] QString exactTime(TimeNs time);
/// shortTime() with an explicit sign: "+12.0 µs".
[[nodiscard]] QString timeDelta(TimeNs time);
/// "27.3 %" for 0.273, and "100 %" for 1.
[[nodiscard]] QString percent(double fraction);
/// "+0.4 %" for 0.004.
[[nodiscard]] QString percentDelta(double fraction);
/// percentDelta() for sentences, in which ten times as much is "10 ×".
[[nodiscard]] QString relativeChange(double fraction);
/// Labels of an axis's ticks, in one unit and with the fewest decimals that distinguish them: "0 ms", "50 ms", "100
/// ms".
[[nodiscard]] QStringList timeTicks(const std::vector<double>& nanoseconds);
/// Labels for ticks at fractions: "0 %", "20 %".
[[nodiscard]] QStringList percentTicks(const std::vector<double>& fractions);
/// Three significant digits; large values have all digits before the point: "2.7", "7,532".
[[nodiscard]] QString ratioText(double value);
/// Capitalises the first letter, because core's sentences usually follow a colon. Leaves file names as they are.
[[nodiscard]] QString sentence(QString text);
[[nodiscard]] QString fromUtf8(const std::string& text);

/// Fields named like the labels of the app's inputs: “Ranks p” 2. Fields without an input are named like options of the
/// command line.
[[nodiscard]] FieldWords fieldLabels();

/// A sentence of core in the app's language: the translation of its pattern, which has numbered placeholders
/// ("{1}的{0}"). English if the table lacks the pattern.
[[nodiscard]] QString translated(const Sentence& sentence);

/// The translation of an English text, such as an error or finding from another process. Searches the table for a
/// matching pattern; if several match, the one with the most literal letters is used.
[[nodiscard]] QString translatedText(const std::string& english);

/// The whole error on one line, like Error::text().
[[nodiscard]] QString errorText(const Error& error);

} // namespace bubblescope::gui
