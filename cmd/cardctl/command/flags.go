package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/capacity-card/capacity-card/plugin"
)

// bindShared adds the flags that all commands share.
func (s *source) bindShared(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVarP(&s.files, "filename", "f", nil,
		"File or directory with objects, - for standard input; may be given several times. "+
			"Without it, the cluster of the kubeconfig is read")
	flags.BoolVarP(&s.recursive, "recursive", "R", false, "Also read the subdirectories of the directories of -f")
	flags.StringVar(&s.configuration, "scheduler-conf", "",
		"File with the scheduler's configuration, or with the ConfigMap that has it. Without it, "+
			"the ConfigMap that the scheduler's Deployment mounts, in the cluster or in the files")
	flags.StringVar(&s.plugin, "plugin", plugin.Name,
		"Assume a configuration with this quota plugin: "+strings.Join(plugin.Names, ", "))
	complete(cmd, "plugin", plugin.Names)
	flags.BoolVarP(&s.quiet, "quiet", "q", false, "Print no notes on stderr; warnings and errors stay")

	s.bindCluster(cmd)
	flags.StringSliceVar(&s.contexts, contextsFlag, nil,
		"Contexts of the kubeconfig, such as a,b,c: several clusters at once")
	flags.Lookup(contextsFlag).Hidden = true
	s.completeClusterFlags(cmd)
}

// bind adds the flags to a command, and checks them before the command runs.
func (s *source) bind(cmd *cobra.Command, outputs ...string) {
	s.bindShared(cmd)
	flags := cmd.Flags()
	if len(outputs) > 0 {
		flags.StringVarP(&s.output, "output", "o", outputs[0], "Output format: "+strings.Join(outputs, ", "))
		complete(cmd, "output", outputs)
	}
	if slices.Contains(outputs, asWide) {
		flags.BoolVar(&s.noHeaders, "no-headers", false, "Print tables without headers")
	}

	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, arguments []string) error {
		if len(outputs) > 0 {
			if err := checkFormat(s.output, outputs); err != nil {
				return err
			}
		}
		if !slices.Contains(plugin.Names, s.plugin) {
			return fmt.Errorf("unknown plugin %q: one of %s", s.plugin, strings.Join(plugin.Names, ", "))
		}
		s.pluginGiven = flags.Changed("plugin")
		if err := s.checkFlags(cmd); err != nil {
			return err
		}

		// The output of a part of the input is complete, and still an error.
		if err := run(cmd, arguments); err != nil || !s.broken {
			return err
		}
		return errInvalid
	}
}

// clusterFlag is the annotation of the flags that name the cluster and the user, which are the same as in kubectl.
const clusterFlag = "cluster"

// bindCluster adds the flags of kubectl. --namespace has an effect only in the commands of bindNamespaces: the others
// hide and refuse it.
func (s *source) bindCluster(cmd *cobra.Command) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	s.cluster.AddFlags(flags)
	flags.VisitAll(func(f *pflag.Flag) {
		f.Annotations = map[string][]string{clusterFlag: nil}
	})

	namespace := flags.Lookup(namespaceFlag)
	namespace.Annotations = nil
	namespace.Usage = "Only jobs of this namespace"
	namespace.Hidden = true
	cmd.Flags().AddFlagSet(flags)
}

const namespaceFlag = "namespace"

// bindNamespaces adds the flag of commands that print objects of namespaces.
func (s *source) bindNamespaces(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&s.allNamespaces, "all-namespaces", "A", false,
		"Jobs of all namespaces, whatever --namespace is. This is the default")
	cmd.Flags().Lookup(namespaceFlag).Hidden = false
}

// bindSelector adds the flag that selects objects by their labels.
func (s *source) bindSelector(cmd *cobra.Command, usage string) {
	cmd.Flags().StringVarP(&s.selector, "selector", "l", "", usage)
}

// checkFlags checks the flags that only some commands have.
func (s *source) checkFlags(cmd *cobra.Command) (err error) {
	s.labels, err = labels.Parse(s.selector)
	if err != nil {
		return fmt.Errorf("--selector: %s", firstLine(err))
	}

	if namespace := cmd.Flags().Lookup(namespaceFlag); namespace.Changed && namespace.Hidden {
		return fmt.Errorf("--namespace has no effect: %s is not about the jobs of a namespace", cmd.CommandPath())
	}
	if cmd.Flags().Lookup("interval") != nil && s.interval <= 0 {
		return errInterval
	}
	if s.watch && len(s.files) > 0 {
		return errWatchFiles
	}
	return s.checkContexts(cmd)
}
