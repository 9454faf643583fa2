#pragma once

#include "app/gui/language/language.h"
#include "app/gui/live/live_feed.h"
#include "app/gui/models/view_state.h"
#include "app/gui/theme/theme.h"
#include "core/base/result.h"
#include "core/recognise/run.h"
#include "core/request/recognise_request.h"

#include <QSize>
#include <QStringList>

#include <optional>

namespace bubblescope::gui {

inline constexpr const char* kVersion = BUBBLESCOPE_VERSION;

/// Values of --panel: the welcome page and dialogs, which need no trace.
inline constexpr QLatin1StringView kWelcomePanel{"welcome"};
inline constexpr QLatin1StringView kRunPanel{"run"};
inline constexpr QLatin1StringView kWatchPanel{"watch"};
inline constexpr QLatin1StringView kKeysPanel{"keys"};
inline constexpr QLatin1StringView kPreferencesPanel{"preferences"};
inline constexpr QLatin1StringView kRemotePanel{"ssh"};
[[nodiscard]] bool needsNoTrace(const QString& panel);
/// Values of --panel that show a dialog about the open trace, for pictures.
inline constexpr QLatin1StringView kRanksPanel{"ranks"};
inline constexpr QLatin1StringView kModelPanel{"model"};
inline constexpr QLatin1StringView kFigurePanel{"figure"};
/// The teaching panel next to the timeline.
inline constexpr QLatin1StringView kTeachPanel{"teach"};

/// The options of the command line.
struct Options {
    bool help = false;
    bool version = false;
    QString screenshot; ///< empty = interactive
    bool force = false; ///< true if the picture may replace a file
    QSize size{1280, 800};
    bool sized = false; ///< true if --size was given
    std::optional<ThemeChoice> theme;
    std::optional<Language> language;
    std::optional<int> step;        ///< number of the step
    QString panel;                  ///< panel to bring to the front, such as "anomalies"; empty = default
    bool counters = false;          ///< show memory and other counters below the ranks
    bool ideal = false;             ///< show the ideal step below the observed one
    std::vector<FlowOverlay> flows; ///< drawn over the ops
    struct Place {
        int rank = 0;
        TimeNs time{0}; ///< time within the step
    };
    std::optional<Place> select;    ///< the item to select
    std::optional<int> unfold;      ///< a rank whose raw lanes are shown
    RecogniseRequest recognise;     ///< how to read all traces
    QString demo;                   ///< name of one of demoTraces(); there are then no files
    QString compare;                ///< a run to compare with; empty = none
    std::optional<LiveTarget> live; ///< a run to watch; there are then no files
    QStringList files;
};

/// Needs no application object. On invalid usage it sets `error` and returns nothing.
[[nodiscard]] std::optional<Options> parseOptions(const QStringList& arguments, QString& error);
[[nodiscard]] QString helpText();

/// Loads traces with these options and those that views request in addition. Reads the files with rules each time,
/// apart from standard input. Errors: those of loadTrace() and RecogniseRequest::options().
[[nodiscard]] RunLoader loaderOf(const Options& options);

/// False if it is certain that no window can be shown; the program can then print a clear message before the toolkit
/// aborts.
[[nodiscard]] bool displayAvailable();

} // namespace bubblescope::gui
