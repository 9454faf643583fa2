#include "app/gui/theme/chart_colours.h"

namespace bubblescope::gui {

namespace {

QColor causeColour(const Theme& theme, Cause cause) {
    const bool dark = theme.dark;
    switch (cause) {
    case Cause::Schedule: return dark ? "#4b545f" : "#c2c8d0";
    case Cause::Imbalance: return dark ? "#e0609a" : "#b8236a";
    case Cause::Jitter: return dark ? "#f3b6d3" : "#e79ac2";
    case Cause::Gaps: return dark ? "#b08860" : "#7d5733";
    case Cause::Communication: return theme.fill(Role::Send);
    case Cause::Order: return theme.fill(Role::Receive);
    case Cause::Peer: return theme.fill(Role::Wait);
    case Cause::Replay: return dark ? "#a8c95c" : "#7d9c2c";
    case Cause::LateStart: return dark ? "#f0e08a" : "#c9a800";
    case Cause::Unknown: break;
    }
    return dark ? "#8b96a3" : "#59636e";
}

} // namespace

QColor pieceColour(const Theme& theme, const AccountPiece& piece) {
    switch (piece.kind) {
    case AccountPiece::Kind::Compute: return theme.fill(roleOf(piece.op));
    case AccountPiece::Kind::Overlapped: return theme.dark ? "#7fa7b8" : "#4d7f95";
    case AccountPiece::Kind::Cause: break;
    }
    return causeColour(theme, piece.cause);
}

QColor severityColour(const Theme& theme, Severity severity) {
    switch (severity) {
    case Severity::Serious: return theme.bad;
    case Severity::Warning: return theme.dark ? "#eeb54a" : "#b36b00";
    case Severity::Notice: break;
    }
    return theme.text_dim;
}

} // namespace bubblescope::gui
