package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/plugin/release"
)

// source is where the objects and the scheduler's configuration come from: the flags that all commands share.
type source struct {
	options
	streams genericiooptions.IOStreams

	// The input.
	cluster   *genericclioptions.ConfigFlags
	contexts  []string // several clusters, by their contexts
	name      string   // of a cluster among several, "" for one
	files     []string
	recursive bool

	watch    bool
	interval time.Duration

	printed map[string]bool             // notes and warnings, each printed once
	unknown []string                    // of the last reading: facts that only the scheduler knows
	broken  bool                        // a part of the input could not be read
	heard   func(severity, text string) // called with each note and warning, printed or not; nil for none
	leaving sync.Mutex                  // held while a command has a terminal or files to leave in order
}

// options hold for each of several clusters.
type options struct {
	configuration string
	plugin        string
	pluginGiven   bool

	// The selection and the output.
	allNamespaces bool
	selector      string
	labels        labels.Selector // the parsed selector; everything without one
	output        string
	noHeaders     bool
	quiet         bool
}

// newSource returns a source without flags.
func newSource(streams genericiooptions.IOStreams) *source {
	return &source{
		streams: streams,
		cluster: genericclioptions.NewConfigFlags(true),
		options: options{labels: labels.Everything()},
		printed: map[string]bool{},
	}
}

// namespace returns the value of --namespace, "" for all. Queues belong to the cluster. So unlike in kubectl, the
// default is not the namespace of the kubeconfig.
func (s *source) namespace() string {
	if s.cluster.Namespace == nil || s.allNamespaces {
		return ""
	}
	return *s.cluster.Namespace
}

// checkNamespace returns an error if the namespace of the flag does not exist. known are the namespaces with pods or
// PodGroups.
func (s *source) checkNamespace(ctx context.Context, known []string) error {
	name := s.namespace()
	if name == "" || slices.Contains(known, name) {
		return nil
	}

	// A namespace of a cluster can be empty.
	if len(s.files) == 0 {
		config, err := s.cluster.ToRESTConfig()
		if err != nil {
			return err
		}
		if exists, err := input.HasNamespace(ctx, config, name); exists || err != nil {
			return err
		}
	}
	return unknown("namespace", name, known)
}

// namespaces returns the namespaces of all pods and PodGroups.
func namespaces(world *engine.World) []string {
	all := sets.New[string]()
	for _, g := range world.Groups {
		all.Insert(g.Namespace)
	}
	for _, pod := range world.Stray {
		all.Insert(pod.Namespace)
	}
	return sets.List(all)
}

// errEmpty is about input without a single object that this tool reads.
var errEmpty = errors.New("the input has no object that quotas concern: " +
	"no Node, Queue, PodGroup, Job, Pod or Deployment")

// objects reads the objects of the files or of the cluster.
func (s *source) objects(ctx context.Context) (*input.Objects, error) {
	progress := newProgress(s.streams.ErrOut, false)
	defer progress.done()
	if len(s.files) == 0 {
		config, err := s.restConfig()
		if err != nil {
			return nil, err
		}
		return input.ReadCluster(ctx, config, s.findsConfiguration(), progress.report)
	}

	objects, err := input.ReadFiles(s.files, s.recursive, s.streams.In, progress.report)
	err = cmp.Or(ctx.Err(), err)
	switch {
	case err != nil:
		return nil, err
	case objects.Len() == 0 && len(objects.Problems) > 0:
		return nil, fmt.Errorf("nothing could be read: %s", objects.Problems[0])
	case objects.Len() == 0:
		return nil, errEmpty
	}
	return objects, nil
}

// restConfig returns the connection to the cluster of the input.
func (s *source) restConfig() (*rest.Config, error) {
	config, err := s.cluster.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("no cluster to read: %s (name files with -f, or a kubeconfig with --kubeconfig)",
			firstLine(err))
	}
	return config, nil
}

// findsConfiguration reports whether the configuration of the scheduler is looked for in the cluster.
func (s *source) findsConfiguration() bool { return s.configuration == "" && !s.pluginGiven }

// warn writes to stderr the objects that are skipped, and the objects that cannot be read. After the latter, a command
// prints its result and ends with errInvalid.
func (s *source) warn(objects *input.Objects) {
	for _, problem := range objects.Problems {
		s.broken = true
		s.line("error", "%s", problem)
	}

	for _, problem := range slices.Concat(objects.Unknown, objects.Invalid) {
		s.warning("%s", problem)
	}
	for _, replaced := range objects.Replaced {
		s.note("%s", replaced)
	}
	if skipped := objects.Skipped(); skipped != "" {
		s.note("%s", skipped)
	}
}

// note writes a line to stderr. It writes an equal line only once.
func (s *source) note(format string, arguments ...any) { s.line("note", format, arguments...) }

