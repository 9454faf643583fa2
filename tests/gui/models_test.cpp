#include "app/gui/language/text.h"
#include "app/gui/models/bubble_table_model.h"
#include "app/gui/models/item_text.h"
#include "app/gui/models/report_table_model.h"
#include "app/gui/models/session_queries.h"
#include "app/gui/models/step_text.h"
#include "app/gui/panels/details_panel.h"
#include "core/report/results/document_parts.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/sample_run.h"

#include <QAbstractItemModelTester>
#include <QFont>
#include <QLabel>
#include <QTest>
#include <QToolButton>

#include <algorithm>
#include <random>
#include <vector>

using namespace bubblescope;
using namespace bubblescope::gui;
using namespace std::chrono_literals;

namespace {

QString valueOf(const ItemDescription& text, const QString& name) {
    for (const Fact& fact : text.facts) {
        if (fact.name == name) return fact.value;
    }
    return QStringLiteral("missing");
}

} // namespace

class ModelsTest : public QObject {
    Q_OBJECT

private slots:
    void bubbleTableHoldsEveryRankAndPosition() {
        BubbleTableModel model;
        const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        QCOMPARE(model.rowCount(), 0);
        const SessionPtr session = sampleSession();
        model.show(session, 1);
        int totals = 0;
        for (int row = 0; row < model.rowCount(); ++row) {
            const auto raw = [&](int column) { return model.index(row, column).data(BubbleTableModel::kSortRole); };
            QCOMPARE(raw(BubbleTableModel::Difference).toLongLong(),
                     raw(BubbleTableModel::Observed).toLongLong() - raw(BubbleTableModel::Form).toLongLong());
            QCOMPARE(raw(BubbleTableModel::Difference).toLongLong(), 0LL); // a simulation agrees with the form
            if (!model.index(row, 0).data(BubbleTableModel::kTotalRole).toBool()) continue;
            ++totals;
            QCOMPARE(raw(BubbleTableModel::AsRun).toLongLong(), 45'000'000LL);
            QCOMPARE(raw(BubbleTableModel::Observed).toLongLong(), 45'000'000LL);
            QCOMPARE(raw(BubbleTableModel::Percent).toDouble(), 0.0);
        }
        QCOMPARE(totals, 4);
        model.show(nullptr, 0);
        QCOMPARE(model.rowCount(), 0);
    }

    void bubbleTableLinksToBubbles() {
        BubbleTableModel model;
        const SessionPtr session = sampleSession();
        model.show(session, 1);
        for (int rank = 0; rank < 4; ++rank) {
            const auto& bubbles = session->analysis(1).bubbles[static_cast<std::size_t>(rank)];
            for (std::size_t i = 0; i < bubbles.size(); ++i) {
                const ItemRef bubble{ItemKind::Bubble, 1, rank, static_cast<std::int32_t>(i)};
                const int row = model.rowOf(bubble);
                QVERIFY(row >= 0);
                QCOMPARE(model.rankOf(row), rank);
                QCOMPARE(session->bubble(model.longestBubble(row)).position, bubbles[i].position);
                QVERIFY(model.extent(row).begin <= bubbles[i].start);
                QVERIFY(model.extent(row).end >= bubbles[i].end);
            }
        }
        QCOMPARE(model.rowOf({ItemKind::Bubble, 0, 0, 0}), -1); // of another step
        QCOMPARE(model.rowOf({ItemKind::Op, 1, 0, 0}), -1);
        const int total = model.rowCount() - 1;
        QVERIFY(!model.longestBubble(total));
        QCOMPARE(model.extent(total), session->window(1));
    }

    void bubbleTableWithoutAForm() {
        Run run = sampleRun();
        run.schedule.name = "custom";
        const SessionPtr session = makeSession(std::move(run), JobControl()).value();
        QVERIFY(!session->analysis(0).form);
        BubbleTableModel model;
        const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        model.show(session, 0);
        QVERIFY(model.rowCount() > 0);
        QVERIFY(!model.index(0, BubbleTableModel::Form).data(BubbleTableModel::kSortRole).isValid());
        QCOMPARE(model.index(0, BubbleTableModel::Form).data().toString(), QStringLiteral("–"));
        const ItemRef bubble{ItemKind::Bubble, 0, 0, 0};
        QCOMPARE(compareWithForm(session->analysis(0), session->bubble(bubble)).kind, FormComparison::Kind::NoForm);
        QVERIFY(!describe(*session, bubble).note.isEmpty());
    }

