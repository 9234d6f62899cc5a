package serve

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// policy permits the assets and answers of this server. Nothing inline runs,
// and no other site can frame a page.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// strictTransport tells browsers to use HTTPS for a year. It does not include names below this one.
const strictTransport = "max-age=31536000"

// secure sets the headers of all answers.
//
// A browser applies Strict-Transport-Security to all ports of a name. For the name of this machine, it would keep the
// user from other servers at http://localhost, so this name does not get the header.
func secure(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")

		if r.TLS != nil && !IsLoopback(r.Host) {
			h.Set("Strict-Transport-Security", strictTransport)
		}

		next.ServeHTTP(w, r)
	})
}

// loopbackOnly refuses requests for other hosts than this machine. Another site can have a name that resolves to a
// loopback address: its page sends such requests.
func loopbackOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !IsLoopback(r.Host) {
			http.Error(w, "this server answers requests for localhost only", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// AddressOf returns the address of the client of a request. For IPv6 it is the first 64 bits, because a client has
// all addresses with them. Headers with addresses are not checked, so they do not count.
func AddressOf(r *http.Request) string {
	remote, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}

	address := remote.Addr().Unmap().WithZone("")
	if address.Is4() {
		return address.String()
	}

	// All addresses of IPv6 have such a prefix.
	network, _ := address.Prefix(64)
	return network.String()
}

// IsLoopback reports whether an address, with or without a port, is one of this machine alone.
func IsLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = strings.Trim(address, "[]")
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
