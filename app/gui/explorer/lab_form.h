#pragma once

#include "app/gui/explorer/explore.h"
#include "app/gui/models/session.h"
#include "app/gui/panels/schedule_fields.h"
#include "app/gui/theme/theme.h"

#include <QScrollArea>

#include <functional>
#include <optional>

class QComboBox;
class QFormLayout;
class QLabel;
class QSpinBox;

namespace bubblescope::gui {

class ListField;

/// Form for the inputs of the schedule explorer: family, sizes, times (equal or per stage), memory limits, transfers.
class LabForm : public QScrollArea {
    Q_OBJECT

public:
    /// Returns the run and step from which times can be copied; null if no run is open.
    using OpenStep = std::function<std::pair<SessionPtr, int>()>;

    explicit LabForm(ThemeManager& themes, QWidget* parent = nullptr);

    /// Returns nothing while a field is invalid. The field then shows the reason.
    [[nodiscard]] std::optional<LabInput> input();
    void setOpenStep(OpenStep open) { open_ = std::move(open); }
    /// Copies schedule, sizes and times from a recognised run, with separate times per stage if they differ.
    void startFrom(const Session& session, int step);
    /// Reads the times of the stages from a file; see readStageTimes().
    void takeTimes(const QString& file);
    /// Adds a widget below the fields and takes ownership of it.
    void addBelow(QWidget& widget);

signals:
    void changed();
    void refused(const bubblescope::Error& error);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void addSizes(QFormLayout& form);
    void addTimes(QFormLayout& form);
    void addTransfers(QFormLayout& form);
    void fillFlavors();
    /// Replaces the sizes with the nearest ones that the family supports, and displays the changes.
    void fitSizes();
    void setStages(const std::vector<OpTimes>& stages);
    void chooseFile();
    void change();
    [[nodiscard]] ScheduleSpec sizes() const;
    [[nodiscard]] std::optional<TransferModel> transfers();

    ThemeManager& themes_;
    OpenStep open_;
    bool filling_ = true; ///< true while several fields are being changed together

    ScheduleFields schedule_;
    QLabel* limits_ = nullptr;
    QSpinBox* pp_ = nullptr;
    QSpinBox* microbatches_ = nullptr;
    QSpinBox* vpp_ = nullptr;
    ListField* memory_limit_ = nullptr;
    ListField* forward_ = nullptr;
    ListField* input_grad_ = nullptr;
    ListField* weight_grad_ = nullptr;
    ListField* comm_ = nullptr;
    ListField* bytes_ = nullptr;
    ListField* bandwidth_ = nullptr;
    QComboBox* sends_ = nullptr;
    QComboBox* streams_ = nullptr;
    QComboBox* communicators_ = nullptr;
    QComboBox* receives_ = nullptr;
};

} // namespace bubblescope::gui