    void reportTableModel() {
        report::Table table = report::problemsTable(
            {{"truncated", 3, say("rank0 byte 12"), say("the last packet is cut off")}}, report::Reader::People);
        table.rows.front().back().marked = true;
        ReportTableModel model;
        const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        model.show(std::move(table));
        QCOMPARE(model.rowCount(), 1);
        QCOMPARE(model.columnCount(), 4); // those for programs are not there
        QCOMPARE(model.headerData(1, Qt::Horizontal, Qt::DisplayRole).toString(), QStringLiteral("Problem"));
        QCOMPARE(model.index(0, 0).data().toLongLong(), 3LL);
        QCOMPARE(model.index(0, 2).data().toString(), QStringLiteral("rank0 byte 12"));
        QVERIFY(model.index(0, 3).data(Qt::FontRole).value<QFont>().bold());
        QVERIFY(!model.index(0, 2).data(Qt::FontRole).isValid());
    }

    void reportTableModelShowsTimesAndPercents() {
        report::Table table({}, {report::shown("time"), report::shown("rate"), report::data("hidden")});
        table.row(TimeNs{1'500'000}, report::Cell(0.25, report::Look::Percent), 7);
        ReportTableModel model;
        model.show(std::move(table));
        QCOMPARE(model.columnCount(), 2);
        QCOMPARE(model.index(0, 0).data().toString(), QStringLiteral("1.50 ms"));
        QCOMPARE(model.index(0, 1).data().toString(), QStringLiteral("25.0 %"));
    }

    void formIsShownOnlyWhereItIsComparable() {
        const SessionPtr session = sampleSession();
        // Rank 0's bubble before its first backward is what the form counts; the gaps behind its steady part are three
        // pieces of a position that consolidation joins.
        const auto kind = [&](int rank, int index) {
            const Bubble& bubble = session->bubble({ItemKind::Bubble, 0, rank, index});
            return compareWithForm(session->analysis(0), bubble).kind;
        };
        QCOMPARE(kind(0, 0), FormComparison::Kind::Comparable);
        QCOMPARE(kind(0, 1), FormComparison::Kind::Moved);
        QCOMPARE(kind(0, 2), FormComparison::Kind::NotInForm);
        QCOMPARE(itemLabels(*session, {ItemKind::Bubble, 0, 0, 1}), std::vector<QString>{QStringLiteral("5.00 ms")});
        QCOMPARE(itemLabels(*session, {ItemKind::Bubble, 0, 0, 0}).front(),
                 QStringLiteral("30.0 ms · closed form 30.0 ms"));
    }

    void detailsOfAnOp() {
        const SessionPtr session = sampleSession();
        const ItemDescription text = describe(*session, {ItemKind::Op, 1, 1, 3}); // B0 on rank 1
        QVERIFY(text.title.startsWith(QLatin1String("B0")));
        QCOMPARE(valueOf(text, QStringLiteral("Rank")), QStringLiteral("1"));
        QCOMPARE(valueOf(text, QStringLiteral("Step")), QStringLiteral("1"));
        QCOMPARE(valueOf(text, QStringLiteral("Start in step")), QStringLiteral("40 ms"));
        QCOMPARE(valueOf(text, QStringLiteral("Wait before it")), QStringLiteral("20 ms"));
        QCOMPARE(valueOf(text, QStringLiteral("Lateness")), QStringLiteral("missing"));
        // The status line has what matters, without the details.
        const QString line = oneLine(*session, {ItemKind::Op, 1, 1, 3});
        QVERIFY(line.contains(QLatin1String("20 ms")) && !line.contains(QLatin1String("40 ms")));
    }

    /// The cause and the excess come first, what they are compared with is folded.
    /// All but values that a trace states under names of its own.
    void detailsExplainTheirTerms() {
        SampleSpec spec;
        spec.trace = true;
        const SessionPtr session = sampleSession(spec);
        for (const ItemRef& item : {ItemRef{ItemKind::Op, 1, 1, 3}, ItemRef{ItemKind::Bubble, 1, 1, 0},
                                    ItemRef{ItemKind::Comm, 1, 1, 0}, session->sliceItem(SliceId{0})}) {
            for (const Fact& fact : describe(*session, item).facts)
                QVERIFY2(!fact.explanation.isEmpty(), qPrintable(fact.name));
        }
        for (const Fact& fact : describeStep(*session, 1).facts)
            QVERIFY2(!fact.explanation.isEmpty(), qPrintable(fact.name));
    }

