#include "core/net/tls.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>

namespace bubblescope::net {
namespace {

std::string reason() {
    std::array<char, 256> text{};
    const unsigned long code = ::ERR_get_error();
    ::ERR_clear_error();
    if (code == 0) return "no reason given";
    ::ERR_error_string_n(code, text.data(), text.size());
    return text.data();
}

Error tlsError(std::string what) {
    return inputError("the connection", fmt::format("{}: {}", what, reason()), "check certificate, key and name");
}

/// Why the other end is not believed, or does not believe this one.
Error sessionError(const SSL* session) {
    const long verified = ::SSL_get_verify_result(session);
    const unsigned long code = ::ERR_peek_error();
    if (verified != X509_V_OK) {
        ::ERR_clear_error();
        return inputError("the connection",
                          fmt::format("the other end cannot be trusted: its certificate is refused: {}",
                                      ::X509_verify_cert_error_string(verified)),
                          "name the certificate of who signed it, and the host as it stands in it");
    }
    const int why = ERR_GET_REASON(code);
    if (why == SSL_R_WRONG_VERSION_NUMBER || why == SSL_R_HTTP_REQUEST || why == SSL_R_PACKET_LENGTH_TOO_LONG) {
        ::ERR_clear_error();
        return inputError("the connection", "the other end cannot be trusted: it does not speak TLS",
                          "encrypt on both sides or on none");
    }
    if (why == SSL_R_TLSV1_ALERT_UNKNOWN_CA || why == SSL_R_SSLV3_ALERT_BAD_CERTIFICATE ||
        why == SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN || why == SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED) {
        return tlsError("the other end does not trust this end's certificate");
    }
    return tlsError("the connection is damaged, or the other end cannot be trusted");
}

class OpenSslSession final : public TlsSession {
public:
    explicit OpenSslSession(SSL* session) : session_(session, &::SSL_free) {
        in_ = ::BIO_new(::BIO_s_mem());
        out_ = ::BIO_new(::BIO_s_mem());
        ::SSL_set_bio(session, in_, out_); // which takes ownership
    }

    Status receive(std::string_view bytes, std::string& said) override {
        if (::BIO_write(in_, bytes.data(), static_cast<int>(bytes.size())) != static_cast<int>(bytes.size()))
            return tlsError("memory runs out");
        std::array<char, 1 << 14> buffer{};
        while (true) {
            const int count = ::SSL_read(session_.get(), buffer.data(), static_cast<int>(buffer.size()));
            if (count > 0) {
                said.append(buffer.data(), static_cast<std::size_t>(count));
                continue;
            }
            const int reason = ::SSL_get_error(session_.get(), count);
            if (reason != SSL_ERROR_WANT_READ && reason != SSL_ERROR_WANT_WRITE && reason != SSL_ERROR_ZERO_RETURN)
                return sessionError(session_.get());
            return say({});
        }
    }

    Status say(std::string_view text) override {
        waiting_ += text;
        while (!waiting_.empty()) {
            const int count = ::SSL_write(session_.get(), waiting_.data(), static_cast<int>(waiting_.size()));
            if (count > 0) {
                waiting_.erase(0, static_cast<std::size_t>(count));
                continue;
            }
            const int reason = ::SSL_get_error(session_.get(), count);
            if (reason == SSL_ERROR_WANT_READ || reason == SSL_ERROR_WANT_WRITE) return {};
            return sessionError(session_.get());
        }
        return {};
    }

    std::string takeBytes() override {
        std::string bytes(::BIO_ctrl_pending(out_), '\0');
        const int count = bytes.empty() ? 0 : ::BIO_read(out_, bytes.data(), static_cast<int>(bytes.size()));
        bytes.resize(static_cast<std::size_t>(std::max(count, 0)));
        return bytes;
    }

private:
    std::unique_ptr<SSL, decltype(&::SSL_free)> session_;
    BIO* in_ = nullptr;
    BIO* out_ = nullptr;
    std::string waiting_;
};

std::shared_ptr<SSL_CTX> newContext(const SSL_METHOD* method) {
    std::shared_ptr<SSL_CTX> context(::SSL_CTX_new(method), &::SSL_CTX_free);
    if (context) {
        ::SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
        ::SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    }
    return context;
}

} // namespace

Result<TlsSettings> TlsSettings::forListening(const std::string& certificate, const std::string& key) {
    const auto context = newContext(::TLS_server_method());
    if (!context) return tlsError("TLS is not to be had");
    if (::SSL_CTX_use_certificate_chain_file(context.get(), certificate.c_str()) != 1)
        return inputError(certificate, "no certificate can be read: " + reason());
    if (::SSL_CTX_use_PrivateKey_file(context.get(), key.c_str(), SSL_FILETYPE_PEM) != 1 ||
        ::SSL_CTX_check_private_key(context.get()) != 1) {
        return inputError(key, "no key of that certificate can be read: " + reason());
    }
    TlsSettings settings;
    settings.context_ = context;
    return settings;
}

Result<TlsSettings> TlsSettings::forConnecting(const std::string& trusted, const std::string& host) {
    const auto context = newContext(::TLS_client_method());
    if (!context) return tlsError("TLS is not to be had");
    if (::SSL_CTX_load_verify_locations(context.get(), trusted.c_str(), nullptr) != 1)
        return inputError(trusted, "no certificates can be read: " + reason());
    ::SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
    TlsSettings settings;
    settings.context_ = context;
    settings.host_ = host;
    return settings;
}

Result<std::unique_ptr<TlsSession>> TlsSettings::begin() const {
    SSL* const session = ::SSL_new(static_cast<SSL_CTX*>(context_.get()));
    if (session == nullptr) return tlsError("TLS is not to be had");
    auto opened = std::make_unique<OpenSslSession>(session);
    if (host_.empty()) {
        ::SSL_set_accept_state(session);
    } else {
        // A certificate names hosts or addresses; check which of them `host_` is.
        if (::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(session), host_.c_str()) != 1) {
            ::ERR_clear_error();
            if (::SSL_set1_host(session, host_.c_str()) != 1 || ::SSL_set_tlsext_host_name(session, host_.c_str()) != 1)
                return tlsError("the host's name cannot be checked");
        }
        ::SSL_set_connect_state(session);
        [[maybe_unused]] const int begun = ::SSL_do_handshake(session); // produces the first bytes to send
        ::ERR_clear_error();
    }
    return std::unique_ptr<TlsSession>(std::move(opened));
}

} // namespace bubblescope::net
