package provider_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"

	"emend/engine/provider"
	"emend/engine/provider/openai"
)

// TestAnEndpointsOwnPoolIsClosedToo: what CloseIdle leaves open would outlive the client.
func TestAnEndpointsOwnPoolIsClosedToo(t *testing.T) {
	closed := make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(answer)) }))
	server.Config.ConnState = connectionClosed(closed)
	server.Start()
	t.Cleanup(server.Close)
	client := provider.NewClient(provider.ClientOptions{})
	ep := &provider.Endpoint{Backend: "b", Dialect: openai.New(), URL: server.URL, Transport: provider.NewTransport(provider.TransportOptions{})}
	if _, err := client.Do(t.Context(), ep, ask()); err != nil {
		t.Fatal(err)
	}
	client.CloseIdle()
	<-closed
}

// TestAProxyOfItsOwn: the request goes to the proxy, whatever the environment says, and what fails there never left.
func TestAProxyOfItsOwn(t *testing.T) {
	var through atomic.Value
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		through.Store(r.URL.String() + " " + r.Header.Get("Proxy-Authorization"))
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(proxy.Close)
	u, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("u", "p")
	client := provider.NewClient(provider.ClientOptions{})
	t.Cleanup(client.CloseIdle)
	ep := &provider.Endpoint{Backend: "b", Dialect: openai.New(), URL: "http://model.invalid/v1", Transport: provider.NewTransport(provider.TransportOptions{Proxy: http.ProxyURL(u)})}
	if _, err := client.Do(t.Context(), ep, ask()); err != nil || through.Load() != "http://model.invalid/v1/chat/completions Basic dTpw" {
		t.Errorf("%v, the proxy saw %q", err, through.Load())
	}
	proxy.Close()
	client.CloseIdle()
	_, err = client.Do(t.Context(), ep, ask())
	if pe, ok := provider.AsError(err); !ok || !pe.NotSent || pe.Kind != provider.KindTransport {
		t.Errorf("a proxy that is gone: %v", err)
	}
}

func connectionClosed(closed chan struct{}) func(c net.Conn, s http.ConnState) {
	return func(_ net.Conn, s http.ConnState) {
		if s == http.StateClosed {
			close(closed)
		}
	}
}
