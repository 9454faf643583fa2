#pragma once

#include "app/gui/jobs/background_job.h"
#include "app/gui/plain/area_model.h"
#include "app/gui/plain/plain_view.h"

#include <QMenu>
#include <QPointer>
#include <QWidget>

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

class QLabel;
class QLineEdit;
class QSortFilterProxyModel;
class QTableView;
class QToolButton;
class QTreeWidget;

namespace bubblescope::gui {

class AnswerBar;
class TeachPanel;

using PlainSnapshots = std::map<std::weak_ptr<const PlainTrace>, PlainSnapshot, std::owner_less<>>;

/// The page of a trace without a pipeline: the lanes as they were recorded, a search, the selected slice, statistics of
/// an area, and a way to teach where the pipeline is. Also the page of a trace of which only the beginning is loaded
/// yet. Remembers what was shown of each trace. Lives on the GUI thread.
class PlainPage : public QWidget {
    Q_OBJECT

public:
    explicit PlainPage(ThemeManager& themes, QWidget* parent = nullptr);

    /// Null clears. The whole of a trace keeps the interval to which its beginning was zoomed.
    void setTrace(PlainTracePtr trace);
    /// The interval in view, on the clock of Trace::originInFile(), if this shows the beginning of a trace and not all
    /// of that.
    [[nodiscard]] std::optional<TimeRange> seenOfBeginning() const;
    /// What was shown of each trace, for the page that takes the place of this one. Set them before a trace.
    [[nodiscard]] PlainSnapshots snapshots() const;
    void setSnapshots(PlainSnapshots snapshots) { snapshots_ = std::move(snapshots); }
    [[nodiscard]] PlainView& view() { return *view_; }
    [[nodiscard]] const QLineEdit& searchLine() const { return *line_; }
    [[nodiscard]] TeachPanel& teaching() { return *teach_; }
    /// Opens the panel that teaches.
    void teach(bool by_schedule);
    void openSearch();
    /// Searches for a text; the counter shows which hit is selected.
    void find(const QString& text);
    /// Goes to the next hit (1) or the previous one (−1).
    void stepHit(int direction);
    [[nodiscard]] std::size_t hitCount() const { return hits_.size(); }
    [[nodiscard]] const AreaModel& areaModel() const { return *area_model_; }

signals:
    /// Open the trace again with what was taught.
    void reopenRequested(const bubblescope::gui::Taught& taught);
    void hovered(const QString& line);
    /// A search, statistics or likes are complete: for tests.
    void computed();

protected:
    void keyPressEvent(QKeyEvent* event) override;

private:
    QWidget* makeBar();
    QWidget* makeTools();
    QWidget* makeDetails();
    void search();
    void takeHits(std::vector<SliceId> hits);
    void showReason();
    void showMarks();
    void showHit();
    void showSelection();
    void showArea();
    void takeArea(AreaTable table);

    ThemeManager& themes_;
    PlainTracePtr trace_;
    PlainSnapshots snapshots_;

    AnswerBar* answer_ = nullptr;
    QLabel* reason_ = nullptr;
    QToolButton* teach_names_ = nullptr;
    QToolButton* teach_schedule_ = nullptr;
    QLineEdit* line_ = nullptr;
    QLabel* hit_ = nullptr;
    PlainView* view_ = nullptr;
    TeachPanel* teach_ = nullptr;
    QPointer<QMenu> menu_; ///< of a slice or a row
    QTreeWidget* facts_ = nullptr;
    QLabel* area_caption_ = nullptr;
    QTableView* area_table_ = nullptr;
    AreaModel* area_model_ = nullptr;
    QSortFilterProxyModel* sorted_ = nullptr;

    BackgroundJob search_job_;
    BackgroundJob area_job_;
    BackgroundJob likes_job_;
    QTimer area_later_;                 ///< while an area is dragged its table is not computed for each pixel
    std::vector<SliceId> hits_;         ///< ascending ids, for marks
    std::vector<SliceId> hits_in_time_; ///< by start
    std::optional<std::size_t> current_hit_;
    enum class Marking : std::uint8_t { Hits, Matches };
    Marking marking_ = Marking::Matches; ///< hits of the search, or matches of what is taught: what was asked for last
};

} // namespace bubblescope::gui
