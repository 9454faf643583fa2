#pragma once

#include "core/families/no_flush.h"
#include "core/families/registry.h"
#include "core/graph/validate.h"
#include "runtime/model/data_plan.h"
#include "runtime/model/model_config.h"

#include <gtest/gtest.h>

#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope::runtime::test {

/// One of the orders in the registry.
struct Flavor {
    std::string family;
    std::string flavor;

    friend std::ostream& operator<<(std::ostream& out, const Flavor& order) {
        return out << order.family << '/' << order.flavor;
    }
};

inline std::vector<Flavor> allFlavors() {
    std::vector<Flavor> all;
    for (const ScheduleFamily& family : scheduleFamilies()) {
        if (trainsWithDelay(family.name)) continue; // these run only on the CPU
        if (family.flavors.empty()) all.push_back({std::string(family.name), ""});
        for (const std::string_view flavor : family.flavors)
            all.push_back({std::string(family.name), std::string(flavor)});
    }
    return all;
}

inline std::string nameOfFlavor(const testing::TestParamInfo<Flavor>& info) {
    std::string name = info.param.family + "_" + info.param.flavor;
    for (char& letter : name) {
        if (letter == '-') letter = '_';
    }
    return name;
}

/// First order of the flavor with that number of slices; none if there is no such order.
inline std::optional<Schedule> orderOf(const Flavor& flavor, int slices) {
    for (const int pp : {4, 2, 3}) {
        for (const int microbatches : {6, 8, 4}) {
            for (const int vpp : {1, 2, 3}) {
                ScheduleSpec spec{flavor.family, flavor.flavor, pp, microbatches, vpp};
                spec.sequence_slices = slices;
                Result<Schedule> made = makeSchedule(spec);
                if (!made.ok() || !validate(made.value()).empty() || DataPlan(made.value()).slices() != slices)
                    continue;
                return std::move(made).value();
            }
        }
    }
    return std::nullopt;
}

inline ModelConfig tinyModel() {
    ModelConfig model;
    model.width = 16;
    model.heads = 2;
    model.sequence = 8;
    model.batch = 2;
    return model;
}

} // namespace bubblescope::runtime::test
