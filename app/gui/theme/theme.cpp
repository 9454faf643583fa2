#include "app/gui/theme/theme.h"

#include "core/timeline/colours.h"

#include <QApplication>
#include <QDockWidget>
#include <QMainWindow>
#include <QProxyStyle>
#include <QStyleOption>
#include <QTabBar>
#include <QToolTip>

namespace bubblescope::gui {

namespace {

colours::Rgb rgbOf(const QColor& colour) {
    return {colour.red(), colour.green(), colour.blue()};
}

QColor mix(const QColor& a, const QColor& b, double share) {
    const auto [red, green, blue] = colours::mixed(rgbOf(a), rgbOf(b), share);
    return {red, green, blue};
}

struct PaletteColours {
    QColor window, base, alternate, text, dim, button, highlight, highlighted_text, link, border;
};

QPalette makePalette(const PaletteColours& c) {
    QPalette palette;
    palette.setColor(QPalette::Window, c.window);
    palette.setColor(QPalette::WindowText, c.text);
    palette.setColor(QPalette::Base, c.base);
    palette.setColor(QPalette::AlternateBase, c.alternate);
    palette.setColor(QPalette::Text, c.text);
    palette.setColor(QPalette::PlaceholderText, c.dim);
    palette.setColor(QPalette::Button, c.button);
    palette.setColor(QPalette::ButtonText, c.text);
    palette.setColor(QPalette::BrightText, Qt::red);
    palette.setColor(QPalette::ToolTipBase, c.base);
    palette.setColor(QPalette::ToolTipText, c.text);
    palette.setColor(QPalette::Highlight, c.highlight);
    palette.setColor(QPalette::HighlightedText, c.highlighted_text);
    palette.setColor(QPalette::Link, c.link);
    palette.setColor(QPalette::LinkVisited, c.link);
    palette.setColor(QPalette::Light, c.button.lighter(115));
    palette.setColor(QPalette::Midlight, c.button.lighter(107));
    palette.setColor(QPalette::Mid, c.border);
    palette.setColor(QPalette::Dark, c.border.darker(115));
    palette.setColor(QPalette::Shadow, c.border.darker(150));
    for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
        palette.setColor(QPalette::Disabled, role, c.dim);
    palette.setColor(QPalette::Disabled, QPalette::Highlight, c.border);
    return palette;
}

Theme makeLight() {
    Theme theme;
    theme.palette = makePalette({.window = "#f1f3f5",
                                 .base = "#ffffff",
                                 .alternate = "#f6f8fa",
                                 .text = "#1d232a",
                                 .dim = "#8a939d",
                                 .button = "#f6f8fa",
                                 .highlight = "#2f6db5",
                                 .highlighted_text = "#ffffff",
                                 .link = "#1f5fa8",
                                 .border = "#c3c9d0"});
    theme.timeline = colours::kGround;
    theme.timeline_odd = "#f8f9fb";
    theme.header = "#f1f3f5";
    theme.line = "#cdd3d9";
    theme.grid = "#eaedf0";
    theme.text = colours::kText;
    theme.text_dim = colours::kDimText;
    theme.bubble_background = colours::kBubbleGround;
    theme.bubble_hatch = colours::kBubbleHatch;
    theme.selection = "#c2185b";
    theme.hover = "#1d232a";
    theme.good = "#1b7a4b";
    theme.bad = "#b3261e";
    theme.message = "#fdeceb";
    theme.roles = {colours::kForward,
                   colours::kBackward,
                   colours::kBackwardInput,
                   colours::kBackwardWeight,
                   colours::kOptimizer,
                   "#c4cad1",
                   "#8a5fc4",
                   "#2e9090",
                   "#c65c66",
                   "#4f8a10",
                   "#d9b9a0"};
    return theme;
}

Theme makeDark() {
    Theme theme;
    theme.dark = true;
    theme.palette = makePalette({.window = "#1f2329",
                                 .base = "#171a1f",
                                 .alternate = "#1c2026",
                                 .text = "#e3e7ec",
                                 .dim = "#7d8792",
                                 .button = "#2a2f37",
                                 .highlight = "#3d7cc4",
                                 .highlighted_text = "#ffffff",
                                 .link = "#7db4f0",
                                 .border = "#3a414b"});
    theme.timeline = "#171a1f";
    theme.timeline_odd = "#1b1f25";
    theme.header = "#1f2329";
    theme.line = "#373e48";
    theme.grid = "#252a32";
    theme.text = "#e3e7ec";
    theme.text_dim = "#9aa4af";
    theme.bubble_background = "#20242a";
    theme.bubble_hatch = "#434b56";
    theme.selection = "#ff6fa5";
    theme.hover = "#ffffff";
    theme.good = "#5fc894";
    theme.bad = "#ff8a80";
    theme.message = "#3a2224";
    theme.roles = {"#3f86d6", "#eeb54a", "#e0784a", "#c4ecda", "#6b57a6", "#434b56",
                   "#b08ae0", "#4fb3b3", "#d0717a", "#8fd14f", "#6e5444"};
    return theme;
}

/// Black on white; ops differ in lightness as much as possible, and bubbles are white with black hatching.
Theme makeContrast() {
    Theme theme = makeLight();
    theme.palette = makePalette({.window = "#ffffff",
                                 .base = "#ffffff",
                                 .alternate = "#f2f2f2",
                                 .text = "#000000",
                                 .dim = "#404040",
                                 .button = "#ffffff",
                                 .highlight = "#000080",
                                 .highlighted_text = "#ffffff",
                                 .link = "#0000c0",
                                 .border = "#000000"});
    theme.timeline = "#ffffff";
    theme.timeline_odd = "#ffffff";
    theme.header = "#ffffff";
    theme.line = "#000000";
    theme.grid = "#b0b0b0";
    theme.text = "#000000";
    theme.text_dim = "#303030";
    theme.bubble_background = "#ffffff";
    theme.bubble_hatch = "#000000";
    theme.selection = "#c00060";
    theme.hover = "#000000";
    theme.good = "#005a2b";
    theme.bad = "#a00000";
    theme.message = "#ffffff";
    theme.roles = {"#003a8c", "#e69500", "#b04000", "#7fd6b0", "#400060", "#606060",
                   "#6a00b0", "#007070", "#a8003a", "#3f6b00", "#c8a078"};
    return theme;
}

/// Blue, yellow, vermilion and bluish green can be distinguished without red, green or blue cones, also by their
/// lightness. Good is blue and bad is vermilion, instead of green and red.
Theme makeColourBlind() {
    Theme theme = makeLight();
    theme.good = "#0062a3";
    theme.bad = "#b34a00";
    theme.selection = "#a8326e";
    theme.roles = {"#0072b2", "#f0e442", "#d55e00", "#9fe3cf", "#2b2b2b", "#c4cad1",
                   "#8a5fc4", "#009e73", "#cc79a7", "#56b4e9", "#d9b9a0"};
    return theme;
}

Theme makeColourBlindDark() {
    Theme theme = makeDark();
    theme.good = "#6fbdf0";
    theme.bad = "#ff9a52";
    theme.selection = "#f08cc0";
    theme.roles = {"#2f8fd0", "#f0e442", "#e07020", "#bdf0e0", "#5a5f66", "#434b56",
                   "#b08ae0", "#20b88c", "#e09ac0", "#9ad4f5", "#6e5444"};
    return theme;
}

} // namespace

QColor Theme::fill(Role role, int chunk, int chunks) const {
    const QColor& colour = roles[static_cast<std::size_t>(role)];
    if (chunks <= 1) return colour;
    if (chunk < 0) return mix(colour, timeline, colours::kChunkMix / 2);
    return mix(colour, timeline, colours::kChunkMix * chunk / (chunks - 1));
}

QPalette Theme::withText(const QColor& colour) const {
    QPalette out = palette;
    out.setColor(QPalette::WindowText, colour);
    return out;
}

QColor textOn(const QColor& background) {
    return colours::takesBlackText(rgbOf(background)) ? QColor("#14181d") : QColor("#ffffff");
}

const Theme& themeOf(ThemeChoice choice) {
    static const std::array themes{makeLight(),    makeLight(),       makeDark(),
                                   makeContrast(), makeColourBlind(), makeColourBlindDark()};
    return themes[static_cast<std::size_t>(choice)];
}

const Theme& figureTheme() {
    static const Theme theme = [] {
        Theme white = makeLight();
        white.timeline = white.timeline_odd = white.header = Qt::white;
        return white;
    }();
    return theme;
}

namespace {

QColor causeColour(const Theme& theme, Cause cause) {
    const bool dark = theme.dark;
    switch (cause) {
    case Cause::Schedule: return dark ? "#4b545f" : "#c2c8d0";
    case Cause::Imbalance: return dark ? "#e0609a" : "#b8236a";
    case Cause::Slowdown: return dark ? "#c65f5f" : "#8f2f3f";
    case Cause::Jitter: return dark ? "#f3b6d3" : "#e79ac2";
    case Cause::Gaps: return dark ? "#b08860" : "#7d5733";
    case Cause::Communication: return theme.fill(Role::Send);
    case Cause::Order: return theme.fill(Role::Receive);
    case Cause::Peer: return theme.fill(Role::Wait);
    case Cause::Replay: return dark ? "#a8c95c" : "#7d9c2c";
    case Cause::LateStart: return dark ? "#f0e08a" : "#c9a800";
    case Cause::Unknown: break;
    }
    return dark ? "#8b96a3" : "#59636e";
}

} // namespace

QColor pieceColour(const Theme& theme, const AccountPiece& piece) {
    switch (piece.kind) {
    case AccountPiece::Kind::Compute: return theme.fill(roleOf(piece.op));
    case AccountPiece::Kind::Overlapped: return theme.dark ? "#7fa7b8" : "#4d7f95";
    case AccountPiece::Kind::Cause: break;
    }
    return causeColour(theme, piece.cause);
}

QColor severityColour(const Theme& theme, Severity severity) {
    switch (severity) {
    case Severity::Serious: return theme.bad;
    case Severity::Warning: return theme.dark ? "#eeb54a" : "#b36b00";
    case Severity::Notice: break;
    }
    return theme.text_dim;
}

namespace {

bool platformIsDark() {
    const QPalette palette = QApplication::palette();
    return palette.color(QPalette::Window).lightness() < palette.color(QPalette::WindowText).lightness();
}

bool namesDocks(const QWidget* widget) {
    return qobject_cast<const QTabBar*>(widget) != nullptr &&
           qobject_cast<const QMainWindow*>(widget->parentWidget()) != nullptr;
}

/// True if the dock is behind a tab, which shows its title.
bool isTabbed(const QDockWidget& dock) {
    const auto* window = qobject_cast<const QMainWindow*>(dock.parentWidget());
    return window != nullptr && !dock.isFloating() &&
           !window->tabifiedDockWidgets(const_cast<QDockWidget*>(&dock)).isEmpty();
}

/// Fusion, except for dock tabs. There are many of them, so they are narrow, and their names are neither elided nor
/// repeated below them.
class AppStyle : public QProxyStyle {
public:
    AppStyle() : QProxyStyle(QStringLiteral("Fusion")) {}

