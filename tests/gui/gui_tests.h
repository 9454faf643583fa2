#pragma once

#include "app/gui/jobs/application.h"

#include <QSettings>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>

namespace bubblescope::gui {

/// Registers a test class in the program gui_tests, which contains all of them: linking one program takes seconds, one
/// per class would take minutes. `gui_tests NAME [options of QTest]` runs one class, as ctest does for each.
class GuiTestEntry {
public:
    /// Runs a class in an application of its own; returns the number of failures.
    using Run = int (*)(int argc, char** argv);

    /// `name` is the file's, without extension; must live as long as the program.
    GuiTestEntry(const char* name, Run run);
};

/// The code that QTEST_MAIN puts into main().
template <class Test>
int runGuiTest(int argc, char** argv) {
    const Application application(argc, argv);
    QCoreApplication::setAttribute(Qt::AA_Use96Dpi, true);
    QStandardPaths::setTestModeEnabled(true); // notes and settings of the user are left alone
    Test test;
    return QTest::qExec(&test, argc, argv);
}

/// Settings that a test class writes: a folder of its own, deleted with it.
class OwnSettings {
public:
    /// To be called before a window reads them.
    void use() const {
        if (!folder_.isValid()) qFatal("no folder for settings");
        QCoreApplication::setOrganizationName(QStringLiteral("bubblescope-test"));
        QSettings::setDefaultFormat(QSettings::IniFormat);
        QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, folder_.path());
    }

private:
    QTemporaryDir folder_;
};

} // namespace bubblescope::gui

#define BUBBLESCOPE_GUI_TEST(Class, name)                         \
    static const bubblescope::gui::GuiTestEntry entry_of_##name { \
#name, bubblescope::gui::runGuiTest < Class>              \
    }
