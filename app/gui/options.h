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

/// Values of --panel that require no trace: the welcome page and some dialogs.
inline constexpr QLatin1StringView kWelcomePanel{"welcome"};
inline constexpr QLatin1StringView kRunPanel{"run"};
inline constexpr QLatin1StringView kWatchPanel{"watch"};
inline constexpr QLatin1StringView kKeysPanel{"keys"};
inline constexpr QLatin1StringView kPreferencesPanel{"preferences"};
inline constexpr QLatin1StringView kRemotePanel{"ssh"};
[[nodiscard]] bool needsNoTrace(const QString& panel);
/// Values of --panel for dialogs about the open trace, for screenshots.
inline constexpr QLatin1StringView kRanksPanel{"ranks"};
inline constexpr QLatin1StringView kModelPanel{"model"};
inline constexpr QLatin1StringView kFigurePanel{"figure"};
/// The value of --panel for the panel that specifies how to find the pipeline.
inline constexpr QLatin1StringView kTeachPanel{"teach"};

/// Options of the app from the command line.
struct Options {
    bool help = false;
    bool version = false;
    QString screenshot; ///< file for a screenshot; empty = interactive
    bool force = false; ///< true if the screenshot may replace a file
    QSize size{1280, 800};
    bool sized = false; ///< true if --size was given
    std::optional<ThemeChoice> theme;
    std::optional<Language> language;
    std::optional<int> step;        ///< number of the step
    QString panel;                  ///< panel to raise, such as "anomalies"; empty = default
    bool counters = false;          ///< true if memory and other counters are shown below the ranks
    bool ideal = false;             ///< true if the ideal step is shown below the observed step
    std::vector<FlowOverlay> flows; ///< flows to draw over the ops
    struct Place {
        int rank = 0;
        TimeNs time{0}; ///< time within the step
    };
    std::optional<Place> select;    ///< item to select
    std::optional<int> unfold;      ///< rank whose raw lanes are shown
    RecogniseRequest recognise;     ///< options for reading all traces
    QString demo;                   ///< name of one of demoTraces(), instead of files; empty = none
    QString compare;                ///< run for comparison; empty = none
    std::optional<LiveTarget> live; ///< run to watch, instead of files
    QStringList files;
};

/// Does not require an application object. On invalid usage, sets `error` and returns nothing.
[[nodiscard]] std::optional<Options> parseOptions(const QStringList& arguments, QString& error);
[[nodiscard]] QString helpText();

/// Loads traces with these options and with additional options from the views. Reads the rule files again for each
/// trace, except for standard input. Errors: those of loadTrace() and RecogniseRequest::options().
[[nodiscard]] RunLoader loaderOf(const Options& options);

/// False if Qt cannot open a window and would abort, so that the program can print a clear message
/// instead.
[[nodiscard]] bool displayAvailable();

} // namespace bubblescope::gui
