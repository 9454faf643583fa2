#pragma once

#include "app/gui/language/language.h"
#include "app/gui/live/live_feed.h"
#include "app/gui/models/view_state.h"
#include "app/gui/theme/theme.h"
#include "core/base/result.h"
#include "core/recognise/run.h"

#include <QSize>
#include <QStringList>

#include <optional>

namespace bubblescope::gui {

inline constexpr const char* kVersion = BUBBLESCOPE_VERSION;

/// --panel: the page that is seen before anything is open, and dialogs. A picture of them needs no trace.
inline constexpr QLatin1StringView kWelcomePanel{"welcome"};
inline constexpr QLatin1StringView kRunPanel{"run"};
inline constexpr QLatin1StringView kWatchPanel{"watch"};
[[nodiscard]] bool needsNoTrace(const QString& panel);

/// What the command line asks for.
struct Options {
    bool help = false;
    bool version = false;
    QString screenshot; ///< empty: interactive
    QSize size{1280, 800};
    std::optional<ThemeChoice> theme;
    std::optional<Language> language;
    std::optional<int> step;        ///< the step's own number
    QString panel;                  ///< that is in front, such as "anomalies"; empty = the usual one
    bool counters = false;          ///< memory and other counters below the ranks
    bool ideal = false;             ///< the ideal step below the observed one
    std::vector<FlowOverlay> flows; ///< drawn over the ops
    struct Place {
        int rank = 0;
        TimeNs time{0}; ///< in the step
    };
    std::optional<Place> select; ///< what lies there is selected
    std::optional<int> unfold;   ///< a rank whose raw lanes are shown
    QStringList rules;           ///< files of further recognition rules
    QString mesh;                ///< how the job spreads over its ranks; empty = as the traces say
    QString mesh_order;
    QString demo;                   ///< the name of one of demoTraces(); then there are no files
    std::optional<int> tour;        ///< the step of the tour to begin with, from 1
    QString compare;                ///< another run to set beside the first; empty = none
    std::optional<LiveTarget> live; ///< a run to watch; then there are no files
    QStringList files;
};

/// Needs no application object. On wrong usage fills `error` and returns nothing.
[[nodiscard]] std::optional<Options> parseOptions(const QStringList& arguments, QString& error);
[[nodiscard]] QString helpText();

/// What they say of the traces. Reads files. Errors: Usage for the mesh, Input for rules.
[[nodiscard]] Result<LoadOptions> loadOptions(const Options& options);

/// Whether a window could be shown here. False only where that is certain, so that a clear message can come
/// before the toolkit gives up.
[[nodiscard]] bool displayAvailable();

} // namespace bubblescope::gui
