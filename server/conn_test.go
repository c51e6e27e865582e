package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// conn is a connection whose every byte a test decides.
type conn struct {
	net.Conn
	t testing.TB
}

func (r *rig) dial() *conn {
	r.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	require.NoError(r.t, err)
	require.NoError(r.t, c.SetDeadline(time.Now().Add(patience)))
	r.t.Cleanup(func() { c.Close() })
	return &conn{c, r.t}
}

// send writes a request.
func (c *conn) send(method, path string, body any) {
	c.t.Helper()
	data, err := io.ReadAll(jsonBody(c.t, body))
	require.NoError(c.t, err)
	_, err = fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", method, path, len(data), data)
	require.NoError(c.t, err)
}

// head reads the status and the headers.
func (c *conn) head(in *bufio.Reader) (status int) {
	c.t.Helper()
	line, err := in.ReadString('\n')
	require.NoError(c.t, err)
	_, err = fmt.Sscanf(line, "HTTP/1.1 %d", &status)
	require.NoError(c.t, err, line)
	for strings.TrimSpace(line) != "" {
		line, err = in.ReadString('\n')
		require.NoError(c.t, err)
	}
	return status
}
