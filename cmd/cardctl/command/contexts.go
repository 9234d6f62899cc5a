package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/utils/ptr"

	"github.com/capacity-card/capacity-card/index"
)

const contextsFlag = "contexts"

// requestTime bounds each request to one of several clusters, so that a cluster that does not answer cannot hold up the
// others. --request-timeout overrides it.
const requestTime = "30s"

// noTimeout is the default of --request-timeout.
const noTimeout = "0"

// bindContexts shows the flag in a command that can read several clusters. The others refuse it.
func (s *source) bindContexts(cmd *cobra.Command) {
	cmd.Flags().Lookup(contextsFlag).Hidden = false
}

// ofAll are the flags of kubectl that can hold for several clusters.
var ofAll = []string{"kubeconfig", "as", "as-group", "as-uid", "cache-dir", "disable-compression", "request-timeout"}

// checkContexts checks --contexts, and the flags that it excludes.
func (s *source) checkContexts(cmd *cobra.Command) error {
	flag := cmd.Flags().Lookup(contextsFlag)
	switch {
	case !flag.Changed:
		return nil
	case flag.Hidden:
		return fmt.Errorf("--contexts has no effect: %s is about one cluster", cmd.CommandPath())
	case len(s.files) > 0:
		return errors.New("--contexts names clusters, and -f names files: one of them")
	case s.watch:
		return errors.New("--watch is for one cluster: name it with --context")
	case len(s.contexts) == 0:
		return errors.New("--contexts: no context is named")
	}

	var excluded []string
	cmd.Flags().Visit(func(f *pflag.Flag) {
		_, ofCluster := f.Annotations[clusterFlag]
		if ofCluster && !slices.Contains(ofAll, f.Name) {
			excluded = append(excluded, f.Name)
		}
	})
	if len(excluded) > 0 {
		return fmt.Errorf("--%s is about one cluster, and --contexts names several: one of them", excluded[0])
	}

	known, err := s.contextNames()
	if err != nil {
		return fmt.Errorf("--contexts: %s", firstLine(err))
	}
	for i, name := range s.contexts {
		switch {
		case !slices.Contains(known, name):
			return fmt.Errorf("--contexts: no context %q in the kubeconfig%s", name, index.DidYouMean(name, known))
		case slices.Contains(s.contexts[:i], name):
			return fmt.Errorf("--contexts: %s is named twice", name)
		}
	}
	return nil
}

// contextNames returns the names of the contexts of the kubeconfig, in order.
func (s *source) contextNames() ([]string, error) {
	config, err := s.cluster.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(config.Contexts)), nil
}

// completeContexts completes the last name of a list of contexts.
func (s *source) completeContexts(
	_ *cobra.Command, _ []string, word string,
) ([]string, cobra.ShellCompDirective) {
	at := strings.LastIndexByte(word, ',') + 1
	known, err := s.contextNames()
	if err != nil {
		return nil, noFiles
	}
	return prefixed(word[:at], begin(word[at:], known)), noFiles | cobra.ShellCompDirectiveNoSpace
}

// of returns the source of one cluster of --contexts. It has the same selection and output.
func (s *source) of(name string) *source {
	one := newSource(s.streams)
	one.name = name
	one.options = s.options

	one.cluster.Context = &name
	one.cluster.KubeConfig = s.cluster.KubeConfig
	one.cluster.Namespace = s.cluster.Namespace
	one.cluster.Impersonate = s.cluster.Impersonate
	one.cluster.ImpersonateGroup = s.cluster.ImpersonateGroup
	one.cluster.ImpersonateUID = s.cluster.ImpersonateUID
	one.cluster.CacheDir = s.cluster.CacheDir
	one.cluster.DisableCompression = s.cluster.DisableCompression
	one.cluster.Timeout = s.cluster.Timeout
	return one
}

// found is the result of a command in one cluster.
type found[T any] struct {
	from  *source
	value T
	err   error // there is no value
}

// inClusters looks into the cluster or the files of the input. With --contexts, it looks into each cluster side by
// side, and returns the results in the order of the flag. It writes to stderr which clusters it could not read: a part
// of the input. Only if no cluster could be read is this an error.
func inClusters[T any](
	ctx context.Context, s *source, look func(*source, context.Context) (T, error),
) ([]found[T], error) {
	if len(s.contexts) == 0 {
		value, err := look(s, ctx)
		return []found[T]{{from: s, value: value}}, err
	}

	all := make([]found[T], len(s.contexts))
	lines := make([]bytes.Buffer, len(s.contexts))
	var looking sync.WaitGroup
	for i, name := range s.contexts {
		from := s.of(name)
		from.streams.ErrOut = &lines[i]
		if *from.cluster.Timeout == noTimeout {
			from.cluster.Timeout = ptr.To(requestTime)
		}

		looking.Add(1)
		go func() {
			defer looking.Done()
			value, err := look(from, ctx)
			all[i] = found[T]{from, value, err}
		}()
	}
	looking.Wait()
	if ctx.Err() != nil { // the errors are about the interruption
		return nil, ctx.Err()
	}

	for i := range all {
		_, _ = io.WriteString(s.streams.ErrOut, lines[i].String())
		all[i].from.streams.ErrOut = s.streams.ErrOut
		s.broken = s.broken || all[i].from.broken
	}

	some := slices.ContainsFunc(all, func(f found[T]) bool { return f.err == nil })
	failures := failuresOf(all, some)
	if !some {
		return nil, errors.Join(failures...)
	}
	for _, failure := range failures {
		s.broken = true
		s.line("error", "%s", failure)
	}
	return all, nil
}

// failuresOf returns which clusters could not be read, a line each. If a command has found something in some clusters,
// a name that others lack is no failure.
func failuresOf[T any](all []found[T], some bool) (failures []error) {
	for _, f := range all {
		var missing unknownError
		if f.err == nil || some && errors.As(f.err, &missing) {
			continue
		}
		for _, line := range strings.Split(f.err.Error(), "\n") {
			failures = append(failures, fmt.Errorf("cluster %s: %s", f.from.name, line))
		}
	}
	return failures
}

// printEach prints the results of a command. The results of several clusters become one.
func printEach[T any](s *source, all []found[T], results func(*source, T) []*result) error {
	if len(s.contexts) == 0 {
		return s.print(results(s, all[0].value)...)
	}

	m := &merged{document: map[string]any{}}
	for _, f := range all {
		if f.err != nil {
			m.clusters = append(m.clusters, map[string]any{"cluster": f.from.name, "error": f.err.Error()})
			continue
		}
		for _, r := range results(f.from, f.value) {
			f.from.addUnknown(r)
			if err := m.add(s.output, f.from.name, r); err != nil {
				return err
			}
		}
	}
	return s.print(m.results(s.output)...)
}
