package command

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/cmd/cardctl/whatif"
)

// mostPatience is the time after which a shell gets no names of a cluster that does not answer.
const mostPatience = 5 * time.Second

// noFiles is the directive of all completions: words are no files.
const noFiles = cobra.ShellCompDirectiveNoFileComp

// names lists the names of a kind of object.
type names func(context.Context) []string

// completion completes the last word of a command line.
type completion = func(cmd *cobra.Command, arguments []string, word string) ([]string, cobra.ShellCompDirective)

// complete completes the value of a flag with fixed words.
func complete(cmd *cobra.Command, flag string, words []string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, noFiles))
}

// completeFirst completes the only argument of a command.
func (s *source) completeFirst(list names) completion {
	return func(cmd *cobra.Command, arguments []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(arguments) > 0 {
			return nil, noFiles
		}
		return begin(word, list(cmd.Context())), noFiles
	}
}

// completeSubject completes the arguments of explain.
func (s *source) completeSubject(
	cmd *cobra.Command, arguments []string, word string,
) ([]string, cobra.ShellCompDirective) {
	kinds := map[string]names{
		"job": s.jobNames, "pod": s.podNames, "queue": s.queueNames,
		"setting": func(context.Context) []string { return settingNames(word) },
	}
	kind, _, slash := strings.Cut(word, "/")

	switch {
	case len(arguments) == 0 && !slash:
		return begin(word, slices.Collect(maps.Keys(kinds))), noFiles
	case len(arguments) == 0 && kinds[kind] != nil:
		return begin(word, prefixed(kind+"/", kinds[kind](cmd.Context()))), noFiles
	case len(arguments) == 1:
		if about, err := subjectOf(arguments); err == nil && about.name == "" {
			return begin(word, kinds[about.kind](cmd.Context())), noFiles
		}
	}
	return nil, noFiles
}

// completeSetting completes the value of --set: a queue, then a field.
func (s *source) completeSetting(
	cmd *cobra.Command, _ []string, word string,
) (all []string, more cobra.ShellCompDirective) {
	queue, field, colon := strings.Cut(word, ":")
	switch {
	case !colon:
		all = prefixed("queue/", suffixed(s.queueNames(cmd.Context()), ":"))
	case !strings.Contains(field, "="):
		all = prefixed(queue+":", whatif.Fields(s.world(cmd.Context(), input.Nodes, input.Queues)))
	}
	return begin(word, all), noFiles | cobra.ShellCompDirectiveNoSpace
}

// completeRemoval completes the value of --remove.
func (s *source) completeRemoval(
	cmd *cobra.Command, _ []string, word string,
) ([]string, cobra.ShellCompDirective) {
	kinds := map[string]names{"job": s.jobNames, "node": s.nodeNames, "queue": s.queueNames}
	kind, _, slash := strings.Cut(word, "/")

	switch {
	case !slash:
		all := slices.Collect(maps.Keys(kinds))
		return begin(word, suffixed(all, "/")), noFiles | cobra.ShellCompDirectiveNoSpace
	case kinds[kind] != nil:
		return begin(word, prefixed(kind+"/", kinds[kind](cmd.Context()))), noFiles
	}
	return nil, noFiles
}

// completeClusterFlags completes the flags of kubectl that name something.
func (s *source) completeClusterFlags(cmd *cobra.Command) {
	register := func(flag string, list names) {
		_ = cmd.RegisterFlagCompletionFunc(flag,
			func(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
				return begin(word, list(cmd.Context())), noFiles
			})
	}

	kubeconfig := func(flag string, keys func(clientcmdapi.Config) iter.Seq[string]) {
		register(flag, func(context.Context) []string {
			config, err := s.cluster.ToRawKubeConfigLoader().RawConfig()
			if err != nil {
				return nil
			}
			return slices.Collect(keys(config))
		})
	}

	register("namespace", s.namespaceNames)
	_ = cmd.RegisterFlagCompletionFunc(contextsFlag, s.completeContexts)
	kubeconfig("context", func(c clientcmdapi.Config) iter.Seq[string] { return maps.Keys(c.Contexts) })
	kubeconfig("cluster", func(c clientcmdapi.Config) iter.Seq[string] { return maps.Keys(c.Clusters) })
	kubeconfig("user", func(c clientcmdapi.Config) iter.Seq[string] { return maps.Keys(c.AuthInfos) })
}

// world returns a world of objects of some kinds of the cluster, or of all objects of the files. It is empty if they
// cannot be read: a shell has no place for an error.
func (s *source) world(ctx context.Context, kinds ...input.Kind) *engine.World {
	if slices.Contains(s.files, "-") { // the shell's own input
		return &engine.World{}
	}
	objects, err := s.objectsOf(ctx, kinds...)
	if err != nil {
		objects = input.New()
	}

	world, err := engine.Build(objects)
	if err != nil {
		return &engine.World{}
	}
	return world
}

// objectsOf reads the objects of some kinds of the cluster, or all objects of the files.
func (s *source) objectsOf(ctx context.Context, kinds ...input.Kind) (*input.Objects, error) {
	if len(s.files) > 0 {
		return input.ReadFiles(s.files, s.recursive, s.streams.In, nil)
	}
	if len(s.contexts) > 0 {
		return s.of(s.contexts[0]).objectsOf(ctx, kinds...)
	}

	config, err := s.cluster.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, mostPatience)
	defer cancel()
	return input.ReadKinds(ctx, config, kinds...)
}

func (s *source) queueNames(ctx context.Context) []string {
	return s.world(ctx, input.Queues).QueueNames()
}

func (s *source) nodeNames(ctx context.Context) []string {
	return s.world(ctx, input.Nodes).NodeNames()
}

func (s *source) jobNames(ctx context.Context) []string {
	return jobNames(s.world(ctx, input.PodGroups, input.Jobs), s.namespace())
}

func (s *source) podNames(ctx context.Context) []string {
	return podNames(s.world(ctx, input.PodGroups, input.Pods), s.namespace())
}

func (s *source) namespaceNames(ctx context.Context) []string {
	return namespaces(s.world(ctx, input.PodGroups, input.Jobs))
}

// jobNames returns the names of the jobs of a namespace, "" for all.
func jobNames(world *engine.World, namespace string) (all []string) {
	for _, g := range world.Groups {
		if namespace == "" || g.Namespace == namespace {
			all = append(all, explain.JobName(g))
		}
	}
	return all
}

// podNames returns the names of the pods of the jobs of a namespace, "" for all.
func podNames(world *engine.World, namespace string) (all []string) {
	for _, g := range world.Groups {
		for _, pod := range g.Pods {
			if namespace == "" || pod.Namespace == namespace {
				all = append(all, pod.Name)
			}
		}
	}
	return all
}

// begin returns the names that begin with word, each once.
func begin(word string, all []string) []string {
	all = slices.DeleteFunc(slices.Clone(all), func(name string) bool { return !strings.HasPrefix(name, word) })
	slices.Sort(all)
	return slices.Compact(all)
}

func prefixed(prefix string, all []string) []string {
	for i := range all {
		all[i] = prefix + all[i]
	}
	return all
}

func suffixed(all []string, suffix string) []string {
	for i := range all {
		all[i] += suffix
	}
	return all
}
