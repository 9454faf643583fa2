#pragma once

#include "app/gui/explorer/explore.h"
#include "app/gui/explorer/lab_form.h"
#include "app/gui/jobs/background_job.h"
#include "app/gui/models/view_state.h"
#include "app/gui/theme/theme.h"

#include <QTimer>
#include <QWidget>

#include <atomic>
#include <memory>
#include <optional>

class QLabel;
class QPushButton;

namespace bubblescope::gui {

class ComparisonTable;
class Legend;
class MemoryChart;
class TimelineView;

/// Window for experimenting with schedules: family, sizes and times on the left; order, memory and formulas on the
/// right. Results can be kept for comparison, exported for PyTorch, and run. A search finds the shortest order for the
/// sizes and times; while it runs, the drawing shows the best order so far.
class ScheduleExplorer : public QWidget {
    Q_OBJECT

public:
    explicit ScheduleExplorer(ThemeManager& themes, QWidget* parent = nullptr);
    ~ScheduleExplorer() override;

    /// Content of the form; none while a field is invalid.
    [[nodiscard]] std::optional<LabInput> input();
    void setOpenStep(LabForm::OpenStep open);
    [[nodiscard]] const std::optional<ExplorerResult>& result() const { return result_; }
    [[nodiscard]] ViewState& state() { return state_; }
    /// Copies sizes and times from a recognised run.
    void startFrom(const Session& session, int step);
    /// Writes the order in PyTorch's CSV format.
    [[nodiscard]] Status exportCsv(const QString& path) const;
    [[nodiscard]] bool searching() const { return news_ != nullptr; }
    /// Starts a search, or ends the running search with its best result so far.
    void toggleSearch();

signals:
    void computed();
    /// Emitted when a search has found a better order, which is now displayed.
    void improved();
    void searchEnded();
    /// Emitted when the user requests a run of the displayed order. `file` contains this order; see readScheduleFile().
    void runRequested(const QString& file, const bubblescope::ScheduleSpec& spec);

private:
    QWidget* buildForm();
    QWidget* buildViews();
    void compute();
    void finish(Result<ExplorerResult> result);
    void compareFamilies();
    void showNothing(const QString& headline);
    void showResult(ExplorerResult result);
    void showNews();
    void finishSearch(Result<SearchOutcome> outcome);
    void endSearch();
    void setProblem(const QString& text);
    void sendToRun();
    void chooseFile();

    ThemeManager& themes_;
    ViewState state_;
    BackgroundJob job_;
    BackgroundJob search_job_;
    BackgroundJob families_job_;
    std::shared_ptr<SearchNews> news_;          ///< results of the running search
    std::shared_ptr<std::atomic<bool>> enough_; ///< set to end the search early and use its best result
    QTimer news_timer_;
    std::optional<ExplorerResult> result_;

    LabForm* form_ = nullptr;
    QPushButton* keep_ = nullptr;
    QPushButton* export_ = nullptr;
    QPushButton* search_ = nullptr;
    QPushButton* families_ = nullptr;
    QPushButton* run_ = nullptr;
    QLabel* problem_ = nullptr; ///< reason why the fields do not define a schedule
    QLabel* gap_ = nullptr;     ///< remaining gap to the lower bound after the search
    QLabel* headline_ = nullptr;
    TimelineView* timeline_ = nullptr;
    MemoryChart* memory_ = nullptr;
    Legend* legend_ = nullptr;
    ComparisonTable* table_ = nullptr;
};

} // namespace bubblescope::gui
