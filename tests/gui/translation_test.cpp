#include "app/gui/language/language_manager.h"
#include "app/gui/main_window.h"
#include "app/gui/models/anomaly_model.h"
#include "app/gui/models/item_text.h"
#include "app/gui/panels/accounting_panel.h"
#include "core/demo/demo_traces.h"
#include "tests/gui/sample_run.h"

#include <QAction>
#include <QDirIterator>
#include <QDockWidget>
#include <QFile>
#include <QFontDatabase>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QMenuBar>
#include <QRegularExpression>
#include <QSet>
#include <QSignalSpy>
#include <QTest>
#include <QThreadPool>

using namespace bubblescope;
using namespace bubblescope::gui;

namespace {

/// Adjacent literals behind `from`, as the compiler joins them.
QString literalAt(const QString& text, qsizetype from) {
    static const QRegularExpression literal(QStringLiteral("\\G\\s*\"((?:[^\"\\\\]|\\\\.)*)\""));
    QString out;
    for (auto match = literal.match(text, from); match.hasMatch(); match = literal.match(text, from)) {
        out += match.captured(1);
        from = match.capturedEnd();
    }
    return out.replace(QLatin1String("\\n"), QLatin1String("\n"))
        .replace(QLatin1String("\\t"), QLatin1String("\t"))
        .replace(QLatin1String("\\\""), QLatin1String("\""));
}

/// All texts that the app's sources pass through tr(), but for the command line's, which stay English.
QSet<QString> textsOfSources() {
    static const QRegularExpression start(QStringLiteral("\\btr\\(|QT_TRANSLATE_NOOP\\(\"\\w+\","));
    QSet<QString> texts;
    QDirIterator files(QStringLiteral(BUBBLESCOPE_GUI_SOURCES), {QStringLiteral("*.cpp"), QStringLiteral("*.h")},
                       QDir::Files, QDirIterator::Subdirectories);
    while (files.hasNext()) {
        QFile file(files.next());
        if (files.fileName() == QLatin1String("options.cpp") || !file.open(QIODevice::ReadOnly)) continue;
        const QString source = QString::fromUtf8(file.readAll());
        for (auto found = start.globalMatch(source); found.hasNext();) {
            const QString text = literalAt(source, found.next().capturedEnd());
            if (!text.isEmpty()) texts << text;
        }
    }
    return texts;
}

/// Names that core gives and the app translates.
QSet<QString> textsOfCore() {
    QSet<QString> texts;
    for (std::size_t cause = 0; cause < kCauseCount; ++cause)
        texts << QString::fromStdString(std::string(causeName(static_cast<Cause>(cause))));
    for (std::size_t position = 0; position < kPositionCount; ++position) {
        for (const bool f_then_b : {false, true})
            texts << QString::fromStdString(std::string(positionName(static_cast<Position>(position), f_then_b)));
    }
    for (const AnomalyKindInfo& kind : anomalyKinds())
        texts << QString::fromStdString(std::string(kind.name)).replace(QLatin1Char('-'), QLatin1Char(' '));
    for (const DemoTrace& demo : demoTraces())
        texts << QString::fromStdString(std::string(demo.title)) << QString::fromStdString(std::string(demo.says));
    texts.remove(QString());
    return texts;
}

QStringList placeholders(const QString& text) {
    static const QRegularExpression mark(QStringLiteral("%(\\d|n)"));
    QStringList out;
    for (auto found = mark.globalMatch(text); found.hasNext();)
        out << found.next().captured();
    out.sort();
    return out;
}

QJsonObject table() {
    LanguageManager().choose(Language::Chinese); // links the resource in
    QFile file(QStringLiteral(":/translations/zh_CN.json"));
    return file.open(QIODevice::ReadOnly) ? QJsonDocument::fromJson(file.readAll()).object() : QJsonObject();
}

bool hasChinese(const QString& text) {
    return std::any_of(text.begin(), text.end(), [](QChar c) { return c.script() == QChar::Script_Han; });
}

} // namespace

