#include "app/gui/language/text.h"

#include "app/gui/language/language.h"

#include <QCoreApplication>
#include <QLocale>
#include <QRegularExpression>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace bubblescope::gui {

namespace {

struct Unit {
    double ns;
    const char* name;
};
std::atomic<int> chosen_digits = TimeStyle().digits;
std::atomic<std::int64_t> chosen_unit = TimeStyle().unit;
constexpr std::array kUnits{Unit{1e9, "s"}, Unit{1e6, "ms"}, Unit{1e3, "µs"}, Unit{1, "ns"}};

const QString kNoTime = QStringLiteral("0 ms"); ///< because "0 ns" would stand out between milliseconds

/// Number of decimals for that many significant digits after rounding.
int decimalsOf(double value, int digits) {
    constexpr int kMostDecimals = 9;
    const double size = std::abs(value);
    if (size == 0) return 0;
    int decimals = digits - 1 - static_cast<int>(std::floor(std::log10(size)));
    // 9.996 has one more digit before the point after rounding.
    const double scale = std::pow(10, decimals);
    if (std::round(size * scale) >= std::pow(10, digits)) --decimals;
    return std::clamp(decimals, 0, kMostDecimals);
}

/// Core writes ASCII for terminals and scripts: "us", and a hyphen as the minus sign. Commands keep their hyphens,
/// which follow "=".
QString typeset(QString text) {
    static const QRegularExpression micro(QStringLiteral("(?<=\\d) us\\b"));
    static const QRegularExpression minus(QStringLiteral("(?<![^ (])-(?=\\d)"));
    if (text.contains(QLatin1String(" us"))) text.replace(micro, QStringLiteral(" µs"));
    if (text.contains(QLatin1Char('-'))) text.replace(minus, QStringLiteral("−"));
    return text;
}

} // namespace

void setTimeStyle(const TimeStyle& style) {
    chosen_digits = std::clamp(style.digits, TimeStyle::kFewestDigits, TimeStyle::kMostDigits);
    chosen_unit = style.unit;
}

TimeStyle timeStyle() {
    return {chosen_digits, chosen_unit};
}

QString shortTime(TimeNs time) {
    const double ns = static_cast<double>(time.count());
    if (ns == 0 && chosen_unit == 0) return kNoTime;
    const int digits = chosen_digits;
    // 999.96 ms would print as "1000 ms", so a value that rounds up to the next unit is written in that unit.
    const double rounds_up = 1 - 0.5 * std::pow(10, -digits);
    for (const Unit& unit : kUnits) {
        const double value = ns / unit.ns;
        if (chosen_unit == 0 ? std::abs(value) < rounds_up && unit.ns > 1 : unit.ns != static_cast<double>(chosen_unit))
            continue;
        const int decimals = unit.ns <= 1 ? 0 : decimalsOf(value, digits);
        return typeset(
            QStringLiteral("%1 %2").arg(QLocale().toString(value, 'f', decimals), QString::fromUtf8(unit.name)));
    }
    return {};
}

QString exactTime(TimeNs time) {
    const auto ns = static_cast<double>(time.count());
    for (const Unit& unit : kUnits) {
        if (chosen_unit == 0 ? std::abs(ns) < unit.ns : unit.ns != static_cast<double>(chosen_unit)) continue;
        // Rounded to microseconds, even if the unit is seconds.
        const int decimals = unit.ns <= 1 ? 0 : chosen_unit == 0 || unit.ns < 1e9 ? 3 : 6;
        QString value = QString::number(ns / unit.ns, 'f', decimals);
        while (decimals > 0 && value.endsWith(QLatin1Char('0')))
            value.chop(1);
        if (value.endsWith(QLatin1Char('.'))) value.chop(1);
        return typeset(QStringLiteral("%1 %2").arg(value, QString::fromUtf8(unit.name)));
    }
    return kNoTime;
}

QString timeDelta(TimeNs time) {
    const QString text = shortTime(time);
    return time > TimeNs{0} ? QLatin1Char('+') + text : text;
}

