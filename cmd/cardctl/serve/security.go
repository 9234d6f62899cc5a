package serve

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// policy permits what the pages need: assets and answers of this server. Nothing inline runs,
// and no other site can frame a page.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// strictTransport has browsers use HTTPS for a year. It says nothing of other names below this one.
const strictTransport = "max-age=31536000"

// secure sets the headers of all answers.
//
// A browser applies Strict-Transport-Security to all ports of a name, so that it would keep a user
// from whatever else is at http://localhost: the name of this machine does not get the header.
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

// loopbackOnly refuses requests for other hosts than this machine. The page of another site
// whose name resolves to a loopback address is such a request.
func loopbackOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !IsLoopback(r.Host) {
			http.Error(w, "this server answers requests for localhost only", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// AddressOf is the address of the client of a request: of IPv6 the first 64 bits, of which a client
// has all addresses. What headers say of it is not checked, so it does not count.
func AddressOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	address, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	address = address.Unmap().WithZone("")
	if address.Is4() {
		return address.String()
	}
	network, _ := address.Prefix(64) // which all addresses of IPv6 have
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
