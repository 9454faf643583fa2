#include "app/gui/item_menu.h"

#include "app/gui/language/text.h"
#include "app/gui/models/item_copy.h"
#include "app/gui/models/notes.h"
#include "app/gui/models/run_query.h"
#include "app/gui/models/session_queries.h"
#include "app/gui/models/view_state.h"
#include "app/gui/panels/search_bar.h"
#include "app/gui/timeline/timeline_view.h"

#include <QApplication>
#include <QClipboard>
#include <QCoreApplication>
#include <QMenu>

namespace bubblescope::gui {

namespace {

struct MenuText {
    Q_DECLARE_TR_FUNCTIONS(ItemMenu)
};

/// Builds the entries one by one. The menu lives for one choice, so the session cannot change meanwhile.
class ItemMenuBuilder {
public:
    ItemMenuBuilder(const ItemMenuTargets& targets, const ItemRef& item, QMenu& menu)
        : to_(targets), item_(item), menu_(menu), session_(targets.state.session()) {}

    void build() {
        add("itemZoom", MenuText::tr("&Zoom to it"),
            [this_state = &to_.state, item = item_] { this_state->zoomTo(item); });
        addCommand("itemConsumer", MenuText::tr("Follow to the op that &uses it"), Command::Consumer)
            ->setEnabled(static_cast<bool>(consumer(*session_, item_)));
        addCommand("itemProducer", MenuText::tr("Follow to the op that &made it"), Command::Producer)
            ->setEnabled(static_cast<bool>(producer(*session_, item_)));
        if (item_.kind == ItemKind::Op)
            add("itemMicrobatch", MenuText::tr("Follow its micro-&batch through all ranks"),
                [state = &to_.state] { state->showFlow(FlowOverlay::Microbatch, true); });
        menu_.addSeparator();
        const int line = session_->lanes.lineOf(item_);
        const bool pinned = to_.state.rows().pins(line);
        add("itemPin", pinned ? MenuText::tr("Un&pin the rank") : MenuText::tr("&Pin the rank to the top"),
            [state = &to_.state, line, pinned] {
                RowChoice rows = state->rows();
                rows.setPinned(line, !pinned);
                state->setRows(std::move(rows));
            });
        add("itemNote", MenuText::tr("Make a &note of it"), [notes = &to_.notes, state = &to_.state] {
            state->measure({}); // the note is about the item, not about a range
            notes->addHere();
        });
        add("itemSame", MenuText::tr("&Find the same"),
            [search = &to_.search, text = fromUtf8(queryForLikes(*session_, item_))] { search->find(text); });
        menu_.addSeparator();
        addCopy("itemCopyText", MenuText::tr("&Copy as text"), copyAsText(*session_, item_));
        addCopy("itemCopyJson", MenuText::tr("Copy as &JSON"), copyAsJson(*session_, item_));
        addCopy("itemCopyCommand", MenuText::tr("Copy as co&mmand"), copyAsCommand(*session_, item_));
    }

private:
    template <class Then>
    QAction* add(const char* name, const QString& text, Then then) {
        QAction* action = menu_.addAction(text);
        action->setObjectName(QString::fromLatin1(name));
        QObject::connect(action, &QAction::triggered, &to_.timeline, then);
        return action;
    }
    QAction* addCommand(const char* name, const QString& text, Command command) {
        QAction* action = add(name, text, [timeline = &to_.timeline, command] { timeline->run(command); });
        action->setShortcut(commandKeys(commandInfo(command)).value(0)); // shown; the window's menus handle it
        action->setShortcutContext(Qt::WidgetShortcut);
        return action;
    }
    void addCopy(const char* name, const QString& text, const QString& content) {
        add(name, text, [content] { QApplication::clipboard()->setText(content); });
    }

    ItemMenuTargets to_;
    ItemRef item_;
    QMenu& menu_;
    SessionPtr session_;
};

} // namespace

QMenu* makeItemMenu(const ItemMenuTargets& targets, const ItemRef& item, QWidget* parent) {
    auto* menu = new QMenu(parent);
    menu->setObjectName(QStringLiteral("itemMenu"));
    menu->setAttribute(Qt::WA_DeleteOnClose);
    ItemMenuBuilder(targets, item, *menu).build();
    return menu;
}

} // namespace bubblescope::gui