// warning writes a line about a difference between the output and the decisions of the scheduler.
func (s *source) warning(format string, arguments ...any) { s.line("warning", format, arguments...) }

// ofCluster returns a text with the name of the cluster, if there are several.
func (s *source) ofCluster(text string) string {
	if s.name == "" {
		return text
	}
	return "cluster " + s.name + ": " + text
}

func (s *source) line(severity, format string, arguments ...any) {
	text := oneLine(s.ofCluster(fmt.Sprintf(format, arguments...)))
	if s.heard != nil {
		s.heard(severity, text)
	}

	text = severity + ": " + text
	if !s.printed[text] && (severity != "note" || !s.quiet) {
		s.printed[text] = true
		fmt.Fprintln(s.streams.ErrOut, text)
	}
}

// read reads objects, and finds the configuration of their scheduler.
func (s *source) read(ctx context.Context) (*input.Objects, *engine.Configuration, error) {
	objects, err := s.objects(ctx)
	if err != nil {
		return nil, nil, err
	}
	configuration, err := s.prepare(objects, s.storedUsage(ctx, objects))
	return objects, configuration, err
}

// prepare finds the configuration of the scheduler of objects, and gives it the stored usage. It writes to stderr which
// objects the input lacks.
func (s *source) prepare(objects *input.Objects, stored usageReader) (*engine.Configuration, error) {
	configuration, err := s.configure(objects)
	if err != nil {
		return nil, err
	}

	configuration.Cluster = s.name
	s.giveUsage(configuration, objects, stored)
	for _, lack := range append(objects.Warnings, objects.Missing()...) {
		s.warning("%s", lack)
	}
	return configuration, nil
}

// load reads objects and makes a world of them, with the configuration of its scheduler.
func (s *source) load(ctx context.Context) (*engine.World, *engine.Configuration, error) {
	objects, configuration, err := s.read(ctx)
	if err != nil {
		return nil, nil, err
	}
	world, err := engine.Build(objects)
	if err != nil {
		return nil, nil, err
	}

	s.warn(objects)
	s.warnOfWorld(world, configuration)
	return world, configuration, nil
}

// warnOfWorld writes to stderr which parts of the input the sessions on a world do not have.
func (s *source) warnOfWorld(world *engine.World, configuration *engine.Configuration) {
	s.noteLeftOut(configuration)
	if world.Orphans > 0 {
		s.warning("%d pods belong to PodGroups that are not in the input, and no queue is charged for them",
			world.Orphans)
	}
	for _, out := range world.LeftOut {
		s.warning("%s", out)
	}
}

// noteLeftOut writes to stderr which plugins sessions do not have.
func (s *source) noteLeftOut(configuration *engine.Configuration) {
	if len(configuration.LeftOut) > 0 {
		s.note("plugins that need more than objects, or are not known, are left out: %s",
			strings.Join(configuration.LeftOut, ", "))
	}
}

// configure finds the scheduler's configuration and prints which one is in force.
func (s *source) configure(objects *input.Objects) (*engine.Configuration, error) {
	var given *input.Configuration
	var missing string
	var err error
	switch {
	case s.configuration != "":
		given, err = input.ReadConfiguration(s.configuration)
	case !s.pluginGiven:
		given, missing, err = objects.Configuration()
	}
	if err != nil {
		return nil, err
	}

	var configuration *engine.Configuration
	if given != nil {
		configuration, err = configured(given)
	} else {
		configuration, err = engine.Usual(s.plugin, objects.Queues)
	}
	switch {
	case err != nil:
	case given != nil:
		s.note("%s (%s)", inForce(configuration), given.Short())
	case s.pluginGiven:
		s.note("assumed for --plugin: %s", inForce(configuration))
	default:
		s.warning("no scheduler configuration: %s. Assumed: %s (--scheduler-conf names a file)",
			missing, inForce(configuration))
	}
	return configuration, err
}

func configured(c *input.Configuration) (*engine.Configuration, error) {
	configuration, err := engine.Configure(c.Text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Origin, err)
	}
	configuration.Given = c
	return configuration, nil
}

// configuredBy reads a file with a configuration.
func configuredBy(file string) (*engine.Configuration, error) {
	given, err := input.ReadConfiguration(file)
	if err != nil {
		return nil, err
	}
	return configured(given)
}

// inForce describes the quotas of a configuration.
func inForce(c *engine.Configuration) string {
	shape := "flat"
	if c.Hierarchy {
		shape = "a tree"
	}

	text := fmt.Sprintf("plugin %s, queues are %s", c.Plugin, shape)
	if c.Release != release.Built() {
		text += ", rules of Volcano " + c.Release.String()
	}
	return text
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
