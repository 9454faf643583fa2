#pragma once

#include "app/gui/jobs/background_job.h"
#include "app/gui/live/run_process.h"
#include "app/gui/panels/schedule_fields.h"
#include "app/gui/theme/theme.h"

#include <QDialog>

class QComboBox;
class QDoubleSpinBox;
class QLabel;
class QLineEdit;
class QListWidget;
class QPushButton;
class QSpinBox;

namespace bubblescope::gui {

/// Dialog for starting a run: schedule, sizes, times, steps and faults. As the user types, shows the expected duration,
/// the equivalent command line, and problems with the sizes.
class RunDialog : public QDialog {
    Q_OBJECT

public:
    /// `folder` is the suggested folder for the recording.
    RunDialog(ThemeManager& themes, const QString& folder, QWidget* parent = nullptr);

    /// Selects the order in `file`, with the sizes and times of `spec`; disables the schedule fields.
    void setOrder(const QString& file, const ScheduleSpec& spec);
    [[nodiscard]] RunPlan plan() const;

signals:
    void runRequested(const bubblescope::gui::RunPlan& plan);
    /// Emitted after the sizes have been checked. `good` is true if they are valid.
    void checked(bool good);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    QWidget* buildSchedule();
    QWidget* buildFaults();
    void fillFlavors();
    void addFault();
    void chooseFolder();
    void check();
    void showEstimate(Result<TimeNs> step);

    ThemeManager& themes_;
    BackgroundJob job_;
    QString order_file_; ///< if empty, the order is generated from family and sizes
    ScheduleFields schedule_;
    QSpinBox* pp_ = nullptr;
    QSpinBox* microbatches_ = nullptr;
    QSpinBox* vpp_ = nullptr;
    QSpinBox* steps_ = nullptr;
    QDoubleSpinBox* forward_ = nullptr;
    QDoubleSpinBox* backward_ = nullptr;
    QDoubleSpinBox* comm_ = nullptr;
    QComboBox* fault_ = nullptr;
    QListWidget* faults_ = nullptr;
    QLineEdit* folder_ = nullptr;
    QLabel* estimate_ = nullptr;
    QLineEdit* command_ = nullptr;
    QPushButton* run_ = nullptr;
};

} // namespace bubblescope::gui
