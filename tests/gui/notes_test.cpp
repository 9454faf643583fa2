#include "app/gui/main_window.h"
#include "app/gui/models/notes.h"
#include "app/gui/panels/bars.h"
#include "app/gui/panels/notes_panel.h"
#include "app/gui/timeline/note_marks.h"
#include "app/gui/timeline/timeline_painter.h"
#include "app/gui/timeline/timeline_view.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/sample_run.h"

#include <QAbstractItemModelTester>
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>

using namespace bubblescope;
using namespace bubblescope::gui;
using namespace std::chrono_literals;

namespace {

/// A timeline with a note store on a sample session whose trace is in a separate folder.
struct NotesDesk {
    QTemporaryDir folder;
    ThemeManager themes;
    ViewState state;
    NoteStore note_store{state};
    TimelineView view{state, themes};

    NotesDesk() {
        view.setNoteStore(&note_store);
        view.resize(1000, 480);
        view.show();
        state.setSession(sampleSession());
        note_store.setPlace(NotePlace::Beside);
        note_store.open(trace());
        view.setFocus();
    }
    [[nodiscard]] std::filesystem::path trace() const { return folder.filePath("run.pftrace").toStdString(); }
    [[nodiscard]] std::vector<Note> saved() const { return readNotes(notesFileOf(trace())).value(); }
    [[nodiscard]] TimeNs at(TimeNs in_step) const { return state.session()->window(1).begin + in_step; }
};

Note noteAtTime(TimeNs begin, TimeNs end, const char* text) {
    return {begin, end, std::nullopt, text};
}

} // namespace

class NotesTest : public GuiTest {
    Q_OBJECT

private slots:
    void aNoteIsOfTheSelectionTheMeasuredOrTheMiddle() {
        NotesDesk desk;
        const ItemRef item{ItemKind::Op, 1, 2, 4};
        desk.state.select(item);
        QTest::keyClick(&desk.view, Qt::Key_M);
        const TimeRange range = desk.state.session()->range(item);
        QCOMPARE(desk.saved(), (std::vector<Note>{{range.begin, range.end, 2, ""}}));

        desk.state.measure({desk.at(1ms), desk.at(3ms)});
        QTest::keyClick(&desk.view, Qt::Key_M);
        QCOMPARE(desk.note_store.current(), 0); // by time: the measured interval is earlier
        QCOMPARE(desk.saved().front(), (Note{desk.at(1ms), desk.at(3ms), std::nullopt, ""}));

        QTest::keyClick(&desk.view, Qt::Key_Escape);
        QTest::keyClick(&desk.view, Qt::Key_M);
        const TimeRange view = desk.state.range().range();
        const Note middle = desk.note_store.notes()[static_cast<std::size_t>(desk.note_store.current())];
        QCOMPARE(middle.begin, view.begin + view.length() / 2);
        QCOMPARE(middle.end, middle.begin);
        QCOMPARE(desk.saved().size(), std::size_t{3});
    }

    void notesComeBackWithTheTrace() {
        NotesDesk desk;
        desk.note_store.addHere();
        desk.note_store.setText(0, QStringLiteral("慢 chunk"));
        desk.state.setSession(sampleSession());
        QVERIFY(desk.note_store.notes().empty());
        QCOMPARE(desk.saved().size(), std::size_t{1}); // closing does not delete
        desk.note_store.open(desk.trace());
        QCOMPARE(desk.note_store.notes().front().text, std::string("慢 chunk"));
        emit desk.state.sessionChanged(); // as when the language changes
        QCOMPARE(desk.note_store.notes().size(), std::size_t{1});
    }

    void deletionCanBeUndoneOnce() {
        NotesDesk desk;
        desk.note_store.addHere();
        desk.note_store.setText(0, QStringLiteral("keep me"));
        QVERIFY(!desk.note_store.canRestore());
        desk.note_store.remove(0);
        QVERIFY(desk.saved().empty());
        QVERIFY(!QFile::exists(QString::fromStdString(notesFileOf(desk.trace()).string())));
        desk.note_store.restore();
        QCOMPARE(desk.saved().front().text, std::string("keep me"));
        QVERIFY(!desk.note_store.canRestore());
    }

    void aBadFileIsReportedAndLeftAlone() {
        NotesDesk desk;
        QFile file(QString::fromStdString(notesFileOf(desk.trace()).string()));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("{\"notes\": [ {");
        file.close();
        QSignalSpy failed(&desk.note_store, &NoteStore::failed);
        desk.note_store.open(desk.trace());
        QCOMPARE(failed.count(), 1);
        desk.note_store.addHere(); // kept in memory, with a message that it is not saved
        QCOMPARE(failed.count(), 2);
        QVERIFY(failed.last().first().value<Error>().message.find("not saved") != std::string::npos);
        QCOMPARE(desk.note_store.notes().size(), std::size_t{1});
        QVERIFY(file.open(QIODevice::ReadOnly));
        QCOMPARE(file.readAll(), QByteArray("{\"notes\": [ {"));
    }

