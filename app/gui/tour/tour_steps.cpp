#include "app/gui/tour/tour_steps.h"

#include <QCoreApplication>

namespace bubblescope::gui {

namespace {

struct TourText {
    Q_DECLARE_TR_FUNCTIONS(TourSteps)
};

} // namespace

std::vector<TourStep> tourSteps() {
    const auto name = [](const char* text) { return QString::fromLatin1(text); };
    return {
        {name("timeline"), QString(), TourText::tr("A row for each rank"),
         TourText::tr(
             "Time runs to the right. Blue is forward, yellow is backward, and what is hatched is a bubble: the "
             "rank waits. The wheel zooms, dragging moves, a click selects.")},
        {name("summaryBar"), QString(), TourText::tr("What the step costs"),
         TourText::tr("The bubble rate is the share of the step in which ranks wait. Behind it in brackets stands what "
                      "the schedule's closed form allows. What costs most stands in red; a click leads there.")},
        {name("bubblesDock"), name("bubbles"), TourText::tr("Bubbles and their formulas"),
         TourText::tr("Every bubble by rank and position: as observed, as the closed form says, and the difference. "
                      "Select a row to see it on the timeline.")},
        {name("detailsDock"), QString(), TourText::tr("Why a rank waits"),
         TourText::tr("Click a bubble or an op on the timeline: here stands when it began and ended, what it waited "
                      "for and who is to blame.")},
        {name("anomaliesDock"), name("anomalies"), TourText::tr("What is wrong"),
         TourText::tr(
             "Findings, the dearest first: slow stages, stragglers, slow links, flipped bits. Each says what it "
             "costs a step, why we think so and what to do.")},
        {name("whatifDock"), name("whatif"), TourText::tr("What a change would win"),
         TourText::tr(
             "Which changes pay most, such as another split of the layers, and how long the step would be then. "
             "The result can be drawn below the observed step.")},
        {name("menuBar"), QString(), TourText::tr("How to go on"),
         TourText::tr(
             "File opens your own traces, compares two runs, watches one that goes on and exports pictures. The "
             "schedule lab is in View. F1 opens the manual, ? shows all keys, and Help repeats this tour.")},
    };
}

} // namespace bubblescope::gui
