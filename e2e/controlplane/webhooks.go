package controlplane

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/cert"
)

// webhooksReadiness bounds the start of the webhook manager.
const webhooksReadiness = 60 * time.Second

// VolcanoChart returns the directory of Volcano's Helm chart in its module.
func VolcanoChart() (string, error) {
	module, err := VolcanoModule()
	return filepath.Join(module, "installer", "helm", "chart", "volcano"), err
}

// StartWebhooks runs Volcano's webhook manager, the program at a path, with these flags and with all webhooks of
// Volcano's chart. It returns when the webhooks are served.
func (cp *ControlPlane) StartWebhooks(ctx context.Context, program string, flags ...string) (*Process, error) {
	chart, err := VolcanoChart()
	if err != nil {
		return nil, err
	}

	text, err := os.ReadFile(filepath.Join(chart, "templates", "webhooks.yaml"))
	if err != nil {
		return nil, err
	}

	host, port, err := freeAddress()
	if err != nil {
		return nil, err
	}

	objects, paths, err := renderWebhooks(string(text), "https://"+net.JoinHostPort(host, port))
	if err != nil {
		return nil, fmt.Errorf("rendering the webhooks of Volcano's chart: %w", err)
	}

	err = cp.Apply(ctx, objects, "volcano")
	if err != nil {
		return nil, err
	}

	// The first certificate is for the server, the second for its authority.
	certificates, key, err := cert.GenerateSelfSignedCertKey(host, []net.IP{net.ParseIP(host)}, nil)
	if err != nil {
		return nil, err
	}

	certFile := cp.path("webhooks.crt")
	err = cert.WriteCert(certFile, certificates)
	if err != nil {
		return nil, err
	}

	keyFile := cp.path("webhooks.key")
	err = os.WriteFile(keyFile, key, 0o600)
	if err != nil {
		return nil, err
	}

	own := []string{
		"--kubeconfig=" + cp.Kubeconfig(),
		"--listen-address=" + host,
		"--port=" + port,
		"--tls-cert-file=" + certFile,
		"--tls-private-key-file=" + keyFile,
		"--ca-cert-file=" + certFile,
		"--admission-conf=" + filepath.Join(chart, "config", "volcano-admission.conf"),
		"--enabled-admission=" + strings.Join(paths, ","),
		"--webhook-namespace=" + VolcanoNamespace,
		"--webhook-service-name=volcano-admission-service",
	}
	p, err := cp.StartProgram("webhooks", program, append(own, flags...)...)
	if err != nil {
		return nil, err
	}

	return p, awaitWebhooks(ctx, p, net.JoinHostPort(host, port))
}

// freeAddress returns an address without a listener.
func freeAddress() (host, port string, err error) {
	one, _, err := freeAddresses()
	if err != nil {
		return "", "", err
	}
	return net.SplitHostPort(one)
}

// awaitWebhooks waits until the webhook manager listens. By then, it has published its certificate.
func awaitWebhooks(ctx context.Context, p *Process, address string) error {
	listens := func(ctx context.Context) (bool, error) {
		select {
		case <-p.Exited():
			log, _ := p.Log()
			return false, fmt.Errorf("it ended with status %d: %s", p.Status(), log)
		default:
		}

		connection, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err != nil {
			return false, nil
		}
		return true, connection.Close()
	}

	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, webhooksReadiness, true, listens)
	if err != nil {
		return fmt.Errorf("waiting for the webhook manager: %w", err)
	}

	return nil
}

// chartCondition finds the paths of the webhooks that a chart can be told to install.
var chartCondition = regexp.MustCompile(`regexMatch "([^"]+)"`)

// renderWebhooks renders all webhook configurations of Volcano's chart, for a webhook manager at a URL instead of a
// service. It also returns the paths of the webhooks.
func renderWebhooks(text, url string) (objects []*unstructured.Unstructured, paths []string, err error) {
	for _, match := range chartCondition.FindAllStringSubmatch(text, -1) {
		paths = append(paths, match[1])
	}

	functions := template.FuncMap{
		"regexMatch": regexp.MatchString,
		// These are only called for values that are not set here.
		"toYaml":  func(any) string { return "" },
		"nindent": func(int, string) string { return "" },
	}
	chart, err := template.New("webhooks").Funcs(functions).Parse(text)
	if err != nil {
		return nil, nil, err
	}

	var manifest bytes.Buffer
	err = chart.Execute(&manifest, map[string]any{
		"Release": map[string]any{"Name": "integration", "Namespace": VolcanoNamespace},
		"Values": map[string]any{"custom": map[string]any{
			"admission_enable": true, "enabled_admissions": strings.Join(paths, ","),
			"common_labels": nil, "webhooks_namespace_selector_expressions": nil,
		}},
	})
	if err != nil {
		return nil, nil, err
	}

	objects, err = parseAll(manifest.String())
	if err != nil {
		return nil, nil, err
	}

	for _, object := range objects {
		err := redirect(object, url)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", object.GetName(), err)
		}
	}
	if len(objects) != len(paths) {
		return nil, nil, fmt.Errorf("%d webhook configurations for %d paths", len(objects), len(paths))
	}

	return objects, paths, nil
}

// redirect replaces the service of each webhook of a configuration by a URL.
func redirect(configuration *unstructured.Unstructured, url string) error {
	webhooks, _, err := unstructured.NestedSlice(configuration.Object, "webhooks")
	if err != nil {
		return err
	}

	for _, webhook := range webhooks {
		fields, ok := webhook.(map[string]any)
		if !ok {
			return fmt.Errorf("a webhook is no object")
		}

		path, _, err := unstructured.NestedString(fields, "clientConfig", "service", "path")
		if err != nil {
			return err
		}
		fields["clientConfig"] = map[string]any{"url": url + path}
	}

	return unstructured.SetNestedSlice(configuration.Object, webhooks, "webhooks")
}
