#pragma once

class QTableView;

namespace bubblescope::gui {

/// The look all tables share: room around cells, no grid, whole rows selected.
void styleTable(QTableView& table);

} // namespace bubblescope::gui