    using QProxyStyle::polish;
    void polish(QWidget* widget) override {
        QProxyStyle::polish(widget);
        if (!namesDocks(widget)) return;
        auto& tabs = static_cast<QTabBar&>(*widget);
        tabs.setElideMode(Qt::ElideNone);
        tabs.setUsesScrollButtons(true);
    }
    void drawControl(ControlElement element, const QStyleOption* option, QPainter* painter,
                     const QWidget* widget) const override {
        const auto* dock = qobject_cast<const QDockWidget*>(widget);
        const auto* title = qstyleoption_cast<const QStyleOptionDockWidget*>(option);
        if (element != CE_DockWidgetTitle || dock == nullptr || title == nullptr || !isTabbed(*dock))
            return QProxyStyle::drawControl(element, option, painter, widget);
        QStyleOptionDockWidget untitled(*title);
        untitled.title.clear();
        QProxyStyle::drawControl(element, &untitled, painter, widget);
    }
    [[nodiscard]] int pixelMetric(PixelMetric metric, const QStyleOption* option,
                                  const QWidget* widget) const override {
        constexpr int kRoom = 12; // space around a name, both sides together
        if (metric == PM_TabBarTabHSpace && namesDocks(widget)) return kRoom;
        return QProxyStyle::pixelMetric(metric, option, widget);
    }
    [[nodiscard]] int styleHint(StyleHint hint, const QStyleOption* option, const QWidget* widget,
                                QStyleHintReturn* out) const override {
        if (hint == SH_DialogButtonBox_ButtonsHaveIcons) return 0; // the platform's icons suit only its own palette
        return QProxyStyle::styleHint(hint, option, widget, out);
    }
};

} // namespace

QString themeKey(ThemeChoice choice) {
    switch (choice) {
    case ThemeChoice::Light: return QStringLiteral("light");
    case ThemeChoice::Dark: return QStringLiteral("dark");
    case ThemeChoice::HighContrast: return QStringLiteral("contrast");
    case ThemeChoice::ColourBlind: return QStringLiteral("colour-blind");
    case ThemeChoice::ColourBlindDark: return QStringLiteral("colour-blind-dark");
    case ThemeChoice::System: break;
    }
    return QStringLiteral("system");
}

std::optional<ThemeChoice> themeFromKey(const QString& key) {
    for (const ThemeChoice choice :
         {ThemeChoice::System, ThemeChoice::Light, ThemeChoice::Dark, ThemeChoice::HighContrast,
          ThemeChoice::ColourBlind, ThemeChoice::ColourBlindDark}) {
        if (key == themeKey(choice)) return choice;
    }
    return std::nullopt;
}

ThemeManager::ThemeManager(QObject* parent)
    // Read before our palette replaces the platform's palette.
    : QObject(parent), theme_(&themeOf(ThemeChoice::Light)), system_is_dark_(platformIsDark()) {
    QApplication::setStyle(new AppStyle);
    choose(ThemeChoice::System);
}

void ThemeManager::choose(ThemeChoice choice) {
    choice_ = choice;
    const bool dark = choice == ThemeChoice::System && system_is_dark_;
    theme_ = &themeOf(dark ? ThemeChoice::Dark : choice);
    QApplication::setPalette(theme_->palette);
    QToolTip::setPalette(theme_->palette);
    emit changed();
}

} // namespace bubblescope::gui
