#include "app/gui/main_window.h"
#include "app/gui/manual_window.h"
#include "tests/gui/gui_tests.h"

#include <QAction>
#include <QDir>
#include <QImage>
#include <QLineEdit>
#include <QListWidget>
#include <QRegularExpression>
#include <QScrollBar>
#include <QTest>
#include <QTextBlock>
#include <QToolButton>
#include <QUrl>

#include <algorithm>
#include <vector>

using namespace bubblescope;
using namespace bubblescope::gui;

class ManualTest : public QObject {
    Q_OBJECT

private slots:
    void carriesAllPages() {
        const QDir source(QStringLiteral(BUBBLESCOPE_MANUAL));
        int pages = 0;
        for (const char* folder : {"", "schedules/"}) {
            const QString below = QString::fromLatin1(folder);
            for (const QString& name : QDir(source.filePath(below)).entryList({QStringLiteral("*.md")})) {
                const ManualPage* page = findManualPage(below + name);
                QVERIFY2(page != nullptr, qPrintable(name));
                QVERIFY2(page->title != page->path, qPrintable(name)); // has a heading
                QVERIFY(!page->text.contains(QLatin1String("<!--")));
                ++pages;
            }
        }
        const auto listed = std::ranges::count_if(
            manualPages(), [](const ManualPage& page) { return page.path.endsWith(QLatin1String(".md")); });
        QCOMPARE(static_cast<int>(listed), pages);
        QVERIFY(pages > 30);
        QCOMPARE(manualPages().front().path, kManualFirstPage);
    }

    void everyLinkLeadsSomewhere() {
        static const QRegularExpression link(QStringLiteral("(!?)\\[[^\\]]*\\]\\(([^)\\s]+)\\)"));
        static const QRegularExpression heading(QStringLiteral("^#+\\s+(.+)$"), QRegularExpression::MultilineOption);
        int links = 0;
        for (const ManualPage& page : manualPages()) {
            if (!page.path.endsWith(QLatin1String(".md"))) continue;
            for (auto found = link.globalMatch(page.text); found.hasNext();) {
                const auto match = found.next();
                const ManualLink to = manualLink(page.path, match.captured(2));
                const QString where = page.path + QStringLiteral(": ") + match.captured(2);
                if (to.path.isEmpty()) continue; // outside of the manual
                ++links;
                QVERIFY2(QFile::exists(QStringLiteral(":/manual/") + to.path), qPrintable(where));
                if (to.section.isEmpty()) continue;
                bool there = false;
                for (auto title = heading.globalMatch(findManualPage(to.path)->text); title.hasNext();) {
                    const QString name = sectionName(title.next().captured(1));
                    there = there || name == to.section;
                }
                QVERIFY2(there, qPrintable(where));
            }
        }
        QVERIFY(links > 50);
    }

    void linksAreFollowedAndTakenBack() {
        ThemeManager themes;
        ManualWindow window(themes);
        window.show();
        auto& browser = *window.findChild<ManualBrowser*>();
        auto& back = *window.findChild<QToolButton*>(QStringLiteral("manualBack"));
        auto& forward = *window.findChild<QToolButton*>(QStringLiteral("manualForward"));
        QCOMPARE(window.path(), kManualFirstPage);
        QVERIFY(!back.isEnabled());
        emit browser.anchorClicked(QUrl(QStringLiteral("schedules.md")));
        QCOMPARE(window.path(), QStringLiteral("schedules.md"));
        emit browser.anchorClicked(QUrl(QStringLiteral("schedules/1f1b.md")));
        emit browser.anchorClicked(QUrl(QStringLiteral("../bubbles.md")));
        QCOMPARE(window.path(), QStringLiteral("bubbles.md"));
        back.click();
        QCOMPARE(window.path(), QStringLiteral("schedules/1f1b.md"));
        forward.click();
        QCOMPARE(window.path(), QStringLiteral("bubbles.md"));
        QVERIFY(!forward.isEnabled());
        emit browser.anchorClicked(QUrl(QStringLiteral("no-such-page.md")));
        QCOMPARE(window.path(), QStringLiteral("bubbles.md"));
        auto& pages = *window.findChild<QListWidget*>(QStringLiteral("manualPages"));
        QCOMPARE(pages.currentItem()->data(Qt::UserRole).toString(), QStringLiteral("bubbles.md"));
        QVERIFY(!window.open(QStringLiteral("nothing.md")));
    }

