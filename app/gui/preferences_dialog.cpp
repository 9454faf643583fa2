#include "app/gui/preferences_dialog.h"

#include "app/gui/models/session.h"
#include "app/gui/panels/thresholds_table.h"
#include "app/gui/panels/widgets.h"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QFormLayout>
#include <QLabel>
#include <QSpinBox>
#include <QTabWidget>
#include <QVBoxLayout>

#include <functional>
#include <utility>
#include <vector>

namespace bubblescope::gui {

namespace {

/// A row with a list of values, with the current one selected.
template <class Value>
void addChoice(QFormLayout& form, const char* name, const QString& label,
               const std::vector<std::pair<Value, QString>>& values, Value current,
               const std::function<void(Value)>& choose) {
    auto* const box = named(new QComboBox(form.parentWidget()), name);
    box->setAccessibleName(label);
    for (const auto& [value, text] : values) {
        box->addItem(text, static_cast<int>(value));
        if (value == current) box->setCurrentIndex(box->count() - 1);
    }
    QObject::connect(box, &QComboBox::currentIndexChanged, box,
                     [box, choose] { choose(static_cast<Value>(box->currentData().toInt())); });
    form.addRow(label, box);
}

} // namespace

PreferencesDialog::PreferencesDialog(Preferences& preferences, QWidget* parent)
    : QDialog(parent), preferences_(preferences) {
    setObjectName(QStringLiteral("preferencesDialog"));
    setWindowTitle(tr("Preferences"));
    auto* const pages = new QTabWidget(this);
    pages->addTab(buildGeneral(), tr("General"));
    pages->addTab(buildThresholds(), tr("Thresholds of findings"));
    auto* const buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    auto* const column = new QVBoxLayout(this);
    addAll(*column, {pages, buttons});
    resize(960, 480); // with room for the meaning of most thresholds
}

QWidget* PreferencesDialog::buildThresholds() {
    auto* const page = new QWidget(this);
    auto* const column = new QVBoxLayout(page);
    auto* const note = new QLabel(tr("Thresholds apply to traces that are opened from now on."), page);
    note->setWordWrap(true);
    auto* const table = new ThresholdsTable(findingThresholds(), page);
    connect(table, &ThresholdsTable::edited, this,
            [this, table] { preferences_.chooseThresholds(table->thresholds()); });
    column->addWidget(note);
    column->addWidget(table, 1);
    return page;
}

void PreferencesDialog::addTimes(QFormLayout& form) {
    Preferences& to = preferences_;
    addChoice<int>(form, "preferUnit", tr("Time unit"),
                   {{0, tr("Automatic")},
                    {1, QStringLiteral("ns")},
                    {1'000, QStringLiteral("µs")},
                    {1'000'000, QStringLiteral("ms")},
                    {1'000'000'000, QStringLiteral("s")}},
                   static_cast<int>(timeStyle().unit), [&to](int unit) {
                       to.chooseTimeStyle({timeStyle().digits, unit});
                   });
    auto* const digits = named(new QSpinBox(form.parentWidget()), "preferDigits");
    digits->setRange(TimeStyle::kFewestDigits, TimeStyle::kMostDigits);
    digits->setValue(timeStyle().digits);
    connect(digits, &QSpinBox::valueChanged, this, [&to](int count) { to.chooseTimeStyle({count, timeStyle().unit}); });
    form.addRow(tr("Digits in times"), digits);
}

QWidget* PreferencesDialog::buildGeneral() {
    auto* const page = new QWidget(this);
    auto* const form = new QFormLayout(page);
    Preferences& to = preferences_;
    addChoice<ThemeChoice>(*form, "preferTheme", tr("Theme"),
                           {{ThemeChoice::System, tr("Same as system")},
                            {ThemeChoice::Light, tr("Light")},
                            {ThemeChoice::Dark, tr("Dark")},
                            {ThemeChoice::HighContrast, tr("High contrast")},
                            {ThemeChoice::ColourBlind, tr("Colour-blind safe")},
                            {ThemeChoice::ColourBlindDark, tr("Colour-blind safe, dark")}},
                           to.theme(), [&to](ThemeChoice choice) { to.chooseTheme(choice); });
    addChoice<Language>(*form, "preferLanguage", tr("Language"),
                        {{Language::System, tr("Same as system")},
                         {Language::English, QStringLiteral("English")},
                         {Language::Chinese, QStringLiteral("简体中文")}},
                        to.language(), [&to](Language choice) { to.chooseLanguage(choice); });
    auto* const size = named(new QSpinBox(this), "preferFontSize");
    size->setRange(5, 32);
    size->setSpecialValueText(tr("Same as system"));
    size->setSuffix(tr(" pt"));
    size->setValue(to.fontSize() == 0 ? size->minimum() : to.fontSize());
    connect(size, &QSpinBox::valueChanged, this,
            [&to, size](int points) { to.chooseFontSize(points == size->minimum() ? 0 : points); });
    form->addRow(tr("Font size"), size);
    addTimes(*form);
    addChoice<TimeView::Wheel>(*form, "preferWheel", tr("Mouse wheel"),
                               {{TimeView::Wheel::Zooms, tr("Zooms; with Ctrl scrolls")},
                                {TimeView::Wheel::Scrolls, tr("Scrolls, or zooms with Ctrl, as in Perfetto")}},
                               to.wheel(), [&to](TimeView::Wheel choice) { to.chooseWheel(choice); });
    addChoice<StepShownFirst>(*form, "preferFirstStep", tr("Step shown first"),
                              {{StepShownFirst::Typical, tr("The typical one")},
                               {StepShownFirst::First, tr("The first")},
                               {StepShownFirst::Last, tr("The last")}},
                              to.stepShownFirst(), [&to](StepShownFirst choice) { to.chooseStepShownFirst(choice); });
    addChoice<NotePlace>(
        *form, "preferNotes", tr("Notes"),
        {{NotePlace::App, tr("In the app")}, {NotePlace::Beside, tr("Next to the trace, for everyone")}},
        to.notePlace(), [&to](NotePlace choice) { to.chooseNotePlace(choice); });
    return page;
}

} // namespace bubblescope::gui
