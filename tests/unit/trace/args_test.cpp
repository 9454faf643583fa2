#include "core/trace/args.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace bubblescope {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

struct Store {
    StringPool strings;
    ArgStore args;

    ArgSetId stored(std::initializer_list<std::pair<const char*, std::int64_t>> pairs) {
        std::vector<StoredArg> list;
        for (const auto& [name, value] : pairs) {
            list.emplace_back().name = strings.intern(name);
            list.back().setInt(value);
        }
        return args.add(list);
    }
    std::vector<std::pair<std::string, std::int64_t>> all(ArgSetId set) const {
        std::vector<std::pair<std::string, std::int64_t>> found;
        for (const Arg& arg : args.args(set, strings))
            found.emplace_back(arg.name, std::get<std::int64_t>(arg.value));
        return found;
    }
};

using Pair = std::pair<std::string, std::int64_t>;

TEST(ArgStore, KeepsEqualSetsOnceWhileManyAreEqual) {
    StringPool strings;
    ArgStore args;
    const StringId name = strings.intern("microbatch");
    const auto add = [&](std::int64_t value) {
        StoredArg arg;
        arg.name = name;
        arg.setInt(value);
        return args.add({&arg, 1});
    };
    const ArgSetId first = add(7);
    EXPECT_NE(add(8), first);
    EXPECT_EQ(add(7), first);
    StoredArg text;
    text.name = name;
    text.setText(7);
    EXPECT_NE(args.add({&text, 1}), first) << "another type";
    // If sets rarely recur, the search for equal ones stops, and all sets keep their content.
    std::vector<ArgSetId> sets;
    for (std::int64_t i = 0; i < 100'000; ++i)
        sets.push_back(add(i));
    EXPECT_NE(add(99'999), sets.back());
    for (std::size_t i = 0; i < sets.size(); i += 997)
        EXPECT_EQ(args.arg(sets[i], "microbatch", strings), ArgValue(static_cast<std::int64_t>(i)));
}

TEST(ArgStore, PutsANumberOnAStoredSet) {
    Store store;
    const ArgSetId shape = store.stored({{"grid", 8}, {"block", 256}});
    for (const std::int64_t value :
         {std::int64_t{0}, std::int64_t{42}, std::int64_t{1} << 32, std::int64_t{-1}, std::int64_t{1} << 40}) {
        const ArgSetId set = store.args.addNumber(store.strings.intern("correlation"), value, shape);
        EXPECT_THAT(store.all(set), ElementsAre(Pair("grid", 8), Pair("block", 256), Pair("correlation", value)));
        EXPECT_EQ(store.args.arg(set, "block", store.strings), ArgValue(std::int64_t{256}));
        EXPECT_EQ(store.args.arg(set, "correlation", store.strings), ArgValue(value));
        EXPECT_EQ(store.args.arg(set, "absent", store.strings), std::nullopt);
    }
    EXPECT_THAT(store.all(shape), ElementsAre(Pair("grid", 8), Pair("block", 256))) << "left as it was";
}

TEST(ArgStore, LetsTheNumberHoldWhereBothHaveTheName) {
    Store store;
    const ArgSetId base = store.stored({{"n", 1}, {"m", 2}});
    for (const std::int64_t value : {std::int64_t{5}, std::int64_t{-5}}) {
        const ArgSetId set = store.args.addNumber(store.strings.intern("n"), value, base);
        EXPECT_THAT(store.all(set), ElementsAre(Pair("m", 2), Pair("n", value)));
        EXPECT_EQ(store.args.arg(set, "n", store.strings), ArgValue(value));
    }
}

TEST(ArgStore, PutsANumberOnOtherSets) {
    Store store;
    const ArgSetId number = store.args.addNumber(store.strings.intern("a"), 1);
    const ArgSetId both = store.args.addNumber(store.strings.intern("b"), 2, number);
    EXPECT_THAT(store.all(both), UnorderedElementsAre(Pair("a", 1), Pair("b", 2)));
}

// Behind another store's sets and texts numbers grow, until they no longer fit into eight bytes.
TEST(ArgStore, KeepsSetsThatAreTakenOver) {
    for (const int before : {0, 1, 5000}) {
        Store first;
        for (int i = 0; i < before; ++i)
            first.stored({{("name " + std::to_string(i)).c_str(), i}});
        Store second;
        const ArgSetId shape = second.stored({{"grid", 8}});
        const ArgSetId set = second.args.addNumber(second.strings.intern("correlation"), 42, shape);
        const ArgSetId merged = second.args.merge(second.stored({{"x", 1}}), set);

        std::vector<StringId> strings(second.strings.size());
        for (StringId id = 0; id < strings.size(); ++id)
            strings[id] = first.strings.intern(second.strings.text(id));
        ArgStore::Moved moved = first.args.append(std::move(second.args), strings);
        EXPECT_THAT(first.all(moved(shape)), ElementsAre(Pair("grid", 8)));
        EXPECT_THAT(first.all(moved(set)), ElementsAre(Pair("grid", 8), Pair("correlation", 42))) << before;
        EXPECT_THAT(first.all(moved(merged)),
                    UnorderedElementsAre(Pair("x", 1), Pair("grid", 8), Pair("correlation", 42)));
    }
}

TEST(ArgStore, WritesEverySetAsTheJsonOfItsArgs) {
    Store store;
    constexpr int kMany = 40; // more than are compared with each other one by one
    const std::array<std::string, 6> texts{"plain", "quote \" and \\", "line\nend", "\x01", "微批 3", "no \xff UTF-8"};
    std::mt19937 random(1);
    const auto pick = [&](int below) { return std::uniform_int_distribution(0, below - 1)(random); };
    for (int round = 0; round < 500; ++round) {
        std::vector<StoredArg> args(static_cast<std::size_t>(1 + pick(round % 10 == 0 ? kMany : 8)));
        for (StoredArg& arg : args) {
            arg.name = store.strings.intern(round % 3 == 0 ? texts[static_cast<std::size_t>(pick(6))]
                                                           : std::to_string(pick(60)));
            switch (pick(5)) {
            case 0: arg.setInt(std::numeric_limits<std::int64_t>::min() + pick(9)); break;
            case 1: arg.setReal(pick(100) / 8.0); break;
            case 2: arg.setReal(std::numeric_limits<double>::infinity()); break;
            case 3: arg.setBool(pick(2) == 0); break;
            default: arg.setText(store.strings.intern(texts[static_cast<std::size_t>(pick(6))]));
            }
        }
        const ArgSetId stored = store.args.add(args);
        const ArgSetId numbered = store.args.addNumber(args.front().name, pick(5), stored);
        for (const ArgSetId set : {stored, numbered, store.args.merge(stored, numbered)}) {
            const auto expected = nlohmann::json::parse(argsToJson(store.args.args(set, store.strings)));
            EXPECT_EQ(nlohmann::json::parse(store.args.json(set, store.strings)), expected);
        }
    }
}

} // namespace
} // namespace bubblescope
