#include "app/gui/preferences.h"

#include "app/gui/models/session.h"

#include <QApplication>
#include <QFont>
#include <QSettings>

#include <string>

namespace bubblescope::gui {

namespace {

const QString kGeometryKey = QStringLiteral("window/geometry");
const QString kLayoutKey = QStringLiteral("window/layout");
const QString kThemeKey = QStringLiteral("theme");
const QString kLanguageKey = QStringLiteral("language");
const QString kHiddenLanesKey = QStringLiteral("rows/hidden");
const QString kCountersKey = QStringLiteral("rows/counters");
const QString kWheelKey = QStringLiteral("mouse/wheel");
const QString kWheelZooms = QStringLiteral("zooms");
const QString kWheelScrolls = QStringLiteral("scrolls");
const QString kNotesKey = QStringLiteral("notes/place");
const QString kNotesApp = QStringLiteral("app");
const QString kNotesBeside = QStringLiteral("beside");

const QString kFirstStepKey = QStringLiteral("steps/first");
const QString kDigitsKey = QStringLiteral("times/digits");
const QString kUnitKey = QStringLiteral("times/unit");
const QString kThresholdsKey = QStringLiteral("thresholds");
const QString kFontSizeKey = QStringLiteral("font/points");
constexpr int kLeastPoints = 6;
constexpr int kMostPoints = 32;

/// Thresholds that differ from the default, by name.
Thresholds storedThresholds() {
    Thresholds thresholds;
    QSettings settings;
    settings.beginGroup(kThresholdsKey);
    // Names and values of other versions are ignored.
    for (const QString& name : settings.childKeys())
        (void)setThreshold(thresholds, name.toStdString(), settings.value(name).toDouble());
    return thresholds;
}

QString laneGroupName(std::size_t group) {
    return QLatin1String(kLaneGroupNames[group].data(), kLaneGroupNames[group].size());
}

} // namespace

Preferences::Preferences(const Targets& targets, bool remember) : to_(targets), remember_(remember) {
    if (!remember_) return;
    const QSettings settings;
    if (settings.value(kNotesKey).toString() == kNotesBeside) to_.notes.setPlace(NotePlace::Beside);
    const int first = settings.value(kFirstStepKey).toInt();
    if (first > 0 && first <= static_cast<int>(StepShownFirst::Last))
        applyFirstStep(static_cast<StepShownFirst>(first));
    if (const int points = settings.value(kFontSizeKey).toInt(); points >= kLeastPoints && points <= kMostPoints)
        applyFontSize(points);
    setTimeStyle({settings.value(kDigitsKey, TimeStyle().digits).toInt(), settings.value(kUnitKey).toLongLong()});
    setFindingThresholds(storedThresholds());
    if (settings.value(kWheelKey).toString() == kWheelScrolls) wheel_ = TimeView::Wheel::Scrolls;
    to_.languages.choose(languageFromKey(settings.value(kLanguageKey).toString()).value_or(Language::System));
    to_.themes.choose(themeFromKey(settings.value(kThemeKey).toString()).value_or(ThemeChoice::System));
}

void Preferences::chooseTheme(ThemeChoice choice) {
    if (remember_) QSettings().setValue(kThemeKey, themeKey(choice));
    to_.themes.choose(choice);
}

void Preferences::chooseLanguage(Language language) {
    if (remember_) QSettings().setValue(kLanguageKey, languageKey(language));
    to_.languages.choose(language);
}

void Preferences::chooseWheel(TimeView::Wheel wheel) {
    wheel_ = wheel;
    if (remember_) QSettings().setValue(kWheelKey, wheel == TimeView::Wheel::Scrolls ? kWheelScrolls : kWheelZooms);
    emit wheelChosen(wheel);
}

void Preferences::chooseNotePlace(NotePlace place) {
    if (remember_) QSettings().setValue(kNotesKey, place == NotePlace::Beside ? kNotesBeside : kNotesApp);
    to_.notes.setPlace(place);
    emit notePlaceChosen(place);
}

void Preferences::applyFirstStep(StepShownFirst which) {
    step_shown_first_ = which;
    to_.state.setStepShownFirst(which);
}

void Preferences::chooseStepShownFirst(StepShownFirst which) {
    if (remember_) QSettings().setValue(kFirstStepKey, static_cast<int>(which));
    applyFirstStep(which);
}

void Preferences::applyFontSize(int points) {
    static const qreal of_system = QApplication::font().pointSizeF(); // initial font size
    font_size_ = points;
    QFont font = QApplication::font();
    font.setPointSizeF(points == 0 ? of_system : points);
    QApplication::setFont(font);
}

void Preferences::chooseFontSize(int points) {
    if (remember_) QSettings().setValue(kFontSizeKey, points);
    applyFontSize(points);
}

void Preferences::chooseTimeStyle(const TimeStyle& style) {
    if (style == timeStyle()) return;
    if (remember_) {
        QSettings().setValue(kDigitsKey, style.digits);
        QSettings().setValue(kUnitKey, qlonglong{style.unit});
    }
    setTimeStyle(style);
    emit timeStyleChosen();
}

void Preferences::chooseThresholds(const Thresholds& thresholds) {
    setFindingThresholds(thresholds);
    if (!remember_) return;
    QSettings settings;
    settings.remove(kThresholdsKey);
    settings.beginGroup(kThresholdsKey);
    for (const ThresholdInfo& info : thresholdTable()) {
        const double value = thresholds.*info.value;
        if (value != Thresholds{}.*info.value) settings.setValue(QString::fromStdString(std::string(info.name)), value);
    }
}

bool Preferences::asksForWheel() const {
    return remember_ && !QSettings().contains(kWheelKey);
}

bool Preferences::asksForNotePlace() const {
    return remember_ && !QSettings().contains(kNotesKey);
}

Preferences::Layout Preferences::layout() const {
    if (!remember_) return {};
    const QSettings settings;
    return {settings.value(kGeometryKey).toByteArray(), settings.value(kLayoutKey).toByteArray()};
}

void Preferences::saveLayout(const Layout& layout) {
    if (!remember_) return;
    QSettings settings;
    settings.setValue(kGeometryKey, layout.geometry);
    settings.setValue(kLayoutKey, layout.docks);
    settings.sync();
    if (settings.status() == QSettings::AccessError)
        qWarning("The preferences could not be written to %s", qUtf8Printable(settings.fileName()));
}

RowChoice Preferences::rows() const {
    RowChoice rows;
    if (!remember_) return rows;
    const QSettings settings;
    const QStringList hidden = settings.value(kHiddenLanesKey).toStringList();
    for (std::size_t i = 0; i < kLaneGroupCount; ++i)
        rows.hidden[i] = hidden.contains(laneGroupName(i));
    rows.counters = settings.value(kCountersKey).toBool();
    return rows;
}

void Preferences::saveRows(const RowChoice& rows) {
    if (!remember_) return;
    QStringList hidden;
    for (std::size_t i = 0; i < kLaneGroupCount; ++i) {
        if (rows.hidden[i]) hidden << laneGroupName(i);
    }
    QSettings settings;
    settings.setValue(kHiddenLanesKey, hidden);
    settings.setValue(kCountersKey, rows.counters);
}

} // namespace bubblescope::gui
