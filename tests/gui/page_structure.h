#pragma once

#include <QString>
#include <QStringList>

#include <vector>

namespace bubblescope::gui {

/// What a page of the manual and its translation have in common.
struct PageStructure {
    struct Section {
        QString title;
        int level = 0;
        QStringList links;  ///< as the page has them, in alphabetical order: languages differ in the order of words
        QStringList images; ///< in alphabetical order
    };
    std::vector<Section> sections;       ///< the first has level 0 and holds what stands above the first heading
    QStringList blocks;                  ///< code, with its fences where it has them
    QStringList marks;                   ///< comments, which say what makes a part of the page
    QStringList codes;                   ///< code within lines, each once, in alphabetical order
    std::vector<int> columns;            ///< of each table
    std::vector<std::size_t> table_rows; ///< of each table, with its head
};

[[nodiscard]] PageStructure pageStructure(const QString& markdown);

/// In words, what the translation of a page lacks or has too much; empty where they agree. `english` and `chinese` are
/// the pages' texts; links are left to those who know the other pages.
[[nodiscard]] QStringList structureDifferences(const QString& english, const QString& chinese);

} // namespace bubblescope::gui