namespace {

/// Formats a percentage with one decimal, or with none from 100 on.
QString percentNumber(double value) {
    return QLocale().toString(value, 'f', std::abs(value) < 99.95 ? 1 : 0);
}

/// Formats numbers with as few decimals as needed to show the distance between them.
QStringList tickNumbers(const std::vector<double>& values) {
    constexpr int kMostDecimals = 6;
    const double distance = values.size() > 1 ? values[1] - values[0] : 1;
    const auto needs_more = [&](int decimals) {
        const double scale = std::pow(10, decimals);
        return std::ranges::any_of(values, [&](double value) {
            return std::abs(value * scale - std::round(value * scale)) > distance * scale / 1000;
        });
    };
    int decimals = 0;
    while (decimals < kMostDecimals && needs_more(decimals))
        ++decimals;
    QStringList out;
    for (const double value : values)
        out << QLocale().toString(value, 'f', decimals);
    return out;
}

QStringList ticksIn(const std::vector<double>& values, double unit, const QString& name) {
    std::vector<double> scaled;
    for (const double value : values)
        scaled.push_back(value / unit);
    QStringList out;
    for (const QString& number : tickNumbers(scaled))
        out << typeset(QStringLiteral("%1 %2").arg(number, name));
    return out;
}

} // namespace

QString percent(double fraction) {
    return QStringLiteral("%1 %").arg(percentNumber(fraction * 100));
}

QString percentDelta(double fraction) {
    // Values that round to zero have no sign.
    const double value = std::abs(fraction) < 0.0005 ? 0.0 : fraction * 100;
    const QString sign = value > 0 ? QStringLiteral("+") : value < 0 ? QStringLiteral("−") : QString();
    return QStringLiteral("%1%2 %").arg(sign, percentNumber(std::abs(value)));
}

QString relativeChange(double fraction) {
    return fraction < 9 ? percentDelta(fraction) : QStringLiteral("%1 ×").arg(ratioText(1 + fraction));
}

QStringList timeTicks(const std::vector<double>& nanoseconds) {
    double largest = 0;
    for (const double value : nanoseconds)
        largest = std::max(largest, std::abs(value));
    for (const Unit& unit : kUnits) {
        const bool fits = chosen_unit == 0 ? largest >= unit.ns : unit.ns == static_cast<double>(chosen_unit);
        if (fits || unit.ns <= 1) return ticksIn(nanoseconds, unit.ns, QString::fromUtf8(unit.name));
    }
    return {};
}

QStringList percentTicks(const std::vector<double>& fractions) {
    return ticksIn(fractions, 0.01, QStringLiteral("%"));
}

QString ratioText(double value) {
    return std::abs(value) < 999.5 ? QString::number(value, 'g', 3) : QLocale().toString(value, 'f', 0);
}

QString sentence(QString text) {
    const QString first = text.section(QLatin1Char(' '), 0, 0);
    const qsizetype dot = first.indexOf(QLatin1Char('.'));
    const bool has_ending = dot > 0 && dot + 1 < first.size() && first[dot + 1].isLetter();
    const bool is_path = has_ending || first.contains(QLatin1Char('/'));
    if (!text.isEmpty() && !is_path) text[0] = text[0].toUpper();
    return text;
}