    void aSectionIsShownAtTheTop() {
        ThemeManager themes;
        ManualWindow window(themes);
        window.show();
        QVERIFY(QTest::qWaitForWindowExposed(&window));
        auto& browser = *window.findChild<ManualBrowser*>();
        // A section higher than the window.
        QVERIFY(window.open(QStringLiteral("running.md"), QStringLiteral("tensor-parallelism")));
        QVERIFY(browser.verticalScrollBar()->value() > 300);
        QCOMPARE(browser.cursorForPosition(QPoint(40, 20)).block().text(), QStringLiteral("Tensor parallelism"));
    }

    void searchingLeavesThePagesThatHoldTheWords() {
        ThemeManager themes;
        ManualWindow window(themes);
        window.show();
        auto& pages = *window.findChild<QListWidget*>(QStringLiteral("manualPages"));
        auto& search = *window.findChild<QLineEdit*>(QStringLiteral("manualSearch"));
        search.setFocus();
        QTest::keyClicks(&search, QStringLiteral("prometheus"));
        int listed = 0;
        for (int row = 0; row < pages.count(); ++row) {
            if (pages.item(row)->isHidden()) continue;
            ++listed;
            QVERIFY(findManualPage(pages.item(row)->data(Qt::UserRole).toString())
                        ->text.contains(QLatin1String("prometheus"), Qt::CaseInsensitive));
        }
        QVERIFY(listed >= 1 && listed < pages.count() / 2);
        QTest::keyClick(&search, Qt::Key_Return);
        auto& browser = *window.findChild<ManualBrowser*>();
        QCOMPARE(browser.textCursor().selectedText().toLower(), QStringLiteral("prometheus"));
        search.clear();
        QVERIFY(!pages.item(pages.count() - 1)->isHidden());
    }

    void drawsItsDrawings() {
        QVERIFY(!manualPages().empty()); // links the resource
        const QStringList names =
            QDir(QStringLiteral(":/manual/drawings")).entryList({QStringLiteral("*.svg")}, QDir::Files);
        QVERIFY(names.size() > 20);
        ManualBrowser browser;
        const auto drawn = [&browser](const QString& name) {
            return browser.loadResource(QTextDocument::ImageResource, QUrl(QStringLiteral("drawings/") + name))
                .value<QImage>();
        };
        for (const QString& name : names) {
            const QImage image = drawn(name);
            QVERIFY2(!image.isNull(), qPrintable(name));
            const auto* const pixels = reinterpret_cast<const QRgb*>(image.constBits());
            const auto* const end = pixels + image.width() * image.height();
            // The ground and texts; of a step its forwards, and both colours of the hatching.
            std::vector<QRgb> colours{0xffffffff, 0xff1d232a};
            if (!name.startsWith(QStringLiteral("hang-")))
                colours.insert(colours.end(), {0xff2f6db5, 0xfff1f2f4, 0xffc4cad1});
            for (const QRgb colour : colours)
                QVERIFY2(std::find(pixels, end, colour) != end,
                         qPrintable(name + QString::number(colour, 16).prepend(u' ')));
        }
        const QImage image = drawn(QStringLiteral("1f1b.svg"));
        QCOMPARE(image.size(), QSize(760, 320));
        QCOMPARE(image.pixelColor(50, 46), QColor(0x2f, 0x6d, 0xb5)); // the first forward of rank 0
        QVERIFY(drawn(QStringLiteral("no-such.svg")).isNull());
    }

    void opensFromTheMenu() {
        MainWindow window([](const auto&, JobControl&) -> Result<Run> { return inputError("", "nothing"); }, false);
        window.show();
        QVERIFY(window.findChild<ManualWindow*>() == nullptr);
        window.activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&window));
        QTest::keyClick(&window, Qt::Key_F1);
        auto* manual = window.findChild<ManualWindow*>();
        QVERIFY(manual != nullptr);
        QVERIFY(manual->isVisible());
        window.themes().choose(ThemeChoice::Dark);
        QCOMPARE(manual->path(), kManualFirstPage);
    }
};

BUBBLESCOPE_GUI_TEST(ManualTest, manual_test);
#include "manual_test.moc"
