package neighbours

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/bench/workload"
)

// alone makes pods share no node with pods of an app.
func alone(info *api.ClusterInfo, app string, pods ...string) {
	for _, name := range pods {
		pod(info, name).Pod.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
				TopologyKey:   v1.LabelHostname,
			}},
		}}
	}
}

func ofApp(info *api.ClusterInfo, app string, pods ...string) {
	for _, name := range pods {
		pod(info, name).Pod.Labels = map[string]string{"app": app}
	}
}

func withPort(info *api.ClusterInfo, pods ...string) {
	for _, name := range pods {
		pod(info, name).Pod.Spec.Containers[0].Ports = []v1.ContainerPort{{HostPort: 8080, Protocol: v1.ProtocolTCP}}
	}
}

// TestPodsThatKeepOthersAway reclaims a card for each pod of a job. The names of the cases say which pods keep them away,
// where they run. Their node is of no use, unless they are the victims: Volcano takes these refusals as it takes a lack of
// cards.
func TestPodsThatKeepOthersAway(t *testing.T) {
	there := job("there", "own", 1, on("n0"), named("A"))
	away := func(info *api.ClusterInfo, claim string) {
		ofApp(info, "db", "there-0")
		alone(info, "db", claim+"-0")
	}
	apart := func(info *api.ClusterInfo, claim string) {
		ofApp(info, "db", claim+"-0", claim+"-1")
		alone(info, "db", claim+"-0", claim+"-1")
	}
	full := func(node, name string) workload.Job { return job(name, "lent", 1, on(node), named("A"), needs(0)) }
	for name, test := range map[string]struct {
		nodes   int // with two cards each
		jobs    []workload.Job
		pods    int32 // of the job that waits
		edit    func(info *api.ClusterInfo, claim string)
		evicted string
	}{
		"an idle card next to them": {
			nodes: 2, pods: 1,
			jobs:    []workload.Job{there, full("n1", "x"), full("n1", "y")},
			edit:    away,
			evicted: "y-0 evicted",
		},
		"none": {
			nodes: 2, pods: 2,
			jobs: []workload.Job{full("n0", "x"), full("n1", "y")},
			edit: apart,
		},
		"borrowed cards next to them": {
			nodes: 2, pods: 1,
			jobs:    []workload.Job{there, full("n0", "z"), full("n1", "x"), full("n1", "y")},
			edit:    away,
			evicted: "y-0 evicted",
		},
		"they keep it away by their own rules": {
			nodes: 2, pods: 1,
			jobs: []workload.Job{there, full("n0", "z"), full("n1", "x"), full("n1", "y")},
			edit: func(info *api.ClusterInfo, claim string) {
				alone(info, "web", "there-0")
				ofApp(info, "web", claim+"-0")
			},
			evicted: "y-0 evicted",
		},
		"they have its port": {
			nodes: 2, pods: 1,
			jobs:    []workload.Job{there, full("n0", "z"), full("n1", "x"), full("n1", "y")},
			edit:    func(info *api.ClusterInfo, claim string) { withPort(info, "there-0", claim+"-0") },
			evicted: "y-0 evicted",
		},
		"a victim": {
			nodes: 1, pods: 1,
			jobs: []workload.Job{there, full("n0", "z")},
			edit: func(info *api.ClusterInfo, claim string) {
				ofApp(info, "db", "z-0")
				alone(info, "db", claim+"-0")
			},
			evicted: "z-0 evicted",
		},
		"a victim with its port": {
			nodes: 1, pods: 1,
			jobs:    []workload.Job{there, full("n0", "z")},
			edit:    func(info *api.ClusterInfo, claim string) { withPort(info, "z-0", claim+"-0") },
			evicted: "z-0 evicted",
		},
		"all nodes have such pods": {
			nodes: 1, pods: 1,
			jobs: []workload.Job{there, full("n0", "z")},
			edit: away,
		},
		"each other": {
			nodes: 2, pods: 2,
			jobs:    []workload.Job{full("n0", "w"), full("n0", "x"), full("n1", "y"), full("n1", "z")},
			edit:    apart,
			evicted: "x-0 evicted, z-0 evicted",
		},
		"each other, by their port": {
			nodes: 2, pods: 2,
			jobs:    []workload.Job{full("n0", "w"), full("n0", "x"), full("n1", "y"), full("n1", "z")},
			edit:    func(info *api.ClusterInfo, claim string) { withPort(info, claim+"-0", claim+"-1") },
			evicted: "x-0 evicted, z-0 evicted",
		},
		"each other, with an idle node": {
			nodes: 2, pods: 2,
			jobs:    []workload.Job{full("n1", "y"), full("n1", "z")},
			edit:    apart,
			evicted: "z-0 evicted",
		},
		"each other, with one node": {
			nodes: 1, pods: 2,
			jobs: []workload.Job{full("n0", "y"), full("n0", "z")},
			edit: apart,
		},
		"on more nodes than plans are made": {
			nodes: 7, pods: 1,
			jobs: []workload.Job{
				there, job("more", "own", 5, named("A"), func(j *workload.Job) {
					j.Phase = workload.Running
					for i := range j.Tasks {
						j.Tasks[i].Status, j.Tasks[i].Node = workload.TaskRunning, fmt.Sprint("n", i+1)
					}
				}),
				full("n6", "y"), full("n6", "z"),
			},
			edit: func(info *api.ClusterInfo, claim string) {
				ofApp(info, "db", "there-0", "more-0", "more-1", "more-2", "more-3", "more-4")
				alone(info, "db", claim+"-0")
			},
			evicted: "z-0 evicted",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := workload.Cluster{Queues: []workload.Queue{quoted("own", `{"A":14}`), quoted("lent", `{"A":14}`)}}
			for i, deserved := range []string{`{"A":14}`, `{"A":0}`} {
				c.Queues[i].Annotations["volcano.sh/card.deserved"] = deserved
				c.Queues[i].Annotations["volcano.sh/card.guarantee"] = `{"A":0}`
			}
			for i := range test.nodes {
				n := cardNode(fmt.Sprint("n", i), "A", 2)
				n.Labels[v1.LabelHostname] = n.Name
				c.Nodes = append(c.Nodes, n)
			}
			for i, actions := range []string{"allocate, reclaim", "reclaim, allocate"} {
				claim := fmt.Sprint(name, i) // the plugin remembers for whom it evicted pods
				c.Jobs = append(slices.Clip(test.jobs), job(claim, "own", int(test.pods), named("A"), needs(test.pods)))
				p := pair{actions: actions, tiers: [][]string{{"priority", "gang", "predicates", quota}}, cluster: c}
				p.edit = func(info *api.ClusterInfo) { test.edit(info, claim) }
				outcome := slices.DeleteFunc(strings.Split(p.play(t, cards, ""), ", "), func(word string) bool {
					return !strings.HasSuffix(word, " evicted")
				})
				assert.Equal(t, test.evicted, strings.Join(outcome, ", "), actions)
			}
		})
	}
}
