#include "app/gui/main_menus.h"

#include "app/gui/command_palette.h"
#include "app/gui/dock_panels.h"
#include "app/gui/key_sheet.h"
#include "app/gui/language/text.h"
#include "app/gui/live_watch.h"
#include "app/gui/main_window.h"
#include "app/gui/manual_window.h"
#include "app/gui/models/demo_files.h"
#include "app/gui/models/item_copy.h"
#include "app/gui/models/recent_files.h"
#include "app/gui/models/reference_overlay.h"
#include "app/gui/options.h"
#include "app/gui/panels/file_dialogs.h"
#include "app/gui/preferences.h"
#include "app/gui/timeline/timeline_view.h"
#include "app/gui/trace_exports.h"
#include "app/gui/trace_tabs.h"

#include <QActionGroup>
#include <QApplication>
#include <QClipboard>
#include <QMenu>
#include <QMenuBar>
#include <QMessageBox>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <vector>

namespace bubblescope::gui {

namespace {

/// Builds the menus one after another; the window is the context of all their actions.
class MenuBuilder {
    using enum Command;

public:
    MenuBuilder(MainWindow& window, const MenuTargets& targets) : window_(window), to_(targets) {}

    void buildFile();
    void buildEdit();
    void buildView();
    void buildNavigate();
    void buildHelp();

private:
    QMenu* addMenu(const QString& title) { return window_.menuBar()->addMenu(title); }
    QAction* addCommand(QMenu& menu, Command command);
    void addCommands(QMenu& menu, std::initializer_list<Command> commands);
    /// The action is enabled only while a trace is open, or only while a trace with a pipeline is open.
    void needsTrace(QAction* action) { needs(action, &ViewState::session); }
    void needsPipeline(QAction* action) { needs(action, &ViewState::pipeline); }
    void needs(QAction* action, const SessionPtr& (ViewState::*what)() const);
    void addCopy(QMenu& edit);
    void addRows(QMenu& view);
    void addPanels(QMenu& view);
    void addLive(QMenu& file);
    void fillRecent(QMenu& menu);
    void addThemes(QMenu& view);
    void addLanguages(QMenu& view);
    void addFlows(QMenu& view);
    void addFollow(QMenu& view);

