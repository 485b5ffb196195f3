package prompts

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"emend/engine/provider"
)

// TLS is how a backend's server proves itself, and this side to it.
type TLS struct {
	// CA holds the certificate authorities that are trusted in place of the system's, in PEM.
	CA Secret `yaml:"ca"`
	// Cert and Key are this side's certificate and its private key, in PEM; both or neither.
	Cert Secret `yaml:"cert"`
	Key  Secret `yaml:"key"`
	// ServerName is the name in the server's certificate, where it is not that of the url.
	ServerName string `yaml:"server_name"`
	// MinVersion is 1.2 or 1.3.
	MinVersion string `yaml:"min_version"`
}

// IsZero reports that nothing is given.
func (t TLS) IsZero() bool { return t == TLS{} }

// proxyNone is the proxy of a backend that is reached directly whatever the environment says.
const proxyNone = "none"

var tlsObject = &object{name: "tls", doc: "How a backend's server proves itself, and this side to it.", also: checkTLS,
	fields: []field{
		{name: "ca", kind: secretObject, doc: "PEM certificates of the authorities to trust in place of the system's; read when definitions are loaded"},
		{name: "cert", kind: secretObject, doc: "this side's PEM certificate, with those between it and its authority; read for every new connection"},
		{name: "key", kind: secretObject, doc: "the PEM private key of cert; read for every new connection"},
		{name: "server_name", kind: text{}, doc: "the name in the server's certificate, where it is not the url's host"},
		{name: "min_version", kind: text{oneOf: []string{"1.2", "1.3"}}, doc: "the oldest TLS that is spoken; 1.2 by default"},
	}}

func checkTLS(r *report, at string, v any) {
	if t := v.(TLS); t.Cert.IsZero() != t.Key.IsZero() {
		r.once(at, "cert and key go together; give both or neither")
	}
}

// checkProxy checks what a file says of a proxy; a secret one is checked when it is read.
func checkProxy(r *report, at string, v Value) {
	if v.Literal == "" || v.Literal == proxyNone {
		return
	}
	switch u, err := proxyURL(v.Literal); {
	case err != nil:
		r.once(at, "%v", err)
	case u.User != nil:
		r.once(at, "holds a password in clear; give the whole URL as {env: NAME} or {file: PATH}")
	}
}

// proxyURL parses a proxy's URL; its error repeats nothing of it.
func proxyURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme) {
		return nil, errors.New("must be none, or a URL that begins with http://, https:// or socks5:// and has a host")
	}
	return u, nil
}

// transport is the connection pool of a backend with TLS or a proxy of its own; nil if it has neither.
func (b Backend) transport() (http.RoundTripper, error) {
	if b.TLS.IsZero() && b.Proxy == (Value{}) {
		return nil, nil
	}
	o := provider.TransportOptions{MaxIdlePerHost: b.Permits}
	var err error
	if o.TLS, err = b.TLS.config(); err != nil {
		return nil, fmt.Errorf("tls.%w", err)
	}
	if o.Proxy, err = b.proxy(); err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	return provider.NewTransport(o), nil
}

// proxy is nil for the environment's.
func (b Backend) proxy() (func(*http.Request) (*url.URL, error), error) {
	if b.Proxy == (Value{}) {
		return nil, nil
	}
	s, err := b.Proxy.Resolve(context.Background())
	if err != nil {
		return nil, err
	}
	if s == proxyNone {
		return func(*http.Request) (*url.URL, error) { return nil, nil }, nil
	}
	u, err := proxyURL(s)
	if err != nil {
		return nil, err
	}
	return http.ProxyURL(u), nil
}

func (t TLS) config() (*tls.Config, error) {
	if t.IsZero() {
		return nil, nil
	}
	c := &tls.Config{ServerName: t.ServerName, MinVersion: tls.VersionTLS12}
	if t.MinVersion == "1.3" {
		c.MinVersion = tls.VersionTLS13
	}
	if !t.CA.IsZero() {
		pem, err := t.CA.text()
		if err != nil {
			return nil, fmt.Errorf("ca: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM([]byte(pem)) {
			return nil, fmt.Errorf("ca: %s%s holds no certificate in PEM", t.CA.Env, t.CA.File)
		}
	}
	if !t.Cert.IsZero() {
		if _, err := t.certificate(); err != nil {
			return nil, err
		}
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return t.certificate() }
	}
	return c, nil
}

// certificate reads this side's certificate now, so that a renewed one is used from the next connection on.
func (t TLS) certificate() (*tls.Certificate, error) {
	cert, err := t.Cert.text()
	if err != nil {
		return nil, fmt.Errorf("cert: %w", err)
	}
	key, err := t.Key.text()
	if err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
	if err != nil {
		return nil, errors.New("cert: it and key are no certificate and its private key in PEM")
	}
	return &pair, nil
}
