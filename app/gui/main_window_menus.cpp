#include "app/gui/command_palette.h"
#include "app/gui/main_window.h"
#include "app/gui/models/demo_files.h"
#include "app/gui/models/recent_files.h"
#include "app/gui/models/reference_overlay.h"
#include "app/gui/options.h"
#include "app/gui/rows_menu.h"
#include "app/gui/timeline/timeline_view.h"

#include <QActionGroup>
#include <QDockWidget>
#include <QMenuBar>
#include <QMessageBox>

namespace bubblescope::gui {

void MainWindow::buildMenus() {
    menuBar()->setObjectName(QStringLiteral("menuBar")); // the tour points at it
    buildFileMenu();
    buildViewMenu();
    buildNavigateMenu();
    buildHelpMenu();
}

void MainWindow::buildFileMenu() {
    QMenu* file = menuBar()->addMenu(tr("&File"));
    file->addAction(tr("&Open files…"), QKeySequence(QKeySequence::Open), this, &MainWindow::chooseFiles);
    file->addAction(tr("Open &directory…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_O), this,
                    &MainWindow::chooseDirectory);
    buildLiveActions(*file);
    recent_menu_ = file->addMenu(tr("Open &recent"));
    connect(recent_menu_, &QMenu::aboutToShow, this, &MainWindow::fillRecentMenu);
    file->addSeparator();
    QAction* compare =
        file->addAction(tr("&Compare with…"), QKeySequence(Qt::CTRL | Qt::Key_D), this, &MainWindow::chooseComparison);
    const auto enable = [this, compare] { compare->setEnabled(state_.session() != nullptr); };
    connect(&state_, &ViewState::sessionChanged, compare, enable);
    enable();
    file->addSeparator();
    file->addAction(tr("Open s&ession…"), this, &MainWindow::chooseSessionToOpen);
    QAction* save =
        file->addAction(tr("&Save session…"), QKeySequence(QKeySequence::Save), this, &MainWindow::chooseSessionToSave);
    save->setObjectName(QStringLiteral("saveSession"));
    file->addSeparator();
    file->addAction(tr("&Export the timeline…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_E), this,
                    &MainWindow::chooseExport);
    file->addSeparator();
    file->addAction(tr("Close the tra&ce"), QKeySequence(QKeySequence::Close), this, [this] { closeTab(tab_); })
        ->setObjectName(QStringLiteral("closeTab"));
    file->addAction(tr("&Quit"), QKeySequence(QKeySequence::Quit), this, &QWidget::close);
}

void MainWindow::fillRecentMenu() {
    recent_menu_->clear();
    const QList<QStringList> recent = RecentFiles::load();
    for (const QStringList& paths : recent) {
        // An ampersand in a file name is not a mnemonic.
        QString text = recentText(paths);
        recent_menu_->addAction(text.replace(QLatin1Char('&'), QStringLiteral("&&")), this,
                                [this, paths] { openBeside(paths); });
    }
    if (recent.isEmpty()) {
        recent_menu_->addAction(tr("Nothing opened yet"))->setEnabled(false);
        return;
    }
    recent_menu_->addSeparator();
    recent_menu_->addAction(tr("&Clear list"), this, &RecentFiles::clear);
}

void MainWindow::buildViewMenu() {
    QMenu* view = menuBar()->addMenu(tr("&View"));
    QMenu* theme = view->addMenu(tr("&Theme"));
    auto* group = new QActionGroup(theme);
    const auto add = [&](ThemeChoice choice, const QString& text) {
        QAction* action = theme->addAction(text, this, [this, choice] { chooseTheme(choice); });
        action->setCheckable(true);
        action->setChecked(choice == themes_.choice());
        action->setObjectName(QStringLiteral("theme-") + themeKey(choice));
        group->addAction(action);
        theme_actions_ << action;
    };
    add(ThemeChoice::System, tr("As the &system"));
    add(ThemeChoice::Light, tr("&Light"));
    add(ThemeChoice::Dark, tr("&Dark"));
    buildLanguageMenu(*view);
    view->addSeparator();
    QAction* ideal = view->addAction(tr("&Ideal step below the observed one\tG"), ideal_, &IdealOverlay::setOn);
    ideal->setCheckable(true);
    connect(ideal_, &IdealOverlay::toggled, ideal, &QAction::setChecked);
    fillRowsMenu(*view->addMenu(tr("&Rows")), state_);
    buildFlowActions(*view);
    buildFollowAction(*view);
    view->addAction(tr("&Schedule lab"), QKeySequence(Qt::CTRL | Qt::Key_L), this, [this] { openExplorer(); });
    view->addSeparator();
    const QList<QDockWidget*> docks = findChildren<QDockWidget*>();
    for (QDockWidget* dock : docks)
        view->addAction(dock->toggleViewAction());
}

void MainWindow::buildFlowActions(QMenu& view) {
    const auto add = [&](FlowOverlay flow, const char* name, const QString& text) {
        QAction* action = view.addAction(text, this, [this, flow](bool on) { state_.showFlow(flow, on); });
        action->setCheckable(true);
        action->setObjectName(QString::fromLatin1(name));
        const auto follow = [this, action, flow] { action->setChecked(state_.shows(flow)); };
        connect(&state_, &ViewState::flowsChanged, action, follow);
        follow();
    };
    add(FlowOverlay::Transfers, "flow-transfers", tr("All &transfers as arrows\tT"));
    add(FlowOverlay::CriticalPath, "flow-path", tr("&Critical path of the step\tP"));
    add(FlowOverlay::Microbatch, "flow-microbatch", tr("&Micro-batch of the selection\tB"));
    view.addSeparator();
}

void MainWindow::buildLanguageMenu(QMenu& view) {
    QMenu* menu = view.addMenu(tr("&Language"));
    auto* group = new QActionGroup(menu);
    const auto add = [&](Language language, const QString& text) {
        QAction* action = menu->addAction(text, this, [this, language] { chooseLanguage(language); });
        action->setCheckable(true);
        action->setChecked(language == languages_.choice());
        action->setObjectName(QStringLiteral("language-") + languageKey(language));
        group->addAction(action);
    };
    add(Language::System, tr("As the &system"));
    // In their own letters, so that who cannot read the current one finds the way back.
    add(Language::English, QStringLiteral("English"));
    add(Language::Chinese, QStringLiteral("简体中文"));
}

void MainWindow::buildNavigateMenu() {
    QMenu* navigate = menuBar()->addMenu(tr("&Navigate"));
    navigate->addAction(tr("Next &trace"), QKeySequence(Qt::CTRL | Qt::Key_Tab), this, [this] { turnTab(1); })
        ->setObjectName(QStringLiteral("nextTab"));
    navigate
        ->addAction(tr("Pre&vious trace"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_Tab), this,
                    [this] { turnTab(-1); })
        ->setObjectName(QStringLiteral("previousTab"));
    navigate->addSeparator();
    for (const CommandInfo& info : commandTable()) {
        if (info.command == Command::FitAll || info.command == Command::NextOp || info.command == Command::RankUp ||
            info.command == Command::NextStep || info.command == Command::Unfold || info.command == Command::Counters ||
            info.command == Command::Pin)
            navigate->addSeparator();
        // The key is shown but handled by the timeline: single letters must stay free for other widgets.
        navigate->addAction(commandText(info) + QLatin1Char('\t') + commandKeys(info), this,
                            [this, command = info.command] {
                                timeline_->setFocus();
                                timeline_->run(command);
                            });
    }
}

void MainWindow::buildHelpMenu() {
    QMenu* help = menuBar()->addMenu(tr("&Help"));
    help->addAction(tr("&Manual"), QKeySequence(QKeySequence::HelpContents), this, [this] { openManual(); });
    help->addAction(tr("&Keys and mouse"), QKeySequence(Qt::Key_Question), this, [this] {
        auto* sheet = new ShortcutSheet(this);
        sheet->setAttribute(Qt::WA_DeleteOnClose);
        sheet->open();
    });
    help->addAction(tr("&Commands…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_P), this, [this] {
        auto* palette = new CommandPalette(*menuBar(), this);
        palette->setAttribute(Qt::WA_DeleteOnClose);
        palette->open();
    });
    QAction* tour = help->addAction(tr("Two-minute &tour"), this, [this] { startTour(); });
    tour->setObjectName(QStringLiteral("tourAction"));
    QMenu* demos = help->addMenu(tr("&Demos"));
    for (const DemoTrace& demo : demoTraces()) {
        const QString name = demoName(demo);
        demos->addAction(demoTitle(demo), this, [this, name] { openDemo(name); });
    }
    help->addAction(tr("&About Bubblescope"), this, &MainWindow::showAbout);
}

void MainWindow::showAbout() {
    QMessageBox::about(this, tr("About Bubblescope"),
                       tr("<b>Bubblescope %1</b><p>Pipeline bubbles of model training, seen and explained.</p>"
                          "<p>Apache License 2.0. Built with Qt %2.</p>")
                           .arg(QString::fromUtf8(kVersion), QString::fromUtf8(qVersion())));
}

} // namespace bubblescope::gui
