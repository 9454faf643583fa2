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

/// Asks for the model that a run trains and the devices it runs on, so that the views can show its model FLOPs
/// utilisation (MFU). A description that does not fit the run leaves the dialog open, with the error.
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
    std::vector<std::pair<Size, QSpinBox*>> sizes_; ///< 0 = as in the preset, or the default
    QSpinBox* batch_;
    QComboBox* device_;
    QDoubleSpinBox* teraflops_; ///< 0 = that of the device
    QSpinBox* devices_;         ///< 0 = the number in the trace
    QLabel* error_;
};

} // namespace bubblescope::gui
