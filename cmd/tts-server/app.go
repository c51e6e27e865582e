package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/libqwen/libqwen/core"
	"github.com/libqwen/libqwen/internal/cli"
	"github.com/libqwen/libqwen/server"
)

// name of the command.
const name = "tts-server"

// An app is one run of the command.
type app struct {
	stdout, stderr io.Writer
	listening      func(address string) // called with the address once it is listened on; may be nil
}

// run executes the command line and returns the exit code; a failure is one line on stderr. Being asked to end is none.
func (a *app) run(ctx context.Context, args []string) int {
	console := cli.NewConsole(a.stderr, name)
	return cli.Execute(ctx, newCommand(a.execute), args, cli.Streams{In: strings.NewReader(""), Out: a.stdout, Err: a.stderr}, console)
}

func (a *app) execute(cmd *cobra.Command, o *options) error {
	if err := o.check(); err != nil {
		return err
	}
	if o.checkHealth {
		return o.askHealth(cmd.Context())
	}
	log, err := o.logger(a.stderr)
	if err != nil {
		return err
	}
	opts, err := o.serverOptions(log)
	if err != nil {
		return err
	}
	if opts.AllowedHosts, err = o.allowedHosts(); err != nil {
		return err
	}
	srv, err := server.New(opts)
	if err != nil {
		return cli.UsageError{Err: err}
	}
	listener, err := o.listen()
	if err != nil {
		return err
	}
	return a.serve(cmd.Context(), o, srv, listener, log)
}

// serve answers from the first moment on, loads the model meanwhile, and ends when ctx does.
func (a *app) serve(ctx context.Context, o *options, srv *server.Server, listener net.Listener, log *slog.Logger) error {
	h := &http.Server{
		Handler: srv.Handler(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	failed := make(chan error, 2)
	go func() { failed <- h.Serve(listener) }()
	defer h.Close()
	address := o.scheme() + "://" + listener.Addr().String()
	log.Info("listening", "address", address)
	if a.listening != nil {
		a.listening(address)
	}
	if o.keyless() && o.tlsClientCA == "" && !isLoopback(listener.Addr()) {
		log.Warn("anybody who reaches this address may use the server: there is no --api-key")
	}
	loaded := make(chan *core.Engine, 1)
	go func() {
		if e, err := a.load(ctx, o, srv, log); err != nil {
			failed <- err
		} else {
			loaded <- e
		}
	}()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	return drain(o, srv, h, loaded, log)
}

// drain ends the server: requests under way may end, within the time given.
func drain(o *options, srv *server.Server, h *http.Server, loaded <-chan *core.Engine, log *slog.Logger) error {
	log.Info("ending", "drain_timeout", o.drain)
	limit, cancel := context.WithTimeout(context.Background(), o.drain)
	defer cancel()
	closed := make(chan error, 1)
	go func() { closed <- h.Shutdown(limit) }() // no new connections; idle ones are closed
	if err := srv.Shutdown(limit); err != nil {
		return fmt.Errorf("shutdown: %w", err)
	}
	<-closed // a client that still takes its last bytes has until the limit
	select {
	case e := <-loaded:
		e.Close()
	default: // still loading
	}
	log.Info("ended")
	return nil
}

// load opens the model, which may have to be fetched first, and gives it to the server.
func (a *app) load(ctx context.Context, o *options, srv *server.Server, log *slog.Logger) (*core.Engine, error) {
	p := cli.Puller{Console: cli.NewConsole(a.stderr, name), Stderr: a.stderr, Version: version}
	if err := o.model.Fetch(ctx, p, "", true); err != nil {
		return nil, err
	}
	o.model.Logger = o.engineLogger(log)
	e, err := core.Open(o.model.Options)
	if err != nil {
		return nil, err
	}
	if err := srv.Use(e, cmp.Or(o.alias, o.model.Name())); err != nil {
		e.Close()
		return nil, cli.InputError{Err: err}
	}
	return e, nil
}

func (o *options) scheme() string {
	if o.tlsCert != "" {
		return "https"
	}
	return "http"
}

// keyless tells whether requests need no API key.
func (o *options) keyless() bool {
	return len(o.keys) == 0 && o.keyFile == "" && os.Getenv(keyEnv) == ""
}

func isLoopback(address net.Addr) bool {
	tcp, ok := address.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// allowedHosts are what requests may be addressed to. A server that takes anybody's requests, but only from this
// machine, relies on that: it does not answer to a name that somebody's web page gave this machine.
func (o *options) allowedHosts() ([]string, error) {
	hosts := o.hosts
	if len(hosts) == 0 {
		if !o.keyless() {
			return nil, nil
		}
		address, err := net.ResolveTCPAddr("tcp", o.address())
		if err != nil {
			return nil, cli.IOError{Err: err}
		}
		if !isLoopback(address) {
			return nil, nil
		}
	}
	if name := o.bareHost(); name != "" {
		hosts = append(hosts, name)
	}
	return hosts, nil
}

// bareHost is --host without the brackets that some write around an IPv6 address.
func (o *options) bareHost() string { return strings.Trim(o.host, "[]") }

func (o *options) address() string { return net.JoinHostPort(o.bareHost(), strconv.Itoa(o.port)) }

// listen opens the address, with TLS if there is a certificate.
func (o *options) listen() (net.Listener, error) {
	config, err := o.tls()
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", o.address())
	if err != nil {
		return nil, cli.IOError{Err: err}
	}
	if config != nil {
		l = tls.NewListener(l, config)
	}
	return l, nil
}

// tls is nil without a certificate.
func (o *options) tls() (*tls.Config, error) {
	if o.tlsCert == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(o.tlsCert, o.tlsKey)
	if err != nil {
		return nil, cli.FileError(fmt.Errorf("--tls-cert, --tls-key: %w", err))
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2", "http/1.1"}}
	if o.tlsClientCA == "" {
		return c, nil
	}
	pem, err := os.ReadFile(o.tlsClientCA)
	if err != nil {
		return nil, cli.IOError{Err: fmt.Errorf("--tls-client-ca: %w", err)}
	}
	c.ClientCAs, c.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !c.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, cli.InputError{Err: errors.New("--tls-client-ca: no certificate in it")}
	}
	return c, nil
}
