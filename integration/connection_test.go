package integration

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"emend/internal/devnats"
)

// authority makes certificates that are good for a day.
type authority struct {
	*testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func (a *authority) must(err error) {
	a.Helper()
	if err != nil {
		a.Fatal(err)
	}
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{T: t, dir: t.TempDir()}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	a.must(err)
	a.key = key
	a.cert = &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, a.cert, a.cert, &key.PublicKey, key)
	a.must(err)
	a.cert, err = x509.ParseCertificate(der)
	a.must(err)
	a.pem("ca", "CERTIFICATE", der)
	return a
}

// pem writes a file and returns its path.
func (a *authority) pem(name, kind string, der []byte) string {
	a.Helper()
	path := filepath.Join(a.dir, name+".pem")
	a.must(os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	return path
}

// issue makes a certificate for 127.0.0.1 and returns its files.
func (a *authority) issue(name string, use x509.ExtKeyUsage) (cert, key string) {
	a.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	a.must(err)
	c := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(24 * time.Hour), KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{use}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, c, a.cert, &k.PublicKey, a.key)
	a.must(err)
	private, err := x509.MarshalECPrivateKey(k)
	a.must(err)
	return a.pem(name, "CERTIFICATE", der), a.pem(name+"-key", "EC PRIVATE KEY", private)
}

// guarded is a server that wants something of its clients, with the settings of nats that have it and those that have not.
type guarded struct {
	configure func(*server.Options)
	// as are the options of the test's own connection.
	as []nats.Option
	// good and bad are fields of nats in emend.yaml; says is part of what is said of bad.
	good, bad, says string
	// secret must stand in no message.
	secret string
}

func mutualTLS(t *testing.T) guarded {
	a := newAuthority(t)
	serverCert, serverKey := a.issue("server", x509.ExtKeyUsageServerAuth)
	clientCert, clientKey := a.issue("client", x509.ExtKeyUsageClientAuth)
	pair, err := tls.LoadX509KeyPair(serverCert, serverKey)
	a.must(err)
	ca := filepath.Join(a.dir, "ca.pem")
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return guarded{configure: func(o *server.Options) {
		o.TLS, o.TLSVerify, o.TLSTimeout = true, true, 10
		o.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}
	}, as: []nats.Option{nats.RootCAs(ca), nats.ClientCert(clientCert, clientKey)},
		good: "ca: " + ca + ", cert: " + clientCert + ", key: " + clientKey, bad: "ca: " + clientCert, says: "certificate"}
}

func nkeySeed(t *testing.T) guarded {
	a := &authority{T: t, dir: t.TempDir()}
	seedFile := func(name string) (path, pub, seed string) {
		kp, err := nkeys.CreateUser()
		a.must(err)
		text, err := kp.Seed()
		a.must(err)
		pub, err = kp.PublicKey()
		a.must(err)
		path = filepath.Join(a.dir, name)
		a.must(os.WriteFile(path, text, 0o600))
		return path, pub, string(text)
	}
	good, pub, seed := seedFile("good.nk")
	bad, _, _ := seedFile("bad.nk")
	option, err := nats.NkeyOptionFromSeed(good)
	a.must(err)
	return guarded{configure: func(o *server.Options) { o.Nkeys = []*server.NkeyUser{{Nkey: pub}} }, as: []nats.Option{option},
		good: "nkey: " + good, bad: "nkey: " + bad, says: "refused the credentials", secret: seed}
}

// credsFile is a server in operator mode, and a user of one of its accounts.
func credsFile(t *testing.T) guarded {
	a := &authority{T: t, dir: t.TempDir()}
	pair := func(make func() (nkeys.KeyPair, error)) (nkeys.KeyPair, string) {
		kp, err := make()
		a.must(err)
		pub, err := kp.PublicKey()
		a.must(err)
		return kp, pub
	}
	operator, operatorPub := pair(nkeys.CreateOperator)
	account, accountPub := pair(nkeys.CreateAccount)
	_, systemPub := pair(nkeys.CreateAccount)
	stranger, _ := pair(nkeys.CreateAccount)
	resolver := &server.MemAccResolver{}
	for _, pub := range []string{accountPub, systemPub} {
		claims := jwt.NewAccountClaims(pub)
		if pub == accountPub {
			claims.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: jwt.NoLimit, DiskStorage: jwt.NoLimit, Streams: jwt.NoLimit, Consumer: jwt.NoLimit}
		}
		token, err := claims.Encode(operator)
		a.must(err)
		a.must(resolver.Store(pub, token))
	}
	user := func(name string, of nkeys.KeyPair) (path, seed string) {
		kp, pub := pair(nkeys.CreateUser)
		token, err := jwt.NewUserClaims(pub).Encode(of)
		a.must(err)
		text, err := kp.Seed()
		a.must(err)
		b, err := jwt.FormatUserConfig(token, text)
		a.must(err)
		path = filepath.Join(a.dir, name)
		a.must(os.WriteFile(path, b, 0o600))
		return path, string(text)
	}
	good, seed := user("good.creds", account)
	bad, _ := user("bad.creds", stranger)
	token, err := jwt.NewOperatorClaims(operatorPub).Encode(operator)
	a.must(err)
	claims, err := jwt.DecodeOperatorClaims(token)
	a.must(err)
	return guarded{configure: func(o *server.Options) {
		o.TrustedOperators, o.AccountResolver, o.SystemAccount = []*jwt.OperatorClaims{claims}, resolver, systemPub
	}, as: []nats.Option{nats.UserCredentials(good)}, good: "creds: " + good, bad: "creds: " + bad, says: "refused the credentials", secret: seed}
}

// TestGuardedServers: a worker process and a command reach servers that want a client certificate, an nkey or credentials, by the
// settings of emend.yaml alone; without the right ones both end at once and say why, and no key is shown.
func TestGuardedServers(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(*testing.T) guarded{"client certificate": mutualTLS, "nkey": nkeySeed, "credentials": credsFile} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := make(t)
			s := newSiteAs(t, devnats.Options{Configure: g.configure}, g.as, "log: {level: debug}", "log: {level: debug}\nnats: {NATS}")
			yaml, err := os.ReadFile(filepath.Join(s.dir, "emend.yaml"))
			s.must(err)
			s.write("emend.yaml", strings.Replace(string(yaml), "{NATS}", "{"+g.good+"}", 1))
			s.process("guarded")
			out, err := s.command("run", "--dir", s.dir, "--nats", s.server.URL(), "rate", "text=fine")
			if err != nil || !strings.Contains(out, "score") {
				t.Errorf("emend run: %v: %s", err, out)
			}
			s.write("emend.yaml", strings.Replace(string(yaml), "{NATS}", "{"+g.bad+"}", 1))
			for _, args := range [][]string{{"serve", "--dir", s.dir, "--nats", s.server.URL()}, {"run", "--dir", s.dir, "--nats", s.server.URL(), "rate", "text=fine"}} {
				out, err := s.command(args...)
				if err == nil || !strings.Contains(out, g.says) {
					t.Errorf("emend %s with the wrong settings: %v: %s", args[0], err, out)
				}
				if g.secret != "" && strings.Contains(out+s.log.String(), g.secret) {
					t.Error("a secret is shown")
				}
			}
		})
	}
}

// command runs the program to its end.
func (s *site) command(args ...string) (out string, err error) {
	s.Helper()
	path, err := program()
	s.must(err)
	c := exec.CommandContext(s.Context(), path, args...)
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir}
	b, err := c.CombinedOutput()
	return string(b), err
}
