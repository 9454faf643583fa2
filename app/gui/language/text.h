#pragma once

#include "core/base/field.h"
#include "core/base/result.h"
#include "core/base/sentence.h"
#include "core/base/time.h"

#include <QString>

#include <cstdint>
#include <string>

namespace bubblescope::gui {

/// Numbers for people, in the user's locale.

/// How users want times written. One choice for the process; any thread may read it.
struct TimeStyle {
    static constexpr int kFewestDigits = 2;
    static constexpr int kMostDigits = 6;

    int digits = 3;        ///< significant ones, where times are rounded
    std::int64_t unit = 0; ///< ns of the unit of all times: 1, 1'000, 1'000'000 or 1'000'000'000; 0: what fits each

    friend bool operator==(const TimeStyle&, const TimeStyle&) = default;
};
void setTimeStyle(const TimeStyle& style);
[[nodiscard]] TimeStyle timeStyle();

/// As many significant digits as chosen, three by default, in the unit that fits or was chosen: "15.0 ms", "820 ns",
/// "1.23 s".
[[nodiscard]] QString shortTime(TimeNs time);
/// To the microsecond: "15.013 ms", as core's formatTime().
[[nodiscard]] QString exactTime(TimeNs time);
/// With an explicit sign: "+0.012 ms".
[[nodiscard]] QString timeDelta(TimeNs time);
/// "27.3 %" for 0.273.
[[nodiscard]] QString percent(double fraction);
/// "+0.4 %" for 0.004.
[[nodiscard]] QString percentDelta(double fraction);
/// Three significant digits, of large values all before the point: "2.7", "7,532".
[[nodiscard]] QString ratioText(double value);
/// Capitalises the first letter: core's sentences usually follow a colon.
[[nodiscard]] QString sentence(QString text);
[[nodiscard]] QString fromUtf8(const std::string& text);

/// Fields as the labels of the app's inputs: “Ranks p” 2. Those without an input are options of the command line.
[[nodiscard]] FieldWords fieldLabels();

/// A sentence of core in the app's language: the translation of its pattern, whose placeholders are numbered
/// ("{1}的{0}"). English if the table lacks the pattern.
[[nodiscard]] QString translated(const Sentence& sentence);

/// A translation of English text, such as errors and findings of other processes. Searches the table for a matching
/// pattern; of several matches the one with the most literal letters is used.
[[nodiscard]] QString translatedText(const std::string& english);

/// The whole error in one line, as Error::text().
[[nodiscard]] QString errorText(const Error& error);

} // namespace bubblescope::gui
