package web

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// policy lets the page load only what comes from its own origin, and nobody frame it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// guard refuses hosts that another site can bind to this address (DNS rebinding) and requests that another site's page made,
// and tells browsers to keep to this origin.
func guard(o Options, next http.Handler) http.Handler {
	checked := http.NewCrossOriginProtection().Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-cache")
		if !ownHost(r.Host, o.Hosts) {
			http.Error(w, "this page is not served under that host name; give --http-host to allow it", http.StatusMisdirectedRequest)
			return
		}
		checked.ServeHTTP(w, r)
	})
}

// ownHost reports whether no stranger can make a name of theirs mean this address: an IP address, localhost, a name without
// a dot (which public DNS does not have), or one that the operator listed.
func ownHost(host string, listed []string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.Trim(name, "[]"))
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	return name != "" && !strings.Contains(name, ".") || slices.ContainsFunc(listed, func(l string) bool { return strings.EqualFold(l, name) })
}

// holds reports whether a request carries the token. Its length does not show in the time it takes.
func holds(r *http.Request, token string) bool {
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(token))
	return ok && token != "" && subtle.ConstantTimeCompare(a[:], b[:]) == 1
}
