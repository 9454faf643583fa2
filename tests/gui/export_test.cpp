#include "app/gui/command_palette.h"
#include "app/gui/export_view.h"
#include "app/gui/main_window.h"
#include "app/gui/panels/summary_bar.h"
#include "app/gui/panels/widgets.h"
#include "app/gui/timeline/timeline_view.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/sample_run.h"

#include <QAction>
#include <QClipboard>
#include <QFile>
#include <QGuiApplication>
#include <QImage>
#include <QLineEdit>
#include <QListWidget>
#include <QMenuBar>
#include <QSignalSpy>
#include <QStandardItemModel>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>
#include <QThreadPool>
#include <QXmlStreamReader>

#include <map>

using namespace bubblescope;
using namespace bubblescope::gui;

namespace {

struct ExportedView {
    QTemporaryDir dir;
    ThemeManager themes;
    ViewState state;
    TimelineView view{state, themes};

    ExportedView() {
        view.resize(1000, 480);
        view.show();
        state.setSession(sampleSession());
    }
    [[nodiscard]] QString path(const char* name) const { return dir.filePath(QString::fromLatin1(name)); }
};

QByteArray contents(const QString& name) {
    QFile file(name);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

} // namespace

/// Pictures and tables as files, and the command palette.
class ExportTest : public QObject {
    Q_OBJECT

private slots:
    void cleanup() { QVERIFY(QThreadPool::globalInstance()->waitForDone(20000)); }

    void aPngHasTwiceThePixels() {
        ExportedView shown;
        QVERIFY(exportView(shown.view, shown.path("view.png")).ok());
        const QImage image(shown.path("view.png"));
        QCOMPARE(image.size(), shown.view.viewport()->size() * 2);
        const QPoint centre = shown.view.centreOf({ItemKind::Op, 1, 1, 3}).toPoint();
        const QColor there = image.pixelColor(centre.x() * 2, centre.y() * 2 - 40);
        QCOMPARE(there, shown.view.viewport()->grab().toImage().pixelColor(centre - QPoint(0, 20)));
    }

    void anSvgHoldsEveryOpAndItsLabel() {
        ExportedView shown;
        QVERIFY(exportView(shown.view, shown.path("view.svg")).ok());
        QXmlStreamReader reader(contents(shown.path("view.svg")));
        std::map<QString, int> elements;
        QStringList texts;
        while (!reader.atEnd()) {
            if (reader.readNext() != QXmlStreamReader::StartElement) continue;
            ++elements[reader.name().toString()];
            if (reader.name() == QLatin1String("text")) texts << reader.readElementText();
        }
        QVERIFY2(!reader.hasError(), qPrintable(reader.errorString()));
        QVERIFY(elements[QStringLiteral("rect")] > 64);
        QCOMPARE(elements[QStringLiteral("pattern")], 1); // the hatching
        for (const char* label : {"Rank 0", "Rank 3", "F0", "B7"})
            QVERIFY2(texts.contains(QString::fromLatin1(label)), label);
        QCOMPARE(texts.count(QStringLiteral("F3")), 4);
    }

    void aPictureHasTitleFiguresLegendAndName() {
        ExportedView shown;
        Legend legend(shown.themes);
        legend.show(shown.state.session().get());
        const PictureFrame frame{QStringLiteral("run a"), QStringLiteral("4 · 8 · 1"), &legend, &shown.themes.theme()};
        QVERIFY(exportView(shown.view, shown.path("framed.svg"), frame).ok());
        QXmlStreamReader reader(contents(shown.path("framed.svg")));
        QStringList texts;
        while (!reader.atEnd()) {
            if (reader.readNext() == QXmlStreamReader::StartElement && reader.name() == QLatin1String("text"))
                texts << reader.readElementText();
        }
        for (const char* text : {"run a", "4 · 8 · 1", "forward", "backward", "bubble"})
            QVERIFY2(texts.contains(QString::fromUtf8(text)), text);
        QCOMPARE(suggestedPictureName(QStringLiteral("run a.pftrace"), 3), QStringLiteral("run-a-step-3.png"));
    }

