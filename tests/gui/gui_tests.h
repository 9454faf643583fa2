#pragma once

#include "app/gui/jobs/application.h"

#include <QObject>
#include <QSettings>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>
#include <QThreadPool>

namespace bubblescope::gui {

/// Registers a test class in the program gui_tests. All classes are in one program, which links in seconds; a program
/// per class would take minutes. `gui_tests NAME [options of QTest]` runs one class, as ctest does for each.
class GuiTestEntry {
public:
    /// Runs a class in a separate application; returns the number of failures.
    using Run = int (*)(int argc, char** argv);

    /// `name` is the file name without extension, and must live as long as the program.
    GuiTestEntry(const char* name, Run run);
};

/// Equivalent of the code that QTEST_MAIN generates for main().
template <class Test>
int runGuiTest(int argc, char** argv) {
    const Application application(argc, argv);
    QCoreApplication::setAttribute(Qt::AA_Use96Dpi, true);
    QStandardPaths::setTestModeEnabled(true); // does not modify notes and settings of the user
    Test test;
    return QTest::qExec(&test, argc, argv);
}

/// Base of test classes whose windows and panels work on other threads. That work ends before the next test starts.
class GuiTest : public QObject {
    Q_OBJECT

private slots:
    void cleanup() { QVERIFY(QThreadPool::globalInstance()->waitForDone(60000)); }
};

/// Settings that a test class writes, in a separate folder that is deleted with the object.
class OwnSettings {
public:
    /// Must be called before a window reads the settings.
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
