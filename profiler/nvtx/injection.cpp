#include "profiler/nvtx/injection.h"

#include <array>
#include <atomic>
#include <cstring>
#include <exception>
#include <string_view>

namespace bubblescope::profiler::nvtx {
namespace {

using Type = HostRecord::Type;
using Payload = HostRecord::Payload;

HostRecorder* events = nullptr;
Names* names = nullptr;
std::atomic<abi::RangeId> next_range{1};

constexpr int kNoTracking = -2; // NVTX_NO_PUSH_POP_TRACKING

// A handle is a number plus one: null is the default domain, or no text.
abi::Handle handleOf(std::uint32_t number) {
    return reinterpret_cast<abi::Handle>(static_cast<std::uintptr_t>(number));
}
std::uint16_t domainOf(abi::Handle handle) {
    const auto number = reinterpret_cast<std::uintptr_t>(handle);
    return number < Names::kNoDomain ? static_cast<std::uint16_t>(number) : Names::kNoDomain;
}

/// Registrations may run out of memory; that must not end the job.
template <class Result, class Work>
Result guarded(Result otherwise, const Work& work) noexcept {
    try {
        return work();
    } catch (const std::exception&) {
        return otherwise;
    }
}

/// Converts wide text to UTF-8, truncated to the maximum size of text in a record.
class Narrow {
public:
    explicit Narrow(const wchar_t* text) noexcept {
        constexpr std::size_t kMaxOfLetter = 4;
        for (; text != nullptr && *text != 0 && size_ + kMaxOfLetter <= letters_.size(); ++text)
            add(static_cast<std::uint32_t>(*text));
    }
    [[nodiscard]] std::string_view text() const noexcept { return {letters_.data(), size_}; }

private:
    void put(std::uint32_t byte) noexcept { letters_[size_++] = static_cast<char>(byte); }
    void add(std::uint32_t letter) noexcept {
        constexpr std::uint32_t kRest = 0x3f;
        if (letter < 0x80) return put(letter);
        if (letter < 0x800) {
            put(0xc0 | letter >> 6);
        } else if (letter < 0x10000) {
            put(0xe0 | letter >> 12);
            put(0x80 | (letter >> 6 & kRest));
        } else {
            put(0xf0 | (letter >> 18 & 7U));
            put(0x80 | (letter >> 12 & kRest));
            put(0x80 | (letter >> 6 & kRest));
        }
        put(0x80 | (letter & kRest));
    }

