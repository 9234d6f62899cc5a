package serve

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// deployment is a Deployment with so many pods of a spec.
func deployment(name string, replicas int, spec string) string {
	return fmt.Sprintf("---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: %s}\nspec: {replicas: %d, template: {spec: {schedulerName: volcano, %s}}}\n", name, replicas, spec)
}

func volcanoJob(tasks string) string {
	return "---\napiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: j}\nspec: {tasks: [" + tasks + "]}\n"
}

func listOf(kind, items string) string {
	return "apiVersion: scheduling.volcano.sh/v1beta1\nkind: " + kind + "List\nitems:\n" + items
}

// each joins texts with the numbers up to n.
func each(n int, format string) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, format, i)
	}
	return text.String()
}

// add simulates objects. It quotes only the characters that a form must quote, so that more text fits into it.
func add(h http.Handler, text string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/whatif.json", strings.NewReader("add="+strings.NewReplacer("&", "%26", "%", "%25", "+", "%2B", ";", "%3B").Replace(text)))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return do(h, r)
}

// TestFormsAreBounded refuses forms that need much memory, before they do.
func TestFormsAreBounded(t *testing.T) {
	h := newServer(t, newSource(t, examples), nil).Handler()
	again := strings.Repeat
	const container = "containers: [{name: c, image: i}]"
	listed := func(n int) (all string) {
		for i := range n {
			list := each(64, fmt.Sprintf("c%d-%%d|", i))
			annotated := "template: {metadata: {annotations: {volcano.sh/card.name: '" + list + "'}}, "
			all += strings.Replace(deployment(fmt.Sprint("l", i), 1, container), "template: {", annotated, 1)
		}
		return all
	}
	for name, c := range map[string]struct{ add, want string }{
		"a negative number":  {deployment("a", -2147483648, container) + deployment("b", 2000000, container), "manifest:5: Deployment/a: spec.replicas: -2147483648 is negative"},
		"negative tasks":     {volcanoJob("{replicas: -2000000}, {replicas: 2000000}"), "spec.tasks[0].replicas: -2000000 is negative"},
		"a negative minimum": {volcanoJob("{replicas: 1, minAvailable: -1}"), "minAvailable: -1 is negative"},
		"replicas":           {deployment("a", 10001, container), "10001 pods; at most 10000"},
		"a UID":              {strings.ReplaceAll(deployment("a", -2147483648, container)+deployment("b", 2000000, container), "metadata: {", "metadata: {uid: u, "), "2000000 pods"},
		"several":            {deployment("a", 9000, container) + volcanoJob("{replicas: 600}, {replicas: 401}"), "10001 pods"},
		"replicas of a task": {volcanoJob("{replicas: 2147483647},{replicas: 2147483647},{replicas: 2147483647}"), "pods; at most"},
		"a minimum":          {volcanoJob("{replicas: 1, minAvailable: 2147483647}"), "2147483647 pods"},
		"tasks":              {volcanoJob(again("{},", 200_000)), "more than 20000 maps and lists"},
		"containers":         {deployment("a", 1, "containers: ["+again("{},", 200_000)+"]"), "more than 20000 maps and lists"},
		"containers of all":  {deployment("a", 10000, "containers: ["+again("{name: c},", 5000)+"]"), "MiB; at most 32"},
		"resources":          {deployment("a", 1, "containers: [{name: c, resources: {limits: {"+each(300, "r%d: 1, ")+"}}}]"), "300 resources and cards; at most 200"},
		"cards of a quota":   {"apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: q, annotations: {volcano.sh/card.quota: '{" + each(300, `"c%d": 1,`) + `"c": 1}'}}`, "301 resources"},
		"cards of lists":     {listed(4), "256 resources"},
		"cards of nodes":     {strings.Replace(listOf("Node", each(300, "- {metadata: {name: n%d, labels: {nvidia.com/gpu.product: m%[1]d}}}\n")), "scheduling.volcano.sh/v1beta1", "v1", 1), "300 resources and cards; at most 200"},
		"cards of devices": {"apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {name: s}\nspec: {driver: gpu.nvidia.com, pool: {name: p}, nodeName: n0, devices: [" +
			each(300, "{name: d%d, attributes: {productName: {string: m%[1]d}}},") + "]}\n", "300 resources and cards; at most 200"},
		"queues":            {listOf("Queue", each(1001, "- metadata: {name: q%d}\n")), "1001 objects"},
		"queues in a chain": {listOf("Queue", each(5000, "- {metadata: {name: q%d}, spec: {parent: q}}\n")), "5000 objects"},
		"PodGroups":         {listOf("PodGroup", each(1001, "- metadata: {name: g%d}\n")), "1001 objects"},
		"ConfigMaps":        {strings.Replace(listOf("ConfigMap", each(1001, "- {metadata: {name: m%d}, data: {volcano-scheduler.conf: a}}\n")), "scheduling.volcano.sh/v1beta1", "v1", 1), "1001 objects"},
		"aliases":           {volcanoJob("") + "a: &a " + again("x", 100_000) + "\nb: [" + again("*a,", 100_000) + "]\n", "with what its aliases repeat"},
		"depth":             {volcanoJob("") + "a: " + again("[", 100_000) + again("]", 100_000), "exceeded max depth"},
		"depth of JSON":     {`{"kind": "Job", "a": ` + again("[", 300_000) + again("]", 300_000) + "}", "more than 20000 maps and lists"},
		"documents":         {again("---\na: {}\n", 50_000), "more than 20000 maps and lists"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		w := add(h, c.add)
		runtime.ReadMemStats(&after)
		assert.Equal(t, http.StatusBadRequest, w.Code, name)
		assert.Contains(t, w.Body.String(), c.want, name)
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(200<<20), name)
	}
	for name, text := range map[string]string{
		"pods":    strings.Replace(deployment("a", 10000, container), "template: {", "template: {metadata: {annotations: {scheduling.volcano.sh/queue-name: none}}, ", 1),
		"queues":  listOf("Queue", each(1000, "- metadata: {name: q%d}\n")),
		"cards":   deployment("a", 1, "containers: [{name: c, resources: {limits: {"+each(200, "r%d: 1, ")+"}}}]"),
		"aliases": volcanoJob("&a {replicas: 1}, *a"),
	} {
		w := add(h, text)
		assert.Equal(t, http.StatusOK, w.Code, "%s: %s", name, w.Body)
	}
}
