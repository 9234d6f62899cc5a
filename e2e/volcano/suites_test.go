package volcano

import (
	"regexp"
	"slices"
	"strings"
)

// suite is a package of Volcano's module with end-to-end tests.
type suite struct {
	name string
	// gates are the feature gates that Volcano's CI sets for the suite.
	gates string
	// kwok is the number of nodes that Volcano's CI adds for the suite, tainted and labelled as kwok's.
	kwok int
	// once: the suite has its own configuration, so it runs only with the first one here.
	once bool
}

// suites are in the order in which they start: the longest first.
var suites = []suite{
	{name: "schedulingaction"},
	{name: "jobseq"},
	{name: "jobp"},
	{name: "schedulingbase"},
	{name: "vcctl"},
	{name: "stress"},
}

// suitesSince115 are the additional suites of Volcano v1.15.
var suitesSince115 = []suite{
	{name: "gangevict", kwok: 4, once: true},
	{name: "schedulinggates", gates: "SchedulingGatesQueueAdmission=true"},
}

// suitesOf returns the suites of a release of Volcano.
func suitesOf(release string) []suite {
	if strings.HasPrefix(release, "v1.14.") {
		return suites
	}
	return append(suitesSince115, suites...)
}

// packagePath is the import path of a suite.
func (s suite) packagePath() string { return "volcano.sh/volcano/test/e2e/" + s.name }

// remark is about the specs of a suite with a prefix in their names.
type remark struct {
	suite, prefix, reason string
}

// omissions are the tests that need more than a control plane: containers that really run, volumes or a network.
var omissions = []remark{
	{"schedulingbase", "Volume Binding Test", "A kubelet has to mount volumes, and a provisioner has to create them."},
	{"jobseq", "MPI E2E Test", "The containers run MPI and reach each other by ssh."},
	{"jobseq", "MPI Plugin E2E Test", "The containers run MPI and reach each other by ssh."},
	{"jobseq", "TensorFlow E2E Test", "The containers train a model with TensorFlow."},
	{"jobseq", "TensorFlow Plugin E2E Test", "The containers train a model with TensorFlow."},
	{"jobseq", "Pytorch Plugin E2E Test", "The containers train a model with PyTorch."},
	{"jobseq", "Ray Plugin E2E Test", "The containers run a Ray cluster, and the spec removes images from nodes."},
}

// causes are the reasons of specs that fail with both schedulers, or sometimes.
var causes = []remark{
	{"schedulingaction", "Reclaim E2E Test Reclaim Case 10",
		"The queues have weights, by which proportion divides the cluster, and no deserved. " +
			"A queue that deserves nothing does not reclaim with capacity."},
	{"schedulingaction", "Job E2E Test should preempt low priority pod with anti-affinity constraint",
		"The test is a race. If the evicted pods are still there in the next cycle, the scheduler evicts those of a " +
			"third node as well, and fewer stay than the test expects. Volcano v1.15 has replaced the test."},
	{"schedulingbase", "SLA Test",
		"The plugin sla admits a job that waits too long. If capacity is in the tier of sla, both have to admit it, " +
			"and capacity refuses a job that is larger than the cluster."},
	{"stress", "[Stress] Pod Group Test",
		"The pod groups have no pods, and Volcano does not set such a pod group to Running. Volcano's CI does not " +
			"run this suite."},
}

// kubernetesSpecs begin the names of Kubernetes' own specs, which the suites of v1.15 contain and its CI skips.
const kubernetesSpecs = "[sig-"

// omitted reports whether a spec is left out.
func omitted(suite, spec string) bool {
	return slices.ContainsFunc(omissions, func(o remark) bool {
		return o.suite == suite && strings.HasPrefix(spec, o.prefix)
	})
}

// skipPattern is the regular expression of the specs of a suite that do not run.
func skipPattern(suite string) string {
	patterns := []string{regexp.QuoteMeta(kubernetesSpecs)}
	for _, o := range omissions {
		if o.suite == suite {
			patterns = append(patterns, regexp.QuoteMeta(o.prefix))
		}
	}

	return strings.Join(patterns, "|")
}
