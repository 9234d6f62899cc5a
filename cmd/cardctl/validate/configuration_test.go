package validate

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
)

// configured reads a configuration as if it came from a ConfigMap in line 7 of a file.
func configured(text string) func([]*scheduling.Queue) (*engine.Configuration, error) {
	return func([]*scheduling.Queue) (*engine.Configuration, error) {
		c, err := engine.Configure(text)
		if err == nil {
			c.Given = &input.Configuration{Text: text, Source: input.Source{File: "conf", Line: 7}, Object: "ConfigMap/volcano-system/conf"}
		}
		return c, err
	}
}

const sound = `actions: "enqueue, allocate, reclaim"
tiers:
- plugins:
  - name: gang
    enablePreemptable: false
  - name: capacity-card
    enableHierarchy: true
    arguments:
      hierarchyFrom: annotation
      reclaimGangs: whole
`

// expect compares issues with the beginnings of lines.
func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	require.Len(t, got, len(want), "%q", got)
	for i := range want {
		assert.Truef(t, strings.HasPrefix(got[i], want[i]), "want %s\n got %s", want[i], got[i])
	}
}

// TestConfiguration has mistakes in the scheduler's configuration, which Volcano passes over.
func TestConfiguration(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"none":                {"", "", ""},
		"an unknown plugin":   {"name: gang", "name: gagn", "error: ConfigMap/volcano-system/conf: no such plugin is registered: gagn"},
		"a misspelt option":   {"enablePreemptable", "enablePremptable", "warning: ConfigMap/volcano-system/conf: Volcano ignores an unknown key: line 5: field enablePremptable not found"},
		"a wrong type":        {"hierarchyFrom: annotation", "cardUnlimitedCpuMemory: 3", "warning: ConfigMap/volcano-system/conf: capacity-card: argument cardUnlimitedCpuMemory: 3 (int) is not true or false, using true"},
		"no allocate":         {"enqueue, allocate, reclaim", "enqueue, reclaim", "error: ConfigMap/volcano-system/conf: the actions are in the wrong order: pods that others are evicted for never start if reclaim runs without allocate: set actions: \"enqueue, allocate, reclaim\""},
		"an unknown argument": {"hierarchyFrom: annotation", "untypedCard: reject", "warning: ConfigMap/volcano-system/conf: capacity-card: argument untypedCard is unknown and ignored"},
	} {
		t.Run(name, func(t *testing.T) {
			got := checkWith(t, configured(strings.Replace(sound, c.old, c.new, 1)), queue("q", "", "", ""))
			if c.want == "" {
				require.Empty(t, got)
				return
			}
			expect(t, got, "conf:7: "+c.want)
		})
	}
}

// TestLending has queues that may borrow, with and without the action reclaim, and with gangs that give nothing back.
func TestLending(t *testing.T) {
	lends := queue("q", "", quota(`{"A": 4}`)+", "+deserved(`{"A": 2}`)+", "+guarantee(`{"A": 0}`), "")
	keeps := queue("q", "", quota(`{"A": 4}`)+", "+deserved(`{"A": 4}`)+", "+guarantee(`{"A": 0}`), "")
	without := strings.Replace(sound, ", reclaim", "", 1)
	of := func(severity string, lines []string) (some []string) {
		for _, line := range lines {
			if strings.Contains(line, severity+": ConfigMap") {
				some = append(some, line)
			}
		}
		return some
	}
	keepsGangs := strings.Replace(sound, "reclaimGangs: whole", "reclaimGangs: keep", 1)
	noVote := strings.Replace(keepsGangs, "- name: gang", "- name: gang\n    enableReclaimable: false", 1)
	require.Empty(t, of("note", checkWith(t, configured(sound), lends)))
	require.Empty(t, of("note", checkWith(t, configured(noVote), lends)))
	require.Empty(t, of("note", checkWith(t, configured(keepsGangs), keeps)))
	expect(t, of("note", checkWith(t, configured(keepsGangs), lends)),
		"conf:7: note: ConfigMap/volcano-system/conf: queues such as q may have more cards than they deserve, and reclaim takes nothing back from gangs")
	require.Empty(t, of("note", checkWith(t, configured(without), keeps)))
	require.Empty(t, of("note", checkWith(t, configured(strings.Replace(without, "capacity-card", "proportion", 1)), lends)))
	expect(t, of("note", checkWith(t, configured(without), lends)),
		"conf:7: note: ConfigMap/volcano-system/conf: queues such as q may have more cards than they deserve, and the actions have no reclaim")
}

