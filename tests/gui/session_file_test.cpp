#include "app/gui/models/session_file.h"
#include "core/recognise/rule_by_example.h"
#include "tests/fuzz/mutators/mutate.h"
#include "tests/gui/gui_tests.h"

#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

using namespace bubblescope;
using namespace bubblescope::gui;
namespace fs = std::filesystem;

namespace {

SavedSession sampleSaved(const fs::path& folder) {
    SavedTrace one;
    one.files = {folder / "runs" / "a.pftrace", folder / "runs" / "b & c.json"};
    one.compare = {"/elsewhere/old.json"};
    one.ideal = true;
    one.view.range = {TimeNs{-5}, TimeNs{7'000'000'000}};
    one.view.step = 3;
    one.view.selection = {ItemKind::Bubble, 3, 1, 2};
    one.view.reference_blend = 0.5;
    one.view.flows[1] = true;
    one.view.measured = {TimeNs{10}, TimeNs{20}};
    one.view.measured_tracks = {2, 7};
    RowChoice& rows = one.view.rows.emplace();
    rows.pinned = {3, 1};
    rows.filter = "0-7 dp=1";
    rows.order = RowOrder::Bubble;
    rows.by_hand = {2, 0};
    rows.group = MeshAxis::Data;
    rows.folded = {1};
    rows.unfolded = {0, 4};
    rows.hidden[2] = true;
    rows.counters = true;
    rows.height = 54;
    rows.flat = {3, 9};
    rows.pinned_tracks = {4, 8};
    one.taught.rules = rulesDocument({"mine", {{"vor {microbatch}", OpKind::Forward}}, RankSource::File, true});
    SavedTrace other;
    other.files = {"/traces/z.nsys-rep"};
    other.view.step = 0;
    other.view.range = {TimeNs{0}, TimeNs{1}};
    other.taught.family = ScheduleSpec{"1f1b", "", 4, 8, 1};
    return {{one, other}, 1, "ZG9ja3M="};
}

/// JSON without backslashes, with single quotes in place of double ones.
void write(const fs::path& file, std::string text) {
    std::ranges::replace(text, '\'', '"');
    std::ofstream(file, std::ios::binary) << text;
}

std::string read(const fs::path& file) {
    std::ostringstream text;
    text << std::ifstream(file, std::ios::binary).rdbuf();
    return text.str();
}

} // namespace

// Not libFuzzer's, which is not here: one byte is another one.
std::string fuzz::mutateBytes(std::string bytes, std::size_t most) {
    static fuzz::Random random(2);
    bytes.resize(std::min(bytes.size(), most));
    if (!bytes.empty()) bytes[below(random, bytes.size())] = static_cast<char>(below(random, 256));
    return bytes;
}

std::size_t fuzz::repetitions(std::size_t bytes, std::size_t most, Random& random) {
    return std::min(most / std::max<std::size_t>(bytes, 1), 1 + below(random, 8));
}

class SessionFileTest : public QObject {
    Q_OBJECT

private slots:
    void whatIsWrittenIsRead() {
        const SavedSession saved = sampleSaved(folder());
        const fs::path file = folder() / "x.bubblescope-session.json";
        QVERIFY(isSessionFile(file));
        QVERIFY(!isSessionFile("x.json"));
        QVERIFY(writeSession(file, saved).ok());
        const Result<SavedSession> again = readSession(file);
        QVERIFY2(again.ok(), again.ok() ? "" : again.error().text().c_str());
        QCOMPARE(again.value().current, 1);
        QCOMPARE(again.value().docks, saved.docks);
        QCOMPARE(again.value().traces.size(), saved.traces.size());
        for (std::size_t i = 0; i < saved.traces.size(); ++i) {
            const SavedTrace& a = saved.traces[i];
            const SavedTrace& b = again.value().traces[i];
            QVERIFY(a.files == b.files);
            QVERIFY(a.compare == b.compare);
            QCOMPARE(b.ideal, a.ideal);
            QCOMPARE(b.view.range, a.view.range);
            QCOMPARE(b.view.step, a.view.step);
            QCOMPARE(b.view.selection, a.view.selection);
            QCOMPARE(b.view.reference_blend, a.view.reference_blend);
            QVERIFY(b.view.flows == a.view.flows);
            QCOMPARE(b.view.measured, a.view.measured);
            QVERIFY(b.view.rows == a.view.rows);
            QCOMPARE(b.view.measured_tracks, a.view.measured_tracks);
            QCOMPARE(b.taught.rules, a.taught.rules);
            QCOMPARE(b.taught.family.has_value(), a.taught.family.has_value());
            if (!a.taught.family) continue;
            QCOMPARE(b.taught.family->name, a.taught.family->name);
            QCOMPARE(b.taught.family->pp, 4);
            QCOMPARE(b.taught.family->microbatches, 8);
            QCOMPARE(b.taught.family->vpp, 1);
        }
    }

    void tracesMoveWithTheirFolder() {
        const fs::path here = folder() / "here";
        const fs::path there = folder() / "there";
        fs::create_directories(here);
        QVERIFY(writeSession(here / "s.bubblescope-session.json", sampleSaved(here)).ok());
        QVERIFY(read(here / "s.bubblescope-session.json").find(here.string()) == std::string::npos);
        fs::rename(here, there);
        const Result<SavedSession> moved = readSession(there / "s.bubblescope-session.json");
        QVERIFY(moved.ok());
        QVERIFY(moved.value().traces[0].files[0] == there / "runs" / "a.pftrace");
        QVERIFY(moved.value().traces[1].files[0] == fs::path("/traces/z.nsys-rep")); // of another place
    }

    void whatIsLeftOutIsAsAtFirst() {
        const fs::path file = folder() / "least.bubblescope-session.json";
        write(file, "{'format':'bubblescope-session','version':1,'traces':[{'files':['a.json']}]}");
        const Result<SavedSession> least = readSession(file);
        QVERIFY(least.ok());
        QVERIFY(!least.value().traces[0].view.rows);
        QVERIFY(!least.value().traces[0].view.selection);
    }

    void damageIsToldWithItsPlace_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("told");
        const auto row = [](const char* name, const QString& text, const char* told) {
            QTest::newRow(name) << text << QString::fromLatin1(told);
        };
        const QString trace = QStringLiteral("{'format':'bubblescope-session','version':1,'traces':[%1]}");
        const QString view = trace.arg(QStringLiteral("{'files':['a'],'view':{%1}}"));
        row("cut off", QStringLiteral("{'format':'bubblescope-session','ver"), "");
        row("another file", QStringLiteral("{'traceEvents':[]}"), "not a Bubblescope session");
        row("a list", QStringLiteral("[1,2]"), "not a Bubblescope session");
        row("newer", QStringLiteral("{'format':'bubblescope-session','version':2,'traces':[]}"), "version 2");
        row("no trace", trace.arg(QString()), "traces has no trace");
        row("no files", trace.arg(QStringLiteral("{}")), "traces[0] does not name files");
        row("a number for a file", trace.arg(QStringLiteral("{'files':[7]}")), "traces[0].files[0]");
        row("current",
            QStringLiteral("{'format':'bubblescope-session','version':1,'current':4,'traces':[{'files':['a']}]}"),
            "current is not an index");
        row("step", view.arg(QStringLiteral("'step':-1")), "traces[0].view.step is -1");
        row("large step", view.arg(QStringLiteral("'step':18446744073709551615")), "traces[0].view.step");
        row("range", view.arg(QStringLiteral("'range_ns':[5,1]")), "traces[0].view.range_ns ends before");
        row("far range", view.arg(QStringLiteral("'range_ns':[0,9223372036854775807]")), "traces[0].view.range_ns[1]");
        row("half a range", view.arg(QStringLiteral("'range_ns':[5]")), "traces[0].view.range_ns has no");
        row("kind", view.arg(QStringLiteral("'selected':{'kind':'dog'}")), "traces[0].view.selected.kind is 'dog'");
        row("order", view.arg(QStringLiteral("'rows':{'order':'up'}")), "traces[0].view.rows.order is 'up'");
        row("filter", view.arg(QStringLiteral("'rows':{'filter':'x'}")), "traces[0].view.rows.filter is not a filter");
        row("pinned", view.arg(QStringLiteral("'rows':{'pinned':'x'}")), "traces[0].view.rows.pinned is not a list");
        row("counters", view.arg(QStringLiteral("'rows':{'counters':1}")), "traces[0].view.rows.counters is 1");
        const QString taught = trace.arg(QStringLiteral("{'files':['a'],'taught':%1}"));
        row("rules", taught.arg(QStringLiteral("{'rules':'x'}")), "traces[0].taught.rules are not valid rules");
        row("schedule", taught.arg(QStringLiteral("{'schedule':{'name':'dog'}}")),
            "taught.schedule.name is not a schedule");
        row("sizes", taught.arg(QStringLiteral("{'schedule':{'name':'1f1b','pp':99999999}}")), "taught.schedule.pp is");
        row("share", view.arg(QStringLiteral("'ghost_share':2")), "traces[0].view.ghost_share is 2");
    }

    void damageIsToldWithItsPlace() {
        QFETCH(QString, text);
        QFETCH(QString, told);
        const fs::path file = folder() / "damaged.bubblescope-session.json";
        write(file, text.toStdString());
        const Result<SavedSession> damaged = readSession(file);
        QVERIFY(!damaged.ok());
        QVERIFY(damaged.error().kind == ErrorKind::Input);
        const QString all = QString::fromStdString(damaged.error().text());
        QVERIFY2(all.contains(told), qPrintable(all));
        QVERIFY2(all.contains(QLatin1String("damaged.bubblescope-session.json")), qPrintable(all));
        QVERIFY(!damaged.error().hint.empty());
    }

    void whatCannotBeReadOrWrittenIsTold() {
        QVERIFY(!readSession(folder() / "none.bubblescope-session.json").ok());
        const Status written = writeSession(folder() / "no" / "folder.bubblescope-session.json", sampleSaved(folder()));
        QVERIFY(!written.ok());
        QVERIFY(written.error().text().find("folder.bubblescope-session.json") != std::string::npos);
    }

    /// tests/fuzz has no Qt, so its changes of JSON are made here. BUBBLESCOPE_MUTATIONS sets how many.
    void changedFilesAreErrorsOrSessions() {
        const char* const wanted = std::getenv("BUBBLESCOPE_MUTATIONS");
        const long count = wanted == nullptr ? 2'000 : std::atol(wanted);
        const fs::path file = folder() / "changed.bubblescope-session.json";
        const fs::path again = folder() / "again.bubblescope-session.json";
        QVERIFY(writeSession(file, sampleSaved(folder())).ok());
        const std::string whole = read(file);
        std::string text = whole;
        fuzz::Random random(1);
        for (long i = 0; i < count; ++i) {
            constexpr std::size_t kLongest = 1 << 14;
            constexpr int kFresh = 16; // otherwise changes add up
            const std::string changed = fuzz::mutateJson(i % kFresh == 0 ? whole : text, kLongest, random);
            std::ofstream(file, std::ios::binary) << changed;
            const Result<SavedSession> session = readSession(file);
            if (!session.ok()) {
                QCOMPARE(session.error().kind, ErrorKind::Input);
                QVERIFY(session.error().where.find(file.string()) != std::string::npos);
                continue;
            }
            text = changed;
            QVERIFY(writeSession(again, session.value()).ok());
            const std::string written = read(again);
            const Result<SavedSession> same = readSession(again);
            QVERIFY2(same.ok(), changed.c_str());
            QVERIFY(writeSession(again, same.value()).ok());
            QVERIFY2(read(again) == written, changed.c_str());
        }
    }

private:
    [[nodiscard]] fs::path folder() const { return dir_.path().toStdString(); }
    QTemporaryDir dir_;
};

BUBBLESCOPE_GUI_TEST(SessionFileTest, session_file_test);
#include "session_file_test.moc"
