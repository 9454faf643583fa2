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
#include "app/gui/panels/widgets.h"
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
#include <utility>
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
    /// An action that calls `then` with the receiver as its context.
    template <class Receiver, class Then>
    QAction* add(QMenu& menu, const char* name, const QString& text, const QKeySequence& keys, Receiver& receiver,
                 const Then& then) {
        return named(menu.addAction(text, keys, &receiver, then), name);
    }
    QAction* addCommand(QMenu& menu, Command command);
    void addCommands(QMenu& menu, std::initializer_list<Command> commands);
    /// Enables the action only while a trace, or a trace with a pipeline, is open.
    void needsTrace(QAction* action) { needs(action, &ViewState::session); }
    void needsPipeline(QAction* action) { needs(action, &ViewState::pipeline); }
    void needs(QAction* action, const SessionPtr& (ViewState::*what)() const);
    void addCopy(QMenu& edit);
    void addRows(QMenu& view);
    void addPanels(QMenu& view);
    void addLive(QMenu& file);
    void fillRecent(QMenu& menu);
    /// One checkable action per choice.
    template <class Choice>
    void addChoices(QMenu& menu, const QString& prefix, Choice current,
                    std::initializer_list<std::pair<Choice, QString>> choices, QString (*key)(Choice),
                    void (Preferences::*choose)(Choice));
    void addThemes(QMenu& view);
    void addLanguages(QMenu& view);
    void addFlows(QMenu& view);
    void addFollow(QMenu& view);

    MainWindow& window_;
    MenuTargets to_;
};

void MenuBuilder::buildFile() {
    QMenu* file = addMenu(tr("&File"));
    add(*file, "openFiles", tr("&Open files…"), QKeySequence::Open, window_, &MainWindow::chooseFiles);
    add(*file, "openDirectory", tr("Open &directory…"), Qt::CTRL | Qt::SHIFT | Qt::Key_O, window_,
        &MainWindow::chooseDirectory);
    add(*file, "openRemote", tr("Open over SS&H…"), {}, window_, [&window = window_] { window.openRemote(); });
    addLive(*file);
    QMenu* recent = file->addMenu(tr("Open &recent"));
    QObject::connect(recent, &QMenu::aboutToShow, &window_,
                     [builder = *this, recent]() mutable { builder.fillRecent(*recent); });
    file->addSeparator();
    needsTrace(
        add(*file, "compareWith", tr("&Compare with…"), Qt::CTRL | Qt::Key_D, window_, &MainWindow::chooseComparison));
    needsTrace(add(*file, "ranksOfFiles", tr("Ran&ks of files…"), {}, window_, &MainWindow::chooseRanks));
    needsTrace(add(*file, "modelOfRun", tr("Mo&del and devices…"), {}, window_, &MainWindow::chooseModel));
    file->addSeparator();
    add(*file, "openSession", tr("Open s&ession…"), {}, window_, &MainWindow::chooseSessionToOpen);
    add(*file, "saveSession", tr("&Save session…"), QKeySequence::Save, window_, &MainWindow::chooseSessionToSave);
    file->addSeparator();
    TraceExports& exports = to_.exports;
    needsTrace(add(*file, "exportTimeline", tr("&Export the timeline…"), Qt::CTRL | Qt::SHIFT | Qt::Key_E, exports,
                   &TraceExports::chooseFigure));
    needsTrace(add(*file, "exportReport", tr("Export a repor&t…"), {}, exports, &TraceExports::chooseReport));
    needsTrace(add(*file, "copyTraceCommand", tr("Copy as co&mmand"), {}, exports, &TraceExports::copyCommand));
    file->addSeparator();
    add(*file, "closeTab", tr("Close the tra&ce"), QKeySequence::Close, window_,
        [&tabs = to_.tabs] { tabs.close(tabs.current()); });
    add(*file, "reopenTab", tr("&Reopen the closed trace"), Qt::CTRL | Qt::SHIFT | Qt::Key_T, to_.tabs,
        &TraceTabs::reopenClosed);
    add(*file, "quit", tr("&Quit"), QKeySequence::Quit, window_, &QWidget::close);
}

