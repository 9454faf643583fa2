#include "app/gui/plain/plain_menu.h"

#include "app/gui/language/text.h"
#include "app/gui/timeline/menu_entries.h"

#include <QCoreApplication>

#include <string>

namespace bubblescope::gui {

namespace {

struct PlainMenuText {
    Q_DECLARE_TR_FUNCTIONS(PlainMenu)
};

void addTable(MenuEntries& entries, PlainView& view, const PlainArea& area) {
    entries.add("plainTable", PlainMenuText::tr("Table of the &names in it"), [&view, area] { view.selectArea(area); });
}

void addSliceEntries(MenuEntries& entries, const PlainMenuTargets& to, SliceId slice) {
    const PlainTrace& plain = *to.view.trace();
    PlainView& view = to.view;
    entries.add("plainZoom", PlainMenuText::tr("&Zoom to it"), [&view, slice] { view.zoomToSlice(slice); });
    entries.addCommand("plainFlowEnd", PlainMenuText::tr("Follow its arrow &onward"), view, Command::Consumer)
        ->setEnabled(view.flowEnd(true) != kNoId);
    entries.addCommand("plainFlowBegin", PlainMenuText::tr("Follow its arrow &back"), view, Command::Producer)
        ->setEnabled(view.flowEnd(false) != kNoId);
    entries.addSeparator();
    entries.add("plainSame", PlainMenuText::tr("&Find the same"),
                [find = to.find, name = fromUtf8(std::string(plain.trace().name(slice)))] { find(name); });
    if (!plain.isBeginning())
        entries.add("plainExample", PlainMenuText::tr("&Teach by this example"),
                    [teach = to.teach, slice] { teach(slice); });
    if (const int lane = plain.laneOf(plain.trace().sliceTracks()[slice]); lane >= 0)
        addTable(entries, view, {{plain.trace().start(slice), plain.trace().end(slice)}, lane, lane + 1});
    entries.addSeparator();
    entries.addCopy("plainCopyText", PlainMenuText::tr("&Copy as text"), copyAsText(plain, slice));
    entries.addCopy("plainCopyJson", PlainMenuText::tr("Copy as &JSON"), copyAsJson(plain, slice));
}

void addRowEntries(MenuEntries& entries, PlainView& view, int row) {
    const PlainTrace& plain = *view.trace();
    const PlainRow& at = view.layout().rows()[static_cast<std::size_t>(row)];
    const PlainProcess& process = plain.processes()[static_cast<std::size_t>(at.process)];
    const PlainArea lanes = at.header() ? areaOfLanes(plain, process.first_lane, process.end_lane)
                                        : areaOfLanes(plain, at.lane, at.lane + 1);
    entries.add("plainZoom", PlainMenuText::tr("&Zoom to it"),
                [&view, range = lanes.range] { view.range().show(padded(range, 0.02)); });
    if (at.header() || plain.lanes()[static_cast<std::size_t>(at.lane)].depth > 1)
        entries.add("plainFold", view.folded(row) ? PlainMenuText::tr("Un&fold") : PlainMenuText::tr("&Fold"),
                    [&view, row] { view.turnFold(row); });
    addTable(entries, view, lanes);
    entries.addSeparator();
    entries.addCopy("plainCopyText", PlainMenuText::tr("&Copy as text"), copyAsText(plain, lanes));
    entries.addCopy("plainCopyJson", PlainMenuText::tr("Copy as &JSON"), copyAsJson(plain, lanes));
}

} // namespace

QMenu* makePlainMenu(const PlainMenuTargets& targets, const PlainTarget& target, QWidget* parent) {
    MenuEntries entries("plainMenu", targets.view, parent);
    if (target.slice != kNoId) {
        addSliceEntries(entries, targets, target.slice);
    } else {
        addRowEntries(entries, targets.view, target.row);
    }
    entries.addSeparator();
    entries.addCommand("plainFitAll", PlainMenuText::tr("&Whole trace"), targets.view, Command::FitAll);
    return entries.menu();
}

} // namespace bubblescope::gui