    MainWindow& window_;
    MenuTargets to_;
};

void MenuBuilder::buildFile() {
    QMenu* file = addMenu(tr("&File"));
    file->addAction(tr("&Open files…"), QKeySequence(QKeySequence::Open), &window_, &MainWindow::chooseFiles)
        ->setObjectName(QStringLiteral("openFiles"));
    file->addAction(tr("Open &directory…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_O), &window_,
                    &MainWindow::chooseDirectory);
    file->addAction(tr("Open over SS&H…"), &window_, [&window = window_] { window.openRemote(); })
        ->setObjectName(QStringLiteral("openRemote"));
    addLive(*file);
    QMenu* recent = file->addMenu(tr("Open &recent"));
    QObject::connect(recent, &QMenu::aboutToShow, &window_,
                     [builder = *this, recent]() mutable { builder.fillRecent(*recent); });
    file->addSeparator();
    QAction* compare = file->addAction(tr("&Compare with…"), QKeySequence(Qt::CTRL | Qt::Key_D), &window_,
                                       &MainWindow::chooseComparison);
    compare->setObjectName(QStringLiteral("compareWith"));
    needsTrace(compare);
    QAction* ranks = file->addAction(tr("Ran&ks of files…"), &window_, &MainWindow::chooseRanks);
    ranks->setObjectName(QStringLiteral("ranksOfFiles"));
    needsTrace(ranks);
    QAction* model = file->addAction(tr("Mo&del and devices…"), &window_, &MainWindow::chooseModel);
    model->setObjectName(QStringLiteral("modelOfRun"));
    needsTrace(model);
    file->addSeparator();
    file->addAction(tr("Open s&ession…"), &window_, &MainWindow::chooseSessionToOpen);
    QAction* save = file->addAction(tr("&Save session…"), QKeySequence(QKeySequence::Save), &window_,
                                    &MainWindow::chooseSessionToSave);
    save->setObjectName(QStringLiteral("saveSession"));
    file->addSeparator();
    QAction* picture = file->addAction(tr("&Export the timeline…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_E),
                                       &to_.exports, &TraceExports::chooseFigure);
    picture->setObjectName(QStringLiteral("exportTimeline"));
    needsTrace(picture);
    QAction* report = file->addAction(tr("Export a repor&t…"), &to_.exports, &TraceExports::chooseReport);
    report->setObjectName(QStringLiteral("exportReport"));
    needsTrace(report);
    QAction* command = file->addAction(tr("Copy as co&mmand"), &to_.exports, &TraceExports::copyCommand);
    command->setObjectName(QStringLiteral("copyTraceCommand"));
    needsTrace(command);
    file->addSeparator();
    file->addAction(tr("Close the tra&ce"), QKeySequence(QKeySequence::Close), &window_,
                    [&tabs = to_.tabs] { tabs.close(tabs.current()); })
        ->setObjectName(QStringLiteral("closeTab"));
    file->addAction(tr("&Reopen the closed trace"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_T), &to_.tabs,
                    &TraceTabs::reopenClosed)
        ->setObjectName(QStringLiteral("reopenTab"));
    file->addAction(tr("&Quit"), QKeySequence(QKeySequence::Quit), &window_, &QWidget::close);
}

void MenuBuilder::addLive(QMenu& file) {
    file.addAction(tr("&Watch a run…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_L), &window_,
                   &MainWindow::chooseLive)
        ->setObjectName(QStringLiteral("openLive"));
    QAction* run =
        file.addAction(tr("&Run a schedule…"), QKeySequence(Qt::CTRL | Qt::Key_R), &window_, &MainWindow::chooseRun);
    run->setObjectName(QStringLiteral("runSchedule"));
    RunProcess& process = to_.live.process();
    LiveController& live = to_.live.controller();
    QAction* stop_run = file.addAction(tr("S&top the run"), &process, &RunProcess::stop);
    stop_run->setObjectName(QStringLiteral("stopRun"));
    QAction* stop = file.addAction(tr("Stop &watching"), &live, &LiveController::stop);
    stop->setObjectName(QStringLiteral("stopWatching"));
    const auto enable = [&process, &live, run, stop_run, stop] {
        run->setEnabled(!process.running());
        stop_run->setEnabled(process.running());
        stop->setEnabled(live.active());
    };
    QObject::connect(&process, &RunProcess::changed, run, enable);
    QObject::connect(&live, &LiveController::activeChanged, run, enable);
    enable();
}

void MenuBuilder::fillRecent(QMenu& menu) {
    menu.clear();
    const QList<QStringList> recent = RecentFiles::load();
    for (const QStringList& paths : recent) {
        // Ampersands in file names must not become mnemonics.
        QString text = recentText(paths);
        menu.addAction(text.replace(QLatin1Char('&'), QStringLiteral("&&")), &window_,
                       [&window = window_, paths] { window.openBeside(paths); });
    }
    if (recent.isEmpty()) {
        menu.addAction(tr("Nothing opened yet"))->setEnabled(false);
        return;
    }
    menu.addSeparator();
    menu.addAction(tr("&Clear list"), &window_, &RecentFiles::clear);
}

QAction* MenuBuilder::addCommand(QMenu& menu, Command command) {
    const CommandInfo& info = commandInfo(command);
    QAction* action =
        menu.addAction(commandText(info), &window_, [&timeline = to_.timeline, command] { timeline.run(command); });
    action->setShortcuts(commandKeys(info));
    action->setObjectName(commandActionName(command));
    static constexpr std::array kOfPipelines{NextStep, PreviousStep, ReferenceNearer, ReferenceFurther};
    if (std::ranges::find(kOfPipelines, command) == kOfPipelines.end())
        needsTrace(action);
    else
        needsPipeline(action);
    return action;
}

void MenuBuilder::addCommands(QMenu& menu, std::initializer_list<Command> commands) {
    for (const Command command : commands)
        addCommand(menu, command);
}

void MenuBuilder::needs(QAction* action, const SessionPtr& (ViewState::*what)() const) {
    const auto enable = [&state = to_.state, action, what] { action->setEnabled((state.*what)() != nullptr); };
    QObject::connect(&to_.state, &ViewState::sessionChanged, action, enable);
    enable();
}

void MenuBuilder::buildEdit() {
    QMenu* edit = addMenu(tr("&Edit"));
    QAction* back = addCommand(*edit, Undo);
    QAction* forward = addCommand(*edit, Redo);
    const auto enable = [&state = to_.state, back, forward] {
        back->setEnabled(state.session() != nullptr && state.canUndo());
        forward->setEnabled(state.session() != nullptr && state.canRedo());
    };
    QObject::connect(&to_.state, &ViewState::historyChanged, back, enable);
    QObject::connect(&to_.state, &ViewState::sessionChanged, back, enable);
    enable();
    edit->addSeparator();
    addCommands(*edit, {Search, NextHit, PreviousHit});
    edit->addSeparator();
    addCopy(*edit);
    edit->addSeparator();
    addCommands(*edit, {AddNote, NextNote, PreviousNote});
    edit->addSeparator();
    addCommand(*edit, Clear);
    edit->addSeparator();
    edit->addAction(tr("&Preferences…"), QKeySequence(Qt::CTRL | Qt::Key_Comma), &window_, &MainWindow::openPreferences)
        ->setObjectName(QStringLiteral("preferences"));
}

void MenuBuilder::addCopy(QMenu& edit) {
    ViewState& state = to_.state;
    std::vector<QAction*> actions;
    const auto add = [&](const char* name, const QString& text, QKeySequence keys, const auto& content) {
        QAction* action = edit.addAction(text, keys, &window_, [&state, content] {
            if (state.selection()) QApplication::clipboard()->setText(content(*state.session(), state.selection()));
        });
        action->setObjectName(QString::fromLatin1(name));
        // Tables and text fields copy their selected text themselves.
        action->setShortcutContext(Qt::WidgetShortcut);
        to_.timeline.addAction(action);
        actions.push_back(action);
    };
    add("copyText", tr("&Copy the selection as text"), QKeySequence(QKeySequence::Copy),
        [](const Session& session, const ItemRef& item) { return copyAsText(session, item); });
    add("copyJson", tr("Copy the selection as &JSON"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_C),
        [](const Session& session, const ItemRef& item) { return copyAsJson(session, item); });
    add("copyCommand", tr("Copy the selection as co&mmand"), {},
        [](const Session& session, const ItemRef& item) { return copyAsCommand(session, item); });
    const auto enable = [&state, actions] {
        for (QAction* action : actions)
            action->setEnabled(state.session() != nullptr && state.selection());
    };
    QObject::connect(&state, &ViewState::selectionChanged, actions.front(), enable);
    QObject::connect(&state, &ViewState::sessionChanged, actions.front(), enable);
    enable();
    QAction* picture =
        edit.addAction(tr("Copy the timeline as a &picture"), QKeySequence(Qt::CTRL | Qt::ALT | Qt::Key_C),
                       &to_.exports, &TraceExports::copyPicture);
    picture->setObjectName(QStringLiteral("copyPicture"));
    needsTrace(picture);
}

void MenuBuilder::buildView() {
    QMenu* view = addMenu(tr("&View"));
    addThemes(*view);
    addLanguages(*view);
    view->addSeparator();
    QAction* ideal = view->addAction(tr("&Ideal step below the observed one"), QKeySequence(Qt::Key_G), &to_.ideal,
                                     &IdealOverlay::setOn);
    ideal->setObjectName(QStringLiteral("ideal"));
    ideal->setCheckable(true);
    needsPipeline(ideal);
    QObject::connect(&to_.ideal, &IdealOverlay::toggled, ideal, &QAction::setChecked);
    addCommands(*view, {ReferenceNearer, ReferenceFurther});
    addFlows(*view);
    addRows(*view);
    addFollow(*view);
    view->addAction(tr("&Schedule lab"), QKeySequence(Qt::CTRL | Qt::Key_L), &window_,
                    [&window = window_] { window.openExplorer(); })
        ->setObjectName(QStringLiteral("scheduleLab"));
    view->addSeparator();
    addPanels(*view);
}

void MenuBuilder::addRows(QMenu& view) {
    QMenu* rows = view.addMenu(tr("&Rows"));
    addCommands(*rows, {Unfold, UnfoldAll, FoldGroup, Filter, AllRows});
    rows->addSeparator();
    addCommands(*rows, {Pin, MoveUp, MoveDown, HigherRows, LowerRows, FitRows});
    rows->addSeparator();
    fillRowsMenu(*rows, to_.state);
    auto* counters = rows->findChild<QAction*>(QStringLiteral("lanes-counters"));
    counters->setShortcuts(commandKeys(commandInfo(Counters)));
}

void MenuBuilder::addPanels(QMenu& view) {
    QMenu* panels = view.addMenu(tr("&Panels"));
    for (QAction* panel : to_.docks.actions())
        panels->addAction(panel);
    panels->addSeparator();
    panels->addAction(tr("&Reset the layout"), &to_.docks, &DockPanels::reset)
        ->setObjectName(QStringLiteral("resetLayout"));
}

void MenuBuilder::addThemes(QMenu& view) {
    QMenu* menu = view.addMenu(tr("&Theme"));
    auto* group = new QActionGroup(menu);
    Preferences& preferences = to_.preferences;
    const auto add = [&](ThemeChoice choice, const QString& text) {
        QAction* action = menu->addAction(text, &window_, [&preferences, choice] { preferences.chooseTheme(choice); });
        action->setCheckable(true);
        action->setChecked(choice == to_.themes.choice());
        action->setObjectName(QStringLiteral("theme-") + themeKey(choice));
        group->addAction(action);
    };
    add(ThemeChoice::System, tr("Same as &system"));
    add(ThemeChoice::Light, tr("&Light"));
    add(ThemeChoice::Dark, tr("&Dark"));
    add(ThemeChoice::HighContrast, tr("High &contrast"));
    add(ThemeChoice::ColourBlind, tr("Colour-&blind safe"));
    add(ThemeChoice::ColourBlindDark, tr("Colour-blind safe, d&ark"));
}

void MenuBuilder::addLanguages(QMenu& view) {
    QMenu* menu = view.addMenu(tr("&Language"));
    auto* group = new QActionGroup(menu);
    Preferences& preferences = to_.preferences;
    const auto add = [&](Language language, const QString& text) {
        QAction* action =
            menu->addAction(text, &window_, [&preferences, language] { preferences.chooseLanguage(language); });
        action->setCheckable(true);
        action->setChecked(language == to_.languages.choice());
        action->setObjectName(QStringLiteral("language-") + languageKey(language));
        group->addAction(action);
    };
    add(Language::System, tr("Same as &system"));
    // Language names are not translated, so that users find their language in any language.
    add(Language::English, QStringLiteral("English"));
    add(Language::Chinese, QStringLiteral("简体中文"));
}

void MenuBuilder::addFlows(QMenu& view) {
    const auto add = [&](FlowOverlay flow, const char* name, const QString& text, Qt::Key key) {
        ViewState& state = to_.state;
        QAction* action = view.addAction(text, &window_, [&state, flow](bool on) { state.showFlow(flow, on); });
        action->setCheckable(true);
        action->setObjectName(QString::fromLatin1(name));
        action->setShortcut(QKeySequence(key));
        if (flow == FlowOverlay::Transfers)
            needsTrace(action);
        else
            needsPipeline(action);
        const auto follow = [&state, action, flow] { action->setChecked(state.shows(flow)); };
        QObject::connect(&state, &ViewState::flowsChanged, action, follow);
        follow();
    };
    add(FlowOverlay::Transfers, "flow-transfers", tr("All &transfers as arrows"), Qt::Key_T);
    add(FlowOverlay::CriticalPath, "flow-path", tr("&Critical path of the step"), Qt::Key_P);
    add(FlowOverlay::Microbatch, "flow-microbatch", tr("&Micro-batch of the selection"), Qt::Key_B);
    view.addSeparator();
}

void MenuBuilder::addFollow(QMenu& view) {
    LiveController& live = to_.live.controller();
    QAction* follow = view.addAction(tr("F&ollow the newest step"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_F),
                                     &live, &LiveController::setFollowing);
    follow->setObjectName(QStringLiteral("follow"));
    follow->setCheckable(true);
    const auto update = [&live, follow] {
        follow->setEnabled(live.active() && !live.parked());
        follow->setChecked(live.following());
    };
    QObject::connect(&live, &LiveController::followingChanged, follow, update);
    QObject::connect(&live, &LiveController::parkedChanged, follow, update);
    QObject::connect(&live, &LiveController::activeChanged, follow, update);
    update();
}

void MenuBuilder::buildNavigate() {
    QMenu* navigate = addMenu(tr("&Navigate"));
    TraceTabs& tabs = to_.tabs;
    navigate->addAction(tr("Next &trace"), QKeySequence(Qt::CTRL | Qt::Key_Tab), &window_, [&tabs] { tabs.turn(1); })
        ->setObjectName(QStringLiteral("nextTab"));
    navigate
        ->addAction(tr("Pre&vious trace"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_Tab), &window_,
                    [&tabs] { tabs.turn(-1); })
        ->setObjectName(QStringLiteral("previousTab"));
    navigate->addSeparator();
    addCommands(*navigate, {NextStep, PreviousStep, FitStep, FitAll});
    navigate->addSeparator();
    addCommands(*navigate, {ZoomIn, ZoomOut, PanLeft, PanRight, Focus, ZoomToSelection});
    QAction* measure = navigate->addAction(tr("&Select time ranges by dragging"), QKeySequence(Qt::Key_V),
                                           &to_.timeline, &TimelineView::setSelecting);
    measure->setObjectName(QStringLiteral("measure"));
    measure->setCheckable(true);
    QObject::connect(&to_.timeline, &TimelineView::selectingChanged, measure, &QAction::setChecked);
    needsTrace(measure);
    navigate->addSeparator();
    addCommands(*navigate, {NextOp, PreviousOp, Consumer, Producer, RankUp, RankDown});
}

void MenuBuilder::buildHelp() {
    QMenu* help = addMenu(tr("&Help"));
    MainWindow& window = window_;
    help->addAction(tr("&Manual"), QKeySequence(QKeySequence::HelpContents), &window_,
                    [&window] { window.openManual(); })
        ->setObjectName(QStringLiteral("openManual"));
    help->addAction(tr("&Keys and mouse"), QKeySequence(Qt::Key_Question), &window_,
                    [&window] { openDialog(new KeySheet(*window.menuBar(), &window)); });
    help->addAction(tr("&Commands…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_P), &window_,
                    [&window] { openDialog(new CommandPalette(*window.menuBar(), &window)); });
    help->addAction(tr("&First steps"), &window_, [&window] { window.openManual(kFirstStepsPage); });
    QMenu* demos = help->addMenu(tr("&Demos"));
    for (const DemoTrace& demo : demoTraces()) {
        const QString name = demoName(demo);
        demos->addAction(demoTitle(demo), &window_, [&window, name] { window.openDemo(name); });
    }
    help->addAction(tr("&About Bubblescope"), &window_, [&window] {
        QMessageBox about(QMessageBox::NoIcon, tr("About Bubblescope"),
                          tr("<b>Bubblescope %1</b><p>Shows and explains the pipeline bubbles of model "
                             "training.</p><p>Apache License 2.0. Built with Qt %2.</p>")
                              .arg(QString::fromUtf8(kVersion), QString::fromUtf8(qVersion())),
                          QMessageBox::Ok, &window);
        about.setTextFormat(Qt::RichText);
        about.setIconPixmap(window.windowIcon().pixmap(64));
        about.exec();
    });
}

} // namespace

QString commandActionName(Command command) {
    return QStringLiteral("command-%1").arg(static_cast<int>(command));
}

void buildMenus(MainWindow& window, const MenuTargets& targets) {
    window.menuBar()->setObjectName(QStringLiteral("menuBar"));
    MenuBuilder builder(window, targets);
    builder.buildFile();
    builder.buildEdit();
    builder.buildView();
    builder.buildNavigate();
    builder.buildHelp();
}

} // namespace bubblescope::gui