    void detailsBeginWithTheCause() {
        const SessionPtr session = sampleSession();
        const ItemRef bubble{ItemKind::Bubble, 1, 3, 0};
        (void)session->diagnosis(1);
        ThemeManager themes;
        ViewState state;
        DetailsPanel panel(state, themes);
        panel.resize(400, 500);
        panel.show();
        state.setSession(session);
        // Nothing is selected yet: the step.
        QCOMPARE(panel.title(), QStringLiteral("Step %1").arg(session->step(state.step()).index));
        QCOMPARE(panel.value(QStringLiteral("Duration")), exactTime(session->analysis(state.step()).wall));
        state.select(bubble);
        const ItemDescription text = describe(*session, bubble);
        QCOMPARE(text.facts.at(0).name, QStringLiteral("Attributed to"));
        QCOMPARE(text.facts.at(1).name, QStringLiteral("Duration"));
        QCOMPARE(text.facts.at(2).name, QStringLiteral("Excess over closed form"));
        const auto shown = [&](const char* name) {
            for (const QLabel* label : panel.findChildren<QLabel*>()) {
                if (label->text() == QLatin1String(name)) return label->isVisible();
            }
            return false;
        };
        QVERIFY(shown("Attributed to") && !shown("Expression"));
        panel.findChild<QToolButton*>(QStringLiteral("detailsMore"))->click();
        QVERIFY(shown("Expression"));
    }

    void transfersAreFollowedThereAndBack() {
        const SessionPtr session = sampleSession();
        ItemRef at{ItemKind::Op, 1, 0, 0}; // F0 on rank 0
        QVERIFY(!producer(*session, at));
        std::vector<int> ranks;
        for (int i = 0; i < 7; ++i) {
            const ItemRef next = consumer(*session, at);
            QVERIFY(next);
            QCOMPARE(producer(*session, next), at);
            ranks.push_back(next.rank);
            at = next;
        }
        QCOMPARE(ranks, (std::vector<int>{1, 2, 3, 3, 2, 1, 0}));
        QVERIFY(!consumer(*session, at)); // B0 on rank 0 is the last
    }

    void transfersStayInTheirPipelineAndSlice() {
        SampleSpec two_way;
        two_way.schedule = {"dualpipe", "", 4, 8, 2};
        SampleSpec sliced;
        sliced.schedule = {"seq1f1b", "", 4, 4, 1};
        sliced.schedule.sequence_slices = 2;
        for (const SampleSpec& spec : {two_way, sliced}) {
            const SessionPtr session = sampleSession(spec);
            for (std::int32_t i = 0; i < static_cast<std::int32_t>(session->step(0).ranks[0].size()); ++i) {
                ItemRef at{ItemKind::Op, 0, 0, i};
                const Op op = session->op(at).op;
                if (op.kind != OpKind::Forward || producer(*session, at)) continue; // not of the first stage
                int hops = 0;
                while (const ItemRef next = consumer(*session, at)) {
                    QCOMPARE(producer(*session, next), at);
                    QCOMPARE(session->op(next).op.microbatch, op.microbatch);
                    QCOMPARE(session->op(next).op.sequence, op.sequence);
                    QCOMPARE(session->op(next).op.chunk, op.chunk);
                    at = next;
                    ++hops;
                }
                QCOMPARE(hops, 7); // through four stages and back
                QCOMPARE(at.rank, 0);
            }
        }
    }

    void halvesOfAPairKnowEachOther() {
        SampleSpec spec;
        spec.schedule = {"1f1b-overlap", "combined", 4, 8, 1};
        const SessionPtr session = sampleSession(spec);
        int halves = 0;
        for (std::int32_t i = 0; i < static_cast<std::int32_t>(session->step(0).ranks[1].size()); ++i) {
            const ItemRef item{ItemKind::Op, 0, 1, i};
            const ItemRef other = otherHalf(*session, item);
            QCOMPARE(bool(other), session->op(item).op.overlapped);
            if (!other) continue;
            QCOMPARE(otherHalf(*session, other), item);
            QVERIFY(session->op(other).op.kind != session->op(item).op.kind);
            ++halves;
        }
        QVERIFY(halves > 2);
    }

    void transferSpansLeadToTheirOps() {
        const SessionPtr session = sampleSession();
        for (std::int32_t i = 0; i < static_cast<std::int32_t>(session->step(0).comm[1].size()); ++i) {
            const ItemRef span{ItemKind::Comm, 0, 1, i};
            const ItemRef made = producer(*session, span);
            const ItemRef used = consumer(*session, span);
            QVERIFY(made);
            QVERIFY(used);
            QCOMPARE(consumer(*session, made), used);
        }
    }

