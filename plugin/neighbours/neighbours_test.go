// Package neighbours runs sessions with a quota plugin of this module and one of
// Volcano's own plugins, from a configuration as users write it and with Volcano's own
// actions. The rules of both plugins must hold. A scene runs three times; it ends
// differently without either of the two plugins, so no rule holds by accident.
// docs/neighbours.md lists the tests.
package neighbours

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	policy "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/kubernetes/pkg/scheduler/metrics"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler"
	_ "volcano.sh/volcano/pkg/scheduler/actions"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	_ "volcano.sh/volcano/pkg/scheduler/plugins"
	"volcano.sh/volcano/pkg/scheduler/plugins/capacity"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin"
	"github.com/capacity-card/capacity-card/plugin/offline"
)

func TestMain(m *testing.M) {
	offline.Quiet()
	metrics.Register() // without which Kubernetes' own plugins panic
	plugin.Register()
	os.Exit(m.Run())
}

// The quota plugins that a scene is run with. QUOTA stands for one of them in a
// configuration.
const (
	quota      = "QUOTA"
	capacities = "capacity"
	cards      = "capacity-card"
)

// pair is a scene with a result that depends on a quota plugin and on a neighbour.
type pair struct {
	name      string
	neighbour string
	actions   string
	tiers     [][]string // plugins by name, or as in a configuration
	cluster   workload.Cluster
	edit      func(*api.ClusterInfo) // makes changes that workload cannot describe
	withCards bool                   // a scene of cards: for capacity-card alone
	noCards   bool                   // a scene of Volcano's actions, which plans replace where cards count

	// The outcome of the session: with both plugins, and without one of them.
	both, neighbourAlone, quotaAlone string
}

// run runs the scene with all combinations of plugins, several times: much in Volcano
// depends on the order of maps.
func (p pair) run(t *testing.T) {
	t.Helper()
	require.NotEqual(t, p.both, p.neighbourAlone, "the scene does not need the quota plugin")
	require.NotEqual(t, p.both, p.quotaAlone, "the scene does not need the neighbour")
	quotas := []string{capacities, cards}
	if p.withCards {
		quotas = quotas[1:]
	}
	if p.noCards {
		quotas = quotas[:1]
	}
	for _, q := range quotas {
		name := nameOf(q)
		for range 5 {
			require.Equal(t, p.both, p.play(t, q, ""), "%s and %s", name, p.neighbour)
			require.Equal(t, p.neighbourAlone, p.play(t, q, name), "%s alone", p.neighbour)
			require.Equal(t, p.quotaAlone, p.play(t, q, p.neighbour), "%s alone", name)
		}
	}
	if !p.withCards {
		framework.RegisterPluginBuilder(capacity.PluginName, capacity.New)
		defer framework.RegisterPluginBuilder(capacity.PluginName, plugin.NewCapacity)
		require.Equal(t, p.both, p.play(t, capacities, ""), "Volcano's capacity and %s", p.neighbour)
	}
}

// play runs one session with a quota plugin, and without the plugin named without.
func (p pair) play(t *testing.T, quotaPlugin, without string) string {
	t.Helper()
	actions, tiers, configurations, _, err := scheduler.UnmarshalSchedulerConf(p.configuration(quotaPlugin))
	require.NoError(t, err)
	conf.EnabledActionMap = map[string]bool{}
	for _, action := range actions {
		conf.EnabledActionMap[action.Name()] = true
	}
	for i := range tiers {
		tiers[i].Plugins = slices.DeleteFunc(tiers[i].Plugins, func(o conf.PluginOption) bool { return o.Name == without })
	}
	info, err := cluster.Build(p.cluster, "/"+t.Name())
	require.NoError(t, err)
	if p.edit != nil {
		p.edit(info)
	}
	cache := offline.NewCache(info)
	cache.Informers = informerFactory()
	ssn := framework.OpenSession(cache, tiers, configurations)
	for _, action := range actions {
		action.Execute(ssn)
	}
	outcome := p.outcome(ssn, cache)
	framework.CloseSession(ssn)
	return outcome
}

// informerFactory has the informers of Volcano's plugins. Their only object is a
// PodDisruptionBudget, which protects the pods of the app "spared".
var informerFactory = sync.OnceValue(func() informers.SharedInformerFactory {
	factory := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	budget := &policy.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "spared", Namespace: cluster.Namespace},
		Spec:       policy.PodDisruptionBudgetSpec{Selector: metav1.SetAsLabelSelector(labels.Set{"app": "spared"})},
	}
	if err := factory.Policy().V1().PodDisruptionBudgets().Informer().GetStore().Add(budget); err != nil {
		panic(err)
	}
	return factory
})

// configuration returns the text of a volcano-scheduler.conf.
func (p pair) configuration(quotaPlugin string) string {
	text := fmt.Sprintf("actions: %q\ntiers:\n", p.actions)
	for _, tier := range p.tiers {
		text += "- plugins:\n"
		for _, option := range tier {
			if option == quota {
				option = quotaPlugin
			}
			if !strings.HasPrefix(option, "{") {
				option = "{name: " + option + "}"
			}
			text += "  - " + option + "\n"
		}
	}
	return text
}

// nameOf returns the name of a plugin from its options in a configuration.
func nameOf(option string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(option, "{name: "), ",")
	return name
}

// outcome returns the decisions of a session, sorted: "pod on node", "pod evicted",
// and "job enqueued" for a job that was Pending.
func (p pair) outcome(ssn *framework.Session, cache *offline.Cache) string {
	var words []string
	for pod, node := range cache.Bound {
		words = append(words, pod+" on "+node)
	}
	for _, pod := range cache.Evicted {
		words = append(words, pod+" evicted")
	}
	for _, j := range p.cluster.Jobs {
		job := ssn.Jobs[api.JobID(cluster.Namespace+"/"+j.Name)]
		if j.Phase == workload.Pending && job.PodGroup.Status.Phase == scheduling.PodGroupInqueue {
			words = append(words, j.Name+" enqueued")
		}
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}
