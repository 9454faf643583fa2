#include "app/gui/explorer/schedule_explorer.h"
#include "app/gui/language/language.h"
#include "app/gui/language/text.h"
#include "app/gui/models/item_text.h"
#include "app/gui/panels/steps_panel.h"
#include "app/gui/panels/summary_bar.h"
#include "app/gui/timeline/counters.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/sample_run.h"

#include <QComboBox>
#include <QLabel>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTest>

using namespace bubblescope;
using namespace bubblescope::gui;
using namespace std::chrono_literals;

namespace {

struct SearchText {
    Q_DECLARE_TR_FUNCTIONS(Search)
};

QString slices(int count) {
    return SearchText::tr("%Ln slice(s)", nullptr, count);
}

/// A run whose framework states loss and tokens; of the last step only tokens.
SessionPtr statedRun() {
    auto session = std::make_shared<Session>(*sampleSession());
    for (int step = 0; step < session->stepCount(); ++step) {
        StepValues values;
        if (step + 1 < session->stepCount()) values.loss = 2.5 - step;
        values.tokens = 4096;
        session->values[{session->step(step).index, 0}] = values;
    }
    return session;
}

class StatedChart : public StepsPanel {
public:
    using StepChart::statedCurves;
    using StepsPanel::StepsPanel;
};

} // namespace

/// Texts for people: numbers with their nouns and units, and a framework's statements about its steps.
class TextsTest : public GuiTest {
    Q_OBJECT

private slots:
    void nounsAgreeWithTheirNumbers() {
        LanguageManager languages;
        languages.choose(Language::English);
        QCOMPARE(slices(1), QStringLiteral("1 slice"));
        QCOMPARE(slices(0), QStringLiteral("0 slices"));
        QCOMPARE(slices(26933), QStringLiteral("%1 slices").arg(QLocale().toString(26933)));
        QVERIFY(QLocale(QLocale::English).toString(26933).contains(QLatin1Char(',')));
        languages.choose(Language::Chinese);
        QVERIFY2(slices(1).startsWith(QStringLiteral("1 个")), qPrintable(slices(1)));
    }