    std::array<char, HostRecord::kMaxText> letters_;
    std::size_t size_ = 0;
};

std::string_view viewOf(const char* text) noexcept {
    return text == nullptr ? std::string_view{} : std::string_view(text);
}

void setPayload(HostRecord& record, const abi::PayloadData& data) noexcept {
    if (data.data == nullptr || data.size > HostRecord::kMaxBytes) return; // also if the size is missing
    record.payload = Payload::Schema;
    record.value = data.schema;
    record.bytes = {static_cast<const char*>(data.data), data.size};
}

void setPayload(HostRecord& record, const abi::EventAttributes& event) noexcept {
    const auto unsignedValue = [&record](std::uint64_t value) {
        record.payload = Payload::Unsigned;
        record.value = value;
    };
    const auto signedValue = [&record](std::int64_t value) {
        record.payload = Payload::Signed;
        record.value = static_cast<std::uint64_t>(value);
    };
    const auto floatValue = [&record](double value) {
        record.payload = Payload::Float;
        std::memcpy(&record.value, &value, sizeof value);
    };
    switch (event.payload_type) {
    case abi::kPayloadUnsigned64: return unsignedValue(event.payload.u64);
    case abi::kPayloadSigned64: return signedValue(event.payload.i64);
    case abi::kPayloadDouble: return floatValue(event.payload.f64);
    case abi::kPayloadUnsigned32: return unsignedValue(event.payload.u32);
    case abi::kPayloadSigned32: return signedValue(event.payload.i32);
    case abi::kPayloadFloat: return floatValue(double{event.payload.f32});
    case abi::kPayloadExtended: {
        const auto* const data = reinterpret_cast<const abi::PayloadData*>(event.payload.u64);
        if (data != nullptr && event.payload_count > 0) setPayload(record, *data);
        return;
    }
    default: return;
    }
}

/// Fills in the attributes, and calls `use` with the record while the texts it refers to exist.
template <class Use>
auto withEvent(abi::Handle domain, const abi::EventAttributes* event, const Use& use) noexcept {
    HostRecord record;
    record.domain = domainOf(domain);
    if (event == nullptr || event->size < sizeof(abi::EventAttributes)) return use(record);
    record.category = event->category;
    setPayload(record, *event);
    if (event->message_type == abi::kMessageRegistered) {
        record.text_handle = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(event->message.registered));
    } else if (event->message_type == abi::kMessageAscii) {
        record.text = viewOf(event->message.ascii);
    } else if (event->message_type == abi::kMessageWide) {
        const Narrow narrow(event->message.wide);
        record.text = narrow.text();
        return use(record);
    }
    return use(record);
}

int tracked(int depth) noexcept {
    return depth < 0 ? kNoTracking : depth;
}
int push(HostRecord& record) noexcept {
    return tracked(events->push(record));
}
void mark(HostRecord& record) noexcept {
    record.type = Type::Mark;
    events->record(record);
}
abi::RangeId start(HostRecord& record) noexcept {
    record.type = Type::Start;
    record.id = next_range.fetch_add(1, std::memory_order_relaxed);
    events->record(record);
    return record.id;
}

// The callbacks. Functions without a domain argument use the default domain.
void markEx(const abi::EventAttributes* event) {
    withEvent(nullptr, event, mark);
}
void markA(const char* text) {
    HostRecord record;
    record.text = viewOf(text);
    mark(record);
}
void markW(const wchar_t* text) {
    const Narrow narrow(text);
    HostRecord record;
    record.text = narrow.text();
    mark(record);
}
abi::RangeId rangeStartEx(const abi::EventAttributes* event) {
    return withEvent(nullptr, event, start);
}
abi::RangeId rangeStartA(const char* text) {
    HostRecord record;
    record.text = viewOf(text);
    return start(record);
}
abi::RangeId rangeStartW(const wchar_t* text) {
    const Narrow narrow(text);
    HostRecord record;
    record.text = narrow.text();
    return start(record);
}
void domainRangeEnd(abi::Handle domain, abi::RangeId range) {
    HostRecord record;
    record.type = Type::End;
    record.domain = domainOf(domain);
    record.id = range;
    events->record(record);
}
void rangeEnd(abi::RangeId range) {
    domainRangeEnd(nullptr, range);
}
int rangePushEx(const abi::EventAttributes* event) {
    return withEvent(nullptr, event, push);
}
int rangePushA(const char* text) {
    return tracked(events->push(viewOf(text), Names::kDefaultDomain));
}
int rangePushW(const wchar_t* text) {
    const Narrow narrow(text);
    return tracked(events->push(narrow.text(), Names::kDefaultDomain));
}
int domainRangePop(abi::Handle domain) {
    return tracked(events->pop(domainOf(domain)));
}
int rangePop() {
    return domainRangePop(nullptr);
}
void domainMarkEx(abi::Handle domain, const abi::EventAttributes* event) {
    withEvent(domain, event, mark);
}
abi::RangeId domainRangeStartEx(abi::Handle domain, const abi::EventAttributes* event) {
    return withEvent(domain, event, start);
}
int domainRangePushEx(abi::Handle domain, const abi::EventAttributes* event) {
    return withEvent(domain, event, push);
}

void nameCategory(abi::Handle domain, std::uint32_t category, std::string_view name) {
    guarded(0, [&] { return names->nameCategory(domainOf(domain), category, name), 0; });
}
void domainNameCategoryA(abi::Handle domain, std::uint32_t category, const char* name) {
    nameCategory(domain, category, viewOf(name));
}
void domainNameCategoryW(abi::Handle domain, std::uint32_t category, const wchar_t* name) {
    nameCategory(domain, category, Narrow(name).text());
}
void nameCategoryA(std::uint32_t category, const char* name) {
    nameCategory(nullptr, category, viewOf(name));
}
void nameCategoryW(std::uint32_t category, const wchar_t* name) {
    nameCategory(nullptr, category, Narrow(name).text());
}
void nameOsThreadA(std::uint32_t tid, const char* name) {
    guarded(0, [&] { return names->nameThread(tid, viewOf(name)), 0; });
}
void nameOsThreadW(std::uint32_t tid, const wchar_t* name) {
    guarded(0, [&] { return names->nameThread(tid, Narrow(name).text()), 0; });
}
abi::Handle registerText(std::string_view text) {
    return guarded(abi::Handle{}, [&] { return handleOf(names->addText(text)); });
}
abi::Handle domainRegisterStringA(abi::Handle, const char* text) {
    return registerText(viewOf(text));
}
abi::Handle domainRegisterStringW(abi::Handle, const wchar_t* text) {
    return registerText(Narrow(text).text());
}
abi::Handle createDomain(std::string_view name) {
    return guarded(handleOf(Names::kNoDomain), [&] { return handleOf(names->domain(name)); });
}
abi::Handle domainCreateA(const char* name) {
    return createDomain(viewOf(name));
}
abi::Handle domainCreateW(const wchar_t* name) {
    return createDomain(Narrow(name).text());
}

// Extended payloads.
std::uint64_t schemaRegister(abi::Handle domain, const abi::SchemaAttributes* schema) {
    if (schema == nullptr) return 0;
    return guarded(std::uint64_t{0}, [&] { return names->addSchema(domainOf(domain), *schema); });
}
std::uint64_t enumRegister(abi::Handle domain, const abi::EnumAttributes* values) {
    if (values == nullptr) return 0;
    return guarded(std::uint64_t{0}, [&] { return names->addEnum(domainOf(domain), *values); });
}
HostRecord payloadEvent(abi::Handle domain, const abi::PayloadData* data, std::size_t count) {
    HostRecord record;
    record.domain = domainOf(domain);
    if (data != nullptr && count > 0) setPayload(record, *data);
    return record;
}
void markPayload(abi::Handle domain, const abi::PayloadData* data, std::size_t count) {
    HostRecord record = payloadEvent(domain, data, count);
    mark(record);
}
int rangePushPayload(abi::Handle domain, const abi::PayloadData* data, std::size_t count) {
    HostRecord record = payloadEvent(domain, data, count);
    return push(record);
}
int rangePopPayload(abi::Handle domain, const abi::PayloadData*, std::size_t) {
    return domainRangePop(domain);
}
abi::RangeId rangeStartPayload(abi::Handle domain, const abi::PayloadData* data, std::size_t count) {
    HostRecord record = payloadEvent(domain, data, count);
    return start(record);
}
void rangeEndPayload(abi::Handle domain, abi::RangeId range, const abi::PayloadData*, std::size_t) {
    domainRangeEnd(domain, range);
}
std::uint8_t domainIsEnabled(abi::Handle) {
    return events->isOn() ? 1 : 0;
}

template <class Id>
struct Entry {
    Id id;
    abi::Function function;
};
template <class Id, class Function>
Entry<Id> entry(Id id, Function* function) {
    return {id, reinterpret_cast<abi::Function>(function)};
}

/// Returns false if a module has no table. A program built with an older NVTX does not call the functions added since.
template <class Entries>
bool fill(const abi::Callbacks& callbacks, std::int32_t module, const Entries& entries) {
    abi::FunctionTable table = nullptr;
    unsigned size = 0;
    if (callbacks.module_table(module, &table, &size) == 0 || table == nullptr) return false;
    for (const auto& [id, function] : entries) {
        const auto at = static_cast<unsigned>(id);
        if (at < size && table[at] != nullptr) *table[at] = function;
    }
    return true;
}

} // namespace

