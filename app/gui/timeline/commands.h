#pragma once

#include <QKeySequence>
#include <QString>

#include <span>

class QKeyEvent;

namespace bubblescope::gui {

/// The timeline's commands. A single table feeds key handling, the menu and the shortcut sheet.
enum class Command : std::uint8_t {
    ZoomIn,
    ZoomOut,
    PanLeft,
    PanRight,
    FitAll,
    FitStep,
    Focus,
    ZoomToSelection,
    Undo,
    NextOp,
    PreviousOp,
    Consumer,
    Producer,
    RankUp,
    RankDown,
    NextStep,
    PreviousStep,
    Unfold,
    UnfoldAll,
    Counters,
    HigherRows,
    LowerRows,
    FitRows,
    Pin,
    MoveUp,
    MoveDown,
    Filter,
    FoldGroup,
    AllRows,
    Ideal,
    ReferenceNearer,
    ReferenceFurther,
    Transfers,
    CriticalPath,
    Microbatch,
    AddNote,
    NextNote,
    PreviousNote,
    Search,
    Clear,
};

struct CommandInfo {
    Command command;
    Qt::KeyboardModifier modifier; ///< must be held, and no other
    Qt::Key key;
    const char* text; ///< untranslated; see commandText()
};

[[nodiscard]] std::span<const CommandInfo> commandTable();
[[nodiscard]] QString commandText(const CommandInfo& info);
/// "W", "Ctrl+0", …, in the platform's spelling.
[[nodiscard]] QString commandKeys(const CommandInfo& info);
/// Null if the key has no command.
[[nodiscard]] const CommandInfo* findCommand(const QKeyEvent& event);

} // namespace bubblescope::gui
