package prompts

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"emend/engine/provider"
	"emend/schemas"
)

const chatAnswer = `{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}`

// authority signs the certificates of the tests.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{}
	a.key, a.cert = certify(t, &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, nil)
	return a
}

// certify makes a key and its certificate, signed by a or by itself.
func certify(t *testing.T, template *x509.Certificate, a *authority) (*ecdsa.PrivateKey, *x509.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := template, key
	if a != nil {
		parent, signer = a.cert, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return key, cert
}

// pair returns a certificate for a name and its key, in PEM.
func (a *authority) pair(t *testing.T, name string) (cert, key string) {
	t.Helper()
	k, c := certify(t, &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}, a)
	der, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return pemOf("CERTIFICATE", c.Raw), pemOf("PRIVATE KEY", der)
}

func pemOf(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// server wants a client's certificate of the authority and answers with the client's name.
func (a *authority) server(t *testing.T, name string) string {
	t.Helper()
	cert, key := a.pair(t, name)
	own, err := tls.X509KeyPair([]byte(cert), []byte(key))
	if err != nil {
		t.Fatal(err)
	}
	clients := x509.NewCertPool()
	clients.AddCert(a.cert)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, strings.Replace(chatAnswer, "hi", r.TLS.PeerCertificates[0].Subject.CommonName, 1))
	}))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{own}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL
}

// call makes one call at a backend.
func call(t *testing.T, b Backend) (string, error) {
	t.Helper()
	e, err := b.Endpoint()
	if err != nil {
		t.Fatal(err)
	}
	client := provider.NewClient(provider.ClientOptions{})
	t.Cleanup(client.CloseIdle)
	resp, err := client.Do(t.Context(), e, &provider.Request{Model: "m", Messages: []schemas.Message{{Role: schemas.RoleUser, Content: "q"}}})
	if err != nil {
		return "", err
	}
	return resp.Text, nil
}

func TestTLSOfABackend(t *testing.T) {
	a := newAuthority(t)
	url := a.server(t, "model.internal")
	cert, key := a.pair(t, "worker-1")
	dir := folder{"ca.pem": pemOf("CERTIFICATE", a.cert.Raw), "cert.pem": cert, "key.pem": key}.write(t)
	file := func(name string) Secret { return Secret{File: filepath.Join(dir, name)} }
	b := Backend{Name: "b", Dialect: "openai", URL: url, TLS: TLS{CA: file("ca.pem"), Cert: file("cert.pem"), Key: file("key.pem"),
		ServerName: "model.internal", MinVersion: "1.3"}}
	if text, err := call(t, b); err != nil || text != "worker-1" {
		t.Errorf("%q, %v", text, err)
	}
	t.Setenv("EMEND_TEST_CA", pemOf("CERTIFICATE", a.cert.Raw))
	b.TLS.CA, b.TLS.ServerName = Secret{Env: "EMEND_TEST_CA"}, ""
	if text, err := call(t, b); err != nil || text != "worker-1" {
		t.Errorf("authorities of a variable: %q, %v", text, err)
	}
	for name, change := range map[string]func(*TLS){
		"an unknown authority": func(c *TLS) { c.CA = Secret{} },
		"another server":       func(c *TLS) { c.ServerName = "other.internal" },
	} {
		bad := b
		change(&bad.TLS)
		_, err := call(t, bad)
		if pe, ok := provider.AsError(err); !ok || !pe.NotSent || !strings.Contains(pe.Reason, "not trusted") {
			t.Errorf("%s: %v", name, err)
		}
	}
	b.TLS.Cert, b.TLS.Key = Secret{}, Secret{}
	if text, err := call(t, b); err == nil {
		t.Errorf("without a certificate: %q", text)
	}
}

