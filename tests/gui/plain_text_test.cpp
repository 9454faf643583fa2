#include "tests/gui/gui_tests.h"

#include <QHelpEvent>
#include <QLabel>
#include <QMessageBox>
#include <QStandardItemModel>
#include <QTableView>
#include <QTest>
#include <QTextDocument>
#include <QToolTip>

using namespace bubblescope::gui;

namespace {

/// A name in a trace, which is shown wherever names are.
const QString kName = QStringLiteral("<b>F0.0</b><img src=\"http://example.org/a.png\"/>");

/// The visible part of a text that Qt shows.
QString seen(const QString& text) {
    if (!Qt::mightBeRichText(text)) return text;
    QTextDocument document;
    document.setHtml(text);
    return document.toPlainText();
}

/// The text of the tool tip that an event at the middle of the widget brings up.
QString toolTipOf(QWidget& widget, QPoint at) {
    QToolTip::hideText();
    QHelpEvent event(QEvent::ToolTip, at, widget.mapToGlobal(at));
    QApplication::sendEvent(&widget, &event);
    return QToolTip::text();
}

class PlainTextTest : public QObject {
    Q_OBJECT

private slots:
    void labelsShowNamesAsTheyAre() {
        QWidget window;
        QLabel before(kName, &window); // with a text when it is first shown, and without
        QLabel after(&window);
        QLabel html(QStringLiteral("<b>ours</b>"), &window);
        html.setTextFormat(Qt::RichText);
        window.show();
        after.setText(kName);
        QCOMPARE(before.textFormat(), Qt::PlainText);
        QCOMPARE(after.textFormat(), Qt::PlainText);
        QCOMPARE(html.textFormat(), Qt::RichText);
    }

    void messagesShowNamesAsTheyAre() {
        QMessageBox box(QMessageBox::Warning, QStringLiteral("title"), kName);
        box.show();
        for (const QLabel* const label : box.findChildren<QLabel*>()) {
            if (label->text() == kName) QCOMPARE(label->textFormat(), Qt::PlainText);
        }
    }

    void toolTipsShowNamesAsTheyAre() {
        QWidget widget;
        widget.resize(100, 100);
        widget.setToolTip(kName);
        widget.show();
        QVERIFY(QTest::qWaitForWindowExposed(&widget));
        QCOMPARE(seen(toolTipOf(widget, {50, 50})), kName);
        widget.setToolTip(QStringLiteral("a < b"));
        QCOMPARE(seen(toolTipOf(widget, {50, 50})), QStringLiteral("a < b"));
    }

    void toolTipsOfItemsShowNamesAsTheyAre() {
        QStandardItemModel model(1, 1);
        model.setData(model.index(0, 0), kName, Qt::ToolTipRole);
        QTableView view;
        view.setModel(&model);
        view.show();
        QVERIFY(QTest::qWaitForWindowExposed(&view));
        QCOMPARE(seen(toolTipOf(*view.viewport(), view.visualRect(model.index(0, 0)).center())), kName);
    }
};

} // namespace

BUBBLESCOPE_GUI_TEST(PlainTextTest, plain_text_test);

#include "plain_text_test.moc"