    void neighboursCrossSteps() {
        const SessionPtr session = sampleSession();
        ItemRef at{ItemKind::Op, 0, 2, 0};
        QVERIFY(!neighbourOp(*session, at, -1));
        int steps = 0;
        while (const ItemRef next = neighbourOp(*session, at, 1)) {
            QCOMPARE(neighbourOp(*session, next, -1), at);
            at = next;
            ++steps;
        }
        QCOMPARE(steps, 3 * 17 - 1);
        QCOMPARE(neighbourOp(*session, {ItemKind::Bubble, 0, 0, 0}, 1), (ItemRef{ItemKind::Op, 0, 0, 4}));
        QCOMPARE(neighbourOp(*session, {ItemKind::Bubble, 0, 0, 0}, -1), (ItemRef{ItemKind::Op, 0, 0, 3}));
    }

    void nearestOp() {
        const SessionPtr session = sampleSession();
        const TimeNs begin = session->step(0).begin;
        QCOMPARE(opNear(*session, 0, begin - 1s), (ItemRef{ItemKind::Op, 0, 0, 0}));
        QCOMPARE(opNear(*session, 0, begin + 7ms), (ItemRef{ItemKind::Op, 0, 0, 1}));
        QCOMPARE(opNear(*session, 0, begin + 22ms), (ItemRef{ItemKind::Op, 0, 0, 3}));
        QCOMPARE(opNear(*session, 0, begin + 48ms), (ItemRef{ItemKind::Op, 0, 0, 4}));
    }

    void times_data() {
        QTest::addColumn<qint64>("ns");
        QTest::addColumn<QString>("text");
        QTest::newRow("0") << qint64{0} << "0 ms";
        QTest::newRow("ns") << qint64{820} << "820 ns";
        QTest::newRow("us") << qint64{1500} << QStringLiteral("1.50 µs");
        QTest::newRow("ms") << qint64{15'000'000} << "15.0 ms";
        QTest::newRow("ms3") << qint64{165'432'000} << "165 ms";
        QTest::newRow("rounds up") << qint64{999'960'000} << "1.00 s";
        QTest::newRow("rounds to 10") << qint64{9'999'000} << "10.0 ms";
        QTest::newRow("s") << qint64{12'345'000'000} << "12.3 s";
        QTest::newRow("negative") << qint64{-2'500'000} << QStringLiteral("−2.50 ms");
    }
    void times() {
        QFETCH(const qint64, ns);
        QFETCH(const QString, text);
        QCOMPARE(shortTime(TimeNs{ns}), text);
    }

    /// With ends in ascending order or not, and with all kinds of sums.
    void lanesAreSearchedByTime() {
        std::mt19937 random(1);
        const auto below = [&random](int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random); };
        for (int round = 0; round < 200; ++round) {
            const bool nests = round % 2 == 0;
            Lane lane;
            std::vector<Span> spans;
            for (int time = 0; time < 100; time += 1 + below(6)) {
                spans.push_back({TimeNs{time}, TimeNs{time + (nests ? below(30) : 1)}});
                lane.add(spans.back());
            }
            const auto sums = static_cast<Lane::Sums>(below(3));
            lane.seal(sums);
            for (int time = -2; time < 140; ++time) {
                std::size_t first = spans.size(); // of those that end later
                for (std::size_t i = spans.size(); i-- > 0;) {
                    if (spans[i].end > TimeNs{time}) first = i;
                }
                QCOMPARE(lane.firstEndingAfter(TimeNs{time}), first);
                if (sums == Lane::Sums::None) continue;
                int covered = 0;
                for (int at = 0; at < time; ++at) {
                    covered +=
                        std::ranges::any_of(
                            spans, [at](const Span& span) { return span.start <= TimeNs{at} && span.end > TimeNs{at}; })
                            ? 1
                            : 0;
                }
                QCOMPARE(lane.coveredBefore(TimeNs{time}, lane.firstStartingFrom(TimeNs{time})), TimeNs{covered});
            }
        }
    }

    void emptyRunIsAnError() {
        JobControl control;
        const auto result =
            loadSession([](const auto&, JobControl&) -> Result<Run> { return Run(); }, {"some/file"}, control);
        QVERIFY(!result.ok());
        QCOMPARE(result.error().kind, ErrorKind::Input);
        QVERIFY(result.error().text().find("some/file") != std::string::npos);
    }
};

BUBBLESCOPE_GUI_TEST(ModelsTest, models_test);
#include "models_test.moc"
