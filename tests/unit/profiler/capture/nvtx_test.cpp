#include "profiler/nvtx/injection.h"
#include "profiler/nvtx/payload_schema.h"
#include "tests/support/recorded_memory.h"

#include <pthread.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace bubblescope::profiler::nvtx {
namespace {

using testing::ElementsAre;

// A program's copy of NVTX: its tables of functions, as a tool sees them.
struct Client {
    static constexpr unsigned kSize = 17;
    static inline std::array<abi::Function, kSize> core_functions{};
    static inline std::array<abi::Function, kSize> domain_functions{};
    static inline std::array<abi::Function*, kSize> core_table{};
    static inline std::array<abi::Function*, kSize> domain_table{};

    static int moduleTable(std::int32_t module, abi::FunctionTable* table, unsigned* size) {
        if (module != abi::kModuleCore && module != abi::kModuleCore2) return 0;
        *table = module == abi::kModuleCore ? core_table.data() : domain_table.data();
        *size = 16;
        return 1;
    }
    static const void* exportTable(std::uint32_t id) {
        static const abi::Callbacks callbacks{sizeof(abi::Callbacks), moduleTable};
        return id == abi::kTableOfCallbacks ? &callbacks : nullptr;
    }
    static void reset() {
        for (unsigned i = 1; i < kSize; ++i) {
            core_functions[i] = domain_functions[i] = nullptr;
            core_table[i] = &core_functions[i];
            domain_table[i] = &domain_functions[i];
        }
    }
    template <class Function, class... Arguments>
    static auto call(abi::Core id, Arguments... arguments) {
        return reinterpret_cast<Function>(core_functions[static_cast<unsigned>(id)])(arguments...);
    }
    template <class Function, class... Arguments>
    static auto call(abi::Core2 id, Arguments... arguments) {
        return reinterpret_cast<Function>(domain_functions[static_cast<unsigned>(id)])(arguments...);
    }
};

class NvtxInjection : public testing::Test {
protected:
    struct Seen {
        HostRecord record;
        std::string text;
        std::string bytes;
    };

    NvtxInjection() {
        Client::reset();
        sendEventsTo(memory_.recorder(), names_);
        EXPECT_TRUE(attach(Client::exportTable));
    }

    std::vector<Seen> drained() {
        std::vector<Seen> seen;
        memory_.drain([&](std::uint32_t, const HostRecord& record, bool) {
            seen.push_back({record, std::string(record.text), std::string(record.bytes)});
            if (record.text_handle != 0) seen.back().text = names_.text(record.text_handle);
        });
        return seen;
    }