    void aPdfIsWritten() {
        ExportedView shown;
        QVERIFY(exportView(shown.view, shown.path("view.pdf")).ok());
        const QByteArray pdf = contents(shown.path("view.pdf"));
        QVERIFY(pdf.startsWith("%PDF-"));
        QVERIFY(pdf.contains("/FontFile") && pdf.size() > 4000); // text, not pixels
    }

    void whatCannotBeWrittenIsSaid() {
        ExportedView shown;
        const Status ending = exportView(shown.view, shown.path("view.bmp"));
        QVERIFY(!ending.ok() && ending.error().kind == ErrorKind::Usage);
        const Status place = exportView(shown.view, shown.path("no/such/place.png"));
        QVERIFY(!place.ok() && place.error().text().find("no/such/place.png") != std::string::npos);
    }

    void tablesBecomeCsvAndGoToTheClipboard() {
        QStandardItemModel model(2, 2);
        model.setHorizontalHeaderLabels({QStringLiteral("Rank"), QStringLiteral("Where, \"how\"")});
        model.setItem(0, 0, new QStandardItem(QStringLiteral("1")));
        model.setItem(0, 1, new QStandardItem(QStringLiteral("a, b")));
        model.setItem(1, 0, new QStandardItem(QStringLiteral("2")));
        model.setItem(1, 1, new QStandardItem(QStringLiteral("two\nlines")));
        QCOMPARE(tableText(model, QLatin1Char(',')),
                 QStringLiteral("Rank,\"Where, \"\"how\"\"\"\r\n1,\"a, b\"\r\n2,\"two\nlines\"\r\n"));
        QTableView table;
        table.setModel(&model);
        table.setSelectionBehavior(QAbstractItemView::SelectRows);
        addTableExport(table);
        table.selectRow(1);
        table.findChild<QAction*>(QStringLiteral("copyRows"))->trigger();
        QCOMPARE(QGuiApplication::clipboard()->text(), QStringLiteral("Rank\tWhere, \"how\"\n2\ttwo lines\n"));
        table.findChild<QAction*>(QStringLiteral("copyTable"))->trigger();
        QCOMPARE(QGuiApplication::clipboard()->text().count(QLatin1Char('\n')), 3);
    }

    void thePaletteFindsAndDoes() {
        MainWindow window([](const auto&, JobControl&) -> Result<Run> { return sampleRun(); }, false);
        window.show();
        QSignalSpy loaded(&window, &MainWindow::loaded);
        window.open({QStringLiteral("sample.pftrace")});
        QVERIFY(loaded.wait());
        CommandPalette palette(*window.menuBar(), &window);
        palette.show();
        const int all = palette.list().count();
        QVERIFY(all > 30);
        QTest::keyClicks(&palette.line(), QStringLiteral("critical"));
        QCOMPARE(palette.list().count(), 1); // each command once
        palette.line().clear();
        QTest::keyClicks(&palette.line(), QStringLiteral("theme dark"));
        QCOMPARE(palette.list().count(), 2); // "Dark", and the dark one for colour-blind people
        QVERIFY(!window.themes().theme().dark);
        QTest::keyClick(&palette.line(), Qt::Key_Return);
        QTRY_VERIFY(window.themes().theme().dark);
        QVERIFY(!palette.isVisible());
        palette.show();
        palette.line().clear();
        QTest::keyClick(&palette.line(), Qt::Key_Down);
        QCOMPARE(palette.list().currentRow(), 1);
        QTest::keyClicks(&palette.line(), QStringLiteral("no such thing"));
        QCOMPARE(palette.list().count(), 0);
        QTest::keyClick(&palette.line(), Qt::Key_Return); // does nothing and does not crash
        QVERIFY(palette.isVisible());
    }
};

BUBBLESCOPE_GUI_TEST(ExportTest, export_test);
#include "export_test.moc"
