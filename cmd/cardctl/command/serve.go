package command

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"

	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/cmd/cardctl/serve"
	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/access"
	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/model"
	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/vitals"
	"github.com/capacity-card/capacity-card/plugin/store"
)

const serveLong = `Serves the queues and cards of a cluster as web pages: who has which cards, why
jobs wait, who borrows from whom, what is wrong, and what a change would do.

It follows a live cluster, which it only reads, or shows the objects of files. All
pages are embedded, and nothing is fetched from elsewhere. Each page has its own
address, the same as JSON, and the cardctl command that prints the same.

Everyone who can reach the address sees everything, so that it must be one of this
machine. With --authenticate, users log in with a token of the cluster, and see
what they may list: queues, nodes, and the jobs of a namespace if they may list its
pods. Then other addresses can be used as well, with a certificate.

With --contexts, each cluster has pages of its own, and each page has links to the
same page of the other clusters.`

const serveExamples = `  # http://127.0.0.1:8080
  cardctl serve

  # The dump of a support case, on another port
  cardctl serve -f dump.json --listen 127.0.0.1:9000

  # Several clusters of the kubeconfig
  cardctl serve --contexts a,b,c

  # For the users of the cluster
  cardctl serve --listen :8443 --authenticate --tls-cert-file tls.crt --tls-private-key-file tls.key`

// serving has the flags of serve.
type serving struct {
	listen           string
	authenticate     bool
	certificate, key string // files
	metrics          string // the address of the scheduler's metrics
}

func newServe(s *source) *cobra.Command {
	v := &serving{}
	cmd := &cobra.Command{
		Use: "serve", Short: "Queues and cards as web pages", Long: serveLong, Example: serveExamples,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.serve(cmd, v) },
	}

	flags := cmd.Flags()
	flags.StringVar(&v.listen, "listen", "127.0.0.1:8080",
		"Address to listen on: one of this machine, such as 127.0.0.1:8080, [::1]:8080 or localhost:0. "+
			"Others need --authenticate and a certificate")
	flags.BoolVar(&v.authenticate, "authenticate", false,
		"Require a token of the cluster, and show what its user may list. "+
			"cardctl needs the permission to create tokenreviews and subjectaccessreviews. Not with --contexts")
	flags.StringVar(&v.certificate, "tls-cert-file", "",
		"File with the certificate of the server, which then speaks HTTPS only. It is read again when it changes")
	flags.StringVar(&v.key, "tls-private-key-file", "", "File with the private key of the certificate")
	flags.StringVar(&v.metrics, "metrics", "",
		"Address of the scheduler's metrics, such as http://volcano-scheduler-service.volcano-system:8080/metrics, "+
			"for the duration of its cycles")
	flags.DurationVar(&s.interval, "interval", 2*time.Second, "Least time between two readings of the cluster")

	s.bind(cmd)
	s.bindContexts(cmd)
	cmd.MarkFlagsRequiredTogether("tls-cert-file", "tls-private-key-file")
	cmd.MarkFlagsMutuallyExclusive("authenticate", "filename")
	cmd.MarkFlagsMutuallyExclusive("authenticate", contextsFlag) // a token is one of one cluster
	cmd.MarkFlagsMutuallyExclusive("metrics", contextsFlag)
	return cmd
}

// check refuses addresses on which others could read the pages of a user.
func (v *serving) check() error {
	switch {
	case serve.IsLoopback(v.listen):
		return nil
	case !v.authenticate:
		return fmt.Errorf("--listen %s: without --authenticate the pages are for everyone who can reach them, "+
			"so the address must be one of this machine, such as 127.0.0.1:8080", v.listen)
	case v.certificate == "":
		return fmt.Errorf("--listen %s: tokens come from other machines, "+
			"which needs --tls-cert-file and --tls-private-key-file", v.listen)
	}
	return nil
}

