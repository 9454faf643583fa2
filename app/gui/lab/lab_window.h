#pragma once

#include "app/gui/jobs/background_job.h"
#include "app/gui/lab/lab_result.h"
#include "app/gui/models/view_state.h"
#include "app/gui/theme/theme_manager.h"

#include <QWidget>

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

/// Try schedules: family, sizes and times on the left; order, memory and formulas at once. Results can be kept to
/// compare them, and exported for PyTorch.
class LabWindow : public QWidget {
    Q_OBJECT

public:
    explicit LabWindow(ThemeManager& themes, QWidget* parent = nullptr);
    ~LabWindow() override;

    [[nodiscard]] ScheduleSpec spec() const;
    [[nodiscard]] const std::optional<LabResult>& result() const { return result_; }
    [[nodiscard]] ViewState& state() { return state_; }
    /// Takes over sizes and times of a recognised run.
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
    void finish(Result<LabResult> result);
    void keep();
    void chooseFile();
    [[nodiscard]] QStringList facts(const LabResult& result) const;

    ThemeManager& themes_;
    ViewState state_;
    BackgroundJob job_;
    std::optional<LabResult> result_;
    bool filling_ = false; ///< several fields change at once

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
    QTableWidget* table_ = nullptr; ///< the current one first, then those kept
};

} // namespace bubblescope::gui
