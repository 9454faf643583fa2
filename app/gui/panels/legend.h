#pragma once

#include "app/gui/models/session.h"
#include "app/gui/theme/theme_manager.h"

#include <QWidget>

#include <vector>

namespace bubblescope::gui {

/// Names the colours that occur in the session.
class Legend : public QWidget {
    Q_OBJECT

public:
    explicit Legend(ThemeManager& themes, QWidget* parent = nullptr);

    void show(const Session* session);
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override { return sizeHint(); }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    struct Entry {
        Role role;
        QString text;

        friend bool operator==(const Entry&, const Entry&) = default;
    };
    [[nodiscard]] int chipWidth(const Entry& entry) const;
    [[nodiscard]] int entryWidth(const Entry& entry) const;
    /// Two where one would make the window too wide. Entries go down first, then right.
    [[nodiscard]] std::size_t lines() const;
    [[nodiscard]] int lineHeight() const;
    [[nodiscard]] int columnWidth(std::size_t column) const;

    ThemeManager& themes_;
    std::vector<Entry> entries_;
    int chunks_ = 1;
};

} // namespace bubblescope::gui