// TestFlat has queues with parents in a configuration without a tree.
func TestFlat(t *testing.T) {
	flat := strings.Replace(sound, "    enableHierarchy: true\n", "", 1)
	child := []string{queue("p", "", "", ""), queue("q", "p", "", "")}
	require.Empty(t, checkWith(t, configured(strings.Replace(sound, "annotation", "parent", 1)), child...))
	require.Empty(t, checkWith(t, configured(flat), queue("q", "root", "", "")))
	expect(t, checkWith(t, configured(flat), child...), "conf:7: warning: ConfigMap/volcano-system/conf: "+
		"queues such as q have a parent, and the queues are flat: set enableHierarchy: true for capacity-card")

	bounded := []string{queue("p", "", quota(`{"A":4}`), "capability: {cpu: 2}"),
		queue("q", "p", quota(`{"A":8}`), "capability: {cpu: 3}, guarantee: {resource: {cpu: 3}}")}
	expect(t, checkWith(t, configured(flat), bounded...),
		"4: error: Queue/p: spec.capability.cpu: 2, and its children are guaranteed 3", // Volcano's webhook refuses these
		"9: error: Queue/q: spec.capability.cpu: 3 is more than the 2 of its parent p",
		"conf:7: warning: ConfigMap/volcano-system/conf: queues such as q have a parent, and the queues are flat")
	expect(t, checkWith(t, configured(flat), queue("q", "gone", "", "")), `4: error: Queue/q: spec.parent: there is no queue "gone"`)
}

// TestTreeOfAnnotations has a tree that annotations describe, with each mistake that they can have.
func TestTreeOfAnnotations(t *testing.T) {
	placed := func(name, path, weights string) string {
		return queue(name, "", "volcano.sh/hierarchy: "+path+", volcano.sh/hierarchy-weights: "+weights, "")
	}
	got := checkWith(t, configured(sound), placed("a", "root/eng/a", "1/6/8"), placed("prod", "root/eng//prod", "1/6/8/1"), placed("lost", "eng/lost", "6/8"),
		placed("short", "root/eng/short", "1/6"), placed("same", "root/eng/a", "1/6/8"), placed("other", "root/eng/other", "1/5/1"))
	const path, weights = "metadata.annotations[volcano.sh/hierarchy]: ", "metadata.annotations[volcano.sh/hierarchy-weights]: "
	expect(t, got, "8: error: Queue/prod: "+path+`"root/eng//prod" has an empty name`,
		"13: error: Queue/lost: "+path+`"eng/lost" does not start with "root/"`,
		"18: error: Queue/short: "+weights+`"1/6" has 2 weights, but volcano.sh/hierarchy has 3 names`,
		"23: error: Queue/same: "+path+`"root/eng/a" is the path of queue "a"`,
		"28: warning: Queue/other: "+weights+`the weight of "root/eng" is 6, not 5`)

	got = checkWith(t, configured(sound), queue("a", "", "volcano.sh/hierarchy: root/eng/a, "+quota(`{"A": 2}`), ""),
		queue("b", "", "volcano.sh/hierarchy: root/eng/a/b, "+quota(`{"A": 3}`)+", "+guarantee(`{"A": 0}`), ""))
	expect(t, got, `8: error: Queue/b: metadata.annotations[volcano.sh/card.quota]: "A" is 3, more than the 2 of its parent a`)
}

