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

/// A search line over the timeline with its results. Takes names, places and queries (see parseOpQuery()). Searches in
/// the background while the user types; the arrow keys select a result, Return goes to it, and Escape closes the bar.
/// All items that a query found are marked on the timeline until the selection is cleared. step() visits them one by
/// one, even while the bar is closed.
class SearchBar : public QFrame {
    Q_OBJECT

public:
    /// Maximum number of items that are marked and that step() visits; if there are more, the longest ones.
    static constexpr std::size_t kMaxItems = 2000;

    SearchBar(ViewState& state, QWidget* parent);

    /// Opens the bar, or gives it the focus if it is open.
    void open();
    /// Opens the bar with this text.
    void find(const QString& text);
    /// Goes to the next (+1) or previous (−1) result, wrapping around. Opens the bar if there was no search.
    void step(int direction);
    [[nodiscard]] QLineEdit& line() { return *line_; }
    [[nodiscard]] QListWidget& list() { return *list_; }
    /// "3 of 47".
    [[nodiscard]] QString counter() const;
    /// Marks the results again after other items were marked.
    void markAgain() { mark(); }

signals:
    void searched();
    /// There are no results any more, and none are marked.
    void unmarked();
    void closed();
    /// A different result is shown.
    void stepped(const QString& counter);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    /// The results of a search.
    struct Found {
        std::vector<SearchHit> hits; ///< for the list
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
    std::vector<std::filesystem::path> files_; ///< files of the session
    QLineEdit* line_;
    QLabel* counter_;
    QToolButton* previous_;
    QToolButton* next_;
    QListWidget* list_;
    QLabel* hint_;
    Found found_;
    bool marked_ = false; ///< true if the marks on the timeline are those of this bar
    int at_ = -1;         ///< the result shown last: its index among the query's items, or in the list
};

} // namespace bubblescope::gui