void sendEventsTo(HostRecorder& recorder, Names& registered) {
    events = &recorder;
    names = &registered;
}

bool attach(abi::GetExportTable get_table) noexcept {
    if (get_table == nullptr || events == nullptr) return false;
    const auto* const callbacks = static_cast<const abi::Callbacks*>(get_table(abi::kTableOfCallbacks));
    if (callbacks == nullptr || callbacks->struct_size < sizeof(abi::Callbacks)) return false;
    using C = abi::Core;
    const std::array core{entry(C::MarkEx, markEx),
                          entry(C::MarkA, markA),
                          entry(C::MarkW, markW),
                          entry(C::RangeStartEx, rangeStartEx),
                          entry(C::RangeStartA, rangeStartA),
                          entry(C::RangeStartW, rangeStartW),
                          entry(C::RangeEnd, rangeEnd),
                          entry(C::RangePushEx, rangePushEx),
                          entry(C::RangePushA, rangePushA),
                          entry(C::RangePushW, rangePushW),
                          entry(C::RangePop, rangePop),
                          entry(C::NameCategoryA, nameCategoryA),
                          entry(C::NameCategoryW, nameCategoryW),
                          entry(C::NameOsThreadA, nameOsThreadA),
                          entry(C::NameOsThreadW, nameOsThreadW)};
    using D = abi::Core2;
    const std::array domains{entry(D::DomainMarkEx, domainMarkEx),
                             entry(D::DomainRangeStartEx, domainRangeStartEx),
                             entry(D::DomainRangeEnd, domainRangeEnd),
                             entry(D::DomainRangePushEx, domainRangePushEx),
                             entry(D::DomainRangePop, domainRangePop),
                             entry(D::DomainNameCategoryA, domainNameCategoryA),
                             entry(D::DomainNameCategoryW, domainNameCategoryW),
                             entry(D::DomainRegisterStringA, domainRegisterStringA),
                             entry(D::DomainRegisterStringW, domainRegisterStringW),
                             entry(D::DomainCreateA, domainCreateA),
                             entry(D::DomainCreateW, domainCreateW)};
    const bool has_core = fill(*callbacks, abi::kModuleCore, core);
    return fill(*callbacks, abi::kModuleCore2, domains) || has_core;
}

bool attachExtension(abi::ExtensionModule* module) noexcept {
    if (module == nullptr || events == nullptr) return false;
    if (module->module != abi::kPayloadModule || module->segment_count == 0) return true;
    using S = abi::PayloadSlot;
    const std::array functions{
        entry(S::SchemaRegister, schemaRegister),   entry(S::EnumRegister, enumRegister),
        entry(S::MarkPayload, markPayload),         entry(S::RangePushPayload, rangePushPayload),
        entry(S::RangePopPayload, rangePopPayload), entry(S::RangeStartPayload, rangeStartPayload),
        entry(S::RangeEndPayload, rangeEndPayload), entry(S::DomainIsEnabled, domainIsEnabled)};
    const abi::ExtensionSegment& segment = module->segments[0];
    for (const auto& [id, function] : functions) {
        const auto at = static_cast<std::size_t>(id);
        if (at < segment.slot_count) segment.slots[at] = reinterpret_cast<std::intptr_t>(function);
    }
    return true;
}

} // namespace bubblescope::profiler::nvtx