// TestRefused has manifests that the API server, Volcano's webhook or its controller refuse.
func TestRefused(t *testing.T) {
	got := check(t, strings.Replace(queue("Team-A", "", "", ""), "weight: 1", "weight: 0", 1),
		"apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: bare}",
		"apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: left, uid: u}")
	expect(t, got, `3: error: Queue/Team-A: metadata.name: "Team-A": a lowercase RFC 1123 subdomain must`,
		"4: error: Queue/Team-A: spec.weight: 0: should be greater than or equal to 1",
		"6: warning: Queue/bare: spec: is missing: Volcano never opens the queue",
		"10: warning: Queue/left: spec: is missing: Volcano never opens the queue")
	require.Empty(t, check(t, "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: q}\nspec: {}"))

	minimum := strings.Replace(job("q", "A", "cpu: 1", `{}`), "queue: q", "queue: q\n  minAvailable: 3", 1)
	minimum = strings.Replace(minimum, "replicas: 2", "replicas: 2, minAvailable: 4", 1)
	expect(t, check(t, minimum), "7: error: Job/j: spec.minAvailable: 3 is more than the 2 replicas of its tasks",
		"8: error: Job/j: spec.tasks[0].minAvailable: 4 is more than its 2 replicas")
}

// TestUncountedBounds has a bound of GPUs by their resource, which counts under the name capacity alone.
func TestUncountedBounds(t *testing.T) {
	bounded := queue("q", "", "", `capability: {cpu: 8, nvidia.com/gpu: 4}`)
	expect(t, check(t, bounded), "4: warning: Queue/q: spec.capability.nvidia.com/gpu: has no effect: capacity-card counts cpu, memory and cards; volcano.sh/card.quota bounds cards")
	require.Empty(t, checkWith(t, configured(strings.Replace(sound, "capacity-card", "capacity", 1)), bounded))
}

// TestProportionCountsNoCards has annotations of cards, which count under the other names.
func TestProportionCountsNoCards(t *testing.T) {
	conf := strings.Replace(strings.Replace(sound, "capacity-card", "proportion", 1), "      hierarchyFrom: annotation\n      reclaimGangs: whole\n", "", 1)
	conf = strings.Replace(strings.Replace(conf, "    enableHierarchy: true\n", "", 1), "    arguments:\n", "", 1)
	annotated := queue("q", "", quota(`{"A": 2}`)+", "+`volcano.sh/card.budget: '{"A": "3h/day"}', volcano.sh/card.quota.by: '{"namespace": {"*": {"A": 1, "cpu": "2"}}}'`, "")
	expect(t, checkWith(t, configured(conf), annotated),
		"3: warning: Queue/q: metadata.annotations[volcano.sh/card.quota]: has no effect: the plugin proportion counts no cards",
		"3: warning: Queue/q: metadata.annotations[volcano.sh/card.quota.by]: cards in it have no effect: the plugin proportion counts none",
		"3: warning: Queue/q: metadata.annotations[volcano.sh/card.budget]: has no effect: the plugin proportion counts no cards")
	resources := queue("q", "", `volcano.sh/card.quota.by: '{"namespace": {"*": {"cpu": "2"}}}'`, "")
	require.Empty(t, checkWith(t, configured(conf), resources), "a limit of a resource counts")
	require.Empty(t, checkWith(t, configured(strings.Replace(conf, "proportion", "capacity", 1)), annotated))
}

// TestGroupsOfCards has queues that name groups of cards: some do not exist, share cards, or exceed the nodes.
func TestGroupsOfCards(t *testing.T) {
	conf := configured(strings.Replace(strings.Replace(sound, "hierarchyFrom: annotation", "cardGroups: {small: {A: 1}, all: {\"*\": 1/2}}", 1),
		"    enableHierarchy: true\n", "", 1))
	got := checkWith(t, conf, node, queue("q", "", quota(`{"@small": 3, "@smal": 1, "@all": 2}`)+", "+deserved(`{"@small": 1}`)+", "+guarantee(`{"@small": 0}`), ""),
		queue("r", "", quota(`{"@small": 3}`), ""))
	const key = "9: warning: Queue/q: metadata.annotations[volcano.sh/card."
	expect(t, got, key+`quota]: "@smal" is not a group of cards of the argument cardGroups; did you mean "small"?`,
		key+`deserved]: "@small" has no effect: the group shares cards with another one, so it can only bound`,
		key+`guarantee]: "@small" has no effect: the group shares cards with another one, so it can only bound`)
}