    test::RecordedMemory memory_;
    Names names_;
};

TEST_F(NvtxInjection, RecordsPushedRangesWithTheirDepth) {
    EXPECT_EQ(Client::call<int (*)(const char*)>(abi::Core::RangePushA, "F3"), 0);
    EXPECT_EQ(Client::call<int (*)(const wchar_t*)>(abi::Core::RangePushW, L"größer"), 1);
    EXPECT_EQ(Client::call<int (*)()>(abi::Core::RangePop), 1);
    EXPECT_EQ(Client::call<int (*)()>(abi::Core::RangePop), 0);
    EXPECT_EQ(Client::call<int (*)()>(abi::Core::RangePop), -2) << "NVTX_NO_PUSH_POP_TRACKING";
    const std::vector<Seen> seen = drained();
    ASSERT_EQ(seen.size(), 4U);
    EXPECT_EQ(seen[0].text, "F3");
    EXPECT_EQ(seen[1].text, "größer");
    EXPECT_EQ(seen[1].record.depth, 1);
    EXPECT_EQ(seen[2].record.type, HostRecord::Type::Pop);
    EXPECT_EQ(seen[2].record.depth, 1);
    for (std::size_t i = 1; i < seen.size(); ++i)
        EXPECT_GE(seen[i].record.ticks, seen[i - 1].record.ticks);
}

TEST(HostRecord, IsReadAsItWasWrittenWhateverItSays) {
    const std::string letters = "F12.3 of micro-batch twelve, and so on: a name that fills more than a slot of a ring";
    for (std::size_t size = 0; size <= letters.size(); ++size) {
        for (const std::uint64_t id : {0U, 7U}) { // events with only a name and a time have a short form
            HostRecord record;
            record.type = HostRecord::Type::Push;
            record.ticks = -3;
            record.depth = 5;
            record.domain = 2;
            record.id = id;
            record.text = std::string_view(letters).substr(0, size);
            HostWords words;
            const auto written = encode(record, words);
            EXPECT_EQ(written.size(), (id == 0 ? 2U : 6U) + (size + 7) / 8) << size;
            EXPECT_EQ(host_record::wordsOf(written[0]), written.size());
            const auto again = decodeHostRecord(written);
            ASSERT_TRUE(again) << size;
            EXPECT_EQ(again->type, record.type);
            EXPECT_EQ(again->ticks, record.ticks);
            EXPECT_EQ(again->depth, record.depth);
            EXPECT_EQ(again->domain, record.domain);
            EXPECT_EQ(again->id, id);
            EXPECT_EQ(again->text, record.text);
            EXPECT_FALSE(decodeHostRecord(written.first(1))) << "the rest is missing";
        }
    }
}

TEST(HostRecorder, PushesNamesOfAnyLength) {
    test::RecordedMemory memory;
    HostRecorder& recorder = memory.recorder();
    const std::string letters(300, 'n');
    const auto nameOf = [&](std::size_t size) { return std::string_view(letters).substr(0, size); };
    for (std::size_t size = 0; size < letters.size(); ++size) {
        EXPECT_EQ(recorder.push(nameOf(size), 0), 0);
        EXPECT_EQ(recorder.push("inner", 0), 1);
        EXPECT_EQ(recorder.pop(0), 1);
        EXPECT_EQ(recorder.pop(0), 0);
        EXPECT_EQ(recorder.pop(0), -1) << "none exists";
        std::vector<std::string> got;
        const std::int64_t lost = memory.drain([&](std::uint32_t, const HostRecord& record, bool gap) {
            EXPECT_FALSE(gap);
            got.emplace_back(record.text);
        });
        EXPECT_EQ(lost, 0);
        EXPECT_EQ(got, (std::vector<std::string>{std::string(nameOf(size).substr(0, HostRecord::kMaxText)), "inner", "",
                                                 ""}));
    }
}

/// Records when its thread destroys it.
struct AtTheEnd {
    HostRecorder* recorder = nullptr;
    ~AtTheEnd() { recorder->push("late", 0); }
};

TEST(HostRecorder, AThreadMayRecordUntilItsEndAndItsMemoryGoesBack) {
    test::RecordedMemory memory;
    HostRecorder& recorder = memory.recorder();
    const auto count = [&memory] {
        int records = 0;
        const std::int64_t lost = memory.drain([&](std::uint32_t, const HostRecord&, bool) { ++records; });
        return std::pair(records, lost);
    };
    std::thread([&recorder] {
        static thread_local AtTheEnd last{&recorder}; // before the recorder's
        recorder.push("work", 0);
        recorder.pop(0);
        // Its destructor runs after the recorder's, whose key is older.
        pthread_key_t key{};
        ::pthread_key_create(&key, [](void* pointer) { static_cast<HostRecorder*>(pointer)->push("too late", 0); });
        ::pthread_setspecific(key, &recorder);
    }).join();
    EXPECT_EQ(count(), (std::pair(3, std::int64_t{1}))) << "what came behind the thread's end is counted";
    EXPECT_EQ(count(), (std::pair(0, std::int64_t{1})));
    EXPECT_EQ(memory.memory().header().threads[0].state.load(), event_memory::SlotState::Free);
    EXPECT_EQ(memory.memory().fullness(), 0);
}

TEST_F(NvtxInjection, KeepsStacksOfDomainsApartAndKnowsRegisteredTexts) {
    const auto domain = Client::call<abi::Handle (*)(const char*)>(abi::Core2::DomainCreateA, "NCCL");
    EXPECT_EQ(Client::call<abi::Handle (*)(const char*)>(abi::Core2::DomainCreateA, "NCCL"), domain);
    const auto text = Client::call<abi::Handle (*)(abi::Handle, const char*)>(abi::Core2::DomainRegisterStringA, domain,
                                                                              "ncclAllReduce");
    abi::EventAttributes event{};
    event.version = 3;
    event.size = sizeof event;
    event.category = 7;
    event.payload_type = abi::kPayloadDouble;
    event.payload.f64 = 2.5;
    event.message_type = abi::kMessageRegistered;
    event.message.registered = text;
    Client::call<int (*)(const char*)>(abi::Core::RangePushA, "outer");
    using Push = int (*)(abi::Handle, const abi::EventAttributes*);
    EXPECT_EQ(Client::call<Push>(abi::Core2::DomainRangePushEx, domain, &event), 0);
    Client::call<int (*)()>(abi::Core::RangePop);
    EXPECT_EQ(Client::call<int (*)(abi::Handle)>(abi::Core2::DomainRangePop, domain), 0);
    Client::call<void (*)(abi::Handle, std::uint32_t, const char*)>(abi::Core2::DomainNameCategoryA, domain, 7U,
                                                                    "bulk");

    const std::vector<Seen> seen = drained();
    ASSERT_EQ(seen.size(), 4U);
    EXPECT_EQ(names_.domainName(seen[1].record.domain), "NCCL");
    EXPECT_EQ(seen[1].text, "ncclAllReduce");
    EXPECT_EQ(seen[1].record.payload, HostRecord::Payload::Float);
    double value = 0;
    std::memcpy(&value, &seen[1].record.value, sizeof value);
    EXPECT_EQ(value, 2.5);
    EXPECT_EQ(names_.category(seen[1].record.domain, 7), "bulk");
}

TEST_F(NvtxInjection, TiesStartsToEndsByNumber) {
    const auto first = Client::call<abi::RangeId (*)(const char*)>(abi::Core::RangeStartA, "a");
    const auto second = Client::call<abi::RangeId (*)(const char*)>(abi::Core::RangeStartA, "b");
    EXPECT_NE(first, second);
    Client::call<void (*)(abi::RangeId)>(abi::Core::RangeEnd, first);
    const std::vector<Seen> seen = drained();
    ASSERT_EQ(seen.size(), 3U);
    EXPECT_EQ(seen[2].record.type, HostRecord::Type::End);
    EXPECT_EQ(seen[2].record.id, seen[0].record.id);
}

TEST_F(NvtxInjection, TakesExtendedPayloads) {
    std::array<std::intptr_t, 18> slots{};
    abi::ExtensionSegment segment{0, slots.size(), slots.data()};
    abi::ExtensionModule module{3,      sizeof(abi::ExtensionModule), abi::kPayloadModule, 0x0104, 1, &segment, nullptr,
                                nullptr};
    ASSERT_TRUE(attachExtension(&module));
    const std::array<abi::SchemaEntry, 2> entries{{{0, 18, "NCCL communicator ID", nullptr, 0, 0, nullptr, nullptr},
                                                   {0, 22, "Message size [bytes]", nullptr, 0, 8, nullptr, nullptr}}};
    abi::SchemaAttributes schema{};
    schema.entries = entries.data();
    schema.entry_count = entries.size();
    const auto add = reinterpret_cast<std::uint64_t (*)(abi::Handle, const abi::SchemaAttributes*)>(slots[0]);
    const std::uint64_t id = add(nullptr, &schema);
    EXPECT_GE(id, abi::kFirstToolSchema);
    const std::array<std::uint64_t, 2> payload{77, 4096};
    const abi::PayloadData data{id, sizeof payload, payload.data()};
    abi::EventAttributes event{};
    event.size = sizeof event;
    event.payload_type = abi::kPayloadExtended;
    event.payload_count = 1;
    event.payload.u64 = reinterpret_cast<std::uint64_t>(&data);
    event.message_type = abi::kMessageAscii;
    event.message.ascii = "ncclSend";
    Client::call<void (*)(const abi::EventAttributes*)>(abi::Core::MarkEx, &event);
    const std::vector<Seen> seen = drained();
    ASSERT_EQ(seen.size(), 1U);
    const auto fields = names_.decode(0, seen[0].record.value, seen[0].bytes);
    ASSERT_EQ(fields.size(), 2U);
    EXPECT_EQ(std::get<std::int64_t>(fields[0].value), 77);
    EXPECT_EQ(std::get<std::int64_t>(fields[1].value), 4096);
}

TEST(Names, DomainsOfLongNamesHaveTheirNumbersWhereALogIsReplayed) {
    std::string log(std::size_t{1} << 16, '\0');
    std::atomic<std::uint64_t> used{0};
    Names names;
    names.shareIn(log, used);
    const std::string long_name(1000, 'n'); // more letters than are kept
    const std::uint16_t of_long = names.domain(long_name);
    EXPECT_EQ(names.domain(long_name), of_long) << "asked for again";
    const std::uint16_t behind = names.domain("behind");
    EXPECT_NE(behind, of_long);
    Names again;
    again.replay(std::string_view(log).substr(0, used.load()));
    EXPECT_EQ(again.domain("behind"), behind);
    EXPECT_EQ(again.domain(long_name), of_long);
    EXPECT_EQ(again.domainName(of_long), long_name.substr(0, Names::kMaxLetters));
}

TEST_F(NvtxInjection, SurvivesWhatIsMissingAndCutsWhatIsLong) {
    Client::call<int (*)(const char*)>(abi::Core::RangePushA, nullptr);
    Client::call<void (*)(const abi::EventAttributes*)>(abi::Core::MarkEx, nullptr);
    const std::string long_name(1000, 'x');
    Client::call<void (*)(const char*)>(abi::Core::MarkA, long_name.c_str());
    const std::vector<Seen> seen = drained();
    ASSERT_EQ(seen.size(), 3U);
    EXPECT_EQ(seen[2].text, long_name.substr(0, HostRecord::kMaxText));
    EXPECT_FALSE(attach(nullptr));
}

std::vector<std::string> decoded(const PayloadSchemas& schemas, std::uint64_t id, std::string_view bytes) {
    std::vector<std::string> out;
    for (const PayloadField& field : schemas.decode(0, id, bytes)) {
        std::string text = field.name + "=";
        if (const auto* number = std::get_if<std::int64_t>(&field.value)) text += std::to_string(*number);
        if (const auto* real = std::get_if<double>(&field.value)) text += std::to_string(static_cast<int>(*real));
        if (const auto* letters = std::get_if<std::string>(&field.value)) text += *letters;
        out.push_back(text);
    }
    return out;
}

TEST(PayloadSchemas, PlacesFieldsAsACompilerDoes) {
    struct Told {
        std::uint8_t small = 200;
        std::int32_t negative = -5;
        double real = 3;
        char letters[6] = "abc";
        std::int16_t kind = 1;
    } told;
    const std::array<abi::EnumValue, 2> values{{{"sum", 0, 0}, {"max", 1, 0}}};
    const std::array<abi::SchemaEntry, 5> entries{{{0, 12, "small", nullptr, 0, 0, nullptr, nullptr},
                                                   {0, 15, "negative", nullptr, 0, 0, nullptr, nullptr},
                                                   {0, 20, "real", nullptr, 0, 0, nullptr, nullptr},
                                                   {1U << 4, 1, "letters", nullptr, 6, 0, nullptr, nullptr},
                                                   {0, abi::kFirstOwnSchema, "kind", nullptr, 0, 0, nullptr, nullptr}}};
    PayloadSchemas schemas;
    abi::EnumAttributes enumeration{abi::kEnumSchemaId, "op", values.data(), 2, 2, abi::kFirstOwnSchema, nullptr};
    EXPECT_EQ(schemas.add(0, enumeration), abi::kFirstOwnSchema);
    abi::SchemaAttributes schema{};
    schema.field_mask = abi::kSchemaSchemaId;
    schema.entries = entries.data();
    schema.entry_count = entries.size();
    schema.schema = abi::kFirstOwnSchema + 1;
    const std::uint64_t id = schemas.add(0, schema);
    const std::string_view bytes(reinterpret_cast<const char*>(&told), sizeof told);
    EXPECT_THAT(decoded(schemas, id, bytes),
                ElementsAre("small=200", "negative=-5", "real=3", "letters=abc", "kind=max"));
    EXPECT_THAT(decoded(schemas, id, bytes.substr(0, 9)), ElementsAre("small=200", "negative=-5"));
    EXPECT_TRUE(decoded(schemas, 12345, bytes).empty());

    const std::array<abi::SchemaEntry, 2> around{
        {{0, 16, "id", nullptr, 0, 0, nullptr, nullptr}, {0, id, "inner", nullptr, 0, 0, nullptr, nullptr}}};
    abi::SchemaAttributes outer{};
    outer.entries = around.data();
    outer.entry_count = around.size();
    const std::string nested = std::string("\x09\0\0\0\0\0\0\0", 8) + std::string(bytes);
    EXPECT_THAT(decoded(schemas, schemas.add(0, outer), nested),
                ElementsAre("id=9", "small=200", "negative=-5", "real=3", "letters=abc", "kind=max"));
}

TEST(PayloadSchemas, EndsWithSchemasThatHoldThemselves) {
    PayloadSchemas schemas;
    std::vector<abi::SchemaEntry> entries(200, {0, 12, "byte", nullptr, 0, 0, nullptr, nullptr});
    abi::SchemaAttributes schema{};
    schema.field_mask = abi::kSchemaSchemaId;
    schema.entries = entries.data();
    schema.entry_count = entries.size();
    schema.schema = abi::kFirstOwnSchema;
    schemas.add(0, schema);
    for (abi::SchemaEntry& entry : entries)
        entry = {0, abi::kFirstOwnSchema, "itself", nullptr, 0, 1, nullptr, nullptr};
    schemas.add(0, schema);
    EXPECT_LE(schemas.decode(0, abi::kFirstOwnSchema, std::string(100'000, 'x')).size(), 256U);
}

} // namespace
} // namespace bubblescope::profiler::nvtx
