#pragma once

#include "app/gui/jobs/background_job.h"
#include "app/gui/models/session.h"
#include "app/gui/models/view_state.h"
#include "app/gui/theme/theme.h"
#include "core/cost/memory_model.h"
#include "core/schedule/families/registry.h"
#include "core/theory/closed_form.h"

#include <QWidget>

#include <optional>
#include <string>
#include <vector>

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

/// A schedule with everything that is shown of it. Made on a worker thread.
struct ExplorerResult {
    ScheduleSpec spec;
    SessionPtr session; ///< of a single simulated step
    ClosedForm form;
    std::vector<std::vector<MemoryPoint>> memory; ///< per rank, in halves of one forward op's activations
    std::int64_t peak = 0;                        ///< of the rank that needs most, in the same unit
    std::string csv;                              ///< in PyTorch's format; empty if that cannot express it
    std::string no_csv;                           ///< why there is no CSV
};

/// Generates and simulates a schedule. Errors: those of makeSchedule() and simulate(), and Cancelled.
[[nodiscard]] Result<ExplorerResult> exploreSchedule(const ScheduleSpec& spec, const JobControl& control);

/// A window to try schedules: family, sizes and times on the left; order, memory and formulas beside them. Results can
/// be kept for comparison, and exported for PyTorch.
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

signals:
    void computed();

private:
    QWidget* buildForm();
    QWidget* buildViews();
    void fillFlavors();
    void compute();
    void finish(Result<ExplorerResult> result);
    void keep();
    void chooseFile();
    [[nodiscard]] QStringList facts(const ExplorerResult& result) const;

    ThemeManager& themes_;
    ViewState state_;
    BackgroundJob job_;
    std::optional<ExplorerResult> result_;
    bool filling_ = false; ///< several fields are being set at once

    QComboBox* family_ = nullptr;
    QComboBox* flavor_ = nullptr;
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
    QLabel* headline_ = nullptr;
    TimelineView* timeline_ = nullptr;
    MemoryChart* memory_ = nullptr;
    QTableWidget* table_ = nullptr; ///< the current result first, then those kept
};

} // namespace bubblescope::gui
