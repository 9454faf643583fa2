#include "app/gui/timeline/commands.h"

#include <QCoreApplication>
#include <QKeyEvent>

#include <array>

namespace bubblescope::gui {

namespace {

constexpr const char* kContext = "TimelineCommands";

constexpr std::array kCommands{
    CommandInfo{Command::ZoomIn, Qt::NoModifier, Qt::Key_W, QT_TRANSLATE_NOOP("TimelineCommands", "Zoom in")},
    CommandInfo{Command::ZoomOut, Qt::NoModifier, Qt::Key_S, QT_TRANSLATE_NOOP("TimelineCommands", "Zoom out")},
    CommandInfo{Command::PanLeft, Qt::NoModifier, Qt::Key_A, QT_TRANSLATE_NOOP("TimelineCommands", "Earlier")},
    CommandInfo{Command::PanRight, Qt::NoModifier, Qt::Key_D, QT_TRANSLATE_NOOP("TimelineCommands", "Later")},
    CommandInfo{Command::FitAll, Qt::ControlModifier, Qt::Key_0,
                QT_TRANSLATE_NOOP("TimelineCommands", "Show the whole trace")},
    CommandInfo{Command::FitStep, Qt::ControlModifier, Qt::Key_1,
                QT_TRANSLATE_NOOP("TimelineCommands", "Show the current step")},
    CommandInfo{Command::Focus, Qt::NoModifier, Qt::Key_F,
                QT_TRANSLATE_NOOP("TimelineCommands", "Centre the selection; again: fit it")},
    CommandInfo{Command::ZoomToSelection, Qt::NoModifier, Qt::Key_Z,
                QT_TRANSLATE_NOOP("TimelineCommands", "Zoom to the selection")},
    CommandInfo{Command::Undo, Qt::NoModifier, Qt::Key_Backspace,
                QT_TRANSLATE_NOOP("TimelineCommands", "Back: undo the last zoom or change of rows")},
    CommandInfo{Command::NextOp, Qt::NoModifier, Qt::Key_Period,
                QT_TRANSLATE_NOOP("TimelineCommands", "Next op on the rank")},
    CommandInfo{Command::PreviousOp, Qt::NoModifier, Qt::Key_Comma,
                QT_TRANSLATE_NOOP("TimelineCommands", "Previous op on the rank")},
    CommandInfo{Command::Consumer, Qt::NoModifier, Qt::Key_BracketRight,
                QT_TRANSLATE_NOOP("TimelineCommands", "Follow the transfer to the op that uses it")},
    CommandInfo{Command::Producer, Qt::NoModifier, Qt::Key_BracketLeft,
                QT_TRANSLATE_NOOP("TimelineCommands", "Follow the transfer to the op that made it")},
    CommandInfo{Command::RankUp, Qt::NoModifier, Qt::Key_Up, QT_TRANSLATE_NOOP("TimelineCommands", "Rank above")},
    CommandInfo{Command::RankDown, Qt::NoModifier, Qt::Key_Down, QT_TRANSLATE_NOOP("TimelineCommands", "Rank below")},
    CommandInfo{Command::NextStep, Qt::NoModifier, Qt::Key_PageDown,
                QT_TRANSLATE_NOOP("TimelineCommands", "Next step")},
    CommandInfo{Command::PreviousStep, Qt::NoModifier, Qt::Key_PageUp,
                QT_TRANSLATE_NOOP("TimelineCommands", "Previous step")},
    CommandInfo{Command::Unfold, Qt::NoModifier, Qt::Key_E,
                QT_TRANSLATE_NOOP("TimelineCommands", "Unfold or fold the rank's threads and streams")},
    CommandInfo{Command::UnfoldAll, Qt::ControlModifier, Qt::Key_E,
                QT_TRANSLATE_NOOP("TimelineCommands", "Unfold or fold all ranks")},
    CommandInfo{Command::Counters, Qt::NoModifier, Qt::Key_C,
                QT_TRANSLATE_NOOP("TimelineCommands", "Show or hide memory and other counters")},
    CommandInfo{Command::HigherRows, Qt::NoModifier, Qt::Key_H, QT_TRANSLATE_NOOP("TimelineCommands", "Higher rows")},
    CommandInfo{Command::LowerRows, Qt::NoModifier, Qt::Key_L,
                QT_TRANSLATE_NOOP("TimelineCommands", "Lower rows; the lowest are strips")},
    CommandInfo{Command::FitRows, Qt::ControlModifier, Qt::Key_H,
                QT_TRANSLATE_NOOP("TimelineCommands", "Rows as high as fits the window")},
    CommandInfo{Command::Pin, Qt::NoModifier, Qt::Key_I,
                QT_TRANSLATE_NOOP("TimelineCommands", "Pin the rank to the top, or unpin it")},
    CommandInfo{Command::MoveUp, Qt::ControlModifier, Qt::Key_Up,
                QT_TRANSLATE_NOOP("TimelineCommands", "Move the rank's row up")},
    CommandInfo{Command::MoveDown, Qt::ControlModifier, Qt::Key_Down,
                QT_TRANSLATE_NOOP("TimelineCommands", "Move the rank's row down")},
    CommandInfo{Command::Filter, Qt::NoModifier, Qt::Key_R,
                QT_TRANSLATE_NOOP("TimelineCommands", "Show some ranks only, by number or mesh coordinate")},
    CommandInfo{Command::FoldGroup, Qt::NoModifier, Qt::Key_X,
                QT_TRANSLATE_NOOP("TimelineCommands", "Fold or unfold the rank's group")},
    CommandInfo{Command::AllRows, Qt::NoModifier, Qt::Key_U,
                QT_TRANSLATE_NOOP("TimelineCommands", "All ranks again, in their order")},
    CommandInfo{Command::Ideal, Qt::NoModifier, Qt::Key_G,
                QT_TRANSLATE_NOOP("TimelineCommands", "Show the ideal step below the observed one")},
    CommandInfo{Command::ReferenceNearer, Qt::ControlModifier, Qt::Key_Left,
                QT_TRANSLATE_NOOP("TimelineCommands", "Move the ideal step towards the observed one")},
    CommandInfo{Command::ReferenceFurther, Qt::ControlModifier, Qt::Key_Right,
                QT_TRANSLATE_NOOP("TimelineCommands", "Move the ideal step back to where it belongs")},
    CommandInfo{Command::Transfers, Qt::NoModifier, Qt::Key_T,
                QT_TRANSLATE_NOOP("TimelineCommands", "Show all transfers as arrows")},
    CommandInfo{Command::CriticalPath, Qt::NoModifier, Qt::Key_P,
                QT_TRANSLATE_NOOP("TimelineCommands", "Show the critical path of the step")},
    CommandInfo{Command::Microbatch, Qt::NoModifier, Qt::Key_B,
                QT_TRANSLATE_NOOP("TimelineCommands", "Follow the micro-batch of the selection through all ranks")},
    CommandInfo{Command::AddNote, Qt::NoModifier, Qt::Key_M,
                QT_TRANSLATE_NOOP("TimelineCommands", "Make a note of what is measured or selected")},
    CommandInfo{Command::NextNote, Qt::NoModifier, Qt::Key_J, QT_TRANSLATE_NOOP("TimelineCommands", "Next note")},
    CommandInfo{Command::PreviousNote, Qt::NoModifier, Qt::Key_K,
                QT_TRANSLATE_NOOP("TimelineCommands", "Previous note")},
    CommandInfo{Command::Search, Qt::NoModifier, Qt::Key_Slash,
                QT_TRANSLATE_NOOP("TimelineCommands", "Search ops, ranks, steps, anomalies and names")},
    CommandInfo{Command::Clear, Qt::NoModifier, Qt::Key_Escape,
                QT_TRANSLATE_NOOP("TimelineCommands", "Clear the selection")},
};

} // namespace

std::span<const CommandInfo> commandTable() {
    return kCommands;
}

QString commandText(const CommandInfo& info) {
    return QCoreApplication::translate(kContext, info.text);
}

QString commandKeys(const CommandInfo& info) {
    return QKeySequence(info.modifier | info.key).toString(QKeySequence::NativeText);
}

const CommandInfo* findCommand(const QKeyEvent& event) {
    // Some layouts need Shift or AltGr for brackets, and the keypad sets its own modifier. Both are ignored.
    const bool control = event.modifiers().testFlag(Qt::ControlModifier);
    for (const CommandInfo& info : kCommands) {
        if (info.key == event.key() && control == (info.modifier == Qt::ControlModifier)) return &info;
    }
    return nullptr;
}

} // namespace bubblescope::gui
