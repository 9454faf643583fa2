#include "app/gui/timeline/commands.h"

#include <QCoreApplication>
#include <QKeyEvent>

#include <algorithm>

namespace bubblescope::gui {

namespace {

constexpr CommandInfo kCommands[] = {
    {Command::ZoomIn, {Qt::Key_W, Qt::Key_Plus, Qt::Key_Equal}, QT_TRANSLATE_NOOP("Command", "Zoom in")},
    {Command::ZoomOut, {Qt::Key_S, Qt::Key_Minus}, QT_TRANSLATE_NOOP("Command", "Zoom out")},
    {Command::PanLeft, {Qt::Key_A, Qt::Key_Left}, QT_TRANSLATE_NOOP("Command", "Earlier")},
    {Command::PanRight, {Qt::Key_D, Qt::Key_Right}, QT_TRANSLATE_NOOP("Command", "Later")},
    {Command::FitAll, {Qt::CTRL | Qt::Key_0, Qt::Key_Home}, QT_TRANSLATE_NOOP("Command", "Show the whole trace")},
    {Command::FitStep, {Qt::CTRL | Qt::Key_1}, QT_TRANSLATE_NOOP("Command", "Show the current step")},
    {Command::Focus, {Qt::Key_F}, QT_TRANSLATE_NOOP("Command", "Centre the selection; press again to fit it")},
    {Command::ZoomToSelection, {Qt::Key_Z}, QT_TRANSLATE_NOOP("Command", "Zoom to the time range or the selection")},
    {Command::Undo,
     {Qt::Key_Backspace, Qt::CTRL | Qt::Key_Z, Qt::ALT | Qt::Key_Left},
     QT_TRANSLATE_NOOP("Command", "Back: undo the last zoom or change of rows")},
    {Command::Redo,
     {Qt::ALT | Qt::Key_Right, Qt::CTRL | Qt::SHIFT | Qt::Key_Z, Qt::CTRL | Qt::Key_Y},
     QT_TRANSLATE_NOOP("Command", "Forward: redo what Back undid")},
    {Command::NextOp, {Qt::Key_Period}, QT_TRANSLATE_NOOP("Command", "Next op on the rank")},
    {Command::PreviousOp, {Qt::Key_Comma}, QT_TRANSLATE_NOOP("Command", "Previous op on the rank")},
    {Command::Consumer,
     {Qt::Key_BracketRight},
     QT_TRANSLATE_NOOP("Command", "Follow the transfer to the op that uses it")},
    {Command::Producer,
     {Qt::Key_BracketLeft},
     QT_TRANSLATE_NOOP("Command", "Follow the transfer to the op that produced it")},
    {Command::RankUp, {Qt::Key_Up}, QT_TRANSLATE_NOOP("Command", "Rank above")},
    {Command::RankDown, {Qt::Key_Down}, QT_TRANSLATE_NOOP("Command", "Rank below")},
    {Command::NextStep, {Qt::Key_PageDown}, QT_TRANSLATE_NOOP("Command", "Next step")},
    {Command::PreviousStep, {Qt::Key_PageUp}, QT_TRANSLATE_NOOP("Command", "Previous step")},
    {Command::Unfold, {Qt::Key_E}, QT_TRANSLATE_NOOP("Command", "Unfold or fold the rank's threads and streams")},
    {Command::UnfoldAll, {Qt::CTRL | Qt::Key_E}, QT_TRANSLATE_NOOP("Command", "Unfold or fold all ranks")},
    {Command::Counters, {Qt::Key_C}, QT_TRANSLATE_NOOP("Command", "Show or hide memory and other counters")},
    {Command::HigherRows, {Qt::Key_H}, QT_TRANSLATE_NOOP("Command", "Increase the row height")},
    {Command::LowerRows,
     {Qt::Key_L},
     QT_TRANSLATE_NOOP("Command", "Reduce the row height; the smallest rows are drawn as strips")},
    {Command::FitRows, {Qt::CTRL | Qt::Key_H}, QT_TRANSLATE_NOOP("Command", "Fit row height to the window")},
    {Command::Pin, {Qt::Key_I}, QT_TRANSLATE_NOOP("Command", "Pin the rank to the top, or unpin it")},
    {Command::MoveUp, {Qt::CTRL | Qt::Key_Up}, QT_TRANSLATE_NOOP("Command", "Move the rank's row up")},
    {Command::MoveDown, {Qt::CTRL | Qt::Key_Down}, QT_TRANSLATE_NOOP("Command", "Move the rank's row down")},
    {Command::Filter, {Qt::Key_R}, QT_TRANSLATE_NOOP("Command", "Show only some ranks, by number or mesh coordinate")},
    {Command::FoldGroup, {Qt::Key_X}, QT_TRANSLATE_NOOP("Command", "Fold or unfold the rank's group")},
    {Command::AllRows, {Qt::Key_U}, QT_TRANSLATE_NOOP("Command", "Show all ranks again, in their original order")},
    {Command::Ideal, {Qt::Key_G}, QT_TRANSLATE_NOOP("Command", "Show the ideal step below the observed one")},
    {Command::ReferenceNearer,
     {Qt::CTRL | Qt::Key_Left},
     QT_TRANSLATE_NOOP("Command", "Move the ideal step towards the observed one")},
    {Command::ReferenceFurther,
     {Qt::CTRL | Qt::Key_Right},
     QT_TRANSLATE_NOOP("Command", "Move the ideal step back to its original place")},
    {Command::Transfers, {Qt::Key_T}, QT_TRANSLATE_NOOP("Command", "Show all transfers as arrows")},
    {Command::CriticalPath, {Qt::Key_P}, QT_TRANSLATE_NOOP("Command", "Show the critical path of the step")},
    {Command::Microbatch,
     {Qt::Key_B},
     QT_TRANSLATE_NOOP("Command", "Follow the micro-batch of the selection through all ranks")},
    {Command::AddNote, {Qt::Key_M}, QT_TRANSLATE_NOOP("Command", "Add a note to the measured range or the selection")},
    {Command::NextNote, {Qt::Key_J}, QT_TRANSLATE_NOOP("Command", "Next note")},
    {Command::PreviousNote, {Qt::Key_K}, QT_TRANSLATE_NOOP("Command", "Previous note")},
    {Command::Search,
     {Qt::CTRL | Qt::Key_F, Qt::Key_Slash},
     QT_TRANSLATE_NOOP("Command", "Search ops, ranks, steps, anomalies and names")},
    {Command::NextHit, {Qt::Key_F3}, QT_TRANSLATE_NOOP("Command", "Next search result")},
    {Command::PreviousHit, {Qt::SHIFT | Qt::Key_F3}, QT_TRANSLATE_NOOP("Command", "Previous search result")},
    {Command::Clear, {Qt::Key_Escape}, QT_TRANSLATE_NOOP("Command", "Clear the selection")},
};

} // namespace

std::span<const CommandInfo> commandTable() {
    return kCommands;
}

QString commandText(const CommandInfo& info) {
    return QCoreApplication::translate("Command", info.text);
}

const CommandInfo& commandInfo(Command command) {
    return *std::ranges::find(kCommands, command, &CommandInfo::command);
}

QList<QKeySequence> commandKeys(const CommandInfo& info) {
    QList<QKeySequence> keys;
    for (const QKeyCombination key : info.keys) {
        if (key.key() != Qt::Key_unknown) keys << QKeySequence(key);
    }
    return keys;
}

const CommandInfo* findCommand(const QKeyEvent& event) {
    const auto fits = [&event](QKeyCombination key, Qt::KeyboardModifiers ignored) {
        const Qt::KeyboardModifiers held = event.modifiers() & ~(ignored | Qt::KeypadModifier);
        return key.key() == event.key() && key.keyboardModifiers() == held;
    };
    // Some keyboard layouts need Shift or AltGr for brackets and similar keys.
    for (const Qt::KeyboardModifiers ignored :
         {Qt::KeyboardModifiers(), Qt::KeyboardModifiers(Qt::ShiftModifier | Qt::AltModifier)}) {
        for (const CommandInfo& info : kCommands) {
            if (std::ranges::any_of(info.keys, [&](QKeyCombination key) { return fits(key, ignored); })) return &info;
        }
    }
    return nullptr;
}

} // namespace bubblescope::gui
