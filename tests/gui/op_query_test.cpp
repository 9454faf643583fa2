#include "app/gui/models/run_query.h"
#include "app/gui/models/view_state.h"
#include "app/gui/panels/search_bar.h"
#include "app/gui/theme/theme.h"
#include "app/gui/timeline/timeline_view.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/sample_run.h"

#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QSignalSpy>
#include <QTest>

#include <algorithm>

using namespace bubblescope;
using namespace bubblescope::gui;

namespace {

OpQuery parsed(const char* text) {
    const Result<OpQuery> query = parseOpQuery(text);
    if (!query.ok()) qFatal("%s: %s", text, query.error().text().c_str());
    return query.value();
}

QueryHits hitsOf(const Session& session, const char* text, std::size_t most = 10000) {
    return runQuery(session, parsed(text), most);
}

} // namespace

/// The language of searches, and what they find.
class OpQueryTest : public GuiTest {
    Q_OBJECT

private slots:
    void wordsBecomeConditions() {
        const OpQuery query = parsed("B rank=3 step=0-2,7 dur>20ms dur<=1.5s start>=5us");
        QVERIFY(query.wants(QueryKind::Backward) && query.wants(QueryKind::BackwardInput));
        QVERIFY(!query.wants(QueryKind::Forward));
        QCOMPARE(query.rank.size(), 1U);
        QVERIFY(accepts(query.rank, 3) && !accepts(query.rank, 2));
        QVERIFY(accepts(query.step, 7) && accepts(query.step, 1) && !accepts(query.step, 3));
        QCOMPARE(query.shortest, TimeNs{20'000'001});
        QCOMPARE(query.longest, TimeNs{1'500'000'000});
        QCOMPARE(query.earliest, TimeNs{5000});

        QVERIFY(parsed("send receive").wants(QueryKind::Send));
        QVERIFY(parsed("SEND").wants(QueryKind::Send));      // case does not matter
        QVERIFY(parsed("rank=1").wants(QueryKind::Forward)); // ops, unless something else is named
        const OpQuery op = parsed("f3.1 rank=2");
        QVERIFY(op.op && op.op->microbatch.value == 3 && op.op->chunk.value == 1);
        const OpQuery name = parsed("\"name=fused add\" GEMM");
        QVERIFY(name.wants(QueryKind::Slice));
        QCOMPARE(name.words, (std::vector<std::string>{"fused add", "gemm"}));
    }

    void onlyWhatLooksLikeAQueryIsOne() {
        for (const char* text : {"B", "b rank=3", "rank=3", "dur>1ms", "bubble", "gemm dur>1us"})
            QVERIFY2(looksLikeQuery(text), text);
        for (const char* text : {"", "F3", "rank 2", "step 7", "layer_norm", "straggler"})
            QVERIFY2(!looksLikeQuery(text), text);
    }

    void wrongWordsAreNamed_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("message");
        QTest::newRow("key") << "rnak=3"
                             << "cannot search by 'rnak'";
        QTest::newRow("number") << "rank=x"
                                << "'rank=x' needs whole numbers";
        QTest::newRow("empty") << "rank="
                               << "'rank=' needs whole numbers";
        QTest::newRow("backwards") << "rank=5-2"
                                   << "'rank=5-2' needs whole numbers";
        QTest::newRow("negative") << "rank=-1"
                                  << "'rank=-1' needs whole numbers";
        QTest::newRow("unit") << "dur>20"
                              << "'dur>20' needs a time with a unit";
        QTest::newRow("equal") << "dur=20ms"
                               << "'dur=20ms' tests times for equality, so it almost never matches";
        QTest::newRow("order") << "rank>3"
                               << "'rank>3' needs a number";
        QTest::newRow("name") << "name="
                              << "'name=' needs part of a name";
        QTest::newRow("two ops") << "F1 F2"
                                 << "'F2' is a second op in the query";
    }

    void wrongWordsAreNamed() {
        QFETCH(QString, text);
        QFETCH(QString, message);
        const Result<OpQuery> query = parseOpQuery(text.toStdString());
        QVERIFY(!query.ok());
        QVERIFY(query.error().kind == ErrorKind::Usage);
        QCOMPARE(QString::fromStdString(query.error().message), message);
        QVERIFY(!query.error().hint.empty());
    }

    void findsTheLongestFirst() {
        SampleSpec spec;
        spec.comm = std::chrono::milliseconds(1);
        spec.trace = true;
        const SessionPtr session = sampleSession(spec); // 4 ranks, 8 micro-batches, 3 steps
        QCOMPARE(hitsOf(*session, "F").count, 96U);
        QCOMPARE(hitsOf(*session, "F rank=2").count, 24U);
        QCOMPARE(hitsOf(*session, "F rank=2 step=1").count, 8U);
        QCOMPARE(hitsOf(*session, "F stage=2 step=1").count, 8U);
        QCOMPARE(hitsOf(*session, "F mb=0-1 rank=0,3 step=1").count, 4U);
        QCOMPARE(hitsOf(*session, "F3").count, 12U);
        QCOMPARE(hitsOf(*session, "dur>7ms step=1").count, 36U); // backwards, and the optimizer on each rank
        QCOMPARE(hitsOf(*session, "B dur>20ms").count, 0U);
        QCOMPARE(hitsOf(*session, "replica=1").count, 0U);
        QVERIFY(hitsOf(*session, "send rank=0").count > 0);

        const QueryHits bubbles = hitsOf(*session, "bubble step=1");
        QVERIFY(bubbles.count > 3);
        QVERIFY(std::ranges::is_sorted(bubbles.items, std::ranges::greater{},
                                       [&](const ItemRef& item) { return session->range(item).length(); }));
        const QueryHits some = hitsOf(*session, "bubble step=1", 2);
        QCOMPARE(some.count, bubbles.count);
        QCOMPARE(some.items, (std::vector<ItemRef>{bubbles.items[0], bubbles.items[1]}));

        const QueryHits slices = hitsOf(*session, "name=layer_norm rank=1");
        QVERIFY(slices.count > 0);
        for (const ItemRef& item : slices.items)
            QVERIFY(item.kind == ItemKind::Slice && item.rank == 1);
    }

    void likesOfAnItemIncludeIt() {
        SampleSpec spec;
        spec.comm = std::chrono::milliseconds(1);
        spec.trace = true;
        const SessionPtr session = sampleSession(spec);
        for (const ItemRef& item :
             {ItemRef{ItemKind::Op, 1, 2, 3}, ItemRef{ItemKind::Bubble, 1, 2, 0}, ItemRef{ItemKind::Comm, 1, 1, 0},
              hitsOf(*session, "name=layer_norm").items.front()}) {
            const std::string text = queryForLikes(*session, item);
            const QueryHits hits = runQuery(*session, parsed(text.c_str()), 10000);
            QVERIFY2(std::ranges::find(hits.items, item) != hits.items.end(), text.c_str());
        }
    }

    void theBarMarksAllAndStepsThrough() {
        ThemeManager themes;
        ViewState state;
        TimelineView view(state, themes);
        view.resize(1000, 480);
        view.show();
        SearchBar bar(state, &view);
        state.setSession(sampleSession());
        QSignalSpy searched(&bar, &SearchBar::searched);
        bar.find(QStringLiteral("B rank=3"));
        QTRY_COMPARE(bar.counter(), QStringLiteral("24"));
        QCOMPARE(state.highlights().size(), 24U);
        QVERIFY(std::ranges::all_of(state.highlights(), [](const Highlight& mark) { return mark.rank == 3; }));
        bar.step(1);
        QCOMPARE(bar.counter(), QStringLiteral("1 of 24"));
        const ItemRef first = state.selection();
        QCOMPARE(first.rank, 3);
        bar.step(1);
        QCOMPARE(bar.counter(), QStringLiteral("2 of 24"));
        QVERIFY(state.selection() != first);
        bar.step(-1);
        bar.step(-1); // wraps around
        QCOMPARE(bar.counter(), QStringLiteral("24 of 24"));
        QTest::keyClick(&bar.line(), Qt::Key_Escape);
        QVERIFY(!bar.isVisible());
        QCOMPARE(state.highlights().size(), 24U); // until the selection is cleared
        bar.step(1);                              // also while it is closed
        QCOMPARE(state.selection(), first);

        bar.find(QStringLiteral("B rnak=3"));
        QTRY_VERIFY(child<QLabel>(bar, "searchHint").text().contains(QLatin1String("'rnak'")));
        QCOMPARE(bar.list().count(), 0);
        QVERIFY(state.highlights().empty()); // marks of a search that is over would mislead
    }
};

BUBBLESCOPE_GUI_TEST(OpQueryTest, op_query_test);
#include "op_query_test.moc"
