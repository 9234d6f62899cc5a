package command

import (
	"context"
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

// mostPatience is the time after which a shell gets no names of a cluster that does not
// answer.
const mostPatience = 5 * time.Second

// names lists the names of a kind of object.
type names func(context.Context) []string

// completion completes the last word of a command line.
type completion = func(cmd *cobra.Command, arguments []string, word string) ([]string, cobra.ShellCompDirective)

// completeFirst completes the only argument of a command.
func (s *source) completeFirst(of names) completion {
	return func(cmd *cobra.Command, arguments []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(arguments) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return begin(word, of(cmd.Context())), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeSubject completes the arguments of explain.
func (s *source) completeSubject(cmd *cobra.Command, arguments []string, word string) ([]string, cobra.ShellCompDirective) {
	of := map[string]names{"job": s.jobNames, "pod": s.podNames, "queue": s.queueNames}
	kind, _, slash := strings.Cut(word, "/")
	switch {
	case len(arguments) == 0 && !slash:
		return begin(word, []string{"job", "pod", "queue"}), cobra.ShellCompDirectiveNoFileComp
	case len(arguments) == 0 && of[kind] != nil:
		return begin(word, prefixed(kind+"/", of[kind](cmd.Context()))), cobra.ShellCompDirectiveNoFileComp
	case len(arguments) == 1:
		if about, err := subjectOf(arguments); err == nil && about.name == "" {
			return begin(word, of[about.kind](cmd.Context())), cobra.ShellCompDirectiveNoFileComp
		}
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// completeSetting completes the value of --set: a queue, then a field.
func (s *source) completeSetting(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	queue, field, colon := strings.Cut(word, ":")
	more := cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	switch {
	case !colon:
		return begin(word, prefixed("queue/", suffixed(s.queueNames(cmd.Context()), ":"))), more
	case strings.Contains(field, "="):
		return nil, more
	}
	return begin(word, prefixed(queue+":", whatif.Fields(s.world(cmd.Context(), input.Nodes, input.Queues)))), more
}

// completeRemoval completes the value of --remove.
func (s *source) completeRemoval(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	kind, _, slash := strings.Cut(word, "/")
	of := map[string]names{"job": s.jobNames, "node": s.nodeNames, "queue": s.queueNames}
	switch {
	case !slash:
		return begin(word, suffixed(slices.Sorted(maps.Keys(of)), "/")), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	case of[kind] != nil:
		return begin(word, prefixed(kind+"/", of[kind](cmd.Context()))), cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// completeClusterFlags completes those of kubectl's flags that name something.
func (s *source) completeClusterFlags(cmd *cobra.Command) {
	register := func(flag string, of names) {
		_ = cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
			return begin(word, of(cmd.Context())), cobra.ShellCompDirectiveNoFileComp
		})
	}
	kubeconfig := func(keys func(*clientcmdapi.Config) []string) names {
		return func(context.Context) []string {
			config, err := s.cluster.ToRawKubeConfigLoader().RawConfig()
			if err != nil {
				return nil
			}
			return keys(&config)
		}
	}
	register("namespace", s.namespaceNames)
	register("context", kubeconfig(func(c *clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(c.Contexts)) }))
	register("cluster", kubeconfig(func(c *clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(c.Clusters)) }))
	register("user", kubeconfig(func(c *clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(c.AuthInfos)) }))
}

// world reads the objects of some kinds of the cluster, or all of the files. It is empty if
// they cannot be read: a shell has no place for an error.
func (s *source) world(ctx context.Context, kinds ...input.Kind) *engine.World {
	objects := input.New()
	if slices.Contains(s.files, "-") { // the shell's own input
		return &engine.World{}
	}
	if len(s.files) > 0 {
		if read, err := input.ReadFiles(s.files, s.recursive, s.streams.In, nil); err == nil {
			objects = read
		}
	} else if config, err := s.cluster.ToRESTConfig(); err == nil {
		ctx, cancel := context.WithTimeout(ctx, mostPatience)
		defer cancel()
		if read, err := input.ReadKinds(ctx, config, kinds...); err == nil {
			objects = read
		}
	}
	world, err := engine.Build(objects)
	if err != nil {
		return &engine.World{}
	}
	return world
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
	var all []string
	for _, g := range s.world(ctx, input.PodGroups, input.Jobs).Groups {
		all = append(all, g.Namespace)
	}
	return all
}

// jobNames are the names of the jobs of a namespace, "" for all.
func jobNames(world *engine.World, namespace string) (all []string) {
	for _, g := range world.Groups {
		if namespace == "" || g.Namespace == namespace {
			all = append(all, explain.JobName(g))
		}
	}
	return all
}

// podNames are the names of the pods of the jobs of a namespace, "" for all.
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