    void keysGoFromNoteToNote() {
        NotesDesk desk;
        for (const TimeNs time : {TimeNs(2ms), TimeNs(40ms), TimeNs(90ms)}) {
            desk.state.measure({desk.at(time), desk.at(time + 1ms)});
            desk.note_store.addHere();
        }
        desk.state.measure({});
        desk.state.range().show({desk.at(0ms), desk.at(20ms)});
        const auto middle = [&] {
            const TimeRange range = desk.state.range().range();
            return range.begin + range.length() / 2;
        };
        QTest::keyClick(&desk.view, Qt::Key_J); // wraps around to the first
        QCOMPARE(desk.note_store.current(), 0);
        QTest::keyClick(&desk.view, Qt::Key_J);
        QCOMPARE(desk.note_store.current(), 1);
        QVERIFY(std::chrono::abs(middle() - desk.at(40ms + 500us)) < 10us);
        QCOMPARE(desk.state.range().range().length(), TimeNs(20ms)); // the zoom is kept
        QTest::keyClick(&desk.view, Qt::Key_K);
        QTest::keyClick(&desk.view, Qt::Key_K);
        QCOMPARE(desk.note_store.current(), 2);
    }

    void aClickOnAFlagGoesThere() {
        NotesDesk desk;
        desk.state.measure({desk.at(50ms), desk.at(51ms)});
        desk.note_store.addHere();
        desk.note_store.addHere();
        desk.state.measure({});
        desk.note_store.goTo(0);
        const TimeRange range = desk.state.range().range();
        desk.state.range().show({range.begin - 10ms, range.end - 10ms});
        const TimeScale scale{desk.state.range().range(),
                              static_cast<double>(desk.view.viewport()->width() - kHeaderWidth)};
        const int x = kHeaderWidth + static_cast<int>(scale.x(desk.at(50ms))) + 2;
        QSignalSpy gone(&desk.note_store, &NoteStore::currentChanged);
        QTest::mouseClick(desk.view.viewport(), Qt::LeftButton, {}, {x, kStepBandHeight + 6});
        QCOMPARE(gone.count(), 1);
        QTest::mouseClick(desk.view.viewport(), Qt::LeftButton, {}, {x + 200, kStepBandHeight + 6});
        QCOMPARE(gone.count(), 1);
    }

    void flagsStandForTheirNeighbours() {
        const TimeScale scale{{TimeNs{1000}, TimeNs{2000}}, 500};
        const std::vector<Note> notes{noteAtTime(TimeNs{0}, TimeNs{900}, "gone"),
                                      noteAtTime(TimeNs{500}, TimeNs{1100}, "reaches in"),
                                      noteAtTime(TimeNs{1400}, TimeNs{1400}, "a"),
                                      noteAtTime(TimeNs{1404}, TimeNs{1500}, "at its side"),
                                      noteAtTime(TimeNs{1800}, TimeNs{2600}, "reaches out"),
                                      noteAtTime(TimeNs{2000}, TimeNs{2000}, "behind")};
        const auto flags = buildNoteFlags(notes, scale);
        QCOMPARE(flags.size(), std::size_t{3});
        QCOMPARE(flags[0].note, 1);
        QVERIFY(!flags[0].staff);
        QCOMPARE(flags[0].left, 0.0);
        QCOMPARE(flags[0].right, 50.0);
        QCOMPARE(flags[0].room, 200.0);
        QCOMPARE(flags[1].note, 2);
        QCOMPARE(flags[1].right, 250.0);
        QCOMPARE(flags[2].right, 500.0);
        QCOMPARE(flags[2].room, 100.0);
        QCOMPARE(noteAt(flags, 203), 2);
        QCOMPARE(noteAt(flags, 300), -1);
        QCOMPARE(noteAt(flags, 450), 4);
    }

    void theModelIsSound() {
        NotesDesk desk;
        NotesModel model(desk.state, desk.note_store);
        const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        desk.note_store.addHere();
        desk.state.select({ItemKind::Op, 1, 3, 0});
        desk.note_store.addHere();
        QCOMPARE(model.rowCount(), 2);
        const int row = desk.note_store.current();
        const QModelIndex text = model.index(row, NotesModel::NoteText);
        QVERIFY(model.setData(text, QStringLiteral("starts late"), Qt::EditRole));
        QCOMPARE(text.data().toString(), QStringLiteral("starts late"));
        QVERIFY(!model.setData(model.index(row, NotesModel::When), QStringLiteral("now"), Qt::EditRole));
        QVERIFY(model.index(row, NotesModel::Where).data().toString().contains(QLatin1Char('3')));
        QVERIFY(model.index(row, NotesModel::When).data().toString().contains(QLatin1String("step 1")));
        desk.note_store.remove(0);
        desk.state.setSession(nullptr);
        QCOMPARE(model.rowCount(), 0);
    }

