#pragma once

#include "app/gui/jobs/background_job.h"
#include "app/gui/models/run_query.h"
#include "app/gui/models/search.h"

#include <QFrame>

#include <filesystem>
#include <optional>
#include <vector>

class QLabel;
class QLineEdit;
class QListWidget;
class QToolButton;

namespace bubblescope::gui {

/// Search field over the timeline, with a list of results. Accepts names, locations such as "rank 3", and queries (see
/// parseOpQuery()). Searches in the background while the user types. The arrow keys select a result, Return shows it,
/// and Escape closes the bar. All results of a query are marked on the timeline until the selection is cleared. step()
/// iterates over the results, even while the bar is closed.
class SearchBar : public QFrame {
    Q_OBJECT

public:
    /// Maximum number of marked results. If there are more results, only the longest are marked.
    static constexpr std::size_t kMaxItems = 2000;

    SearchBar(ViewState& state, QWidget* parent);

    /// Opens the bar if necessary and focuses it.
    void open();
    /// Opens the bar and searches for this text.
    void find(const QString& text);
    /// Shows the next (+1) or previous (−1) result, with wraparound. Opens the bar if there was no search.
    void step(int direction);
    [[nodiscard]] QLineEdit& line() { return *line_; }
    [[nodiscard]] QListWidget& list() { return *list_; }
    /// Text such as "3 of 47".
    [[nodiscard]] QString counter() const;
    /// Restores the marks after other items have been marked.
    void markAgain() { mark(); }

signals:
    void searched();
    /// Emitted when the results and their marks have been removed.
    void unmarked();
    void closed();
    /// Emitted when a different result is shown.
    void stepped(const QString& counter);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    /// Results of a search.
    struct Found {
        std::vector<SearchHit> hits; ///< results for the list
        QueryHits query;             ///< results of a query
        std::optional<Error> error;  ///< set if the query is invalid
    };
    [[nodiscard]] static Found lookFor(const Session& session, const QString& text, int step, std::stop_token stop);

    void showSession();
    void start();
    void finish(Found found);
    void mark();
    void choose();
    void dismiss();
    void showCounter();
    void fitHeight();

    ViewState& state_;
    BackgroundJob job_;
    std::vector<std::filesystem::path> files_; ///< files of the current session
    QLineEdit* line_;
    QLabel* counter_;
    QToolButton* previous_;
    QToolButton* next_;
    QListWidget* list_;
    QLabel* hint_;
    Found found_;
    bool marked_ = false; ///< true if this bar has set the marks on the timeline
    int at_ = -1;         ///< index of the last shown result in the query's items or in the list
};

} // namespace bubblescope::gui
