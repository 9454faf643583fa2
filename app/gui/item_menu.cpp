#include "app/gui/item_menu.h"

#include "app/gui/language/text.h"
#include "app/gui/models/item_copy.h"
#include "app/gui/models/notes.h"
#include "app/gui/models/run_query.h"
#include "app/gui/models/session_queries.h"
#include "app/gui/models/view_state.h"
#include "app/gui/panels/search_bar.h"
#include "app/gui/timeline/menu_entries.h"
#include "app/gui/timeline/timeline_view.h"

#include <QCoreApplication>

#include <utility>

namespace bubblescope::gui {

namespace {

struct MenuText {
    Q_DECLARE_TR_FUNCTIONS(ItemMenu)
};

} // namespace

QMenu* makeItemMenu(const ItemMenuTargets& targets, const ItemRef& item, QWidget* parent) {
    MenuEntries entries("itemMenu", targets.timeline, parent);
    const SessionPtr session = targets.state.session();
    ViewState* const state = &targets.state;
    entries.add("itemZoom", MenuText::tr("&Zoom to it"), [state, item] { state->zoomTo(item); });
    const auto addFollow = [&](const char* name, const QString& text, Command command, const ItemRef& to) {
        entries.addCommand(name, text, targets.timeline, command)->setEnabled(static_cast<bool>(to));
    };
    addFollow("itemConsumer", MenuText::tr("Follow to the op that &uses it"), Command::Consumer,
              consumer(*session, item));
    addFollow("itemProducer", MenuText::tr("Follow to the op that &made it"), Command::Producer,
              producer(*session, item));
    if (item.kind == ItemKind::Op)
        entries.add("itemMicrobatch", MenuText::tr("Follow its micro-&batch through all ranks"),
                    [state] { state->showFlow(FlowOverlay::Microbatch, true); });
    entries.addSeparator();
    const int line = session->lanes.lineOf(item);
    const bool pinned = state->rows().pins(line);
    entries.add("itemPin", pinned ? MenuText::tr("Un&pin the rank") : MenuText::tr("&Pin the rank to the top"),
                [state, line, pinned] {
                    RowChoice rows = state->rows();
                    rows.setPinned(line, !pinned);
                    state->setRows(std::move(rows));
                });
    entries.add("itemNote", MenuText::tr("Make a &note of it"), [notes = &targets.notes, state] {
        state->measure({}); // the note is about the item, not about a range
        notes->addHere();
    });
    entries.add("itemSame", MenuText::tr("&Find the same"),
                [search = &targets.search, text = fromUtf8(queryForLikes(*session, item))] { search->find(text); });
    entries.addSeparator();
    // The text of a bubble takes a while: it is made for who wants it.
    entries.add("itemCopyText", MenuText::tr("&Copy as text"),
                [session, item] { QApplication::clipboard()->setText(copyAsText(*session, item)); });
    entries.addCopy("itemCopyJson", MenuText::tr("Copy as &JSON"), copyAsJson(*session, item));
    entries.addCopy("itemCopyCommand", MenuText::tr("Copy as co&mmand"), copyAsCommand(*session, item));
    return entries.menu();
}

} // namespace bubblescope::gui
