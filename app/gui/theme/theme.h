#pragma once

#include "app/gui/models/item.h"
#include "core/analysis/account_pieces.h"
#include "core/analysis/anomalies/anomaly.h"

#include <QColor>
#include <QObject>
#include <QPalette>

#include <array>
#include <optional>

namespace bubblescope::gui {

/// All colours of the app in one variant. The op colours differ in both hue and lightness, so that they can be
/// distinguished by colour-blind people and in greyscale.
struct Theme {
    bool dark = false;
    QPalette palette;

    QColor timeline;     ///< background of the rows
    QColor timeline_odd; ///< background of every second row
    QColor header;       ///< rank names and ruler
    QColor line;         ///< separators
    QColor grid;         ///< tick lines through the rows
    QColor text;
    QColor text_dim;
    QColor bubble_background; ///< below the hatching
    QColor bubble_hatch;
    QColor selection;
    QColor hover;
    QColor good;    ///< observed value does not exceed the closed form
    QColor bad;     ///< observed value exceeds it
    QColor message; ///< background of error messages
    QColor message_line;
    std::array<QColor, kRoleCount> roles; ///< by Role; read for every shape of every frame

    /// The colour of a role; higher chunks of `chunks` are mixed with the timeline's background. A negative chunk gives
    /// the mean of all chunks.
    [[nodiscard]] QColor fill(Role role, int chunk = 0, int chunks = 1) const;
};

/// Black or white, whichever is more readable on `background`.
[[nodiscard]] QColor textOn(const QColor& background);

[[nodiscard]] const Theme& lightTheme();
[[nodiscard]] const Theme& darkTheme();
/// The light theme on a white background, for figures in papers.
[[nodiscard]] const Theme& figureTheme();
/// Black on white with strong lines, for people who see little contrast.
[[nodiscard]] const Theme& contrastTheme();
/// Hues that people without red, green or blue cones can distinguish (after Okabe and Ito).
[[nodiscard]] const Theme& colourBlindTheme();
[[nodiscard]] const Theme& colourBlindDarkTheme();

/// The colour of a part of a rank's time: ops as on the timeline, causes in tones that also differ in lightness.
[[nodiscard]] QColor pieceColour(const Theme& theme, const AccountPiece& piece);
[[nodiscard]] QColor severityColour(const Theme& theme, Severity severity);

enum class ThemeChoice : std::uint8_t { System, Light, Dark, HighContrast, ColourBlind, ColourBlindDark };

/// "system", "light", "dark", "contrast", "colour-blind", "colour-blind-dark"; also the setting's value.
[[nodiscard]] QString themeKey(ThemeChoice choice);
[[nodiscard]] std::optional<ThemeChoice> themeFromKey(const QString& key);

/// Applies a theme to the whole application and notifies views. One per application, on the GUI thread.
class ThemeManager : public QObject {
    Q_OBJECT

public:
    explicit ThemeManager(QObject* parent = nullptr);
    /// A fixed theme that is not applied to the application.
    explicit ThemeManager(const Theme& theme) : theme_(&theme), system_is_dark_(theme.dark) {}

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