    void thePanelWritesGoesAndDeletes() {
        NotesDesk desk;
        NotesPanel panel(desk.state, desk.note_store);
        panel.resize(700, 300);
        panel.show();
        auto* table = panel.findChild<QTableView*>(QStringLiteral("notesTable"));
        QVERIFY(table->isHidden());
        panel.findChild<QPushButton*>(QStringLiteral("notesAdd"))->click();
        QVERIFY(!table->isHidden());
        panel.edit(0);
        auto* editor = table->findChild<QLineEdit*>();
        QVERIFY(editor != nullptr);
        QTest::keyClicks(editor, QStringLiteral("look here"));
        QTest::keyClick(editor, Qt::Key_Return);
        QTRY_COMPARE(desk.saved().front().text, std::string("look here"));
        desk.state.range().show({desk.at(0ms), desk.at(1ms)});
        QSignalSpy gone(&desk.note_store, &NoteStore::currentChanged);
        QTest::keyClick(table, Qt::Key_Return);
        QCOMPARE(gone.count(), 1);
        QTest::keyClick(table, Qt::Key_Delete);
        QVERIFY(desk.saved().empty());
        auto* restore = panel.findChild<QPushButton*>(QStringLiteral("notesRestore"));
        QVERIFY(restore->isEnabled());
        restore->click();
        QCOMPARE(desk.saved().size(), std::size_t{1});
    }

    void theWindowKeepsNotesWhereTheUserWants() {
        QTemporaryDir folder;
        const QString trace = folder.filePath(QStringLiteral("sample.pftrace"));
        const auto loader = [](const std::vector<std::filesystem::path>&, JobControl&) -> Result<Run> {
            return sampleRun();
        };
        MainWindow window(loader, false);
        window.show();
        QSignalSpy loaded(&window, &MainWindow::loaded);
        window.open({trace});
        QVERIFY(loaded.wait());
        auto* view = window.findChild<TimelineView*>(QStringLiteral("timeline"));
        QTest::keyClick(view, Qt::Key_M);
        auto* table = window.findChild<QTableView*>(QStringLiteral("notesTable"));
        QVERIFY(table->isVisible()); // the dock came to the front
        auto* editor = table->findChild<QLineEdit*>();
        QVERIFY(editor != nullptr);
        QTest::keyClicks(editor, QStringLiteral("first"));
        QTest::keyClick(editor, Qt::Key_Return);
        // No file is created next to the trace unless the user wants it.
        const auto file = notesFileOf(trace.toStdString());
        QVERIFY(!std::filesystem::exists(file));
        const auto own = window.noteStore().file();
        QTRY_COMPARE(readNotes(own).value().front().text, std::string("first"));
        window.open({trace});
        QVERIFY(loaded.wait());
        QCOMPARE(window.noteStore().notes().size(), 1U); // they come back
        window.preferences().chooseNotePlace(NotePlace::Beside);
        QCOMPARE(readNotes(file).value().front().text, std::string("first"));
        QVERIFY(!std::filesystem::exists(own));
        window.preferences().chooseNotePlace(NotePlace::App);
        QVERIFY(!std::filesystem::exists(file));
        window.preferences().chooseNotePlace(NotePlace::Beside);

        QFile broken(QString::fromStdString(file.string()));
        QVERIFY(broken.open(QIODevice::WriteOnly | QIODevice::Truncate));
        broken.write("not notes");
        broken.close();
        window.open({trace});
        QVERIFY(loaded.wait());
        auto* message = window.findChild<MessageBar*>();
        QVERIFY(message->text().contains(QString::fromStdString(file.string())));
    }

    void aFileBesideTheTraceIsUsedWhereverNotesGo() {
        QTemporaryDir folder;
        const std::filesystem::path trace = folder.filePath(QStringLiteral("run.pftrace")).toStdString();
        QVERIFY(writeNotes(notesFileOf(trace), {noteAtTime(TimeNs{1}, TimeNs{2}, "of others")}).ok());
        ViewState state;
        NoteStore store(state);
        QVERIFY(store.place() == NotePlace::App);
        state.setSession(sampleSession());
        store.open(trace);
        QCOMPARE(store.notes().size(), 1U);
        store.setText(0, QStringLiteral("changed"));
        QCOMPARE(readNotes(notesFileOf(trace)).value().front().text, std::string("changed"));
    }
};

BUBBLESCOPE_GUI_TEST(NotesTest, notes_test);
#include "notes_test.moc"
