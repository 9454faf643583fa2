#include "app/gui/panels/sql_panel.h"
#include "core/trace/trace_builder.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/sample_run.h"

#include <QClipboard>
#include <QLabel>
#include <QMenu>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QTableView>
#include <QTest>
#include <QThreadPool>

using namespace bubblescope;
using namespace bubblescope::gui;
using namespace std::chrono_literals;

namespace {

/// Ten calls of "a" with "b" in each; the b of call i takes i µs.
SessionPtr queriedCalls() {
    TraceBuilder builder;
    builder.addFile({"calls.json", "chrome", std::nullopt, {}, {}});
    const TrackId thread = builder.addTrack(1, 1);
    for (int i = 0; i < 10; ++i) {
        (void)builder.addSlice({thread, i * 1ms, 900us, builder.intern("a"), builder.intern("cpu_op"), 0});
        (void)builder.addSlice({thread, i * 1ms + 100us, i * 1us, builder.intern("b"), builder.intern("cpu_op"), 0});
    }
    DiagnosticLog log;
    Run run;
    run.files = {"calls.json"};
    run.trace = builder.finish(log);
    return traceSession({std::move(run), inputError("calls.json", "no pipeline ops found")}, JobControl()).value();
}

} // namespace

/// Queries in the app.
class SqlPanelTest : public QObject {
    Q_OBJECT

private:
    ViewState state_;
    std::unique_ptr<SqlPanel> panel_;

    template <class Widget>
    [[nodiscard]] Widget& part(const char* name) const {
        return *panel_->findChild<Widget*>(QString::fromLatin1(name));
    }
    [[nodiscard]] QTableView& table() const { return part<QTableView>("sqlRows"); }
    [[nodiscard]] QString cell(int row, int column) const {
        return table().model()->index(row, column).data().toString();
    }
    /// As a user does: types the query, and Ctrl+Enter.
    void ask(const char* sql) {
        auto& text = part<QPlainTextEdit>("sqlText");
        text.clear();
        QTest::keyClicks(&text, QString::fromLatin1(sql));
        QSignalSpy answered(panel_.get(), &SqlPanel::answered);
        QTest::keyClick(&text, Qt::Key_Return, Qt::ControlModifier);
        QVERIFY(answered.count() == 1 || answered.wait(10000));
    }

private slots:
    void init() {
        panel_ = std::make_unique<SqlPanel>(state_);
        panel_->resize(700, 400);
        panel_->show();
        state_.setSession(queriedCalls());
    }
    void cleanup() {
        panel_.reset();
        state_.setSession(nullptr);
        QVERIFY(QThreadPool::globalInstance()->waitForDone(20000));
    }

    void rowsAreShownSortedAndCopied() {
        ask("SELECT name, count(*) AS n, sum(dur) AS total FROM slice GROUP BY name ORDER BY name");
        QCOMPARE(table().model()->rowCount(), 2);
        QCOMPARE(cell(0, 0), QStringLiteral("a"));
        QCOMPARE(cell(0, 2), QStringLiteral("9000000"));
        QCOMPARE(cell(1, 2), QStringLiteral("45000"));
        QVERIFY(part<QLabel>("sqlStatus").text().startsWith(QStringLiteral("2 row")));
        table().sortByColumn(2, Qt::AscendingOrder); // 45000 before 9000000: as numbers
        QCOMPARE(cell(0, 0), QStringLiteral("b"));
        table().selectAll();
        table().findChild<QAction*>(QStringLiteral("copyRows"))->trigger();
        QVERIFY(QApplication::clipboard()->text().contains(QStringLiteral("b\t10\t45000")));
    }

    void aRowLeadsToItsSlice() {
        ask("SELECT id, dur FROM slice WHERE name = 'b' ORDER BY dur DESC");
        const QModelIndex first = table().model()->index(0, 1);
        QTest::mouseClick(table().viewport(), Qt::LeftButton, {}, table().visualRect(first).center());
        QTest::mouseDClick(table().viewport(), Qt::LeftButton, {}, table().visualRect(first).center());
        QVERIFY(state_.selection());
        QCOMPARE(state_.session()->range(state_.selection()).length(), TimeNs{9us});
    }

    void aRowWithTimesLeadsToThem() {
        ask("SELECT min(ts) AS ts, 2000000 AS dur, 1 AS id FROM slice WHERE ts >= 3000000");
        emit table().doubleClicked(table().model()->index(0, 0));
        const TimeRange shown = state_.range().range();
        QVERIFY(shown.begin <= TimeNs{3ms} && shown.end >= TimeNs{5ms} && shown.length() < TimeNs{10ms});
        QVERIFY(!state_.selection());
    }

    void errorsNameTheirPlace() {
        ask("SELECT nme FROM slice");
        QVERIFY(part<QLabel>("sqlStatus").text().contains(QStringLiteral("line 1, column 8")));
        QCOMPARE(table().model()->rowCount(), 0);
    }

    void aQueryIsStopped() {
        part<QPlainTextEdit>("sqlText").setPlainText(
            QStringLiteral("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"));
        part<QPushButton>("sqlRun").click();
        QVERIFY(part<QPushButton>("sqlStop").isEnabled());
        part<QPushButton>("sqlStop").click();
        QCOMPARE(part<QLabel>("sqlStatus").text(), QStringLiteral("Stopped."));
        QVERIFY(QThreadPool::globalInstance()->waitForDone(5000));
    }

    void examplesRun() {
        for (QAction* const example : part<QPushButton>("sqlExamples").menu()->actions()) {
            QSignalSpy answered(panel_.get(), &SqlPanel::answered);
            example->trigger();
            QVERIFY(answered.count() == 1 || answered.wait(10000));
            QVERIFY2(part<QLabel>("sqlStatus").text().contains(QStringLiteral("row")),
                     qPrintable(example->text() + part<QLabel>("sqlStatus").text()));
        }
    }

    void anotherTraceClearsTheRows() {
        ask("SELECT * FROM slice");
        QCOMPARE(table().model()->rowCount(), 20);
        state_.setSession(queriedCalls());
        QCOMPARE(table().model()->rowCount(), 0);
    }
};

BUBBLESCOPE_GUI_TEST(SqlPanelTest, sql_panel_test);
#include "sql_panel_test.moc"