class TranslationTest : public QObject {
    Q_OBJECT

private slots:
    void cleanup() { QVERIFY(QThreadPool::globalInstance()->waitForDone(20000)); }

    void everyTextIsTranslated() {
        const QJsonObject chinese = table();
        const QSet<QString> sources = textsOfSources();
        QVERIFY(sources.size() > 200);
        for (const QString& text : sources + textsOfCore())
            QVERIFY2(!chinese.value(text).toString().isEmpty(), qPrintable(text));
    }

    void noTranslationIsLeftOver() {
        const QSet<QString> used = textsOfSources() + textsOfCore();
        for (const QString& text : table().keys())
            QVERIFY2(used.contains(text), qPrintable(text));
    }

    void placeholdersAreKept() {
        const QJsonObject chinese = table();
        for (auto text = chinese.begin(); text != chinese.end(); ++text)
            QCOMPARE(placeholders(text.value().toString()), placeholders(text.key()));
    }

    void theWholeWindowSwitchesAndBack() {
        MainWindow window([](const auto&, JobControl&) -> Result<Run> { return sampleRun(); }, false);
        window.show();
        QSignalSpy loaded(&window, &MainWindow::loaded);
        window.open({QStringLiteral("sample.pftrace")});
        QVERIFY(loaded.wait());
        window.state().showStep(2);
        const auto dockTitle = [&] {
            return window.findChild<QDockWidget*>(QStringLiteral("stepsDock"))->windowTitle();
        };
        const auto menu = [&] { return window.menuBar()->actions().front()->text(); };
        QCOMPARE(dockTitle(), QStringLiteral("Steps"));
        const auto sizes = [&] {
            QCoreApplication::processEvents(); // layouts settle
            QList<QSize> out;
            for (const char* dock : {"bubblesDock", "detailsDock"})
                out << window.findChild<QDockWidget*>(QString::fromLatin1(dock))->size();
            return out;
        };
        const auto height = [&] { return window.findChild<QWidget*>(QStringLiteral("timeline"))->height(); };
        const QList<QSize> english = sizes();
        const int english_height = height();

        window.findChild<QAction*>(QStringLiteral("language-zh_CN"))->trigger();
        QTRY_VERIFY(hasChinese(dockTitle()));
        QVERIFY(hasChinese(menu()));
        QVERIFY(hasChinese(positionText(window.state().session()->analysis(0), Position::AfterCooldown)));
        QCOMPARE(window.state().step(), 2); // what is shown stays, and where it is
        QCOMPARE(sizes(), english);
        QVERIFY(std::abs(height() - english_height) < 40); // letters are higher, and a missing font is told
        QVERIFY(window.findChild<QDockWidget*>(QStringLiteral("bubblesDock"))->isVisible());
        QVERIFY(window.findChild<QAction*>(QStringLiteral("language-zh_CN"))->isChecked());
        const QImage chinese = window.grab().toImage();

        window.findChild<QAction*>(QStringLiteral("language-en"))->trigger();
        QTRY_COMPARE(dockTitle(), QStringLiteral("Steps"));
        QVERIFY(window.grab().toImage() != chinese);
    }

    void aMissingFontIsNoticed() {
        LanguageManager languages;
        QVERIFY(languages.hasFont()); // English needs none
        languages.choose(Language::Chinese);
        QCOMPARE(languages.hasFont(), !QFontDatabase::families(QFontDatabase::SimplifiedChinese).isEmpty());
        languages.choose(Language::English);
        QCOMPARE(QCoreApplication::translate("x", "Steps"), QStringLiteral("Steps"));
    }

    void languagesHaveKeys() {
        for (const Language language : {Language::System, Language::English, Language::Chinese})
            QVERIFY(languageFromKey(languageKey(language)) == language);
        QVERIFY(!languageFromKey(QStringLiteral("klingon")));
    }
};

QTEST_MAIN(TranslationTest)
#include "translation_test.moc"
