// The file of the user's preferences: what is written is read again, and a failed write keeps what was there.

#include "app/gui/preferences_file.h"
#include "tests/gui/gui_tests.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QSettings>
#include <QTemporaryDir>

#include <sys/resource.h>

#include <csignal>
#include <memory>

namespace bubblescope::gui {
namespace {

/// A full disk: files cannot grow.
class FullDisk {
public:
    FullDisk() {
        ::getrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, SIG_IGN);
        const rlimit none{0, before_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &none);
    }
    ~FullDisk() { ::setrlimit(RLIMIT_FSIZE, &before_); }

private:
    rlimit before_{};
};

QByteArray bytesOf(const QString& name) {
    QFile file(name);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

class PreferencesFileTest : public QObject {
    Q_OBJECT

private slots:
    void init() {
        folder_ = std::make_unique<QTemporaryDir>();
        QCoreApplication::setOrganizationName(QStringLiteral("bubblescope-test"));
        QCoreApplication::setApplicationName(QStringLiteral("preferences"));
        for (const QSettings::Format format : {preferencesFormat(), QSettings::NativeFormat})
            QSettings::setPath(format, QSettings::UserScope, folder_->path());
    }
    void cleanup() { QSettings::setDefaultFormat(QSettings::NativeFormat); }

    void valuesOfAllKindsAreReadAgain() {
        usePreferencesFile();
        const QByteArray geometry("\x00\xff\x01", 3);
        const QStringList recent{QStringLiteral("/a b.json"), QStringLiteral("/中文.json")};
        writeThrough([&](QSettings& settings) {
            settings.setValue(QStringLiteral("window/geometry"), geometry);
            settings.setValue(QStringLiteral("recent/1/paths"), recent);
            settings.setValue(QStringLiteral("unit"), qlonglong{1'000'000'007});
            settings.setValue(QStringLiteral("share"), 0.25);
            settings.setValue(QStringLiteral("counters"), true);
        });
        // As another program reads it, without what this one still holds.
        QFile::copy(QSettings().fileName(), folder_->filePath(QStringLiteral("copy.json")));
        const QSettings read(folder_->filePath(QStringLiteral("copy.json")), preferencesFormat());
        QCOMPARE(read.value(QStringLiteral("window/geometry")).toByteArray(), geometry);
        QCOMPARE(read.value(QStringLiteral("recent/1/paths")).toStringList(), recent);
        QCOMPARE(read.value(QStringLiteral("unit")).toLongLong(), qlonglong{1'000'000'007});
        QCOMPARE(read.value(QStringLiteral("share")).toDouble(), 0.25);
        QVERIFY(read.value(QStringLiteral("counters")).toBool());
    }

    void aFullDiskKeepsTheOldFile() {
        usePreferencesFile();
        writeThrough([](QSettings& settings) { settings.setValue(QStringLiteral("theme"), QStringLiteral("dark")); });
        const QByteArray before = bytesOf(QSettings().fileName());
        QVERIFY(before.contains("dark"));
        QSettings settings;
        {
            const FullDisk full;
            settings.setValue(QStringLiteral("theme"), QStringLiteral("light"));
            settings.sync();
        }
        QCOMPARE(settings.status(), QSettings::AccessError);
        QCOMPARE(bytesOf(settings.fileName()), before);
        settings.sync(); // there is space again
        QVERIFY(bytesOf(settings.fileName()).contains("light"));
    }

    void aFullDiskLeavesNoFile() {
        usePreferencesFile();
        QSettings settings;
        const FullDisk full;
        settings.setValue(QStringLiteral("theme"), QStringLiteral("light"));
        settings.sync();
        QVERIFY(!QFile::exists(settings.fileName()));
    }

    void settingsOfEarlierVersionsAreCopied() {
        {
            QSettings earlier(QSettings::NativeFormat, QSettings::UserScope, QStringLiteral("bubblescope-test"),
                              QStringLiteral("preferences"));
            earlier.setValue(QStringLiteral("window/layout"), QByteArray("docks"));
            earlier.setValue(QStringLiteral("font/points"), 11);
        }
        usePreferencesFile();
        QCOMPARE(QSettings().value(QStringLiteral("window/layout")).toByteArray(), QByteArray("docks"));
        QCOMPARE(QSettings().value(QStringLiteral("font/points")).toInt(), 11);
        QVERIFY(QSettings().fileName().endsWith(QStringLiteral(".json")));
    }

    void aDamagedFileIsReplaced() {
        usePreferencesFile();
        QFile file(QSettings().fileName());
        QVERIFY(QDir().mkpath(QFileInfo(file).path()));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("[3, {");
        file.close();
        writeThrough([](QSettings& settings) { settings.setValue(QStringLiteral("theme"), QStringLiteral("dark")); });
        QVERIFY(bytesOf(file.fileName()).contains("dark"));
    }

private:
    template <class Change>
    static void writeThrough(Change change) {
        QSettings settings;
        change(settings);
        settings.sync();
    }

    std::unique_ptr<QTemporaryDir> folder_;
};

} // namespace

BUBBLESCOPE_GUI_TEST(PreferencesFileTest, preferences_file_test);

} // namespace bubblescope::gui

#include "preferences_file_test.moc"