    void signsAndUnitsAreSet() {
        QCOMPARE(exactTime(963us + 500ns), QStringLiteral("963.5 µs"));
        QCOMPARE(exactTime(40ms), QStringLiteral("40 ms"));
        QCOMPARE(exactTime(0ms), QStringLiteral("0 ms"));
        QCOMPARE(shortTime(0ms), QStringLiteral("0 ms"));
        QCOMPARE(exactTime(285'329us), QStringLiteral("285.329 ms"));
        QCOMPARE(timeDelta(-51706us), QStringLiteral("−51.7 ms"));
        QCOMPARE(ratioText(2.7), QStringLiteral("2.7"));
        QCOMPARE(ratioText(7531.6), QLocale().toString(7532));
        QCOMPARE(translated(say("it took {} longer", Sentence(std::string("963.500 us")))),
                 QStringLiteral("it took 963.500 µs longer"));
        QCOMPARE(translated(say("shorter (-30.1 %), ranks 0-7")), QStringLiteral("shorter (−30.1 %), ranks 0-7"));
        // Commands stay as they are typed.
        QCOMPARE(translated(say("whatif --if \"compute=-20%\"")), QStringLiteral("whatif --if \"compute=-20%\""));
    }

    /// Three digits; ten times as much is a factor in texts.
    void sharesAndChangesAreShort() {
        QCOMPARE(percent(1), QStringLiteral("100 %"));
        QCOMPARE(percent(0.9994), QStringLiteral("99.9 %"));
        QCOMPARE(percentDelta(0.0008), QStringLiteral("+0.1 %"));
        QCOMPARE(percentDelta(-0.301), QStringLiteral("−30.1 %"));
        QCOMPARE(percentDelta(1.765), QStringLiteral("+177 %"));
        QCOMPARE(relativeChange(1.765), QStringLiteral("+177 %"));
        QCOMPARE(relativeChange(10.089), QStringLiteral("11.1 ×"));
    }

    void ticksHaveOneUnitAndTheDecimalsTheyNeed() {
        const auto joined = [](const QStringList& labels) { return labels.join(QStringLiteral(" | ")); };
        QCOMPARE(joined(timeTicks({0, 50e6, 100e6})), QStringLiteral("0 ms | 50 ms | 100 ms"));
        QCOMPARE(joined(timeTicks({285e6, 285.5e6, 286e6})), QStringLiteral("285.0 ms | 285.5 ms | 286.0 ms"));
        QCOMPARE(joined(timeTicks({285'000'000, 285'000'500})), QStringLiteral("285.0000 ms | 285.0005 ms"));
        QCOMPARE(joined(timeTicks({0, 500, 1000})), QStringLiteral("0.0 µs | 0.5 µs | 1.0 µs"));
        QCOMPARE(joined(percentTicks({0, 0.2, 0.4})), QStringLiteral("0 % | 20 % | 40 %"));
        QCOMPARE(joined(percentTicks({0, 0.005, 0.01})), QStringLiteral("0.0 % | 0.5 % | 1.0 %"));
        setTimeStyle({3, 1'000'000'000});
        const QString in_seconds = joined(timeTicks({0, 50e6}));
        setTimeStyle({});
        QCOMPARE(in_seconds, QStringLiteral("0.00 s | 0.05 s"));
    }

    void sentencesBeginWithACapitalUnlessWithAFile() {
        QCOMPARE(sentence(QStringLiteral("rank 3: ended by SIGKILL.")), QStringLiteral("Rank 3: ended by SIGKILL."));
        for (const QString& text :
             {QStringLiteral("two/b0: rank 0 is here"), QStringLiteral("rank0.pftrace: rank 0 is here")})
            QCOMPARE(sentence(text), text);
    }

    void countersHaveUnits() {
        QCOMPARE(counterText(3 * 1024.0 * 1024 * 1024 / 2, QStringLiteral("Total Allocated")),
                 QStringLiteral("1.5 GiB"));
        QCOMPARE(counterText(512, QStringLiteral("memory")), QStringLiteral("512 B"));
        QCOMPARE(counterText(3.5, QStringLiteral("activations")), QStringLiteral("3.5"));
        QCOMPARE(counterText(12.6e6, QStringLiteral("requests")), QStringLiteral("12.6 M"));
    }

    void timesAreWrittenAsChosen() {
        const auto written = [](TimeNs time, const TimeStyle& style) {
            setTimeStyle(style);
            const QString text = shortTime(time);
            setTimeStyle({});
            return text;
        };
        const TimeNs time{12'345'678};
        QCOMPARE(written(time, {}), QStringLiteral("12.3 ms"));
        QCOMPARE(written(time, {5, 0}), QStringLiteral("12.346 ms"));
        QCOMPARE(written(time, {3, 1'000'000'000}), QStringLiteral("0.0123 s"));
        QCOMPARE(written(time, {3, 1'000}), QLocale().toString(12'346) + QStringLiteral(" µs"));
        // Rounding up adds a digit before the point.
        QCOMPARE(written(TimeNs{9'996'000}, {}), QStringLiteral("10.0 ms"));
        QCOMPARE(written(TimeNs{999'960'000}, {}), QStringLiteral("1.00 s"));
        QCOMPARE(written(TimeNs{0}, {3, 1'000'000}), QStringLiteral("0 ms"));
    }

    void statedValuesAreShown() {
        const SessionPtr session = statedRun();
        const QString details = oneLine(*session, {ItemKind::Op, 1, 0, 0});
        QVERIFY2(details.contains(QStringLiteral("loss 1.5")), qPrintable(details));
        QVERIFY2(details.contains(QLocale().toString(4096)), qPrintable(details));
        const auto curves =
            StatedChart::statedCurves({session->values.at({0, 0}), session->values.at({2, 0})}, {1e9, 2e9});
        QCOMPARE(curves.size(), 2U);
        QCOMPARE(curves[0].data.values[0], 2.5);
        QVERIFY(std::isnan(curves[0].data.values[1])); // not stated
        QCOMPARE(curves[1].data.values, (std::vector<double>{4096, 2048}));
        QVERIFY(StatedChart::statedCurves({StepValues(), StepValues()}, {1e9, 1e9}).empty());

        ThemeManager themes;
        ViewState state;
        StepsPanel panel(state, themes);
        panel.resize(600, 400);
        panel.show();
        state.setSession(session);
        QVERIFY(panel.pointOf(1, 2).y() > panel.pointOf(0, 2).y()); // the loss falls
    }

    void theLabTakesSizesThatFit() {
        ThemeManager themes;
        ScheduleExplorer lab(themes, nullptr);
        lab.show();
        QSignalSpy computed(&lab, &ScheduleExplorer::computed);
        auto& family = child<QComboBox>(lab, "explorerFamily");
        for (int row = 0; row < family.count(); ++row) {
            family.setCurrentIndex(row);
            ScheduleSpec spec;
            spec.name = family.currentText().toStdString();
            spec.flavor = child<QComboBox>(lab, "explorerFlavor").currentText().toStdString();
            spec.pp = child<QSpinBox>(lab, "explorerPp").value();
            spec.microbatches = child<QSpinBox>(lab, "explorerMicrobatches").value();
            spec.vpp = child<QSpinBox>(lab, "explorerVpp").value();
            QVERIFY2(makeSchedule(spec).ok(), spec.name.c_str());
        }
    }
};

BUBBLESCOPE_GUI_TEST(TextsTest, texts_test);
#include "texts_test.moc"