void MenuBuilder::addLive(QMenu& file) {
    add(file, "openLive", tr("&Watch a run…"), Qt::CTRL | Qt::SHIFT | Qt::Key_L, window_, &MainWindow::chooseLive);
    QAction* run =
        add(file, "runSchedule", tr("&Run a schedule…"), Qt::CTRL | Qt::Key_R, window_, &MainWindow::chooseRun);
    RunProcess& process = to_.live.process();
    LiveController& live = to_.live.controller();
    QAction* stop_run = add(file, "stopRun", tr("S&top the run"), {}, process, &RunProcess::stop);
    QAction* stop = add(file, "stopWatching", tr("Stop &watching"), {}, live, &LiveController::stop);
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
    add(*edit, "preferences", tr("&Preferences…"), Qt::CTRL | Qt::Key_Comma, window_, &MainWindow::openPreferences);
}

void MenuBuilder::addCopy(QMenu& edit) {
    ViewState& state = to_.state;
    std::vector<QAction*> actions;
    const auto addContent = [&](const char* name, const QString& text, QKeySequence keys, const auto& content) {
        QAction* action = add(edit, name, text, keys, window_, [&state, content] {
            if (state.selection()) QApplication::clipboard()->setText(content(*state.session(), state.selection()));
        });
        // Tables and text fields copy their selected text themselves.
        action->setShortcutContext(Qt::WidgetShortcut);
        to_.timeline.addAction(action);
        actions.push_back(action);
    };
    addContent("copyText", tr("&Copy the selection as text"), QKeySequence(QKeySequence::Copy),
               [](const Session& session, const ItemRef& item) { return copyAsText(session, item); });
    addContent("copyJson", tr("Copy the selection as &JSON"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_C),
               [](const Session& session, const ItemRef& item) { return copyAsJson(session, item); });
    addContent("copyCommand", tr("Copy the selection as co&mmand"), {},
               [](const Session& session, const ItemRef& item) { return copyAsCommand(session, item); });
    const auto enable = [&state, actions] {
        for (QAction* action : actions)
            action->setEnabled(state.session() != nullptr && state.selection());
    };
    QObject::connect(&state, &ViewState::selectionChanged, actions.front(), enable);
    QObject::connect(&state, &ViewState::sessionChanged, actions.front(), enable);
    enable();
    needsTrace(add(edit, "copyPicture", tr("Copy the timeline as a &picture"), Qt::CTRL | Qt::ALT | Qt::Key_C,
                   to_.exports, &TraceExports::copyPicture));
}

void MenuBuilder::buildView() {
    QMenu* view = addMenu(tr("&View"));
    addThemes(*view);
    addLanguages(*view);
    view->addSeparator();
    QAction* ideal =
        add(*view, "ideal", tr("&Ideal step below the observed one"), Qt::Key_G, to_.ideal, &IdealOverlay::setOn);
    ideal->setCheckable(true);
    needsPipeline(ideal);
    QObject::connect(&to_.ideal, &IdealOverlay::toggled, ideal, &QAction::setChecked);
    addCommands(*view, {ReferenceNearer, ReferenceFurther});
    addFlows(*view);
    addRows(*view);
    addFollow(*view);
    add(*view, "scheduleLab", tr("&Schedule lab"), Qt::CTRL | Qt::Key_L, window_,
        [&window = window_] { window.openExplorer(); });
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
    add(*panels, "resetLayout", tr("&Reset the layout"), {}, to_.docks, &DockPanels::reset);
}

template <class Choice>
void MenuBuilder::addChoices(QMenu& menu, const QString& prefix, Choice current,
                             std::initializer_list<std::pair<Choice, QString>> choices, QString (*key)(Choice),
                             void (Preferences::*choose)(Choice)) {
    auto* group = new QActionGroup(&menu);
    for (const auto& [choice, text] : choices) {
        QAction* action = menu.addAction(text, &window_, [&preferences = to_.preferences, choose, choice = choice] {
            (preferences.*choose)(choice);
        });
        action->setCheckable(true);
        action->setChecked(choice == current);
        action->setObjectName(prefix + key(choice));
        group->addAction(action);
    }
}

