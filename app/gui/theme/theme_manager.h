#pragma once

#include "app/gui/theme/theme.h"

#include <QObject>

#include <optional>

namespace bubblescope::gui {

enum class ThemeChoice : std::uint8_t { System, Light, Dark };

[[nodiscard]] QString themeKey(ThemeChoice choice); ///< "system", "light", "dark"; also the setting's value
[[nodiscard]] std::optional<ThemeChoice> themeFromKey(const QString& key);

/// Puts a theme on the whole application and tells views about it. One per application, on the GUI thread.
class ThemeManager : public QObject {
    Q_OBJECT

public:
    explicit ThemeManager(QObject* parent = nullptr);

    void choose(ThemeChoice choice);
    [[nodiscard]] ThemeChoice choice() const { return choice_; }
    [[nodiscard]] const Theme& theme() const { return *theme_; }

signals:
    void changed();

private:
    ThemeChoice choice_ = ThemeChoice::System;
    const Theme* theme_;
    bool system_is_dark_;
};

} // namespace bubblescope::gui
