#pragma once

#include <QString>
#include <QStringList>

#include <vector>

namespace bubblescope::gui {

/// The structure that a page of the manual and its translation must share.
struct PageStructure {
    struct Section {
        QString title;
        int level = 0;
        QStringList links;  ///< as in the page, sorted: languages differ in the order of words
        QStringList images; ///< in alphabetical order
    };
    std::vector<Section> sections;       ///< the first has level 0 and holds what precedes the first heading
    QStringList blocks;                  ///< code blocks with their fences
    QStringList marks;                   ///< comments, which generate parts of the page
    QStringList codes;                   ///< code within lines, each once, sorted
    std::vector<int> columns;            ///< of each table
    std::vector<std::size_t> table_rows; ///< of each table, with its header
};

[[nodiscard]] PageStructure pageStructure(const QString& markdown);

/// Describes what the translation of a page lacks or has too much; empty if they agree. `english` and `chinese` are the
/// pages' texts; links are compared elsewhere.
[[nodiscard]] QStringList structureDifferences(const QString& english, const QString& chinese);

} // namespace bubblescope::gui
