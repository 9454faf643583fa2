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

/// All colours of the app. Op colours differ in both hue and lightness, so that they can be distinguished by
/// colour-blind users and in greyscale prints.
struct Theme {
    bool dark = false;
    QPalette palette;

    QColor timeline;     ///< background of the rows
    QColor timeline_odd; ///< background of every other row
    QColor header;       ///< background of rank names and ruler
    QColor line;         ///< colour of separators
    QColor grid;         ///< tick lines through the rows
    QColor text;
    QColor text_dim;
    QColor bubble_background; ///< background of the hatching
    QColor bubble_hatch;
    QColor selection;
    QColor hover;
    QColor good;                          ///< for observed values that do not exceed the closed form
    QColor bad;                           ///< for observed values that exceed the closed form
    QColor message;                       ///< background of error messages
    std::array<QColor, kRoleCount> roles; ///< indexed by Role, because they are read for every shape

    /// Colour of a role. Chunks with higher numbers are mixed with more of the background. A negative chunk selects the
    /// mean of all chunks.
    [[nodiscard]] QColor fill(Role role, int chunk = 0, int chunks = 1) const;
    /// Palette with a different colour for the text of labels.
    [[nodiscard]] QPalette withText(const QColor& colour) const;
};

/// Returns black or white, whichever is more readable on `background`.
[[nodiscard]] QColor textOn(const QColor& background);

enum class ThemeChoice : std::uint8_t {
    System, ///< light or dark, as on the desktop
    Light,
    Dark,
    HighContrast,    ///< black on white with strong lines, for people with low contrast sensitivity
    ColourBlind,     ///< hues that people without red, green or blue cones can distinguish (based on Okabe and Ito)
    ColourBlindDark, ///< such hues on a dark background
};

/// The theme of a choice; for System, the light one.
[[nodiscard]] const Theme& themeOf(ThemeChoice choice);
/// The light theme on a white background, for figures in papers.
[[nodiscard]] const Theme& figureTheme();

/// Colour of a piece of a rank's time: the timeline colour for ops, or a tone with distinct lightness for causes.
[[nodiscard]] QColor pieceColour(const Theme& theme, const AccountPiece& piece);
[[nodiscard]] QColor severityColour(const Theme& theme, Severity severity);

/// "system", "light", "dark", "contrast", "colour-blind" or "colour-blind-dark", as stored in the settings.
[[nodiscard]] QString themeKey(ThemeChoice choice);
[[nodiscard]] std::optional<ThemeChoice> themeFromKey(const QString& key);

/// Applies a theme to the application and notifies views. There is one instance, on the GUI thread.
class ThemeManager : public QObject {
    Q_OBJECT

public:
    explicit ThemeManager(QObject* parent = nullptr);
    /// Creates a fixed theme that is not applied to the application.
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
