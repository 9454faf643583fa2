#pragma once

#include "app/gui/models/view_state.h"
#include "app/gui/theme/theme.h"

#include <QDialog>

#include <utility>
#include <vector>

class QComboBox;
class QDoubleSpinBox;
class QFormLayout;
class QLabel;
class QSpinBox;

namespace bubblescope::gui {

/// Dialog for a run's model and devices, which the views need to compute the model FLOPs utilisation (MFU). If the
/// description does not match the run, the dialog shows the error and stays open.
class ModelDialog : public QDialog {
    Q_OBJECT

public:
    ModelDialog(ViewState& state, ThemeManager& themes, QWidget* parent = nullptr);

    [[nodiscard]] ModelUseRequest request() const;

public slots:
    void accept() override;

private:
    using Size = std::optional<std::int64_t> ModelRequest::*;
    void addSize(QFormLayout& form, const char* name, const QString& label, Size size);
    void addDevices(QFormLayout& form);
    void showPreset();

    ViewState& state_;
    QComboBox* preset_;
    std::vector<std::pair<Size, QSpinBox*>> sizes_; ///< 0 = value of the preset, or the default
    QSpinBox* batch_;
    QComboBox* device_;
    QDoubleSpinBox* teraflops_; ///< 0 = value for the device
    QSpinBox* devices_;         ///< 0 = number of devices in the trace
    QLabel* error_;
};

} // namespace bubblescope::gui