void MenuBuilder::addThemes(QMenu& view) {
    addChoices<ThemeChoice>(*view.addMenu(tr("&Theme")), QStringLiteral("theme-"), to_.themes.choice(),
                            {{ThemeChoice::System, tr("Same as &system")},
                             {ThemeChoice::Light, tr("&Light")},
                             {ThemeChoice::Dark, tr("&Dark")},
                             {ThemeChoice::HighContrast, tr("High &contrast")},
                             {ThemeChoice::ColourBlind, tr("Colour-&blind safe")},
                             {ThemeChoice::ColourBlindDark, tr("Colour-blind safe, d&ark")}},
                            themeKey, &Preferences::chooseTheme);
}

void MenuBuilder::addLanguages(QMenu& view) {
    // Language names are not translated, so that users find their language in any language.
    addChoices<Language>(*view.addMenu(tr("&Language")), QStringLiteral("language-"), to_.languages.choice(),
                         {{Language::System, tr("Same as &system")},
                          {Language::English, QStringLiteral("English")},
                          {Language::Chinese, QStringLiteral("简体中文")}},
                         languageKey, &Preferences::chooseLanguage);
}

void MenuBuilder::addFlows(QMenu& view) {
    const auto addFlow = [&](FlowOverlay flow, const char* name, const QString& text, Qt::Key key) {
        ViewState& state = to_.state;
        QAction* action = add(view, name, text, key, window_, [&state, flow](bool on) { state.showFlow(flow, on); });
        action->setCheckable(true);
        if (flow == FlowOverlay::Transfers)
            needsTrace(action);
        else
            needsPipeline(action);
        const auto follow = [&state, action, flow] { action->setChecked(state.shows(flow)); };
        QObject::connect(&state, &ViewState::flowsChanged, action, follow);
        follow();
    };
    addFlow(FlowOverlay::Transfers, "flow-transfers", tr("All &transfers as arrows"), Qt::Key_T);
    addFlow(FlowOverlay::CriticalPath, "flow-path", tr("&Critical path of the step"), Qt::Key_P);
    addFlow(FlowOverlay::Microbatch, "flow-microbatch", tr("&Micro-batch of the selection"), Qt::Key_B);
    view.addSeparator();
}

void MenuBuilder::addFollow(QMenu& view) {
    LiveController& live = to_.live.controller();
    QAction* follow = add(view, "follow", tr("F&ollow the newest step"), Qt::CTRL | Qt::SHIFT | Qt::Key_F, live,
                          &LiveController::setFollowing);
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
    add(*navigate, "nextTab", tr("Next &trace"), Qt::CTRL | Qt::Key_Tab, window_, [&tabs] { tabs.turn(1); });
    add(*navigate, "previousTab", tr("Pre&vious trace"), Qt::CTRL | Qt::SHIFT | Qt::Key_Tab, window_,
        [&tabs] { tabs.turn(-1); });
    navigate->addSeparator();
    addCommands(*navigate, {NextStep, PreviousStep, FitStep, FitAll});
    navigate->addSeparator();
    addCommands(*navigate, {ZoomIn, ZoomOut, PanLeft, PanRight, Focus, ZoomToSelection});
    QAction* measure = add(*navigate, "measure", tr("&Select time ranges by dragging"), Qt::Key_V, to_.timeline,
                           &TimelineView::setSelecting);
    measure->setCheckable(true);
    QObject::connect(&to_.timeline, &TimelineView::selectingChanged, measure, &QAction::setChecked);
    needsTrace(measure);
    navigate->addSeparator();
    addCommands(*navigate, {NextOp, PreviousOp, Consumer, Producer, RankUp, RankDown});
}

void MenuBuilder::buildHelp() {
    QMenu* help = addMenu(tr("&Help"));
    MainWindow& window = window_;
    add(*help, "openManual", tr("&Manual"), QKeySequence::HelpContents, window, [&window] { window.openManual(); });
    add(*help, "showKeys", tr("&Keys and mouse"), Qt::Key_Question, window,
        [&window] { openDialog(new KeySheet(*window.menuBar(), &window)); });
    add(*help, "showCommands", tr("&Commands…"), Qt::CTRL | Qt::SHIFT | Qt::Key_P, window,
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
