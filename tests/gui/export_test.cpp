#include "app/gui/command_palette.h"
#include "app/gui/export_view.h"
#include "app/gui/main_window.h"
#include "app/gui/panels/summary_bar.h"
#include "app/gui/panels/table_text.h"
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
#include <QXmlStreamReader>

#include <cmath>
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
class ExportTest : public GuiTest {
    Q_OBJECT

private slots:
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
                 QStringLiteral("Rank,\"Where, \"\"how\"\"\"\r\n1,\"a, b\"\r\n2,two\\nlines\r\n"));
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

    /// Numbers with one unit, which the heading names; exact where the model has nanoseconds.
    void tablesAreNumbersForSpreadsheets() {
        QStandardItemModel model(3, 5);
        model.setHorizontalHeaderLabels({QStringLiteral("Time"), QStringLiteral("Change"), QStringLiteral("Diff. %"),
                                         QStringLiteral("Ops"), QStringLiteral("What")});
        const auto set = [&](int row, const QStringList& texts) {
            for (int column = 0; column < texts.size(); ++column)
                model.setItem(row, column, new QStandardItem(texts[column]));
        };
        set(0, {QStringLiteral("163.876 ms"), QStringLiteral("+298.000 µs"), QStringLiteral("+1,026.5 %"),
                QStringLiteral("131,072"), QStringLiteral("3 ops")});
        set(1, {QStringLiteral("1.500 s"), QStringLiteral("−20 ns"), QStringLiteral("–"), QStringLiteral("7"),
                QStringLiteral("a")});
        set(2, {QString(), QStringLiteral("0 ns"), QStringLiteral("−0.3 %"), QStringLiteral("0"), QString()});
        model.item(0, 0)->setData(qlonglong{163'876'123}, Qt::UserRole);
        QCOMPARE(tableText(model, QLatin1Char('\t')), QStringLiteral("Time (ms)\tChange (ms)\tDiff. %\tOps\tWhat\n"
                                                                     "163.876123\t0.298\t1026.5\t131072\t3 ops\n"
                                                                     "1500\t-0.00002\t\t7\ta\n"
                                                                     "\t0\t-0.3\t0\t\n"));
    }

    void figuresAreAsWideAsWanted_data() {
        QTest::addColumn<QString>("suffix");
        for (const char* suffix : {"pdf", "svg", "png", "tex"})
            QTest::newRow(suffix) << QString::fromLatin1(suffix);
    }

    /// 160 mm on white ground, whatever the window's size and theme; without what was selected.
    void figuresAreAsWideAsWanted() {
        QFETCH(QString, suffix);
        ExportedView shown;
        shown.themes.choose(ThemeChoice::Dark);
        shown.state.select({ItemKind::Op, 1, 1, 3});
        shown.state.measure(shown.state.session()->window(1));
        const QString file = shown.path("figure.") + suffix;
        const Status written =
            exportFigure(shown.state, shown.themes.theme(), {160, true, true, QStringLiteral("A title"), {}}, file);
        QVERIFY2(written.ok(), written.ok() ? "" : written.error().text().c_str());
        const QByteArray bytes = contents(file);
        const double pixels = 160 / 25.4 * 96; // 605
        if (suffix == QLatin1String("pdf")) {
            QVERIFY(bytes.contains("/FontFile"));
            QVERIFY2(bytes.size() < 200'000, qPrintable(QString::number(bytes.size())));
            QVERIFY(!bytes.contains("/Subtype /Image")); // hatching is lines
        } else if (suffix == QLatin1String("svg")) {
            QVERIFY(bytes.contains("width=\"605\"") && !bytes.contains("<image"));
            QVERIFY(bytes.contains("A title"));
        } else if (suffix == QLatin1String("png")) {
            const QImage image(file);
            QCOMPARE(image.width(), 2 * 605);
            QCOMPARE(image.pixelColor(2, image.height() / 2), QColor(Qt::white));
        } else {
            QVERIFY(bytes.contains("\\begin{tikzpicture}") && bytes.contains("\\end{tikzpicture}"));
            QVERIFY(bytes.contains("north east lines") && bytes.contains("{A title}"));
            QVERIFY(bytes.contains(QByteArray::number(std::round(pixels) * 72 / 96, 'f', 2)));
        }
        shown.themes.choose(ThemeChoice::Light);
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