QString fromUtf8(std::string_view text) {
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

namespace {

/// Empty if the language's table does not contain the pattern.
QString translationOf(const QByteArray& pattern) {
    const QString found = QCoreApplication::translate("Core", pattern.constData());
    return found == QString::fromUtf8(pattern) ? QString() : found;
}

/// Replaces placeholders such as "{1}"; doubled braces are literal braces.
QString filled(const QString& translation, qsizetype arguments, const std::function<QString(qsizetype)>& argument) {
    if (arguments == 0) return translation;
    static const QRegularExpression place(QStringLiteral("\\{\\{|\\}\\}|\\{(\\d+)\\}"));
    QString out;
    qsizetype from = 0;
    for (auto found = place.globalMatch(translation); found.hasNext();) {
        const QRegularExpressionMatch match = found.next();
        out += QStringView(translation).mid(from, match.capturedStart() - from);
        from = match.capturedEnd();
        const qsizetype index = match.captured(1).toLongLong();
        if (match.captured(1).isEmpty()) {
            out += match.captured().front();
        } else if (index < arguments) {
            out += argument(index);
        }
    }
    out += QStringView(translation).mid(from);
    return out;
}

/// A pattern, converted to a regular expression that matches its texts.
struct Shape {
    QByteArray pattern;
    QRegularExpression texts;
    qsizetype letters = 0; ///< number of letters outside placeholders
    qsizetype length = 0;  ///< length without the placeholders
};

std::vector<Shape> shapesOf(const QList<QByteArray>& patterns) {
    constexpr qsizetype kMinLetters = 4; // minimum, because "{}: {}" matches everything
    static const QRegularExpression place(QStringLiteral("\\{\\{|\\}\\}|\\{(?::[^}]*)?\\}"));
    std::vector<Shape> shapes;
    for (const QByteArray& key : patterns) {
        const QString pattern = QString::fromUtf8(key);
        QString texts;
        Shape shape;
        shape.pattern = key;
        qsizetype from = 0;
        bool any = false;
        const auto literal = [&](const QString& part) {
            texts += QRegularExpression::escape(part);
            shape.letters += std::count_if(part.begin(), part.end(), [](QChar c) { return c.isLetter(); });
            shape.length += part.size();
        };
        for (auto found = place.globalMatch(pattern); found.hasNext();) {
            const QRegularExpressionMatch match = found.next();
            literal(pattern.mid(from, match.capturedStart() - from));
            from = match.capturedEnd();
            const bool brace = match.captured() == QLatin1String("{{") || match.captured() == QLatin1String("}}");
            if (brace) literal(match.captured().left(1));
            if (!brace) texts += QStringLiteral("(.*?)");
            any = any || !brace;
        }
        literal(pattern.mid(from));
        if (!any || shape.letters < kMinLetters) continue;
        shape.texts = QRegularExpression(QRegularExpression::anchoredPattern(texts),
                                         QRegularExpression::DotMatchesEverythingOption);
        shapes.push_back(std::move(shape));
    }
    std::ranges::stable_sort(shapes, [](const Shape& a, const Shape& b) {
        return std::pair(a.letters, a.length) > std::pair(b.letters, b.length);
    });
    return shapes;
}

struct FieldLabel {
    Field field;
    const char* label;
};

/// These must be the labels of the input fields.
constexpr std::array kFieldLabels{
    FieldLabel{Field("microbatches"), QT_TRANSLATE_NOOP("ScheduleExplorer", "Micro-batches m")},
    FieldLabel{Field("vpp"), QT_TRANSLATE_NOOP("ScheduleExplorer", "Chunks per rank v")},
    FieldLabel{Field("pp"), QT_TRANSLATE_NOOP("ScheduleExplorer", "Ranks p")},
    FieldLabel{Field("memory_limit"), QT_TRANSLATE_NOOP("ScheduleExplorer", "Activation limit")},
    FieldLabel{Field("flavor"), QT_TRANSLATE_NOOP("ScheduleExplorer", "Flavor")},
    FieldLabel{Field("schedule"), QT_TRANSLATE_NOOP("ScheduleExplorer", "Schedule")},
    FieldLabel{Field("forward"), QT_TRANSLATE_NOOP("ScheduleExplorer", "Forward")},
    FieldLabel{Field("input_grad"), QT_TRANSLATE_NOOP("ScheduleExplorer", "Backward, input")},
    FieldLabel{Field("weight_grad"), QT_TRANSLATE_NOOP("ScheduleExplorer", "Backward, weights")},
    FieldLabel{Field("comm"), QT_TRANSLATE_NOOP("ScheduleExplorer", "Transfer")},
};

std::string_view labelOf(Field field) {
    static const std::array<std::string, kFieldLabels.size()> quoted = [] {
        std::array<std::string, kFieldLabels.size()> made;
        for (std::size_t at = 0; at < made.size(); ++at)
            made[at] = fmt::format("“{}”", kFieldLabels[at].label);
        return made;
    }();
    const auto known = std::ranges::find(kFieldLabels, field, &FieldLabel::field);
    return known == kFieldLabels.end() ? optionOf(field)
                                       : quoted[static_cast<std::size_t>(known - kFieldLabels.begin())];
}

/// A label in quotes, possibly with a value: “Ranks p” 2. Empty for other texts.
QString translatedLabel(const QString& english) {
    const qsizetype end = english.indexOf(QStringLiteral("”"));
    if (end < 0 || !english.startsWith(QStringLiteral("“")) || english.indexOf(QLatin1Char(' '), end + 2) >= 0)
        return {};
    const QString label = translationOf(english.mid(1, end - 1).toUtf8());
    return label.isEmpty() ? english : english.left(1) + label + english.mid(end);
}

/// A list of names, each with its meaning: 'F0' (first), 'B0' (second). Empty for other texts.
QString translatedNames(const QString& english) {
    static const QRegularExpression named(QStringLiteral("\\G('[^']*') \\(([^)]*)\\)(?:, |$)"));
    QStringList names;
    qsizetype end = 0;
    bool translated = false; // some meanings are names, which stay as they are
    for (auto found = named.globalMatch(english); found.hasNext();) {
        const QRegularExpressionMatch match = found.next();
        const QString meaning = translationOf(match.captured(2).toUtf8());
        translated = translated || !meaning.isEmpty();
        names << QStringLiteral("%1（%2）").arg(match.captured(1), meaning.isEmpty() ? match.captured(2) : meaning);
        end = match.capturedEnd();
    }
    return translated && end == english.size() ? names.join(QStringLiteral("、")) : QString();
}

QString translatedWords(const QString& english, int depth) {
    constexpr int kMaxDepth = 4;
    if (const QString label = translatedLabel(english); !label.isEmpty()) return label;
    if (const QString names = translatedNames(english); !names.isEmpty()) return names;
    if (const QString whole = translationOf(english.toUtf8()); !whole.isEmpty() || depth > kMaxDepth)
        return whole.isEmpty() ? english : whole;
    static const std::vector<Shape> shapes = shapesOf(TableTranslator::textsOf(QStringLiteral("zh_CN")));
    for (const Shape& shape : shapes) {
        const QRegularExpressionMatch match = shape.texts.match(english);
        if (!match.hasMatch()) continue;
        const QString translation = translationOf(shape.pattern);
        if (translation.isEmpty()) return english; // the language is English
        return filled(translation, match.lastCapturedIndex(), [&](qsizetype index) {
            return translatedWords(match.captured(static_cast<int>(index) + 1), depth + 1);
        });
    }
    return english;
}

} // namespace

FieldWords fieldLabels() {
    return {labelOf, " "};
}

QString translated(const Sentence& sentence) {
    const std::span<const Sentence> arguments = sentence.arguments();
    if (sentence.pattern().empty()) {
        if (arguments.empty()) return typeset(fromUtf8(sentence.text()));
        QString out;
        for (const Sentence& part : arguments)
            out += translated(part);
        return out;
    }
    const QString translation =
        translationOf(QByteArray(sentence.pattern().data(), static_cast<qsizetype>(sentence.pattern().size())));
    if (translation.isEmpty()) {
        const QString label = translatedLabel(fromUtf8(sentence.text()));
        return typeset(label.isEmpty() ? fromUtf8(sentence.text()) : label);
    }
    return filled(translation, static_cast<qsizetype>(arguments.size()),
                  [&](qsizetype index) { return translated(arguments[static_cast<std::size_t>(index)]); });
}

QString translatedText(const std::string& english) {
    return typeset(translatedWords(fromUtf8(english), 0));
}

QString errorText(const Error& error) {
    const auto words = [](const std::string& english) { return Sentence(translatedText(english).toStdString()); };
    Sentence said = words(error.message);
    if (!error.hint.empty()) said = say("{} ({})", said, words(error.hint));
    return translated(error.where.empty() ? said : say("{}: {}", error.where, said));
}

} // namespace bubblescope::gui
