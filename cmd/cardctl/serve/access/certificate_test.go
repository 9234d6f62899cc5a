package access

import (
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/util/cert"
)

// writeCertificate writes a new certificate for a host and its key.
func writeCertificate(t *testing.T, certificate, key, host string) {
	t.Helper()
	certificateText, keyText, err := cert.GenerateSelfSignedCertKey(host, nil, nil)
	require.NoError(t, err)
	for path, text := range map[string][]byte{key: keyText, certificate: certificateText} {
		require.NoError(t, os.WriteFile(path+".next", text, 0o600))
		require.NoError(t, os.Rename(path+".next", path))
	}
}

// TestTLS expects the certificate of the files, also of changed ones, and protocols that
// browsers speak.
func TestTLS(t *testing.T) {
	directory := t.TempDir()
	certificate, key := filepath.Join(directory, "tls.crt"), filepath.Join(directory, "tls.key")
	writeCertificate(t, certificate, key, "first.example.com")
	config, err := TLS(t.Context(), certificate, key)
	require.NoError(t, err)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", config)
	require.NoError(t, err)
	defer listener.Close()
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			_ = connection.(*tls.Conn).Handshake() // the client checks it
			_ = connection.Close()
		}
	}()
	served := func() (host, protocol string) {
		connection, err := net.Dial("tcp", listener.Addr().String())
		require.NoError(t, err)
		defer connection.Close()
		client := tls.Client(connection, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
		require.NoError(t, client.Handshake())
		state := client.ConnectionState()
		return state.PeerCertificates[0].DNSNames[0], state.NegotiatedProtocol
	}
	host, protocol := served()
	assert.Equal(t, "first.example.com", host)
	assert.Equal(t, "h2", protocol)

	writeCertificate(t, certificate, key, "second.example.com")
	require.Eventually(t, func() bool {
		host, _ := served()
		return host == "second.example.com"
	}, time.Minute, 10*time.Millisecond)
}

func TestTLSFiles(t *testing.T) {
	directory := t.TempDir()
	certificate, key := filepath.Join(directory, "tls.crt"), filepath.Join(directory, "tls.key")
	_, err := TLS(t.Context(), certificate, key)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(certificate, []byte("no certificate"), 0o600))
	require.NoError(t, os.WriteFile(key, []byte("no key"), 0o600))
	_, err = TLS(t.Context(), certificate, key)
	require.ErrorContains(t, err, "failed to find any PEM data")
}
