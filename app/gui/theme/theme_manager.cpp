#include "app/gui/theme/theme_manager.h"

#include <QApplication>
#include <QStyle>
#include <QStyleFactory>
#include <QToolTip>

namespace bubblescope::gui {

namespace {

bool platformIsDark() {
    const QPalette palette = QApplication::palette();
    return palette.color(QPalette::Window).lightness() < palette.color(QPalette::WindowText).lightness();
}

} // namespace

QString themeKey(ThemeChoice choice) {
    switch (choice) {
    case ThemeChoice::Light: return QStringLiteral("light");
    case ThemeChoice::Dark: return QStringLiteral("dark");
    case ThemeChoice::System: break;
    }
    return QStringLiteral("system");
}

std::optional<ThemeChoice> themeFromKey(const QString& key) {
    for (const ThemeChoice choice : {ThemeChoice::System, ThemeChoice::Light, ThemeChoice::Dark}) {
        if (key == themeKey(choice)) return choice;
    }
    return std::nullopt;
}

ThemeManager::ThemeManager(QObject* parent)
    // Asked before the first own palette hides what the platform wants.
    : QObject(parent), theme_(&lightTheme()), system_is_dark_(platformIsDark()) {
    QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
    choose(ThemeChoice::System);
}

void ThemeManager::choose(ThemeChoice choice) {
    choice_ = choice;
    const bool dark = choice == ThemeChoice::Dark || (choice == ThemeChoice::System && system_is_dark_);
    theme_ = dark ? &darkTheme() : &lightTheme();
    QApplication::setPalette(theme_->palette);
    QToolTip::setPalette(theme_->palette);
    emit changed();
}

} // namespace bubblescope::gui