// listener returns the listener, and the address that users open.
func (v *serving) listener(ctx context.Context) (net.Listener, string, error) {
	var config *tls.Config
	if v.certificate != "" {
		var err error
		config, err = access.TLS(ctx, v.certificate, v.key)
		if err != nil {
			return nil, "", fmt.Errorf("--tls-cert-file: %w", err)
		}
	}

	listener, err := net.Listen("tcp", v.listen)
	switch {
	case err != nil:
		return nil, "", fmt.Errorf("--listen: %w", err)
	case config != nil:
		return tls.NewListener(listener, config), "https://" + listener.Addr().String(), nil
	}
	return listener, "http://" + listener.Addr().String(), nil
}

func (s *source) serve(cmd *cobra.Command, v *serving) error {
	if err := v.check(); err != nil {
		return err
	}
	if len(s.contexts) > 0 {
		return s.serveClusters(cmd, v)
	}

	options := serve.Options{Interval: s.interval, Flags: sourceFlags(cmd.Flags(), notShown...), Log: s.logLine}
	if v.authenticate {
		config, err := s.cluster.ToRESTConfig()
		if err != nil {
			return fmt.Errorf("--authenticate: %s", firstLine(err))
		}
		gate, err := access.New(config, s.logLine)
		if err != nil {
			return err
		}
		options.Access = gate.Protect
		options.Metrics = gate.ProtectMetrics
		options.Flags = nil // viewers have kubeconfigs of their own
	}

	reader, err := s.newReader(cmd.Context())
	if err != nil {
		return err
	}
	reader.metrics = v.metrics
	options.Source = reader
	return s.listen(cmd.Context(), v, serve.New(options))
}

// serveClusters serves the pages of each cluster of --contexts.
func (s *source) serveClusters(cmd *cobra.Command, v *serving) error {
	var all []serve.Options
	var errs []error
	for _, name := range s.contexts {
		from := s.of(name)
		options := serve.Options{
			Cluster:  name,
			Interval: s.interval,
			Flags:    append(sourceFlags(cmd.Flags(), notShown...), "--context="+name),
			Log:      from.logLine,
		}

		reader, err := from.newReader(cmd.Context())
		if err != nil {
			errs = append(errs, fmt.Errorf("cluster %s: %w", name, err))
			options.Source = unreadable{err}
		} else {
			options.Source = reader
		}
		all = append(all, options)
	}
	if len(errs) == len(all) {
		return errors.Join(errs...)
	}
	return s.listen(cmd.Context(), v, serve.NewClusters(all))
}

// unreadable is a cluster that the kubeconfig does not describe well enough. Its pages show the error.
type unreadable struct{ err error }

// Changed never receives.
func (unreadable) Changed() <-chan struct{} { return nil }

// Read returns the error.
func (u unreadable) Read(context.Context) (*model.Reading, error) { return nil, u.err }

// server answers requests until the context is done.
type server interface {
	Serve(context.Context, net.Listener) error
}

