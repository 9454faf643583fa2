#pragma once

#include <QKeySequence>
#include <QString>

#include <array>
#include <span>

class QKeyEvent;

namespace bubblescope::gui {

/// Commands of the timeline. A single table defines both keys and menus.
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
    Redo,
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
    NextHit,
    PreviousHit,
    Clear,
};

struct CommandInfo {
    Command command;
    /// The first key is shown in menus; the others are familiar from other programs. Qt::Key_unknown = none.
    std::array<QKeyCombination, 3> keys;
    const char* text; ///< untranslated; see commandText()
};

[[nodiscard]] std::span<const CommandInfo> commandTable();
[[nodiscard]] QString commandText(const CommandInfo& info);
[[nodiscard]] const CommandInfo& commandInfo(Command command);
[[nodiscard]] QList<QKeySequence> commandKeys(const CommandInfo& info);
/// Returns null if the key has no command.
[[nodiscard]] const CommandInfo* findCommand(const QKeyEvent& event);

} // namespace bubblescope::gui
