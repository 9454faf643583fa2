#include "app/gui/language/format.h"

#include <QLocale>

#include <array>
#include <cmath>

namespace bubblescope::gui {

namespace {

struct Unit {
    double ns;
    const char* name;
};
constexpr std::array kUnits{Unit{1e9, "s"}, Unit{1e6, "ms"}, Unit{1e3, "µs"}, Unit{1, "ns"}};

/// Core writes plain ASCII units for terminals and scripts.
QString micro(QString text) {
    return text.replace(QLatin1String(" us"), QStringLiteral(" µs"));
}

} // namespace

QString shortTime(TimeNs time) {
    const double ns = static_cast<double>(time.count());
    // 999.96 ms would print as "1000 ms": a value that rounds up to the next unit is written in that one.
    constexpr double kRoundsUp = 0.9995;
    for (const Unit& unit : kUnits) {
        const double value = ns / unit.ns;
        if (std::abs(value) < kRoundsUp && unit.ns > 1) continue;
        const double size = std::abs(value);
        const int decimals = unit.ns <= 1 ? 0 : size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
        return QStringLiteral("%1 %2").arg(QLocale().toString(value, 'f', decimals), QString::fromUtf8(unit.name));
    }
    return {};
}

QString exactTime(TimeNs time) {
    return micro(fromUtf8(formatTime(time)));
}

QString timeDelta(TimeNs time) {
    return micro(fromUtf8(formatTimeDelta(time)));
}

QString percent(double share) {
    return QStringLiteral("%1 %").arg(QLocale().toString(share * 100, 'f', 1));
}

QString percentDelta(double share) {
    // What rounds to zero has no sign.
    const double value = std::abs(share) < 0.0005 ? 0.0 : share * 100;
    const QString sign = value > 0 ? QStringLiteral("+") : value < 0 ? QStringLiteral("−") : QString();
    return QStringLiteral("%1%2 %").arg(sign, QLocale().toString(std::abs(value), 'f', 1));
}

QString sentence(QString text) {
    if (!text.isEmpty()) text[0] = text[0].toUpper();
    return text;
}

QString fromUtf8(const std::string& text) {
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

} // namespace bubblescope::gui
