package provider

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"time"
)

// TransportOptions configure NewTransport; the zero value is what a Client has without one.
type TransportOptions struct {
	// MaxIdlePerHost is how many idle connections are kept to one host; 0 means 64.
	MaxIdlePerHost int
	// TLS replaces the defaults of net/http, for authorities, a client certificate and a server name of the operator's own.
	TLS *tls.Config
	// Proxy says which proxy a request goes through; nil means the environment's (HTTPS_PROXY and its kin).
	Proxy func(*http.Request) (*url.URL, error)
}

// NewTransport returns a transport with a connection pool of its own. It bounds what an endpoint's Timeout may leave open:
// dial and TLS. Everything after is Timeout's.
func NewTransport(o TransportOptions) *http.Transport {
	if o.MaxIdlePerHost <= 0 {
		o.MaxIdlePerHost = 64
	}
	if o.Proxy == nil {
		o.Proxy = http.ProxyFromEnvironment
	}
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                  o.Proxy,
		TLSClientConfig:        o.TLS,
		DialContext:            dialer.DialContext,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    o.MaxIdlePerHost,
		IdleConnTimeout:        60 * time.Second,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxResponseHeaderBytes: 256 << 10,
	}
}
