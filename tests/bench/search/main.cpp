#include "tests/bench/search/table.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <string_view>

using namespace bubblescope::search_table;

namespace {

struct Part {
    std::string_view name;
    std::string_view what;
    int (*run)(const Options&);
};

constexpr std::array kParts{
    Part{"exhaustive", "p, m up to 4, v up to 2, against all orders", exhaustive},
    Part{"uneven", "uneven stages, three memory limits, against the best family and the bound", uneven},
    Part{"zero-bubble", "the settings of the zero-bubble paper, against its schedulers", zeroBubble},
    Part{"dynapipe", "micro-batches of unequal length, against DynaPipe's scheduler", dynaPipe},
    Part{"flexfusion", "two models in opposite directions, against FlexFusion", flexFusion},
    Part{"noise", "times that are 5 % off, against the best family", noise},
    Part{"moves", "what a move costs, against an order from scratch", moves},
};

int usage() {
    fmt::print("search_table PART [--seconds S | --rounds N] [--threads N] [--smallest P] [--largest P] [--draws N]\n"
               "                  [--only v1|v2|v4]\n\n");
    for (const Part& part : kParts)
        fmt::print("  {:<12} {}\n", part.name, part.what);
    fmt::print("\nResults and what they were made with: resources/benchmarks/search.md.\n");
    return 2;
}

} // namespace

int main(int argc, char** argv) {
    Options options;
    if (argc < 2 || argc % 2 != 0) return usage();
    for (int i = 2; i < argc; i += 2) {
        const std::string_view name = argv[i];
        const char* const value = argv[i + 1];
        if (name == "--seconds")
            options.seconds = std::atof(value);
        else if (name == "--rounds")
            options.rounds = std::atoi(value);
        else if (name == "--threads")
            options.threads = std::atoi(value);
        else if (name == "--smallest")
            options.smallest = std::atoi(value);
        else if (name == "--largest")
            options.largest = std::atoi(value);
        else if (name == "--draws")
            options.draws = std::atoi(value);
        else if (name == "--only")
            options.only = value;
        else
            return usage();
    }
    for (const Part& part : kParts) {
        if (part.name == argv[1]) return part.run(options);
    }
    return usage();
}
