#pragma once

#include "app/gui/jobs/background_job.h"
#include "app/gui/models/search.h"

#include <QFrame>

class QLabel;
class QLineEdit;
class QListWidget;

namespace bubblescope::gui {

/// A search line over the timeline with its results. Searches in the background while the user types; the arrow keys
/// choose a result, Return goes to it, Escape closes.
class SearchBar : public QFrame {
    Q_OBJECT

public:
    SearchBar(ViewState& state, QWidget* parent);

    /// Opens the bar, or takes the focus if it is open.
    void open();
    [[nodiscard]] QLineEdit& line() { return *line_; }
    [[nodiscard]] QListWidget& list() { return *list_; }

signals:
    void searched();
    void closed();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void start();
    void finish(std::vector<SearchHit> hits);
    void choose();
    void dismiss();

    ViewState& state_;
    BackgroundJob job_;
    QLineEdit* line_;
    QListWidget* list_;
    QLabel* hint_;
    std::vector<SearchHit> hits_;
};

} // namespace bubblescope::gui
