#pragma once

#include "app/gui/explorer/explore.h"
#include "app/gui/jobs/background_job.h"
#include "app/gui/models/view_state.h"
#include "app/gui/panels/schedule_fields.h"
#include "app/gui/theme/theme.h"

#include <QTimer>
#include <QWidget>

#include <atomic>
#include <memory>
#include <optional>

class QComboBox;
class QDoubleSpinBox;
class QFormLayout;
class QLabel;
class QPushButton;
class QSpinBox;
class QTableWidget;

namespace bubblescope::gui {

class MemoryChart;
class TimelineView;

/// A window to try schedules: family, sizes and times on the left; order, memory and formulas beside them. Results can
/// be kept for comparison, exported for PyTorch and run. For the sizes and times the shortest order of all can be
/// searched: the drawing shows the best one found by now until the search is stopped or over.
class ScheduleExplorer : public QWidget {
    Q_OBJECT

public:
    explicit ScheduleExplorer(ThemeManager& themes, QWidget* parent = nullptr);
    ~ScheduleExplorer() override;

    [[nodiscard]] ScheduleSpec spec() const;
    [[nodiscard]] const std::optional<ExplorerResult>& result() const { return result_; }
    [[nodiscard]] ViewState& state() { return state_; }
    /// Takes sizes and times from a recognised run.
    void startFrom(const Session& session, int step);
    /// Writes the order as PyTorch's CSV.
    [[nodiscard]] Status exportCsv(const QString& path) const;
    [[nodiscard]] bool searching() const { return news_ != nullptr; }
    /// Starts a search, or ends the one in progress with what it has found.
    void toggleSearch();

signals:
    void computed();
    /// A search has found a better order, which is shown.
    void improved();
    void searchEnded();
    /// The user wants to run the order that is shown, which `file` holds (see readScheduleFile()).
    void runRequested(const QString& file, const bubblescope::ScheduleSpec& spec);

private:
    QWidget* buildForm();
    QWidget* buildViews();
    void fillFlavors();
    /// Sets the sizes nearest to the chosen ones that the family takes, and states what was changed.
    void fitSizes();
    void compute();
    void finish(Result<ExplorerResult> result);
    void keep();
    void compareFamilies();
    void addRow(int row, const ExplorerResult& result);
    void showResult(ExplorerResult result);
    void showNews();
    void finishSearch(Result<SearchOutcome> outcome);
    void endSearch();
    void setProblem(const QString& text);
    void sendToRun();
    void chooseFile();
    [[nodiscard]] QStringList facts(const ExplorerResult& result) const;

    ThemeManager& themes_;
    ViewState state_;
    BackgroundJob job_;
    BackgroundJob search_job_;
    BackgroundJob families_job_;
    std::shared_ptr<SearchNews> news_;          ///< of the search in progress
    std::shared_ptr<std::atomic<bool>> enough_; ///< asks it to end with what it has found
    QTimer news_timer_;
    std::optional<ExplorerResult> result_;
    bool filling_ = false; ///< several fields are being set at once

    ScheduleFields schedule_;
    QLabel* limits_ = nullptr;
    QSpinBox* pp_ = nullptr;
    QSpinBox* microbatches_ = nullptr;
    QSpinBox* vpp_ = nullptr;
    QSpinBox* memory_limit_ = nullptr;
    QDoubleSpinBox* forward_ = nullptr;
    QDoubleSpinBox* input_grad_ = nullptr;
    QDoubleSpinBox* weight_grad_ = nullptr;
    QDoubleSpinBox* comm_ = nullptr;
    QPushButton* keep_ = nullptr;
    QPushButton* export_ = nullptr;
    QPushButton* search_ = nullptr;
    QPushButton* families_ = nullptr;
    QPushButton* run_ = nullptr;
    QLabel* problem_ = nullptr; ///< why the fields give no schedule
    QLabel* gap_ = nullptr;     ///< of the search
    QLabel* headline_ = nullptr;
    TimelineView* timeline_ = nullptr;
    MemoryChart* memory_ = nullptr;
    QTableWidget* table_ = nullptr; ///< the current result first, then those kept
};

} // namespace bubblescope::gui
