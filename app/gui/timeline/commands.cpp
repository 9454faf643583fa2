#include "app/gui/timeline/commands.h"

#include <QCoreApplication>
#include <QKeyEvent>

#include <algorithm>
#include <array>

namespace bubblescope::gui {

namespace {

constexpr const char* kContext = "TimelineCommands";

constexpr std::array kCommands{
    CommandInfo{
        Command::ZoomIn, {Qt::Key_W, Qt::Key_Plus, Qt::Key_Equal}, QT_TRANSLATE_NOOP("TimelineCommands", "Zoom in")},
    CommandInfo{Command::ZoomOut, {Qt::Key_S, Qt::Key_Minus}, QT_TRANSLATE_NOOP("TimelineCommands", "Zoom out")},
    CommandInfo{Command::PanLeft, {Qt::Key_A, Qt::Key_Left}, QT_TRANSLATE_NOOP("TimelineCommands", "Earlier")},
    CommandInfo{Command::PanRight, {Qt::Key_D, Qt::Key_Right}, QT_TRANSLATE_NOOP("TimelineCommands", "Later")},
    CommandInfo{Command::FitAll,
                {Qt::CTRL | Qt::Key_0, Qt::Key_Home},
                QT_TRANSLATE_NOOP("TimelineCommands", "Show the whole trace")},
    CommandInfo{
        Command::FitStep, {Qt::CTRL | Qt::Key_1}, QT_TRANSLATE_NOOP("TimelineCommands", "Show the current step")},
    CommandInfo{Command::Focus,
                {Qt::Key_F},
                QT_TRANSLATE_NOOP("TimelineCommands", "Centre the selection; press again to fit it")},
    CommandInfo{Command::ZoomToSelection,
                {Qt::Key_Z},
                QT_TRANSLATE_NOOP("TimelineCommands", "Zoom to the time range or the selection")},
    CommandInfo{Command::Undo,
                {Qt::Key_Backspace, Qt::CTRL | Qt::Key_Z, Qt::ALT | Qt::Key_Left},
                QT_TRANSLATE_NOOP("TimelineCommands", "Back: undo the last zoom or change of rows")},
    CommandInfo{Command::Redo,
                {Qt::ALT | Qt::Key_Right, Qt::CTRL | Qt::SHIFT | Qt::Key_Z, Qt::CTRL | Qt::Key_Y},
                QT_TRANSLATE_NOOP("TimelineCommands", "Forward: redo what Back undid")},
    CommandInfo{Command::NextOp, {Qt::Key_Period}, QT_TRANSLATE_NOOP("TimelineCommands", "Next op on the rank")},
    CommandInfo{Command::PreviousOp, {Qt::Key_Comma}, QT_TRANSLATE_NOOP("TimelineCommands", "Previous op on the rank")},
    CommandInfo{Command::Consumer,
                {Qt::Key_BracketRight},
                QT_TRANSLATE_NOOP("TimelineCommands", "Follow the transfer to the op that uses it")},
    CommandInfo{Command::Producer,
                {Qt::Key_BracketLeft},
                QT_TRANSLATE_NOOP("TimelineCommands", "Follow the transfer to the op that produced it")},
    CommandInfo{Command::RankUp, {Qt::Key_Up}, QT_TRANSLATE_NOOP("TimelineCommands", "Rank above")},
    CommandInfo{Command::RankDown, {Qt::Key_Down}, QT_TRANSLATE_NOOP("TimelineCommands", "Rank below")},
    CommandInfo{Command::NextStep, {Qt::Key_PageDown}, QT_TRANSLATE_NOOP("TimelineCommands", "Next step")},
    CommandInfo{Command::PreviousStep, {Qt::Key_PageUp}, QT_TRANSLATE_NOOP("TimelineCommands", "Previous step")},
    CommandInfo{Command::Unfold,
                {Qt::Key_E},
                QT_TRANSLATE_NOOP("TimelineCommands", "Unfold or fold the rank's threads and streams")},
    CommandInfo{
        Command::UnfoldAll, {Qt::CTRL | Qt::Key_E}, QT_TRANSLATE_NOOP("TimelineCommands", "Unfold or fold all ranks")},
    CommandInfo{Command::Counters,
                {Qt::Key_C},
                QT_TRANSLATE_NOOP("TimelineCommands", "Show or hide memory and other counters")},
    CommandInfo{Command::HigherRows, {Qt::Key_H}, QT_TRANSLATE_NOOP("TimelineCommands", "Increase the row height")},
    CommandInfo{Command::LowerRows,
                {Qt::Key_L},
                QT_TRANSLATE_NOOP("TimelineCommands", "Reduce the row height; the smallest rows are drawn as strips")},
    CommandInfo{Command::FitRows,
                {Qt::CTRL | Qt::Key_H},
                QT_TRANSLATE_NOOP("TimelineCommands", "Fit row height to the window")},
    CommandInfo{
        Command::Pin, {Qt::Key_I}, QT_TRANSLATE_NOOP("TimelineCommands", "Pin the rank to the top, or unpin it")},
    CommandInfo{
        Command::MoveUp, {Qt::CTRL | Qt::Key_Up}, QT_TRANSLATE_NOOP("TimelineCommands", "Move the rank's row up")},
    CommandInfo{Command::MoveDown,
                {Qt::CTRL | Qt::Key_Down},
                QT_TRANSLATE_NOOP("TimelineCommands", "Move the rank's row down")},
    CommandInfo{Command::Filter,
                {Qt::Key_R},
                QT_TRANSLATE_NOOP("TimelineCommands", "Show only some ranks, by number or mesh coordinate")},
    CommandInfo{
        Command::FoldGroup, {Qt::Key_X}, QT_TRANSLATE_NOOP("TimelineCommands", "Fold or unfold the rank's group")},
    CommandInfo{Command::AllRows,
                {Qt::Key_U},
                QT_TRANSLATE_NOOP("TimelineCommands", "Show all ranks again, in their original order")},
    CommandInfo{Command::Ideal,
                {Qt::Key_G},
                QT_TRANSLATE_NOOP("TimelineCommands", "Show the ideal step below the observed one")},
    CommandInfo{Command::ReferenceNearer,
                {Qt::CTRL | Qt::Key_Left},
                QT_TRANSLATE_NOOP("TimelineCommands", "Move the ideal step towards the observed one")},
    CommandInfo{Command::ReferenceFurther,
                {Qt::CTRL | Qt::Key_Right},
                QT_TRANSLATE_NOOP("TimelineCommands", "Move the ideal step back to its original place")},
    CommandInfo{Command::Transfers, {Qt::Key_T}, QT_TRANSLATE_NOOP("TimelineCommands", "Show all transfers as arrows")},
    CommandInfo{Command::CriticalPath,
                {Qt::Key_P},
                QT_TRANSLATE_NOOP("TimelineCommands", "Show the critical path of the step")},
    CommandInfo{Command::Microbatch,
                {Qt::Key_B},
                QT_TRANSLATE_NOOP("TimelineCommands", "Follow the micro-batch of the selection through all ranks")},
    CommandInfo{Command::AddNote,
                {Qt::Key_M},
                QT_TRANSLATE_NOOP("TimelineCommands", "Add a note to the measured range or the selection")},
    CommandInfo{Command::NextNote, {Qt::Key_J}, QT_TRANSLATE_NOOP("TimelineCommands", "Next note")},
    CommandInfo{Command::PreviousNote, {Qt::Key_K}, QT_TRANSLATE_NOOP("TimelineCommands", "Previous note")},
    CommandInfo{Command::Search,
                {Qt::CTRL | Qt::Key_F, Qt::Key_Slash},
                QT_TRANSLATE_NOOP("TimelineCommands", "Search ops, ranks, steps, anomalies and names")},
    CommandInfo{Command::NextHit, {Qt::Key_F3}, QT_TRANSLATE_NOOP("TimelineCommands", "Next search result")},
    CommandInfo{Command::PreviousHit,
                {Qt::SHIFT | Qt::Key_F3},
                QT_TRANSLATE_NOOP("TimelineCommands", "Previous search result")},
    CommandInfo{Command::Clear, {Qt::Key_Escape}, QT_TRANSLATE_NOOP("TimelineCommands", "Clear the selection")},
};

} // namespace

std::span<const CommandInfo> commandTable() {
    return kCommands;
}

QString commandText(const CommandInfo& info) {
    return QCoreApplication::translate(kContext, info.text);
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