// listen prints the address and serves the pages.
func (s *source) listen(ctx context.Context, v *serving, pages server) error {
	listener, address, err := v.listener(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintln(s.streams.Out, address)
	err = pages.Serve(ctx, listener)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// logLine writes a line of the log.
func (s *source) logLine(format string, arguments ...any) {
	text := s.ofCluster(fmt.Sprintf(format, arguments...))
	fmt.Fprintf(s.streams.ErrOut, "%s %s\n", time.Now().UTC().Format(time.RFC3339), text)
}

// notShown are flags that other commands do not have, and secrets.
var notShown = []string{
	"listen", "interval", "metrics", "tls-cert-file", "tls-private-key-file", "token", contextsFlag,
}

// sourceFlags returns the flags that select the input, as they were given. It leaves out others.
func sourceFlags(flags *pflag.FlagSet, others ...string) (words []string) {
	flags.Visit(func(f *pflag.Flag) {
		if slices.Contains(others, f.Name) {
			return
		}

		switch value := f.Value.(type) {
		case pflag.SliceValue:
			for _, each := range value.GetSlice() {
				words = append(words, "--"+f.Name, each)
			}
		default:
			words = append(words, "--"+f.Name+"="+f.Value.String())
		}
	})
	return words
}

// reader reads the source of the pages.
type reader struct {
	source *source
	live   *input.Live    // nil for files
	files  *input.Objects // nil for a cluster
	// metrics is the address of the scheduler's metrics, "" if it is not known.
	metrics string
	mu      sync.Mutex // held by a reading
}

// newReader reads the files, or begins to follow the cluster.
func (s *source) newReader(ctx context.Context) (*reader, error) {
	if len(s.files) > 0 {
		objects, err := s.objects(ctx)
		if err != nil {
			return nil, err
		}
		r := &reader{source: s, files: objects}
		_, err = r.Read(ctx) // nobody waits for files that cannot be shown
		return r, err
	}

	if s.configuration != "" {
		if _, err := s.configure(input.New()); err != nil {
			return nil, err
		}
	}
	config, err := s.restConfig()
	if err != nil {
		return nil, err
	}

	// serve could be at this address itself.
	if config.Host == kubectlDefault && !s.namesCluster() {
		return nil, errors.New("no cluster to read: there is no kubeconfig " +
			"(name one with --kubeconfig, or files with -f)")
	}

	live, err := input.Follow(ctx, config, s.findsConfiguration())
	if err != nil {
		return nil, err
	}
	go live.ReadPast(ctx)
	return &reader{source: s, live: live}, nil
}

// kubectlDefault is the cluster of kubectl if nothing names one. It is the default address of serve as well, and serve
// would read its own pages.
const kubectlDefault = "http://localhost:8080"

// namesCluster reports whether a flag or a kubeconfig names the cluster.
func (s *source) namesCluster() bool {
	kubeconfig, err := s.cluster.ToRawKubeConfigLoader().RawConfig()
	return err != nil || len(kubeconfig.Clusters) > 0 || *s.cluster.APIServer != ""
}

// Changed receives after each change of the cluster.
func (r *reader) Changed() <-chan struct{} {
	if r.live == nil {
		return nil
	}
	return r.live.Changed()
}

// scheduler reads the scheduler's lease and its metrics. An error becomes a line of the page.
func (r *reader) scheduler(ctx context.Context) *model.Scheduler {
	found := &model.Scheduler{}
	name, renewed, err := r.live.Leader(ctx)
	if err != nil {
		found.Lacks = append(found.Lacks, err.Error())
	} else {
		found.Leader = name
		found.Seen = renewed
	}

	if r.metrics == "" {
		found.Lacks = append(found.Lacks,
			"the duration of cycles is in the scheduler's metrics: with one cluster, --metrics names their address")
		return found
	}

	found.Timings, err = vitals.Read(ctx, r.metrics)
	if err != nil {
		found.Lacks = append(found.Lacks, "the scheduler's metrics cannot be read: "+firstLine(err))
	}
	return found
}

// Read returns the objects as they are now, with the notes that the commands write to stderr.
func (r *reader) Read(ctx context.Context) (*model.Reading, error) {
	r.mu.Lock()
	defer r.mu.Unlock()

	reading := &model.Reading{Objects: r.files, Time: time.Now()}
	var err error
	if r.live != nil {
		reading.Objects, err = r.live.Objects(ctx)
		reading.Evicted, reading.EvictedLacks = r.live.Evicted()
	}
	if reading.Objects == nil {
		return nil, err
	}
	if r.live != nil && err == nil {
		reading.Scheduler = r.scheduler(ctx)
	}

	s := r.source
	s.heard = func(severity, text string) {
		reading.Notes = append(reading.Notes, model.Note{Severity: severity, Text: text})
	}
	defer func() { s.heard = nil }()

	stored := func(name types.NamespacedName) (*store.Stored, error) {
		if r.live == nil {
			return reading.Objects.UsageIn(name)
		}
		return r.live.Usage(ctx, name)
	}
	configuration, configureErr := s.prepare(reading.Objects, stored)
	if configureErr != nil {
		return nil, configureErr
	}
	reading.Configuration = configuration
	s.warn(reading.Objects)
	s.noteLeftOut(configuration)

	// The objects of the last reading are shown until the cluster is back.
	return reading, err
}