// TestACertificateIsReadForEveryConnection: a renewed one needs no restart.
func TestACertificateIsReadForEveryConnection(t *testing.T) {
	a := newAuthority(t)
	url := a.server(t, "127.0.0.1")
	cert, key := a.pair(t, "worker-1")
	dir := folder{"ca.pem": pemOf("CERTIFICATE", a.cert.Raw), "cert.pem": cert, "key.pem": key}.write(t)
	b := Backend{Name: "b", Dialect: "openai", URL: url, TLS: TLS{CA: Secret{File: dir + "/ca.pem"}, Cert: Secret{File: dir + "/cert.pem"}, Key: Secret{File: dir + "/key.pem"}}}
	e, err := b.Endpoint()
	if err != nil {
		t.Fatal(err)
	}
	client := provider.NewClient(provider.ClientOptions{})
	t.Cleanup(client.CloseIdle)
	for _, name := range []string{"worker-1", "worker-2"} {
		cert, key := a.pair(t, name)
		for file, text := range map[string]string{"/cert.pem": cert, "/key.pem": key} {
			if err := os.WriteFile(dir+file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		resp, err := client.Do(t.Context(), e, &provider.Request{Model: "m", Messages: []schemas.Message{{Role: schemas.RoleUser, Content: "q"}}})
		if err != nil || resp.Text != name {
			t.Errorf("%s: %+v, %v", name, resp, err)
		}
		client.CloseIdle()
	}
}

func TestProxyOfABackend(t *testing.T) {
	var seen string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = r.URL.Host + " " + r.Header.Get("Proxy-Authorization")
		_, _ = io.WriteString(w, chatAnswer)
	}))
	t.Cleanup(proxy.Close)
	t.Setenv("EMEND_TEST_PROXY", strings.Replace(proxy.URL, "http://", "http://u:p@", 1))
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	direct := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, chatAnswer) }))
	t.Cleanup(direct.Close)
	for _, c := range []struct {
		url   string
		proxy Value
		seen  string
	}{
		{"http://model.invalid/v1", Value{Literal: proxy.URL}, "model.invalid "},
		{"http://model.invalid/v1", Value{Secret: Secret{Env: "EMEND_TEST_PROXY"}}, "model.invalid Basic dTpw"},
		{direct.URL, Value{Literal: "none"}, ""},
	} {
		seen = ""
		if text, err := call(t, Backend{Name: "b", Dialect: "openai", URL: c.url, Proxy: c.proxy}); err != nil || text != "hi" || seen != c.seen {
			t.Errorf("%+v: %q, %v; the proxy saw %q", c.proxy, text, err, seen)
		}
	}
}

func TestConnectionFaults(t *testing.T) {
	a := newAuthority(t)
	cert, key := a.pair(t, "x")
	dir := folder{"cert.pem": cert, "key.pem": key, "text": "s3cret"}.write(t)
	file := func(name string) Secret { return Secret{File: filepath.Join(dir, name)} }
	t.Setenv("EMEND_TEST_PROXY", "gopher://s3cret")
	for want, b := range map[string]Backend{
		"tls.ca: open": {TLS: TLS{CA: file("nothere")}},
		"tls.ca: " + dir + "/text holds no certificate": {TLS: TLS{CA: file("text")}},
		"tls.cert: it and key are no certificate":       {TLS: TLS{Cert: file("text"), Key: file("key.pem")}},
		"tls.key: environment variable EMEND_NO":        {TLS: TLS{Cert: file("cert.pem"), Key: Secret{Env: "EMEND_NO"}}},
		"proxy: must be none, or a URL":                 {Proxy: Value{Secret: Secret{Env: "EMEND_TEST_PROXY"}}},
		"proxy: environment variable EMEND_NO":          {Proxy: Value{Secret: Secret{Env: "EMEND_NO"}}},
	} {
		b.Dialect, b.URL = "openai", "https://h"
		if _, err := b.Endpoint(); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%v; want %q", err, want)
		}
	}
	for backend, want := range map[string]string{
		"tls: {cert: {env: A}}":                         "tls: cert and key go together",
		"tls: {min_version: '1.1'}":                     "tls.min_version: must be one of 1.2, 1.3",
		"tls: {ca: ca.pem}":                             "tls.ca: write {env: NAME} or {file: PATH}",
		"proxy: 'ftp://h'":                              "proxy: must be none, or a URL",
		"proxy: 'http://u:s3cret@h'":                    "proxy: holds a password in clear",
		"key: {env: K}, headers: {x-api-key: {env: K}}": "headers.x-api-key: carries the key",
	} {
		_, err := loadConfig("backends: {o: {dialect: anthropic, url: 'https://h', " + backend + "}}\n")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v; want %q", backend, err, want)
		}
	}
}
